//! Products of 32 bits that become addresses.
//!
//! A row times a row's length that is computed in 32 bits and widened behind that is wrong without a trace once it
//! passes the 32 bits. Which products are on the way to an address is found once, backwards from the addresses, through
//! sums, shifts and moves (what is masked, divided or chosen is meant to lose bits). While the watch looks on, such a
//! product is held against the exact one: it has wrapped if the result is right neither of signed nor of unsigned
//! numbers; if it is widened by its sign, it must be right of signed ones.

use super::block::Team;
use super::exec::Ctx;
use super::fault::Code;
use super::program::{ABSENT, Step};
use super::warp::Warp;
use crate::vm::meaning::LANES;
use std::collections::HashMap;
use tiki_kernel::isa::rows::{convert, int, moves};
use tiki_kernel::isa::{Row, Ty};
use tiki_kernel::ptx::{Base, Function, Inst, Operand, Reg, liveness};

/// A product on the way to an address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Product {
    /// Its step.
    pub(super) pc: u32,
    /// It is widened by its sign.
    pub(super) signed: bool,
}

fn is(inst: &Inst, rows: &[&'static Row]) -> bool {
    rows.iter().any(|row| std::ptr::eq(*row, inst.op.row))
}
fn bits(inst: &Inst, slot: &str) -> u32 {
    inst.op.ty(slot).map_or(0, Ty::bits)
}
/// A product of the low half, with or without a sum.
fn multiplies(inst: &Inst) -> bool {
    is(inst, &[&int::MUL, &int::MAD]) && inst.op.get("half") == Some("lo") && bits(inst, "t") == 32
}

/// It takes one of two values.
pub(super) fn chooses(inst: &Inst) -> bool {
    is(inst, &[&int::SELP, &int::SLCT])
}

/// What an index goes through whole.
fn passes(inst: &Inst) -> bool {
    is(inst, &[&int::ADD, &int::SUB, &int::SHL, &moves::MOV])
}

/// Products of a function that feed addresses, by statement; whether they are widened by their sign.
pub(super) fn feeding(f: &Function) -> HashMap<usize, bool> {
    let mut wide = vec![false; f.regs.len()];
    // By register: widened without a sign, with one.
    let mut narrow = vec![(false, false); f.regs.len()];
    for (_, inst) in f.insts() {
        for o in &inst.operands {
            if let Operand::Addr {
                base: Base::Reg(r), ..
            } = o
            {
                wide[r.0 as usize] = f.ty(*r).bits() == 64;
            }
        }
    }
    // A register that also something else writes may have lost bits on purpose.
    let mut lossy = vec![false; f.regs.len()];
    for (_, inst) in f.insts() {
        if !(passes(inst) || multiplies(inst)) {
            let (_, writes) = liveness::reads_and_writes(inst);
            writes.iter().for_each(|r| lossy[r.0 as usize] = true);
        }
    }
    let mut found = HashMap::new();
    let mut grew = wide.contains(&true);
    while grew {
        grew = false;
        for (at, inst) in f.insts() {
            let (reads, writes) = liveness::reads_and_writes(inst);
            let own = |r: &&Reg| f.ty(**r) != Ty::Pred;
            let into = |r: &Reg| wide[r.0 as usize];
            if writes.iter().any(into) {
                let widens = is(inst, &[&int::MUL_WIDE, &int::MAD_WIDE]) && bits(inst, "t") == 32
                    || is(inst, &[&convert::INT]) && bits(inst, "a") == 32;
                let passes = passes(inst) || is(inst, &[&moves::CVTA, &moves::CVTA_TO]);
                if !widens && !passes {
                    continue;
                }
                let by = inst.op.ty("t").filter(|_| bits(inst, "t") == 32);
                let signed = by.or(inst.op.ty("a")).is_some_and(Ty::is_signed);
                for r in reads.iter().filter(own) {
                    let r64 = f.ty(*r).bits() == 64;
                    let (w, n) = (&mut wide[r.0 as usize], &mut narrow[r.0 as usize]);
                    let now = (n.0 || !signed, n.1 || signed);
                    if r64 && !*w {
                        (*w, grew) = (true, true);
                    } else if !r64 && widens && *n != now {
                        (*n, grew) = (now, true);
                    }
                }
            }
            let of = |r: &Reg| match lossy[r.0 as usize] {
                true => (false, false),
                false => narrow[r.0 as usize],
            };
            let out = writes
                .iter()
                .map(of)
                .fold((false, false), |a, b| (a.0 || b.0, a.1 || b.1));
            if out == (false, false) {
                continue;
            }
            if multiplies(inst) {
                // Where it is widened both ways, either meaning may be the author's.
                found.insert(at, out == (false, true));
            }
            if passes(inst) || multiplies(inst) {
                for r in reads.iter().filter(own) {
                    let n = &mut narrow[r.0 as usize];
                    let now = (n.0 || out.0, n.1 || out.1);
                    if f.ty(*r).bits() == 32 && *n != now {
                        (*n, grew) = (now, true);
                    }
                }
            }
        }
    }
    found
}

/// Lanes in which a step's product does not fit.
fn wrapped(step: &Step, warp: &Warp, mask: u32, signed: bool) -> u32 {
    let of = |k: usize| match step.args.s[k] {
        ABSENT => [0; LANES],
        slot => warp.file.words[slot as usize].0,
    };
    let (a, b, c) = (of(1), of(2), of(3));
    let mut lanes = 0;
    for i in 0..LANES {
        let s = |x: u32| i64::from(x as i32);
        let u = |x: u32| u64::from(x);
        let right_signed = i32::try_from(s(a[i]) * s(b[i]) + s(c[i])).is_ok();
        let right_unsigned = u32::try_from(u(a[i]) * u(b[i]) + u(c[i])).is_ok();
        if !(right_signed || (right_unsigned && !signed)) {
            lanes |= 1 << i;
        }
    }
    lanes & mask
}

impl Team {
    /// Before a product that feeds an address.
    pub(super) fn watch_product(&mut self, ctx: &Ctx<'_, '_>, warp: &Warp, signed: bool) {
        let lanes = wrapped(ctx.step, warp, ctx.mask, signed);
        if lanes != 0
            && let Some(mut watch) = self.watch.take()
        {
            let text = "a product of 32 bits wraps, and is widened to an address behind that";
            watch.complain(self, ctx, warp, Code::Overflow, lanes, text.into());
            self.watch = Some(watch);
        }
    }
}
