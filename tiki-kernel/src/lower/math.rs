//! Functions that the hardware approximates, and what is made of its approximations. Bounds are in units
//! in the last place of f32, or relative (2^-n), over the finite range; each takes NaN to NaN.
//!
//! | function | made of | bound |
//! | --- | --- | --- |
//! | exp2 | ex2 | relative 2^-21.9, subnormal results kept |
//! | exp | `n = floor(x log2 e)` by one clamped product, `2^(x log2 e - n)` in two fused steps, scaled by the bits of `2^n` | 2 ulp, whole range, subnormal results kept |
//! | exp_fast | ex2 of the rounded product, flushing | 2 + abs(x) ulp |
//! | log2 | lg2 | absolute 2^-22 in [0.5, 2], else 2^-22 relative |
//! | log | log2 times ln 2 | absolute 2^-22 near 1, else 2^-21.9 relative |
//! | sqrt_fast, recip | the hardware's | 1 ulp |
//! | rsqrt | the hardware's | relative 2^-22.9 |
//! | tanh | odd polynomial below 0.6, else `1 - 2 / (e^2x + 1)` | 2^-21 |
//! | tanh_fast | the hardware's | 2^-11 |
//! | sin, cos | reduced by multiples of 2 pi in three steps, then the hardware's | absolute 2^-20.9 in [-pi, pi], 2^-20 up to 2^16, growing beyond |
//!
//! 64-bit reciprocals and reciprocal roots are correctly rounded divisions; the other functions have no
//! 64-bit form. Of 16-bit types, the f32 result is rounded.

use super::Lower;
use crate::dtype::DType;
use crate::ir::Unary;
use crate::isa::{self, Cmp, Rounding, Ty};
use crate::ptx::Operand;

const LOG2_E: f64 = std::f64::consts::LOG2_E;

/// The tail of a constant after its f32 part.
fn tail(c: f64) -> f32 {
    (c - f64::from(c as f32)) as f32
}

impl Lower<'_> {
    /// A function of f32 or f64.
    pub(super) fn math(&mut self, f: Unary, t: DType, x: Operand) -> Operand {
        if t == DType::F64 {
            return self.math64(f, x);
        }
        match f {
            Unary::Exp2 => self.f(isa::ex2_approx(), [x]),
            Unary::Exp => self.exp(x),
            Unary::Exp2Fast => self.f(isa::ex2_approx().ftz(), [x]),
            Unary::ExpFast => {
                let p = self.f(isa::mul(Ty::F32), [x, Operand::f32(LOG2_E as f32)]);
                self.f(isa::ex2_approx().ftz(), [p])
            }
            Unary::Log2 => self.f(isa::lg2_approx(), [x]),
            Unary::Log => {
                let l = self.f(isa::lg2_approx(), [x]);
                self.f(isa::mul(Ty::F32), [l, Operand::f32(std::f32::consts::LN_2)])
            }
            Unary::SqrtFast => self.f(isa::sqrt_approx(), [x]),
            Unary::Rsqrt => self.f(isa::rsqrt_approx(), [x]),
            Unary::Recip => self.f(isa::rcp_approx(), [x]),
            Unary::Tanh => self.tanh(x),
            Unary::TanhFast => self.f(isa::tanh_approx(), [x]),
            Unary::Sin => {
                let r = self.within_a_turn(x);
                self.f(isa::sin_approx(), [r])
            }
            Unary::Cos => {
                let r = self.within_a_turn(x);
                self.f(isa::cos_approx(), [r])
            }
            _ => x,
        }
    }

    fn math64(&mut self, f: Unary, x: Operand) -> Operand {
        let one = Operand::f64(1.0);
        match f {
            Unary::Recip => self.def(Ty::F64, isa::div(Ty::F64), [one, x]),
            Unary::SqrtFast => self.def(Ty::F64, isa::sqrt(Ty::F64), [x]),
            Unary::Rsqrt => {
                let r = self.def(Ty::F64, isa::sqrt(Ty::F64), [x]);
                self.def(Ty::F64, isa::div(Ty::F64), [one, r])
            }
            _ => {
                self.refuse(format!("{f:?} has no f64 form; cast to f32 first").to_lowercase());
                x
            }
        }
    }

    fn f<const N: usize>(&mut self, op: isa::Op, sources: [Operand; N]) -> Operand {
        self.def(Ty::F32, op, sources)
    }

    fn exp(&mut self, x: Operand) -> Operand {
        // 252 steps of the scale's exponent from 2^-126 to 2^126; what the clamp cuts off stays in the
        // fraction, so that overflow and subnormal results come out of the last product.
        let fma = isa::fma(Ty::F32);
        let s = self.f(
            fma.sat(),
            [
                x.clone(),
                Operand::f32((LOG2_E / 252.0) as f32),
                Operand::f32(0.5),
            ],
        );
        // 1.5 * 2^23 + 1: the floor lands in the low bits as the exponent of the scale.
        let magic = 12_582_913.0_f32;
        let t = self.f(
            fma.with(Rounding::Rm),
            [s, Operand::f32(252.0), Operand::f32(magic)],
        );
        let minus_n = self.f(isa::sub(Ty::F32), [Operand::f32(magic + 126.0), t.clone()]);
        let high = self.f(fma, [x.clone(), Operand::f32(LOG2_E as f32), minus_n]);
        let fraction = self.f(fma, [x, Operand::f32(tail(LOG2_E)), high]);
        let p = self.f(isa::ex2_approx().ftz(), [fraction]);
        let scale = self.f(isa::shl(Ty::B32), [t, Operand::int(23)]);
        self.f(isa::mul(Ty::F32), [p, scale])
    }

    fn tanh(&mut self, x: Operand) -> Operand {
        let fma = isa::fma(Ty::F32);
        let a = self.f(isa::abs(Ty::F32), [x.clone()]);
        let two_log2_e = Operand::f32((2.0 * LOG2_E) as f32);
        let p = self.f(isa::mul(Ty::F32), [a.clone(), two_log2_e]);
        let e = self.f(isa::ex2_approx().ftz(), [p]);
        let d = self.f(isa::add(Ty::F32), [e, Operand::f32(1.0)]);
        let r = self.f(isa::rcp_approx().ftz(), [d]);
        let far = self.f(fma, [r, Operand::f32(-2.0), Operand::f32(1.0)]);
        let far = self.f(isa::copysign(Ty::F32), [x.clone(), far]);
        // Least squares, weighted for the relative error, of (tanh(x) / x - 1) / x^2 on (0, 0.6]:
        // 2^-28 in exact arithmetic.
        let u = self.f(isa::mul(Ty::F32), [x.clone(), x.clone()]);
        let mut sum = Operand::f32(-0.005_893_946);
        for c in [0.020_794_617_f32, -0.053_783_293, 0.133_319_15, -0.333_333] {
            sum = self.f(fma, [sum, u.clone(), Operand::f32(c)]);
        }
        let scaled = self.f(isa::mul(Ty::F32), [sum, u]);
        let near = self.f(fma, [scaled, x.clone(), x]);
        let small = self.def(
            Ty::Pred,
            isa::setp(Cmp::Lt, Ty::F32),
            [a, Operand::f32(0.6)],
        );
        self.f(isa::selp(Ty::F32), [near, far, small])
    }

    /// Subtracts a multiple of 2 pi. The first part of 2 pi has so few digits that its product is exact.
    fn within_a_turn(&mut self, x: Operand) -> Operand {
        let turn = 2.0 * std::f64::consts::PI;
        let first = f64::from(f32::from_bits((turn as f32).to_bits() & 0xffff_f000));
        let second = f64::from(f32::from_bits(
            ((turn - first) as f32).to_bits() & 0xffff_f000,
        ));
        let third = turn - first - second;
        let fma = isa::fma(Ty::F32);
        let t = self.f(
            isa::mul(Ty::F32),
            [x.clone(), Operand::f32((1.0 / turn) as f32)],
        );
        let n = self.f(isa::round(Ty::F32, Rounding::Rni), [t]);
        let mut r = x;
        for part in [first, second, third] {
            r = self.f(fma, [n.clone(), Operand::f32(-part as f32), r]);
        }
        r
    }
}
