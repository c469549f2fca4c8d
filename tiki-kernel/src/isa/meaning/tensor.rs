//! How tensor cores add: a fixed-point sum with truncation.
//!
//! Products are exact and not normalised (a significand in 1..4). All terms of a group and the
//! accumulator are shifted to the largest exponent among them and cut toward zero to a number of fraction
//! bits; the cut terms are summed exactly and the sum is normalised once: cut to f32, or rounded to
//! nearest even f16. The result does not depend on the order inside a group, and does on the order of
//! groups. Subnormal inputs keep their fixed exponent.

use super::exact::{Exact, F16, Mode, from_f16, power};
use crate::isa::Ty;

/// A generation of tensor cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Generation {
    /// Capability 8.x.
    Ampere,
    /// Capability 9.0.
    #[default]
    Hopper,
}

/// Fraction bits kept, and terms summed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// Fraction bits.
    pub fraction: u32,
    /// Terms.
    pub terms: usize,
}

/// The model of a type of input.
#[must_use]
pub fn model(g: Generation, t: Ty, warpgroup: bool) -> Model {
    let (fraction, terms) = match (g, t) {
        (Generation::Ampere, Ty::TF32) => (24, 4),
        (Generation::Ampere, Ty::E4M3 | Ty::E5M2) => (13, 16),
        (Generation::Ampere, _) => (24, 8),
        (Generation::Hopper, Ty::TF32) => (25, 8),
        (Generation::Hopper, Ty::E4M3 | Ty::E5M2) if warpgroup => (13, 32),
        (Generation::Hopper, Ty::E4M3 | Ty::E5M2) => (25, 16),
        (Generation::Hopper, _) => (25, 16),
    };
    Model { fraction, terms }
}

/// An input, taken apart: `sig * 2^(exp - 10)`, the significand of a normal number in 1024..2048.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Num {
    /// Significand with its sign, scaled to ten bits of fraction.
    pub sig: i32,
    /// Exponent; very low for zero, and for what is not finite.
    pub exp: i32,
    /// 0 finite, 1 infinite, 2 NaN; the sign of an infinity is that of `sig`.
    pub kind: u8,
}

const NOTHING: i32 = -100_000;

/// Takes an input apart.
#[must_use]
pub fn take_apart(t: Ty, bits: u32) -> Num {
    let (fraction, exponents, bias) = match t {
        Ty::F16 => (10, 5, 15),
        Ty::BF16 => (7, 8, 127),
        Ty::TF32 => (10, 8, 127),
        Ty::E4M3 => (3, 4, 7),
        _ => (2, 5, 15),
    };
    let bits = if t == Ty::TF32 { bits >> 13 } else { bits };
    let m = bits & ((1 << fraction) - 1);
    let e = bits >> fraction & ((1 << exponents) - 1);
    let negative = bits >> (fraction + exponents) & 1 == 1;
    let top = (1 << exponents) - 1;
    let kind = match (t, e == top, m) {
        (Ty::E4M3, true, 7) => 2,
        (Ty::E4M3, ..) => 0,
        (_, true, 0) => 1,
        (_, true, _) => 2,
        _ => 0,
    };
    let (m, exp) = if e == 0 {
        (m, 1 - bias)
    } else {
        (m | 1 << fraction, e as i32 - bias)
    };
    let sig = (m << (10 - fraction)) as i32;
    let sig = if negative { -sig } else { sig };
    if kind != 0 {
        return Num {
            sig: if negative { -1 } else { 1 },
            exp: NOTHING,
            kind,
        };
    }
    Num {
        sig,
        exp: if m == 0 { NOTHING } else { exp },
        kind,
    }
}

/// `c` plus the products of `a` and `b`, group by group; f32 bits in and out.
#[must_use]
pub fn dot_f32(model: Model, a: &[Num], b: &[Num], c: u32) -> u32 {
    let mut acc = c;
    for (x, y) in a.chunks(model.terms).zip(b.chunks(model.terms)) {
        acc = match special(x, y, f32::from_bits(acc)) {
            Some(bits) => bits,
            None => {
                let (sum, unit) = sum(model, x, y, f64::from(f32::from_bits(acc)), 23);
                let bits = cut_f32(sum, unit);
                // With few fraction bits the result too has no more.
                if model.fraction < 23 {
                    bits & !((1 << (23 - model.fraction)) - 1)
                } else {
                    bits
                }
            }
        };
    }
    acc
}

/// The same with f16 sums.
#[must_use]
pub fn dot_f16(model: Model, a: &[Num], b: &[Num], c: u16) -> u16 {
    let mut acc = c;
    for (x, y) in a.chunks(model.terms).zip(b.chunks(model.terms)) {
        acc = match special(x, y, from_f16(acc)) {
            Some(bits) => match bits {
                0x7f80_0000 => 0x7c00,
                0xff80_0000 => 0xfc00,
                _ => 0x7fff,
            },
            None => {
                let (sum, unit) = sum(model, x, y, f64::from(from_f16(acc)), 10);
                let v = sum as f64 * power(unit);
                F16.round(Exact::of(v), Mode::Even) as u16
            }
        };
    }
    acc
}

/// What infinities and NaN make of it; `None` if all is finite.
fn special(a: &[Num], b: &[Num], c: f32) -> Option<u32> {
    let odd = a.iter().chain(b).any(|n| n.kind != 0);
    if !odd && c.is_finite() {
        return None;
    }
    let (mut plus, mut minus, mut nan) = (c == f32::INFINITY, c == f32::NEG_INFINITY, c.is_nan());
    for (x, y) in a.iter().zip(b) {
        nan |= x.kind == 2
            || y.kind == 2
            || (x.kind == 1 && y.sig == 0)
            || (y.kind == 1 && x.sig == 0);
        if x.kind == 1 || y.kind == 1 {
            let negative = (x.sig < 0) != (y.sig < 0);
            plus |= !negative;
            minus |= negative;
        }
    }
    Some(match (nan || (plus && minus), plus, minus) {
        (true, ..) => 0x7fff_ffff,
        (_, true, _) => 0x7f80_0000,
        (_, _, true) => 0xff80_0000,
        _ => return None,
    })
}

/// The cut sum in units of two to the second number.
#[inline(always)]
fn sum(model: Model, a: &[Num], b: &[Num], c: f64, c_fraction: i32) -> (i64, i32) {
    let (c_sig, c_exp) = if c == 0.0 {
        (0, NOTHING)
    } else {
        // f32 subnormals keep the smallest exponent.
        let least = if c_fraction == 23 { -126 } else { -14 };
        let e = (((c.to_bits() >> 52 & 0x7ff) as i32) - 1023).max(least);
        ((c * power(c_fraction - e)) as i64, e)
    };
    let mut top = c_exp;
    for (x, y) in a.iter().zip(b) {
        let e = if x.sig == 0 || y.sig == 0 {
            NOTHING
        } else {
            x.exp + y.exp
        };
        top = top.max(e);
    }
    if top <= NOTHING {
        return (0, 0);
    }
    let f = model.fraction as i32;
    let mut total = shifted(c_sig, f - c_fraction + c_exp - top);
    for (x, y) in a.iter().zip(b) {
        let p = i64::from(x.sig) * i64::from(y.sig);
        if p != 0 {
            total += shifted(p, f - 20 + x.exp + y.exp - top);
        }
    }
    (total, top - f)
}

/// `v * 2^by`, cut toward zero.
#[inline(always)]
fn shifted(v: i64, by: i32) -> i64 {
    if by >= 0 {
        v << by
    } else if by <= -63 {
        0
    } else if v < 0 {
        -((-v) >> -by)
    } else {
        v >> -by
    }
}

/// `sum * 2^unit` cut toward zero to f32.
#[inline(always)]
fn cut_f32(sum: i64, unit: i32) -> u32 {
    if sum == 0 {
        return 0;
    }
    super::exact::F32.round(Exact::of(sum as f64 * power(unit)), Mode::Zero) as u32
}
