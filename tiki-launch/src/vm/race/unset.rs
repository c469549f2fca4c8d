//! Reads of what nothing wrote: registers, and a thread's own memory.
//!
//! Which registers of an entry may be read before they are written is known from its text: those alive at its start.
//! Only they are followed, lane by lane. A step that computes with one in a lane in which nothing wrote it leaves the
//! open registers that it writes unset there (a choice does not: it may be made for the other side); a finding is
//! where such a register is an address, is stored, or goes into a product of a warp. (A warpgroup's multiply may name
//! sums that it is told not to add to: it only writes.) Of a thread's own memory a mask of lanes is kept for each
//! word; a store of a part of a word counts for all of it.

use super::super::block::Team;
use super::super::exec::Ctx;
use super::super::fault::{Code, lanes};
use super::super::program::{Act, Kernel, Start, Step, Use};
use super::super::warp::Warp;
use super::Watch;
use crate::vm::meaning::Ask;
use tiki_kernel::isa::Ty;
use tiki_kernel::ptx::{Function, liveness};

/// A step that reads or writes registers that may be unset: by their place in the list of those.
#[derive(Debug, Default)]
pub(in crate::vm) struct Touches {
    reads: Vec<u32>,
    writes: Vec<u32>,
    /// What it reads shows: it is a finding if that is unset.
    shows: bool,
}

/// First planes of an entry's registers that are alive at its start; predicates are left out.
pub(in crate::vm) fn open(f: &Function, slots: &[u32]) -> Vec<u32> {
    let Some((first, _)) = f.insts().next() else {
        return vec![];
    };
    let live = liveness::run(f);
    live.before(first)
        .filter(|r| f.ty(*r) != Ty::Pred)
        .map(|r| slots[r.0 as usize])
        .collect()
}

/// What a step touches of the open registers; `chooses` if it takes one of two values.
pub(in crate::vm) fn touches(
    step: &Step,
    uses: &[Use],
    open: &[u32],
    chooses: bool,
) -> Option<Touches> {
    if open.is_empty() {
        return None;
    }
    let place = |slot: u32| open.iter().position(|o| *o == slot).map(|at| at as u32);
    let starts = step.addresses.iter().filter_map(|a| match a.start {
        Start::Narrow(slot) | Start::Wide(slot) => place(slot),
        Start::Fixed => None,
    });
    let of = |write: bool| {
        let own = uses.iter().filter(move |u| u.write == write);
        own.filter_map(|u| place(u.slot))
    };
    let mut touches = Touches {
        reads: starts.collect(),
        writes: of(true).collect(),
        shows: true,
    };
    match &step.act {
        Act::Ask(Ask::GroupMultiply { .. }) => touches.writes.extend(of(false)),
        Act::Ask(Ask::Store(_) | Ask::Atomic(_) | Ask::Multiply(_) | Ask::MultiplySparse(_)) => {
            touches.reads.extend(of(false));
        }
        _ if !touches.reads.is_empty() => {}
        Act::Lanes(_) if !chooses => {
            touches.reads.extend(of(false));
            touches.shows = false;
        }
        _ => {}
    }
    (!touches.reads.is_empty() || !touches.writes.is_empty()).then_some(touches)
}

/// What is written of what a warp alone has.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Lanes, by open register.
    registers: Vec<u32>,
    /// Lanes, by word of their own memory.
    local: Vec<u32>,
}

impl Written {
    pub(super) fn new(kernel: &Kernel) -> Written {
        Written {
            registers: vec![0; kernel.looks().open.len()],
            local: vec![0; kernel.local_bytes.div_ceil(4) as usize],
        }
    }
    /// Notes an access of lanes to bytes of their own memory; lanes that read what nothing wrote.
    pub(super) fn own(&mut self, at: usize, bytes: usize, mask: u32, write: bool) -> u32 {
        let mut unset = 0;
        let words = at / 4..(at + bytes).div_ceil(4);
        for word in self.local.get_mut(words).unwrap_or_default() {
            if write {
                *word |= mask;
            } else {
                unset |= mask & !*word;
            }
        }
        unset
    }
}

impl Watch {
    /// Lanes of a warp read or write a thread's own memory, each at its place.
    pub(super) fn own_memory(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        (at, mask): (&[u64; 32], u32),
        bytes: usize,
        write: bool,
    ) {
        let w = self.number(ctx, warp);
        let mut unset = 0;
        for i in (0..32).filter(|i| mask >> i & 1 == 1) {
            unset |= self.sides[w]
                .written
                .own(at[i] as usize, bytes, 1 << i, write);
        }
        if unset != 0 {
            let text = "reads bytes of a thread's own memory that nothing has written";
            self.complain(team, ctx, warp, Code::Undefined, unset, text.into());
        }
    }
}

impl Team {
    /// Before a step that touches registers that may be unset.
    pub(in crate::vm) fn watch_unset(&mut self, ctx: &Ctx<'_, '_>, warp: &Warp, t: &Touches) {
        let Some(mut watch) = self.watch.take() else {
            return;
        };
        let w = watch.number(ctx, warp);
        let written = &mut watch.sides[w].written.registers;
        let unset = t.reads.iter().fold(0, |all, r| all | !written[*r as usize]) & ctx.mask;
        let set = if t.shows { ctx.mask } else { ctx.mask & !unset };
        for r in &t.writes {
            written[*r as usize] |= set;
        }
        if unset != 0 && t.shows {
            let text = format!(
                "reads a register that nothing has written in lanes {}",
                lanes(unset)
            );
            watch.complain(self, ctx, warp, Code::Undefined, unset, text);
        }
        self.watch = Some(watch);
    }

    /// Bytes of a thread's own memory are copied for a call.
    pub(in crate::vm) fn watch_passed(&mut self, ctx: &Ctx<'_, '_>, warp: &Warp, to: u32, n: u32) {
        if let Some(watch) = &mut self.watch {
            let w = watch.number(ctx, warp);
            let written = &mut watch.sides[w].written;
            written.own(to as usize, n as usize, ctx.mask, true);
        }
    }
}
