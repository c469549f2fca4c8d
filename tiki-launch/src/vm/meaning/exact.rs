//! Rounding an exact value once, to any small floating-point format, in any direction.
//!
//! An exact value is an f64 and the sign of what is missing from it ([`Exact`]): sums carry the error of
//! the f64 sum, quotients and roots the sign of their remainder. [`Format::round`] turns it into bits.

use tiki_kernel::isa::Rounding;

/// A value of 53 bits plus the sign of an infinitely small rest.
#[derive(Debug, Clone, Copy)]
pub struct Exact {
    /// Nearest f64.
    pub value: f64,
    /// Sign of exact minus `value`: -1, 0 or 1.
    pub rest: i32,
}

/// A binary floating-point format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Bits in all.
    pub bits: u32,
    /// Explicit bits of the significand.
    pub fraction: u32,
    /// Exponent of the smallest normal number.
    pub min_exponent: i32,
    /// Bits of the largest finite number.
    pub largest: u64,
    /// Bits of positive infinity; `None` if there is none.
    pub infinity: Option<u64>,
    /// Bits of the NaN that operations give.
    pub nan: u64,
}

/// IEEE binary16.
pub const F16: Format = Format {
    bits: 16,
    fraction: 10,
    min_exponent: -14,
    largest: 0x7bff,
    infinity: Some(0x7c00),
    nan: 0x7fff,
};
/// The upper half of an f32.
pub const BF16: Format = Format {
    bits: 16,
    fraction: 7,
    min_exponent: -126,
    largest: 0x7f7f,
    infinity: Some(0x7f80),
    nan: 0x7fff,
};
/// IEEE binary32.
pub const F32: Format = Format {
    bits: 32,
    fraction: 23,
    min_exponent: -126,
    largest: 0x7f7f_ffff,
    infinity: Some(0x7f80_0000),
    nan: 0x7fff_ffff,
};
/// IEEE binary64.
pub const F64: Format = Format {
    bits: 64,
    fraction: 52,
    min_exponent: -1022,
    largest: 0x7fef_ffff_ffff_ffff,
    infinity: Some(0x7ff0_0000_0000_0000),
    nan: 0x7ff8_0000_0000_0000,
};
/// An f32 with ten bits of fraction, in the upper bits of a word.
pub const TF32: Format = Format {
    bits: 32,
    fraction: 10,
    min_exponent: -126,
    largest: 0x7f7f_e000,
    infinity: Some(0x7f80_0000),
    nan: 0x7fff_ffff,
};
/// Four bits of exponent, no infinity.
pub const E4M3: Format = Format {
    bits: 8,
    fraction: 3,
    min_exponent: -6,
    largest: 0x7e,
    infinity: None,
    nan: 0x7f,
};
/// Five bits of exponent.
pub const E5M2: Format = Format {
    bits: 8,
    fraction: 2,
    min_exponent: -14,
    largest: 0x7b,
    infinity: Some(0x7c),
    nan: 0x7f,
};

impl Exact {
    /// A value with nothing missing.
    #[must_use]
    #[inline]
    pub fn of(value: f64) -> Exact {
        Exact { value, rest: 0 }
    }
    /// `a + b`.
    #[must_use]
    #[inline]
    pub fn sum(a: f64, b: f64) -> Exact {
        let s = a + b;
        let t = s - a;
        let e = (a - (s - t)) + (b - t);
        Exact {
            value: s,
            rest: sign(e),
        }
    }
    /// `a * b + c`, `a * b` being exact in f64.
    #[must_use]
    #[inline]
    pub fn fused(a: f64, b: f64, c: f64) -> Exact {
        Exact::sum(a * b, c)
    }
    /// A nearest value and the sign of what it misses; infinity from finite operands stands for what lies
    /// beyond the largest number.
    #[must_use]
    #[inline]
    pub fn beyond(value: f64, rest: i32) -> Exact {
        if value.is_infinite() {
            return Exact {
                value: f64::MAX.copysign(value),
                rest: if value > 0.0 { 1 } else { -1 },
            };
        }
        Exact { value, rest }
    }
    /// `a / b`.
    #[must_use]
    #[inline]
    pub fn quotient(a: f64, b: f64) -> Exact {
        let q = a / b;
        if q.is_nan() || a.is_infinite() || b.is_infinite() || a == 0.0 || b == 0.0 {
            return Exact::of(q);
        }
        if q.is_infinite() {
            return Exact::beyond(q, 0);
        }
        // q misses something of the sign of a / b where |q b| < |a|.
        let less = -compare_product(q.abs(), b.abs(), a.abs());
        Exact {
            value: q,
            rest: if (a < 0.0) == (b < 0.0) { less } else { -less },
        }
    }
    /// Square root.
    #[must_use]
    #[inline]
    pub fn root(a: f64) -> Exact {
        let q = a.sqrt();
        if !q.is_finite() || a == 0.0 {
            return Exact::of(q);
        }
        Exact {
            value: q,
            rest: -compare_product(q, q, a),
        }
    }
}

/// A finite f64 as an integer and a power of two; the sign apart.
fn integer(x: f64) -> (u128, i32) {
    let bits = x.abs().to_bits();
    match bits >> 52 {
        0 => (u128::from(bits), -1074),
        e => (
            u128::from((bits & ((1 << 52) - 1)) | 1 << 52),
            e as i32 - 1075,
        ),
    }
}

/// Sign of `a * b - r`, exactly, of finite values where `r` is near `a * b`.
#[must_use]
pub fn compare_product(a: f64, b: f64, r: f64) -> i32 {
    let ((ma, ea), (mb, eb), (mr, er)) = (integer(a), integer(b), integer(r));
    let (p, ep) = (ma * mb, ea + eb);
    let negative = (a < 0.0) != (b < 0.0);
    let order = if p == 0 || mr == 0 {
        i32::from(p != 0) - i32::from(mr != 0)
    } else {
        // Both as integers of the smaller power; one that does not fit is the larger.
        let d = er - ep;
        if d >= 0 {
            if d as u32 <= mr.leading_zeros() {
                p.cmp(&(mr << d)) as i32
            } else {
                -1
            }
        } else if d.unsigned_abs() <= p.leading_zeros() {
            (p << -d).cmp(&mr) as i32
        } else {
            1
        }
    };
    if negative { -order } else { order }
}

fn sign(x: f64) -> i32 {
    i32::from(x > 0.0) - i32::from(x < 0.0)
}

/// A rounding mode as the table's modifiers name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// To nearest, ties to even.
    Even,
    /// To nearest, ties away from zero.
    Away,
    /// Toward zero.
    Zero,
    /// Down.
    Down,
    /// Up.
    Up,
}

impl Mode {
    /// The mode of a modifier; to nearest even without one.
    #[must_use]
    pub fn of(r: Option<Rounding>) -> Mode {
        match r {
            Some(Rounding::Rz | Rounding::Rzi) => Mode::Zero,
            Some(Rounding::Rm | Rounding::Rmi) => Mode::Down,
            Some(Rounding::Rp | Rounding::Rpi) => Mode::Up,
            Some(Rounding::Rna) => Mode::Away,
            _ => Mode::Even,
        }
    }
}

impl Format {
    /// The bits of a value, rounded once.
    #[must_use]
    pub fn round(&self, x: Exact, mode: Mode) -> u64 {
        let v = x.value;
        if v.is_nan() {
            return self.nan;
        }
        let mut negative = v.is_sign_negative();
        if v == 0.0 && x.rest == 0 {
            return self.signed(negative, 0);
        }
        if v == 0.0 {
            negative = x.rest < 0;
        }
        if v.is_infinite() {
            return match self.infinity {
                Some(i) => self.signed(negative, i),
                None => self.signed(negative, self.nan),
            };
        }
        // |v| = m * 2^e, then two more bits below, of which the rest sets the last.
        let bits = v.abs().to_bits();
        let (m, e) = match bits >> 52 {
            0 => (bits, -1074),
            e => ((bits & ((1 << 52) - 1)) | 1 << 52, e as i32 - 1075),
        };
        let rest = if negative { -x.rest } else { x.rest };
        let m = ((m << 2) as i64 + i64::from(rest)) as u64;
        let e = e - 2;
        let top = 63 - m.leading_zeros() as i32 + e;
        let unit = (top - self.fraction as i32).max(self.min_exponent - self.fraction as i32);
        let shift = unit - e;
        let (mut keep, up) = if shift <= 0 {
            (m << -shift, false)
        } else {
            let shift = shift as u32;
            let (keep, below) = if shift > 63 {
                (0, m)
            } else {
                (m >> shift, m & ((1 << shift) - 1))
            };
            let half = if shift > 63 {
                u64::MAX
            } else {
                1 << (shift - 1)
            };
            let up = match mode {
                Mode::Even => below > half || (below == half && keep & 1 == 1),
                Mode::Away => below >= half,
                Mode::Zero => false,
                Mode::Down => negative && below != 0,
                Mode::Up => !negative && below != 0,
            };
            (keep, up)
        };
        keep += u64::from(up);
        // The exponent field is `unit` above the smallest; the leading bit of `keep` adds one to it.
        let field = (unit - (self.min_exponent - self.fraction as i32)) as u64;
        let out = match (field, keep >> self.fraction) {
            (0, _) => keep,
            _ => (field << self.fraction) + keep,
        };
        if out > self.finite_limit() {
            let to_largest = match mode {
                Mode::Even | Mode::Away => false,
                Mode::Zero => true,
                Mode::Down => !negative,
                Mode::Up => negative,
            };
            return match (to_largest, self.infinity) {
                (false, Some(i)) => self.signed(negative, i),
                (false, None) => self.signed(negative, self.nan),
                (true, _) => self.signed(negative, self.largest),
            };
        }
        self.signed(negative, out << self.pad())
    }
    /// Bits below the fraction, for the format that sits in the upper bits of a word.
    const fn pad(&self) -> u32 {
        if self.bits == 32 && self.fraction == 10 {
            13
        } else {
            0
        }
    }
    const fn finite_limit(&self) -> u64 {
        self.largest >> self.pad()
    }
    fn signed(&self, negative: bool, bits: u64) -> u64 {
        bits | u64::from(negative) << (self.bits - 1)
    }
    /// The same, clamped to the finite range; NaN stays.
    #[must_use]
    pub fn round_finite(&self, x: Exact, mode: Mode) -> u64 {
        let out = self.round(x, mode);
        let size = out & !(1 << (self.bits - 1));
        if size > self.largest && !x.value.is_nan() {
            self.signed(x.value.is_sign_negative(), self.largest)
        } else {
            out
        }
    }
    /// The value of bits, exact.
    #[must_use]
    pub fn value(&self, bits: u64) -> f64 {
        let bits = bits >> self.pad();
        let width = self.bits - self.pad();
        let negative = bits >> (width - 1) & 1 == 1;
        let size = bits & ((1 << (width - 1)) - 1);
        let v = if size > self.finite_limit() {
            if self.infinity.is_some_and(|i| size == i >> self.pad()) {
                f64::INFINITY
            } else {
                f64::NAN
            }
        } else {
            let field = size >> self.fraction;
            let m = size & ((1 << self.fraction) - 1);
            let (m, e) = if field == 0 {
                (m, 0)
            } else {
                (m | 1 << self.fraction, field as i32 - 1)
            };
            m as f64 * power(e + self.min_exponent - self.fraction as i32)
        };
        if negative { -v } else { v }
    }
}

/// Two to the `e`, also where that is subnormal.
#[must_use]
pub fn power(e: i32) -> f64 {
    match e {
        -1022..=1023 => f64::from_bits(((e + 1023) as u64) << 52),
        1024.. => f64::INFINITY,
        -1074..-1022 => f64::from_bits(1 << (e + 1074)),
        _ => 0.0,
    }
}

/// An f16's value.
#[must_use]
#[inline(always)]
pub fn from_f16(bits: u16) -> f32 {
    let (sign, size) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff));
    // Moved into place, the exponent is 112 too small; a product with 2^112 corrects it, subnormals included.
    let scaled = f32::from_bits(size << 13) * f32::from_bits(0x7780_0000);
    let big = f32::from_bits(size << 13 | 0x7f80_0000);
    let v = if size >= 0x7c00 { big } else { scaled };
    f32::from_bits(v.to_bits() | sign)
}

/// An f32 rounded to nearest even f16.
#[must_use]
#[inline(always)]
pub fn to_f16(v: f32) -> u16 {
    let bits = v.to_bits();
    let (sign, size) = ((bits >> 16 & 0x8000) as u16, bits & 0x7fff_ffff);
    let normal = {
        let odd = size >> 13 & 1;
        (size.wrapping_add(0xc800_0fff).wrapping_add(odd)) >> 13
    };
    // Below the normal range the sum with 1/2 puts the rounded value into the low bits.
    let small = (f32::from_bits(size) + f32::from_bits(0x3f00_0000))
        .to_bits()
        .wrapping_sub(0x3f00_0000);
    let r = if size > 0x7f80_0000 {
        return 0x7fff;
    } else if size >= 0x477f_f000 {
        0x7c00
    } else if size < 0x3880_0000 {
        small
    } else {
        normal
    };
    r as u16 | sign
}

/// A bfloat's value.
#[must_use]
#[inline(always)]
pub fn from_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// An f32 rounded to nearest even bfloat.
#[must_use]
#[inline(always)]
pub fn to_bf16(v: f32) -> u16 {
    let bits = v.to_bits();
    if v.is_nan() {
        0x7fff
    } else {
        (bits.wrapping_add(0x7fff).wrapping_add(bits >> 16 & 1) >> 16) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    #[test]
    fn every_small_value_comes_back() {
        for bits in 0..=u16::MAX {
            let (h, b) = (from_f16(bits), from_bf16(bits));
            if !h.is_nan() {
                assert_eq!(to_f16(h), bits);
                assert_eq!(F16.value(u64::from(bits)), f64::from(h));
                assert_eq!(
                    F16.round(Exact::of(f64::from(h)), Mode::Zero),
                    u64::from(bits)
                );
            }
            if !b.is_nan() {
                assert_eq!(to_bf16(b), bits);
                assert_eq!(BF16.value(u64::from(bits)), f64::from(b));
            }
        }
        for f in [E4M3, E5M2] {
            for bits in 0..=255u64 {
                let v = f.value(bits);
                if v.is_finite() {
                    assert_eq!(f.round(Exact::of(v), Mode::Even), bits, "{f:?}");
                }
            }
        }
    }

    #[test]
    fn rounding_agrees_with_the_processor() {
        let mut s = 1;
        for _ in 0..200_000 {
            let x = f64::from_bits(random(&mut s));
            if !x.is_nan() {
                assert_eq!(
                    F32.round(Exact::of(x), Mode::Even) as u32,
                    (x as f32).to_bits(),
                    "{x:e}"
                );
            }
            let y = f32::from_bits(random(&mut s) as u32);
            if !y.is_nan() {
                assert_eq!(
                    F16.round(Exact::of(f64::from(y)), Mode::Even),
                    u64::from(to_f16(y)),
                    "{y:e}"
                );
                assert_eq!(
                    BF16.round(Exact::of(f64::from(y)), Mode::Even),
                    u64::from(to_bf16(y)),
                    "{y:e}"
                );
            }
        }
    }

    #[test]
    fn directions_enclose_the_exact_value() {
        let mut s = 3;
        for _ in 0..100_000 {
            let x = f64::from_bits(random(&mut s));
            if !x.is_finite() {
                continue;
            }
            for f in [F16, BF16, F32] {
                let (down, up) = (
                    f.value(f.round(Exact::of(x), Mode::Down)),
                    f.value(f.round(Exact::of(x), Mode::Up)),
                );
                assert!(down <= x && x <= up, "{x:e} in {f:?}");
                let zero = f.value(f.round(Exact::of(x), Mode::Zero));
                assert_eq!(zero, if x < 0.0 { up } else { down });
            }
            // A rest too small for an f64 still decides a tie and a direction.
            let tie = 1.0 + 2f64.powi(-24);
            for (rest, bits) in [(-1, 0x3f80_0000), (0, 0x3f80_0000), (1, 0x3f80_0001)] {
                assert_eq!(F32.round(Exact { value: tie, rest }, Mode::Even), bits);
            }
            assert_eq!(
                F32.round(
                    Exact {
                        value: 1.0,
                        rest: 1
                    },
                    Mode::Up
                ),
                0x3f80_0001
            );
            assert_eq!(
                F32.round(
                    Exact {
                        value: 1.0,
                        rest: -1
                    },
                    Mode::Zero
                ),
                0x3f7f_ffff
            );
        }
    }

    #[test]
    fn products_are_compared_exactly() {
        let mut s = 5;
        for _ in 0..100_000 {
            let (a, b) = (
                f64::from_bits(random(&mut s)),
                f64::from_bits(random(&mut s)),
            );
            let r = a * b;
            if !a.is_finite() || !b.is_finite() || !r.is_finite() {
                continue;
            }
            // Far from underflow the fused remainder is exact.
            if r.abs() > 1e-250 {
                let e = a.mul_add(b, -r);
                assert_eq!(
                    compare_product(a, b, r),
                    i32::from(e > 0.0) - i32::from(e < 0.0),
                    "{a:e} * {b:e}"
                );
            }
        }
        assert_eq!(
            compare_product(f64::from_bits(3), 0.5, f64::from_bits(2)),
            -1
        );
        assert_eq!(
            compare_product(f64::from_bits(3), 0.5, f64::from_bits(1)),
            1
        );
    }
}
