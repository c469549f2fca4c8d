//! Arithmetic on scalars, and on one element of a tensor: the same thing.
//!
//! 16-bit floats compute in their own instructions where the oldest target has them. bfloat sums and
//! products are written as `fma` with a neutral operand (`a * 1 + b`, `a * b + -0`), which rounds once
//! and keeps the sign of zero. Quotients and square roots go through f32: its 24 digits are at least
//! `2 * 11 + 2`, so rounding twice gives the same result as rounding once. Comparisons of bfloat widen,
//! which is exact.

use super::Lower;
use super::emit::register_type;
use crate::dtype::{Class, DType};
use crate::ir::{Binary, Compare, Unary};
use crate::isa::{self, Cmp, Rounding, Ty};
use crate::ptx::{Imm, Operand};

impl Lower<'_> {
    /// One operand.
    pub(super) fn unary(&mut self, f: Unary, t: DType, result: DType, a: Operand) -> Operand {
        let ty = Ty::of_arithmetic(t);
        let reg = register_type(ty);
        let (float, half) = (t.is_float(), t.bytes() == 2 && t.is_float());
        match f {
            Unary::Neg | Unary::Abs if float => {
                let op = if f == Unary::Neg {
                    isa::neg(ty)
                } else {
                    isa::abs(ty)
                };
                self.def(reg, op, [a])
            }
            Unary::Neg => self.def(reg, isa::sub(ty), [Operand::int(0), a]),
            Unary::Abs if ty.is_signed() => self.def(reg, isa::abs(ty), [a]),
            Unary::Abs => a,
            Unary::Not => self.def(reg, isa::not(ty), [a]),
            Unary::Popcount | Unary::LeadingZeros => {
                let op = if f == Unary::Popcount {
                    isa::popc(ty)
                } else {
                    isa::clz(ty)
                };
                let n = self.def(Ty::B32, op, [a]);
                if result.bytes() == 8 {
                    self.def(Ty::B64, isa::cvt(Ty::U64, Ty::U32), [n])
                } else {
                    n
                }
            }
            Unary::ReverseBits => self.def(reg, isa::brev(ty), [a]),
            _ if !float => a,
            _ if half => {
                let wide = self.widen(t, a);
                let r = self.float_unary(f, DType::F32, wide);
                self.narrow(t, r)
            }
            _ => self.float_unary(f, t, a),
        }
    }

    fn float_unary(&mut self, f: Unary, t: DType, a: Operand) -> Operand {
        let ty = Ty::of_arithmetic(t);
        let whole = |l: &mut Self, rnd| l.def(ty, isa::round(ty, rnd), [a.clone()]);
        match f {
            Unary::Floor => whole(self, Rounding::Rmi),
            Unary::Ceil => whole(self, Rounding::Rpi),
            Unary::Round => whole(self, Rounding::Rni),
            Unary::Trunc => whole(self, Rounding::Rzi),
            Unary::Sqrt => self.def(ty, isa::sqrt(ty), [a]),
            _ => self.math(f, t, a),
        }
    }

    /// A 16-bit float in f32, exactly.
    pub(super) fn widen(&mut self, t: DType, a: Operand) -> Operand {
        if t == DType::BF16 {
            let low = self.bits16(0);
            self.def(Ty::F32, isa::pack(Ty::B32, 2), [Operand::vec([low, a])])
        } else {
            self.def(Ty::F32, isa::cvt(Ty::F32, Ty::F16), [a])
        }
    }

    /// An f32 in a 16-bit float, to nearest even.
    pub(super) fn narrow(&mut self, t: DType, a: Operand) -> Operand {
        self.def(Ty::B16, isa::cvt(Ty::of_arithmetic(t), Ty::F32), [a])
    }

    /// 16 bits in a register.
    pub(super) fn bits16(&mut self, bits: u16) -> Operand {
        self.once(super::emit::Once::Half(bits), |l| {
            l.def(Ty::B16, isa::mov(Ty::B16), [Operand::int(bits)])
        })
    }

    /// Two operands of one type.
    pub(super) fn binary(&mut self, f: Binary, t: DType, a: Operand, b: Operand) -> Operand {
        let ty = Ty::of_arithmetic(t);
        let reg = register_type(ty);
        match t.row().class {
            Class::Float => self.float_binary(f, t, a, b),
            Class::Bool => {
                let op = match f {
                    Binary::And | Binary::Mul | Binary::Min => isa::and(Ty::Pred),
                    Binary::Or | Binary::Max => isa::or(Ty::Pred),
                    _ => isa::xor(Ty::Pred),
                };
                self.def(Ty::Pred, op, [a, b])
            }
            _ => {
                let op = match f {
                    Binary::Add => isa::add(ty),
                    Binary::Sub => isa::sub(ty),
                    Binary::Mul => isa::mul(ty),
                    Binary::Div | Binary::DivFast => isa::div(ty),
                    Binary::Rem => isa::rem(ty),
                    Binary::Min | Binary::MinNan => isa::min(ty),
                    Binary::Max | Binary::MaxNan => isa::max(ty),
                    Binary::And => isa::and(ty),
                    Binary::Or => isa::or(ty),
                    Binary::Xor => isa::xor(ty),
                    Binary::Shl => isa::shl(ty),
                    Binary::Shr => isa::shr(ty),
                };
                let b = match f {
                    Binary::Shl | Binary::Shr
                        if t.bytes() == 8 && !matches!(b, Operand::Imm(_)) =>
                    {
                        let wide = self.def(Ty::B64, isa::min(Ty::U64), [b, Operand::int(64)]);
                        self.def(Ty::B32, isa::cvt(Ty::U32, Ty::U64), [wide])
                    }
                    _ => b,
                };
                self.def(reg, op, [a, b])
            }
        }
    }

    fn float_binary(&mut self, f: Binary, t: DType, a: Operand, b: Operand) -> Operand {
        let ty = Ty::of_arithmetic(t);
        let reg = register_type(ty);
        let old_bfloat = t == DType::BF16;
        match f {
            Binary::Add | Binary::Sub if old_bfloat => {
                let one = self.float(t, if f == Binary::Add { 1.0 } else { -1.0 });
                self.def(reg, isa::fma(ty), [b, one, a])
            }
            Binary::Mul if old_bfloat => {
                let zero = self.float(t, -0.0);
                self.def(reg, isa::fma(ty), [a, b, zero])
            }
            Binary::Add => self.def(reg, isa::add(ty), [a, b]),
            Binary::Sub => self.def(reg, isa::sub(ty), [a, b]),
            Binary::Mul => self.def(reg, isa::mul(ty), [a, b]),
            Binary::Min => self.def(reg, isa::min(ty), [a, b]),
            Binary::Max => self.def(reg, isa::max(ty), [a, b]),
            Binary::MinNan | Binary::MaxNan if t == DType::F64 => {
                let op = if f == Binary::MinNan {
                    isa::min(ty)
                } else {
                    isa::max(ty)
                };
                let number = self.def(ty, op, [a.clone(), b.clone()]);
                let nan = self.def(Ty::Pred, isa::setp(Cmp::Nan, ty), [a, b]);
                self.def(ty, isa::selp(ty), [Operand::f64(f64::NAN), number, nan])
            }
            Binary::MinNan => self.def(reg, isa::min_nan(ty), [a, b]),
            Binary::MaxNan => self.def(reg, isa::max_nan(ty), [a, b]),
            Binary::Div | Binary::DivFast | Binary::Rem if t.bytes() == 2 => {
                let (x, y) = (self.widen(t, a), self.widen(t, b));
                let r = self.float_binary(f, DType::F32, x, y);
                self.narrow(t, r)
            }
            Binary::Div => self.def(reg, isa::div(ty), [a, b]),
            Binary::DivFast if t == DType::F32 => self.def(reg, isa::div_approx(), [a, b]),
            Binary::DivFast => self.def(reg, isa::div(ty), [a, b]),
            Binary::Rem | Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => {
                self.refuse(format!("{t} has no such operation"));
                a
            }
        }
    }

    /// `a * b + c`.
    pub(super) fn multiply_add(&mut self, t: DType, a: Operand, b: Operand, c: Operand) -> Operand {
        let ty = Ty::of_arithmetic(t);
        self.def(register_type(ty), isa::fma(ty), [a, b, c])
    }

    /// A comparison.
    pub(super) fn compare(&mut self, f: Compare, t: DType, a: Operand, b: Operand) -> Operand {
        let mut ty = Ty::of_arithmetic(t);
        let (mut a, mut b) = (a, b);
        if t.row().class == Class::Bool {
            let differ = self.def(Ty::Pred, isa::xor(Ty::Pred), [a, b]);
            return match f {
                Compare::Ne => differ,
                _ => self.def(Ty::Pred, isa::not(Ty::Pred), [differ]),
            };
        }
        if t == DType::BF16 {
            (a, b) = (self.widen(t, a), self.widen(t, b));
            ty = Ty::F32;
        }
        let cmp = match f {
            Compare::Eq => Cmp::Eq,
            Compare::Ne if t.is_float() => Cmp::Neu,
            Compare::Ne => Cmp::Ne,
            Compare::Lt => Cmp::Lt,
            Compare::Le => Cmp::Le,
            Compare::Gt => Cmp::Gt,
            Compare::Ge => Cmp::Ge,
        };
        self.def(Ty::Pred, isa::setp(cmp, ty), [a, b])
    }

    /// `c ? a : b`.
    pub(super) fn select(&mut self, t: DType, c: Operand, a: Operand, b: Operand) -> Operand {
        if t == DType::BOOL {
            let yes = self.def(Ty::Pred, isa::and(Ty::Pred), [c.clone(), a]);
            let not = self.def(Ty::Pred, isa::not(Ty::Pred), [c]);
            let no = self.def(Ty::Pred, isa::and(Ty::Pred), [not, b]);
            return self.def(Ty::Pred, isa::or(Ty::Pred), [yes, no]);
        }
        let ty = Ty::of_register(t);
        self.def(ty, isa::selp(ty), [a, b, c])
    }

    /// The bits of a value in a type of the same width.
    pub(super) fn reinterpret(&mut self, from: DType, to: DType, a: Operand) -> Operand {
        let (f, t) = (Ty::of_register(from), Ty::of_register(to));
        match a {
            _ if f == t => a,
            Operand::Imm(Imm::F32(b)) => Operand::int(b),
            Operand::Imm(Imm::F64(b)) => Operand::Imm(Imm::Int(b as i64)),
            Operand::Imm(Imm::Int(i)) if t == Ty::F32 => Operand::Imm(Imm::F32(i as u32)),
            Operand::Imm(Imm::Int(i)) if t == Ty::F64 => Operand::Imm(Imm::F64(i as u64)),
            a => self.def(t, isa::mov(t.untyped()), [a]),
        }
    }
}
