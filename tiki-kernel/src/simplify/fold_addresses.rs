//! `x = y + c; access [x + d]` is `access [y + (c + d)]`: the hardware adds a constant for nothing.
//!
//! The offset must stay within 24 bits, and sums of 32-bit (shared) addresses must not have wrapped: a
//! negative constant is left alone there.

use super::flow::{Defs, inst};
use crate::isa::rows::int;
use crate::ptx::{Base, Function, Imm, Operand, Stmt};

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
        let mut operands = i.operands.clone();
        let mut moved = false;
        for o in &mut operands {
            if let Operand::Addr {
                base: Base::Reg(r),
                offset,
                coords,
            } = o
                && coords.is_empty()
                && let Some((y, c)) = sum_of(f, *r)
                && (-REACH..=REACH).contains(&(*offset + c))
            {
                (*r, *offset, moved) = (y, *offset + c, true);
            }
        }
        if moved && let Some(Stmt::Inst(i)) = f.body.as_mut().and_then(|b| b.get_mut(at)) {
            i.operands = operands;
            changed = true;
        }
    }
    changed
}
