//! Accesses of the quick path: held against the record and noted for the whole warp at once.
//!
//! The quick path has found an access in bounds and aligned; here it is noted before its bytes move. Where
//! anything clashes the answer is no, and the step goes the long way ([`super::accesses`]), which notes it again
//! and says what is wrong: to note an access twice is to note it once.

use super::super::costs::Kind;
use super::super::launch::Env;
use super::accesses::enter;
use super::cell::{Stamp, View};
use super::line::{LINE, Shadow, side_by_side};
use super::place::Range;
use super::{PLAIN, Watch};
use crate::vm::meaning::LANES;
use std::sync::PoisonError;

/// Who looks on while a warp runs.
#[derive(Debug)]
pub(in crate::vm) struct Eye<'a> {
    watch: &'a mut Watch,
    /// Block of the team, and number of the warp in the team.
    block: usize,
    warp: usize,
}

/// An access of a warp, as the quick path has resolved it.
#[derive(Debug)]
pub(in crate::vm) struct Touch<'a> {
    /// Buffer of global memory; shared memory of the block if `None`.
    pub(in crate::vm) buffer: Option<usize>,
    pub(in crate::vm) at: &'a [u32; LANES],
    /// The first word, if lanes lie side by side.
    pub(in crate::vm) run: Option<usize>,
    /// All lanes at one place.
    pub(in crate::vm) same: bool,
    pub(in crate::vm) bytes: usize,
    pub(in crate::vm) mask: u32,
    pub(in crate::vm) pc: u32,
    pub(in crate::vm) write: bool,
}

impl Watch {
    /// Whether a warp is owed knowledge of barriers that are over.
    #[inline]
    pub(in crate::vm) fn owes(&self, block: usize, warp: u32) -> bool {
        !self.sides[block * self.per_block + warp as usize]
            .due
            .is_empty()
    }

    /// Looks on at a warp.
    #[inline]
    pub(in crate::vm) fn at(&mut self, block: usize, warp: u32) -> Eye<'_> {
        let warp = block * self.per_block + warp as usize;
        Eye {
            watch: self,
            block,
            warp,
        }
    }
}

impl Eye<'_> {
    /// Notes an access of all lanes to one place of their own memory; no, if there is something to say about it.
    #[inline(never)]
    pub(in crate::vm) fn note_own(
        &mut self,
        at: u32,
        bytes: usize,
        mask: u32,
        write: bool,
    ) -> bool {
        let written = &mut self.watch.sides[self.warp].written;
        written.own(at as usize, bytes, mask, write) == 0
    }

    /// Notes an access; no, if there is something to say about it.
    #[inline(never)]
    pub(in crate::vm) fn note(&mut self, env: &Env<'_>, t: &Touch<'_>) -> bool {
        let w = self.warp;
        let clock = self.watch.now(w);
        let Watch {
            sides,
            shared,
            global,
            team,
            lanes,
            costs,
            ..
        } = &mut *self.watch;
        let view = View {
            team: *team,
            agent: w as u16,
            clock,
            known: &sides[w].known,
            lanes: *lanes,
        };
        let quiet = match t.buffer {
            None => touch(&mut shared[self.block], t, &view),
            Some(buffer) if env.kernel.communicates => {
                let mut all = env.global.lock().unwrap_or_else(PoisonError::into_inner);
                touch(all.shadow(buffer), t, &view)
            }
            Some(buffer) => touch(global.shadow(buffer), t, &view),
        };
        if quiet && *lanes {
            let kind = match (t.buffer, t.write) {
                (Some(_), _) => Kind::Global,
                (None, true) => Kind::SharedStore,
                (None, false) => Kind::SharedLoad,
            };
            costs.count_near(t.pc, kind, t.at, t.mask, t.bytes as u32);
        }
        quiet
    }
}

/// Notes an access in a record.
#[inline]
fn touch(shadow: &mut Shadow, t: &Touch<'_>, view: &View<'_>) -> bool {
    let s = Stamp {
        clock: view.clock,
        pc: t.pc,
        team: view.team,
        agent: view.agent,
        lane: PLAIN,
        bits: 0,
    };
    let per = t.bytes / 4;
    if let Some(first) = t.run
        && t.mask == u32::MAX
        && per > 0
        && first % LINE == 0
    {
        let shift = per.trailing_zeros();
        return (0..per).all(|part| {
            let s = Stamp {
                lane: side_by_side(shift, part),
                bits: 0xf,
                ..s
            };
            let clash = shadow.enter_line(first / LINE + part, s, t.write, view);
            clash.is_none()
        });
    }
    let mut left = t.mask;
    if t.same {
        // Of any two lanes one is another than the lane that wrote: two say what all would.
        let first = left & left.wrapping_neg();
        let rest = left & !first;
        left = first | (rest & rest.wrapping_neg());
    }
    while left != 0 {
        let i = left.trailing_zeros() as usize;
        left &= left - 1;
        let s = Stamp { lane: i as u8, ..s };
        let range = Range {
            at: t.at[i] as usize,
            bytes: t.bytes,
        };
        if enter(shadow, range, s, t.write, view).is_some() {
            return false;
        }
    }
    true
}
