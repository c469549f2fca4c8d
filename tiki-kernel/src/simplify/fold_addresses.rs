//! `x = y + c; access [x + d]` is `access [y + (c + d)]`: the hardware adds a constant for nothing.
//!
//! The offset must stay within 24 bits, and sums of 32-bit (shared) addresses must not have wrapped: a
//! negative constant is left alone there.

use super::flow::{Defs, inst, inst_mut};
use crate::isa::rows::int;
use crate::ptx::{Base, Function, Imm, Operand};

/// Largest offset of an access.
const REACH: i64 = (1 << 23) - 1;

/// Folds; whether anything changed.
pub fn run(f: &mut Function) -> bool {
    let defs = Defs::of(f);
    let sum_of = |f: &Function, r| {
        let i = inst(f, defs.single(r)?)?;
        if *i.op.row != int::ADD {
            return None;
        }
        match i.operands.as_slice() {
            [_, Operand::Reg(y), Operand::Imm(Imm::Int(c))] if defs.single(*y).is_some() => {
                let wide = i.op.ty("t").is_some_and(|t| t.bits() == 64);
                (wide || *c >= 0).then_some((*y, *c))
            }
            _ => None,
        }
    };
    let n = f.body.as_ref().map_or(0, Vec::len);
    let mut changed = false;
    for at in 0..n {
        let Some(i) = inst(f, at) else { continue };
        let folded = |o: &Operand| match o {
            Operand::Addr {
                base: Base::Reg(r),
                offset,
                coords,
            } if coords.is_empty() => {
                let (y, c) = sum_of(f, *r)?;
                let sum = offset + c;
                (-REACH..=REACH)
                    .contains(&sum)
                    .then(|| Operand::addr(y, sum))
            }
            _ => None,
        };
        let new = i.operands.iter().map(folded).enumerate();
        let new: Vec<_> = new.filter_map(|(n, o)| Some((n, o?))).collect();
        changed |= !new.is_empty();
        if let Some(i) = inst_mut(f, at) {
            new.into_iter().for_each(|(n, o)| i.operands[n] = o);
        }
    }
    changed
}
