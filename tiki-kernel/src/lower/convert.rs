//! Conversions between element types.
//!
//! Each rounds once. Where the oldest target has no instruction that goes all the way (into bfloat from
//! integers and f64), the value is first brought to f32 by rounding *to odd*: toward zero, with the last
//! bit set if anything was lost. f32 has far more digits than bfloat, so that the second rounding then
//! sees the same as it would have seen of the exact value.
//!
//! 8-bit floats are in registers as the low byte of 16 bits. Into them f32 is clamped: what is past the largest
//! number, infinities included, becomes that number; NaN stays. Out of them everything goes through f16, which
//! holds each of their values.

use super::Lower;
use crate::dtype::{Class, DType};
use crate::ir::Round;
use crate::isa::{self, Cmp, Rounding, Ty};
use crate::ptx::{Imm, Operand};

impl Lower<'_> {
    /// Converts.
    pub(super) fn cast(&mut self, from: DType, to: DType, round: Round, a: Operand) -> Operand {
        if from == to {
            return a;
        }
        let narrow = from.is_int() && from.bytes() < 4;
        if narrow && !(to.is_int() && to.bytes() < 4) && !matches!(to, DType::I32 | DType::U32) {
            // Exact, and 32 bits have every conversion.
            let word = if from.row().class == Class::Signed {
                DType::I32
            } else {
                DType::U32
            };
            let a = self.int_to_int(from, word, a);
            return self.cast(word, to, round, a);
        }
        match (from.row().class, to.row().class) {
            (Class::Bool, Class::Float) => {
                let (one, zero) = (self.float(to, 1.0), self.float(to, 0.0));
                self.select(to, a, one, zero)
            }
            (Class::Bool, _) => self.select(to, a, Operand::int(1), Operand::int(0)),
            (Class::Float, Class::Bool) => {
                let zero = self.float(from, 0.0);
                self.compare(crate::ir::Compare::Ne, from, a, zero)
            }
            (_, Class::Bool) => self.def(
                Ty::Pred,
                isa::setp(Cmp::Ne, Ty::of_arithmetic(from)),
                [a, Operand::int(0)],
            ),
            (Class::Float, Class::Float) => self.float_to_float(from, to, round, a),
            (Class::Float, _) => self.float_to_int(from, to, round, a),
            (_, Class::Float) => self.int_to_float(from, to, round, a),
            _ => self.int_to_int(from, to, a),
        }
    }

    fn int_to_int(&mut self, from: DType, to: DType, a: Operand) -> Operand {
        if let Operand::Imm(Imm::Int(i)) = a {
            return Operand::Imm(Imm::Int(super::emit::wrap(to, i.into())));
        }
        let (f, t) = (Ty::of_arithmetic(from), Ty::of_arithmetic(to));
        if from.bytes() == to.bytes() && from.bytes() >= 4 {
            return a;
        }
        self.def(Ty::of_register(to), isa::cvt(t, f), [a])
    }

    fn int_to_float(&mut self, from: DType, to: DType, round: Round, a: Operand) -> Operand {
        let (f, t) = (Ty::of_arithmetic(from), Ty::of_arithmetic(to));
        match to {
            DType::F32 | DType::F64 | DType::F16 => self.def(
                Ty::of_register(to),
                isa::cvt(t, f).with(direction(round)),
                [a],
            ),
            DType::BF16 => {
                let toward = self.def(
                    Ty::F32,
                    isa::cvt(Ty::F32, f).with(Rounding::Rz),
                    [a.clone()],
                );
                let back = self.def(
                    Ty::of_register(from),
                    isa::cvt(f, Ty::F32),
                    [toward.clone()],
                );
                let lost = self.def(Ty::Pred, isa::setp(Cmp::Ne, f), [back, a]);
                let odd = self.sticky(toward, lost);
                self.float_to_float(DType::F32, to, round, odd)
            }
            _ => {
                let wide = self.def(Ty::F32, isa::cvt(Ty::F32, f), [a]);
                self.float_to_float(DType::F32, to, round, wide)
            }
        }
    }

    /// Sets the last bit where something was lost.
    fn sticky(&mut self, a: Operand, lost: Operand) -> Operand {
        let bit = self.def(
            Ty::B32,
            isa::selp(Ty::B32),
            [Operand::int(1), Operand::int(0), lost],
        );
        self.def(Ty::F32, isa::or(Ty::B32), [a, bit])
    }

    fn float_to_int(&mut self, from: DType, to: DType, round: Round, a: Operand) -> Operand {
        let (mut from, mut a) = (from, a);
        if from != DType::F32 && from != DType::F64 && from != DType::F16 {
            a = self.float_to_float(from, DType::F32, Round::Default, a);
            from = DType::F32;
        }
        let (f, t) = (Ty::of_arithmetic(from), Ty::of_arithmetic(to));
        let rnd = match round {
            Round::Default | Round::Zero => Rounding::Rzi,
            Round::Up => Rounding::Rpi,
            Round::Down => Rounding::Rmi,
        };
        let n = self.def(Ty::of_register(to), isa::cvt(t, f).with(rnd), [a.clone()]);
        if from == DType::F64 || to.bytes() == 8 {
            // Here the instruction gives the smallest integer for NaN.
            let (a, f) = if from == DType::F16 {
                (self.widen(from, a), Ty::F32)
            } else {
                (a, f)
            };
            let nan = self.def(Ty::Pred, isa::setp(Cmp::Nan, f), [a.clone(), a]);
            let ty = Ty::of_register(to);
            return self.def(ty, isa::selp(ty), [Operand::int(0), n, nan]);
        }
        n
    }

    fn float_to_float(&mut self, from: DType, to: DType, round: Round, a: Operand) -> Operand {
        let rnd = direction(round);
        match (from, to) {
            (DType::F16 | DType::BF16, DType::F32) => self.widen(from, a),
            (DType::F32, DType::F16) => {
                self.def(Ty::B16, isa::cvt(Ty::F16, Ty::F32).with(rnd), [a])
            }
            (DType::F32, DType::BF16) => match isa::cvt(Ty::BF16, Ty::F32).try_with(rnd) {
                Some(op) => self.def(Ty::B16, op, [a]),
                None => {
                    self.refuse("f32 to bf16 rounds to nearest or toward zero only".into());
                    a
                }
            },
            (_, DType::E4M3 | DType::E5M2) => self.narrowed_to_eight(from, to, round, a),
            (DType::E4M3 | DType::E5M2, _) => {
                let half = self.widened_from_eight(from, a);
                self.float_to_float(DType::F16, to, round, half)
            }
            (DType::F32, DType::F64) => self.def(Ty::F64, isa::cvt(Ty::F64, Ty::F32), [a]),
            (DType::F64, DType::F32) => {
                self.def(Ty::F32, isa::cvt(Ty::F32, Ty::F64).with(rnd), [a])
            }
            (DType::F64, DType::F16) => {
                self.def(Ty::B16, isa::cvt(Ty::F16, Ty::F64).with(rnd), [a])
            }
            (DType::F64, DType::BF16) => {
                let odd = self.rounded_to_odd(a);
                self.float_to_float(DType::F32, to, round, odd)
            }
            (DType::F16 | DType::BF16, DType::F64 | DType::F16 | DType::BF16) => {
                let wide = self.widen(from, a);
                self.float_to_float(DType::F32, to, round, wide)
            }
            (DType::F32, DType::TF32) => self.def(Ty::B32, isa::cvt(Ty::TF32, Ty::F32), [a]),
            (DType::TF32, _) => self.float_to_float(DType::F32, to, round, a),
            (_, DType::TF32) => {
                let wide = self.float_to_float(from, DType::F32, Round::Default, a);
                self.float_to_float(DType::F32, to, round, wide)
            }
            _ if from == to => a,
            _ => {
                self.refuse(format!(
                    "{} has no conversion from {from} to {to}",
                    self.kernel.target
                ));
                self.float(to, 0.0)
            }
        }
    }

    /// An f64 in f32, rounded to odd.
    fn rounded_to_odd(&mut self, a: Operand) -> Operand {
        let toward = self.def(
            Ty::F32,
            isa::cvt(Ty::F32, Ty::F64).with(Rounding::Rz),
            [a.clone()],
        );
        let back = self.def(Ty::F64, isa::cvt(Ty::F64, Ty::F32), [toward.clone()]);
        let lost = self.def(Ty::Pred, isa::setp(Cmp::Ne, Ty::F64), [back, a]);
        self.sticky(toward, lost)
    }

    /// Into an 8-bit float, to nearest even.
    fn narrowed_to_eight(&mut self, from: DType, to: DType, round: Round, a: Operand) -> Operand {
        let op = isa::cvt_eight(Ty::of_arithmetic(to));
        if round != Round::Default {
            self.refuse(format!("{from} to {to} rounds to nearest only"));
            return self.bits16(0);
        }
        if !op.exists_on(self.kernel.target) {
            self.refuse(format!(
                "{} has no conversion from {from} to {to}",
                self.kernel.target
            ));
            return self.bits16(0);
        }
        let a = match from {
            DType::F64 => self.rounded_to_odd(a),
            _ => self.float_to_float(from, DType::F32, Round::Default, a),
        };
        // The high byte is a zero nobody reads.
        self.def(Ty::B16, op, [Operand::f32(0.0), a])
    }

    /// An 8-bit float as f16.
    fn widened_from_eight(&mut self, from: DType, a: Operand) -> Operand {
        let op = isa::cvt_from_eight(Ty::of_arithmetic(from));
        if !op.exists_on(self.kernel.target) {
            self.refuse(format!(
                "{} has no conversion of {from}",
                self.kernel.target
            ));
            return self.bits16(0);
        }
        let pair = self.def(Ty::B32, op, [a]);
        let (low, high) = (self.reg(Ty::B16), self.reg(Ty::B16));
        self.ins(
            None,
            isa::unpack(Ty::B32, 2),
            vec![Operand::vec([low, high]), pair],
        );
        low.into()
    }
}

fn direction(round: Round) -> Rounding {
    match round {
        Round::Default => Rounding::Rn,
        Round::Zero => Rounding::Rz,
        Round::Up => Rounding::Rp,
        Round::Down => Rounding::Rm,
    }
}
