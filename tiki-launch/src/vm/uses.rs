//! The registers that each step of a kernel reads and writes.
//!
//! Followed step by step only where somebody asks: for a warpgroup's multiplies, which hold registers while
//! they run, and for numbers that are born wrong.

use super::decode::Decoder;
use super::program::{Act, Use};
use crate::vm::meaning::Ask;
use tiki_kernel::isa::Ty;
use tiki_kernel::isa::row::Kind;
use tiki_kernel::ptx::{Inst, Operand, Reg};

impl Decoder<'_> {
    /// Notes what the step that is decoded next reads and writes.
    pub(super) fn note_uses(&mut self, n: usize, regs: &[Ty], i: &Inst) {
        let mut uses = vec![];
        for (o, pat) in i.operands.iter().zip(&i.op.row.form().pats) {
            if pat.kind != Kind::Value {
                continue;
            }
            let taken = i.op.resolve(pat.ty);
            let mut one = |r: &Reg| {
                let ty = regs[r.0 as usize];
                if ty != Ty::Pred {
                    uses.push(Use {
                        slot: self.regs[n][r.0 as usize],
                        planes: ty.bits().div_ceil(32) as u8,
                        ty: taken.unwrap_or(ty),
                        write: pat.write,
                    });
                }
            };
            match o {
                Operand::Reg(r) | Operand::Not(r) => one(r),
                Operand::Pair(a, _) => {
                    if let Operand::Reg(r) = &**a {
                        one(r);
                    }
                }
                Operand::Vec(parts) => {
                    for p in parts {
                        if let Operand::Reg(r) = p {
                            one(r);
                        }
                    }
                }
                _ => {}
            }
        }
        self.uses.push((self.code.len() as u32, uses.into()));
    }

    /// Whether there is a warpgroup's multiply.
    pub(super) fn multiplies(&self) -> bool {
        let is = |act: &Act| matches!(act, Act::Ask(Ask::GroupMultiply { .. }));
        self.code.iter().any(|s| is(&s.act))
    }

    /// What was noted, by step.
    pub(super) fn take_uses(&mut self) -> Vec<Box<[Use]>> {
        let mut all: Vec<Box<[Use]>> = vec![Box::default(); self.code.len()];
        for (pc, uses) in std::mem::take(&mut self.uses) {
            all[pc as usize] = uses;
        }
        all
    }
}
