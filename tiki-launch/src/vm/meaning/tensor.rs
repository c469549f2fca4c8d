//! How tensor cores add: a fixed-point sum with truncation.
//!
//! Products are exact and not normalised (a significand in 1..4). All terms of a group and the
//! accumulator are shifted to the largest exponent among them and cut toward zero to a number of fraction
//! bits; the cut terms are summed exactly and the sum is normalised once: cut to f32, or rounded to
//! nearest even f16. The result does not depend on the order inside a group, and does on the order of
//! groups. Subnormal inputs keep their fixed exponent. A cut sum beyond f32's range is infinite, not the largest
//! number, and a sum that is cut or rounded to zero is positive.
//!
//! Hopper has no products of a warp for 8-bit floats: they are widened to f16 ([`Model::apart`]).

use super::exact::{Exact, F16, Mode, from_f16, power};
use tiki_kernel::isa::Ty;

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
    /// The sum of the products begins at zero and is added to the accumulator at the end, rounded to
    /// nearest. It is of two groups: the first two of every four terms, then the other two. Inputs are
    /// those of f16: what is subnormal in a narrower range need not be there ([`Num::widened`]).
    pub apart: bool,
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
    let apart = (g, warpgroup) == (Generation::Hopper, false) && matches!(t, Ty::E4M3 | Ty::E5M2);
    Model {
        fraction,
        terms,
        apart,
    }
}

impl Model {
    /// Terms of a group of a sum of this many.
    #[must_use]
    pub fn group(&self, depth: usize) -> usize {
        if self.apart {
            depth / 2
        } else {
            self.terms.min(depth)
        }
    }
    /// Where a term stands in the order of groups.
    #[must_use]
    #[inline(always)]
    pub fn place(&self, k: usize, depth: usize) -> usize {
        if self.apart {
            k % 4 / 2 * (depth / 2) + k / 4 * 2 + k % 2
        } else {
            k
        }
    }
    /// The term that stands there.
    #[must_use]
    pub fn term(&self, place: usize, depth: usize) -> usize {
        let half = depth / 2;
        if self.apart {
            place % half / 2 * 4 + place / half * 2 + place % 2
        } else {
            place
        }
    }
}

/// An accumulator plus a sum that was formed apart: f32 bits.
#[must_use]
#[inline(always)]
pub fn joined_f32(c: u32, sum: u32) -> u32 {
    let r = (f32::from_bits(c) + f32::from_bits(sum)).to_bits();
    if r & 0x7fff_ffff > 0x7f80_0000 {
        0x7fff_ffff
    } else {
        r
    }
}
/// The same of f16 bits.
#[must_use]
#[inline(always)]
pub fn joined_f16(c: u16, sum: u16) -> u16 {
    let r = from_f16(c) + from_f16(sum);
    if r.is_nan() {
        0x7fff
    } else {
        F16.round(Exact::of(f64::from(r)), Mode::Even) as u16
    }
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

impl Num {
    /// As an f16 has it, whose exponents begin at -14.
    #[must_use]
    pub fn widened(mut self) -> Num {
        while self.sig != 0 && self.sig.abs() < 1 << 10 && self.exp > -14 {
            self.sig *= 2;
            self.exp -= 1;
        }
        self
    }
}

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

/// Terms of a sum that is formed apart, in the order of its groups.
fn in_order(model: Model, v: &[Num]) -> Vec<Num> {
    (0..v.len())
        .map(|p| v[model.term(p, v.len())].widened())
        .collect()
}

/// `c` plus the products of `a` and `b`, group by group; f32 bits in and out.
#[must_use]
pub fn dot_f32(model: Model, a: &[Num], b: &[Num], c: u32) -> u32 {
    if model.apart {
        let terms = model.group(a.len());
        let plain = Model {
            apart: false,
            terms,
            ..model
        };
        let sum = dot_f32(plain, &in_order(model, a), &in_order(model, b), 0);
        return joined_f32(c, sum);
    }
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
    if model.apart {
        let terms = model.group(a.len());
        let plain = Model {
            apart: false,
            terms,
            ..model
        };
        let sum = dot_f16(plain, &in_order(model, a), &in_order(model, b), 0);
        return joined_f16(c, sum);
    }
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
                match F16.round(Exact::of(v), Mode::Even) as u16 {
                    0x8000 => 0,
                    bits => bits,
                }
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
    let v = sum as f64 * power(unit);
    if v.abs() >= power(128) {
        return if v < 0.0 { 0xff80_0000 } else { 0x7f80_0000 };
    }
    match super::exact::F32.round(Exact::of(v), Mode::Zero) as u32 {
        0x8000_0000 => 0,
        bits => bits,
    }
}
