//! Going on behind a fault, where that is possible.
//!
//! A launch that is asked for all that is wrong does not stop at the first fault: lanes that cannot do an
//! instruction leave it out, bytes that nothing wrote count as written from then on, and an instruction that
//! cannot be done at all is skipped.

use super::block::Team;
use super::exec::{After, Ctx, Result};
use super::fault::{Code, Fault};
use super::findings::Findings;
use super::program::Act;
use super::warp::{Frag, Warp};
use crate::vm::meaning::Ask;

/// Attempts at one instruction.
const ATTEMPTS: usize = 40;

impl Team {
    /// Notes a fault and does what is left of the instruction; the fault itself if that is not wanted or
    /// not possible.
    #[cold]
    pub(super) fn recover(
        &mut self,
        ctx: &Ctx<'_, '_>,
        act: &Act,
        warp: &mut Warp,
        cur: &mut Frag,
        fault: Box<Fault>,
    ) -> Result<After> {
        let (mut fault, mut mask) = (fault, ctx.mask);
        for _ in 0..ATTEMPTS {
            let skips = matches!(
                fault.code,
                Code::Bounds
                    | Code::Alignment
                    | Code::Undefined
                    | Code::Mask
                    | Code::Object
                    | Code::Warpgroup
                    | Code::TensorMap
            );
            // Nobody may go on behind a wait that cannot be asked.
            let wait = matches!(act, Act::Ask(Ask::ObjectWait { .. }));
            if !ctx.env.keep_going || !skips || wait {
                return Err(fault);
            }
            let (code, lanes, of_buffer) = (fault.code, fault.lanes, fault.buffer.is_some());
            self.note(*fault);
            let by_lane = matches!(
                act,
                Act::Ask(Ask::Load(_) | Ask::Store(_) | Ask::Atomic(_) | Ask::CopyIssue)
            );
            if code == Code::Undefined && of_buffer {
                // Its bytes count as written already.
            } else if code == Code::Undefined {
                // From here on nobody in the block hears of bytes that nothing wrote.
                self.blocks[ctx.b].shared.written = vec![];
            } else if by_lane && lanes != 0 && mask & !lanes != 0 {
                mask &= !lanes;
            } else {
                return Ok(After::Next);
            }
            let rest = Ctx { mask, ..*ctx };
            let done = match act {
                Act::Ask(ask) => self.ask(&rest, ask, warp, cur),
                _ => return Ok(After::Next),
            };
            match done {
                Ok(after) => return Ok(after),
                Err(f) => fault = f,
            }
        }
        Ok(After::Next)
    }

    /// Keeps a finding of the engine.
    fn note(&mut self, f: Fault) {
        match &mut self.watch {
            Some(watch) => watch.found.add(f),
            None => {
                let mut all = Findings::default();
                std::mem::take(&mut self.faults)
                    .into_iter()
                    .for_each(|f| all.add(f));
                all.add(f);
                self.faults = all.into_list();
            }
        }
    }
}
