//! Two f32 converted to 16 bits and packed into a word are one conversion of a pair. So are two converted to 8 bits and
//! stored beside each other, by a store of 16 bits. A source that is written several times (a sum of products) must
//! keep its value from its conversion to where the pair is made.

use super::flow::{Defs, inst, inst_mut, uses};
use crate::isa::effects::Flow;
use crate::isa::rows::{convert, memory, moves};
use crate::isa::{self, Rounding, Ty, Vec as Vector};
use crate::ptx::liveness::reads_and_writes;
use crate::ptx::{Function, Operand, Stmt};

/// Pairs; whether anything changed.
pub fn run(f: &mut Function) -> bool {
    let packed = pack(f);
    store(f) || packed
}

fn pack(f: &mut Function) -> bool {
    let (defs, uses) = (Defs::of(f), uses(f));
    let mut found = Vec::new();
    for (at, i) in f.insts() {
        if *i.op.row != moves::PACK2 || i.op.ty("t") != Some(Ty::B32) || i.guard.is_some() {
            continue;
        }
        let [d, Operand::Vec(parts)] = i.operands.as_slice() else {
            continue;
        };
        let [Operand::Reg(low), Operand::Reg(high)] = parts.as_slice() else {
            continue;
        };
        let half = |r| {
            let c = inst(f, defs.single(r)?)?;
            let rows = [&convert::FLOAT, &convert::NARROW];
            let to = [Ty::F16, Ty::BF16].into_iter().find(|t| {
                let op = isa::cvt(*t, Ty::F32);
                rows.contains(&c.op.row) && c.op == op.with(Rounding::Rn)
            })?;
            let stable = match c.operands[1] {
                Operand::Reg(s) => defs.single(s).is_some() || keeps(f, s, defs.single(r)?, at),
                _ => false,
            };
            (stable && uses[index(r)] == 1).then(|| (to, c.operands[1].clone()))
        };
        if low != high
            && let (Some((t, x)), Some((u, y))) = (half(*low), half(*high))
            && t == u
        {
            let pair = if t == Ty::F16 { Ty::F16x2 } else { Ty::BF16x2 };
            found.push((at, isa::cvt_pair(pair), vec![d.clone(), y, x]));
        }
    }
    for (at, op, operands) in &found {
        if let Some(i) = inst_mut(f, *at) {
            i.op = *op;
            i.operands.clone_from(operands);
        }
    }
    !found.is_empty()
}

/// Bytes made one by one and stored two by two: the later conversion makes the pair.
fn store(f: &mut Function) -> bool {
    let (defs, uses) = (Defs::of(f), uses(f));
    let (mut conversions, mut stores) = (Vec::new(), Vec::new());
    for (at, i) in f.insts() {
        if *i.op.row != memory::ST || i.op.ty("t") != Some(Ty::U8) {
            continue;
        }
        let [_, Operand::Vec(bytes)] = i.operands.as_slice() else {
            continue;
        };
        // A conversion to one byte, which this store alone reads: where it stands, what it converts.
        let one = |byte: &Operand| {
            let Operand::Reg(r) = byte else { return None };
            let made = defs.single(*r)?;
            let c = inst(f, made)?;
            let [_, high, source] = c.operands.as_slice() else {
                return None;
            };
            let alone = c.op.row == &convert::F8_PAIR && *high == Operand::f32(0.0);
            (alone && c.guard.is_none() && uses[index(*r)] == 1).then_some((made, c.op, source))
        };
        let pairs: Option<Vec<_>> = bytes
            .chunks(2)
            .map(|pair| {
                let [low, high] = pair else { return None };
                let ((from, t, x), (to, u, y)) = (one(low)?, one(high)?);
                let Operand::Reg(s) = x else { return None };
                let stable = defs.single(*s).is_some() || keeps(f, *s, from, to);
                (t == u && from < to && stable).then(|| (to, high.clone(), y.clone(), x.clone()))
            })
            .collect();
        if let Some(pairs) = pairs {
            let words: Vec<Operand> = pairs.iter().map(|p| p.1.clone()).collect();
            stores.push((at, words));
            conversions.extend(pairs);
        }
    }
    for (at, d, high, low) in conversions {
        if let Some(i) = inst_mut(f, at) {
            i.operands = vec![d, high, low];
        }
    }
    for (at, words) in &stores {
        let Some(i) = inst_mut(f, *at) else { continue };
        let op = i.op.set("t", Ty::B16.name());
        (i.op, i.operands[1]) = match words.as_slice() {
            [word] => (op.unset("vec"), word.clone()),
            [_, _] => (op.with(Vector::V2), Operand::vec(words.clone())),
            _ => (op.with(Vector::V4), Operand::vec(words.clone())),
        };
    }
    !stores.is_empty()
}

/// Whether the text goes straight from one statement to another without writing the register.
fn keeps(f: &Function, r: crate::ptx::Reg, from: usize, to: usize) -> bool {
    let between = f.body.as_ref().and_then(|b| b.get(from..to));
    between.is_some_and(|between| {
        between.iter().all(|s| match s {
            Stmt::Label(_) => false,
            Stmt::Inst(i) => {
                let straight = matches!(i.op.row.effects.flow, Flow::Next);
                straight && !reads_and_writes(i).1.contains(&r)
            }
            _ => true,
        })
    })
}

fn index(r: crate::ptx::Reg) -> usize {
    r.0 as usize
}
