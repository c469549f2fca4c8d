//! Common values: a pure instruction on the same operands as one in a dominating block gives the same.
//!
//! Cheap ones (comparisons, shifts, constants added, conversions, unpacking) are shared only within 48
//! statements: farther apart, holding the result costs a register and saves one instruction.

use super::flow::{Blocks, Defs, blocks, inst};
use crate::isa::Space;
use crate::isa::Ty;
use crate::isa::effects::{PURE, Where};
use crate::isa::rows::{convert, int, moves};
use crate::ptx::liveness::reads_and_writes;
use crate::ptx::{Function, Inst, Operand, Reg, Regs, Stmt};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Statements within which cheap values are shared.
const NEAR: usize = 48;

/// Shares; whether anything changed.
pub fn run(f: &mut Function) -> bool {
    let defs = Defs::of(f);
    let Blocks { ranges, above } = blocks(f);
    // By a hash of what they compute: block, place, and where the results are.
    let mut known: HashMap<u64, Vec<(usize, usize, Regs)>> = HashMap::new();
    // Registers that have another's value: which.
    let mut renamed: Vec<Option<Reg>> = vec![None; f.regs.len()];
    let renamed_to = |renamed: &[Option<Reg>], r: Reg| renamed[r.0 as usize].unwrap_or(r);
    let mut dead = Vec::new();
    let dominates = |a: usize, mut b: usize| loop {
        if a == b {
            return true;
        }
        if above[b] == b {
            return false;
        }
        b = above[b];
    };
    for (b, (first, last)) in ranges.iter().enumerate() {
        for at in *first..*last {
            let Some(Stmt::Inst(i)) = f.body.as_mut().and_then(|body| body.get_mut(at)) else {
                continue;
            };
            if !dead.is_empty() {
                let pats = i.op.row.form().pats.iter();
                for (o, pat) in i.operands.iter_mut().zip(pats) {
                    if !pat.write {
                        o.map(&mut |r| renamed_to(&renamed, r));
                    }
                }
                if let Some(g) = &mut i.guard {
                    g.reg = renamed_to(&renamed, g.reg);
                }
            }
            let Some(i) = inst(f, at) else { continue };
            let (reads, writes) = reads_and_writes(i);
            let value = i.guard.is_none()
                && repeatable(i)
                && !writes.is_empty()
                && writes.iter().all(|r| defs.single(*r).is_some())
                && reads.iter().all(|r| defs.single(*r).is_some());
            if !value {
                continue;
            }
            let near = cheap(i);
            let seen = known.entry(hash(i)).or_default();
            let same = |place: usize, regs: &Regs| {
                let tys = |list: &Regs| list.iter().map(|r| f.ty(*r)).collect::<Vec<_>>();
                inst(f, place).is_some_and(|other| {
                    i.op == other.op && inputs(i).eq(inputs(other)) && tys(&writes) == tys(regs)
                })
            };
            let found = seen.iter().find(|(other, place, regs)| {
                dominates(*other, b) && (!near || at - place < NEAR) && same(*place, regs)
            });
            match found {
                Some((_, _, regs)) => {
                    for (from, to) in writes.iter().zip(regs) {
                        renamed[from.0 as usize] = Some(*to);
                    }
                    dead.push(at);
                }
                None => {
                    if near {
                        seen.retain(|(_, place, regs)| !same(*place, regs));
                    }
                    seen.push((b, at, writes));
                }
            }
        }
    }
    if dead.is_empty() {
        return false;
    }
    // Uses in blocks that come earlier in the text than the definition do not exist: a definition
    // dominates its uses, and a dominating block comes first.
    if let Some(body) = f.body.as_mut() {
        let (mut at, mut dead) = (0, dead.into_iter().peekable());
        body.retain(|_| {
            at += 1;
            dead.next_if_eq(&(at - 1)).is_none()
        });
    }
    true
}

fn repeatable(i: &Inst) -> bool {
    let e = i.op.row.effects;
    let constant = e.reads(Where::Nothing) == PURE
        && e.reads != Where::Nothing
        && matches!(
            i.op.space(),
            Space::Param | Space::ParamEntry | Space::Const
        );
    i.is_pure() || constant
}

fn cheap(i: &Inst) -> bool {
    let row = i.op.row;
    let predicate = row
        .form()
        .pats
        .first()
        .is_some_and(|p| i.op.resolve(p.ty) == Some(Ty::Pred));
    let offset = *row == int::ADD && i.operands.iter().any(|o| matches!(o, Operand::Imm(_)));
    predicate
        || offset
        || [
            &int::SHL,
            &int::AND,
            &convert::FLOAT,
            &convert::WIDEN,
            &moves::UNPACK2,
            &moves::PACK2,
            &moves::MOV,
        ]
        .contains(&row)
}

/// What it reads, in order.
fn inputs(i: &Inst) -> impl Iterator<Item = &Operand> {
    let pats = &i.op.row.form().pats;
    let both = i.operands.iter().zip(pats);
    both.filter(|(_, p)| !p.write).map(|(o, _)| o)
}

fn hash(i: &Inst) -> u64 {
    let mut hasher = DefaultHasher::new();
    i.op.hash(&mut hasher);
    inputs(i).for_each(|o| o.hash(&mut hasher));
    hasher.finish()
}
