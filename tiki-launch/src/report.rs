//! How far a result is from a float64 reference.
//!
//! The distance is counted in units in the last place of the result's own type, against the reference rounded
//! correctly (once, to nearest even) to that type: 0 means the best answer the type can give. NaN must
//! meet NaN and an infinity the same infinity; such elements are counted apart and take no part in the rest.

use std::fmt;

use half::{bf16, f16};

use crate::element::Element;
use crate::error::LaunchError;

/// A floating-point type that results come in.
pub trait Float: Element {
    #[doc(hidden)]
    const EXPONENTS: (i32, i32);
    /// As float64, exactly.
    fn wide(self) -> f64;
    /// Rounded to nearest even, once.
    fn round(value: f64) -> Self;
    #[doc(hidden)]
    fn magnitude(self) -> i64;
}

macro_rules! floats {
    ($($float:ty, $emin:literal..=$emax:literal, $wide:expr, $exact:expr, $mask:expr;)*) => {$(
        impl Float for $float {
            const EXPONENTS: (i32, i32) = ($emin, $emax);
            fn wide(self) -> f64 {
                let wide: fn($float) -> f64 = $wide;
                wide(self)
            }
            fn round(value: f64) -> Self {
                let exact: fn(f64) -> $float = $exact;
                exact(nearest(value, Self::DTYPE.row().significand as i32, $emin, $emax))
            }
            fn magnitude(self) -> i64 {
                (self.to_bits() & $mask) as i64
            }
        }
    )*};
}

floats! {
    f16,  -14..=15,     |x| x.to_f64(), |x| f16::from_f32(x as f32), 0x7fff;
    bf16, -126..=127,   |x| x.to_f64(), |x| bf16::from_f32(x as f32), 0x7fff;
    f32,  -126..=127,   |x| x.into(),   |x| x as f32, 0x7fff_ffff;
    f64,  -1022..=1023, |x| x,          |x| x, 0x7fff_ffff_ffff_ffff;
}

/// The nearest number with so many explicit significand bits and this range of exponents, ties to even.
fn nearest(value: f64, significand: i32, emin: i32, emax: i32) -> f64 {
    if !value.is_finite() || value == 0.0 || significand == 52 {
        return value;
    }
    let exponent = (((value.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(emin);
    let quantum = power(exponent - significand);
    let rounded = (value / quantum).round_ties_even() * quantum;
    if rounded.abs() >= power(emax) * 2.0 {
        f64::INFINITY.copysign(value)
    } else {
        rounded
    }
}

fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Units in the last place between two numbers of one type; +0 and -0 are the same.
fn distance<E: Float>(a: E, b: E) -> u64 {
    let place = |x: E| {
        if x.wide().is_sign_negative() {
            -x.magnitude()
        } else {
            x.magnitude()
        }
    };
    place(a).abs_diff(place(b))
}

/// Upper ends of the histogram's bins, in units in the last place; the last bin is open.
pub const BINS: [u64; 8] = [0, 1, 2, 4, 16, 256, 65536, u64::MAX];

/// What [`compare`] found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The result's type.
    pub dtype: &'static str,
    /// Elements compared, special values included.
    pub count: usize,
    /// Largest absolute difference to the unrounded reference.
    pub max_abs: f64,
    /// Largest relative difference to the unrounded reference, where that is not 0.
    pub max_rel: f64,
    /// Elements by distance from the correctly rounded reference; see [`BINS`].
    pub histogram: [u64; BINS.len()],
    /// The largest distance.
    pub worst: u64,
    /// Where it occurs first, with result and reference.
    pub worst_at: Option<(usize, f64, f64)>,
    /// Elements where both are NaN, or the same infinity.
    pub special: u64,
    /// Elements where only one is NaN, or where infinities do not agree.
    pub special_mismatches: u64,
    /// The first of those, with result and reference.
    pub mismatch_at: Option<(usize, f64, f64)>,
}

/// Compares a result with its reference, element by element.
pub fn compare<E: Float>(result: &[E], reference: &[f64]) -> Result<Comparison, LaunchError> {
    if result.len() != reference.len() {
        return Err(LaunchError::Length {
            shape: vec![reference.len()],
            expected: reference.len(),
            given: result.len(),
        });
    }
    let mut found = Comparison {
        dtype: E::DTYPE.name(),
        count: result.len(),
        max_abs: 0.0,
        max_rel: 0.0,
        histogram: [0; BINS.len()],
        worst: 0,
        worst_at: None,
        special: 0,
        special_mismatches: 0,
        mismatch_at: None,
    };
    for (i, (&got, &exact)) in result.iter().zip(reference).enumerate() {
        let (best, wide) = (E::round(exact), got.wide());
        let rounded = best.wide();
        if !wide.is_finite() || !rounded.is_finite() {
            if wide == rounded || (wide.is_nan() && rounded.is_nan()) {
                found.special += 1;
            } else {
                found.special_mismatches += 1;
                found.mismatch_at.get_or_insert((i, wide, exact));
            }
            continue;
        }
        let ulps = distance(got, best);
        let bin = BINS
            .iter()
            .position(|&end| ulps <= end)
            .unwrap_or(BINS.len() - 1);
        found.histogram[bin] += 1;
        let off = (wide - exact).abs();
        found.max_abs = found.max_abs.max(off);
        if exact != 0.0 {
            found.max_rel = found.max_rel.max(off / exact.abs());
        }
        if ulps > found.worst {
            (found.worst, found.worst_at) = (ulps, Some((i, wide, exact)));
        }
    }
    Ok(found)
}

impl Comparison {
    /// Share of the ordinary elements at most one unit away; 1 if there are none.
    #[must_use]
    pub fn within_one(&self) -> f64 {
        let all: u64 = self.histogram.iter().sum();
        if all == 0 {
            1.0
        } else {
            (self.histogram[0] + self.histogram[1]) as f64 / all as f64
        }
    }

    /// Whether at least `share` of the elements are within one unit, none is further than `worst`, and all
    /// special values agree.
    #[must_use]
    pub fn holds(&self, share: f64, worst: u64) -> bool {
        self.special_mismatches == 0 && self.within_one() >= share && self.worst <= worst
    }

    /// The same facts as JSON, on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        let at = |at: Option<(usize, f64, f64)>| match at {
            Some((i, got, exact)) => {
                format!(
                    "{{\"index\":{i},\"result\":{},\"reference\":{}}}",
                    json(got),
                    json(exact)
                )
            }
            None => "null".into(),
        };
        let bins: Vec<String> = self.histogram.iter().map(u64::to_string).collect();
        format!(
            "{{\"dtype\":\"{}\",\"count\":{},\"max_abs\":{},\"max_rel\":{},\"within_1_ulp\":{},\"worst_ulp\":{},\
             \"histogram\":[{}],\"worst_at\":{},\"special\":{},\"special_mismatches\":{},\"mismatch_at\":{}}}",
            self.dtype,
            self.count,
            json(self.max_abs),
            json(self.max_rel),
            json(self.within_one()),
            self.worst,
            bins.join(","),
            at(self.worst_at),
            self.special,
            self.special_mismatches,
            at(self.mismatch_at),
        )
    }
}

/// JSON has no NaN and no infinity: those become text.
fn json(value: f64) -> String {
    if value.is_finite() {
        format!("{value:e}")
    } else {
        format!("\"{value}\"")
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} elements of {}: {:.4}% within 1 ulp of the correctly rounded result, worst {} ulp",
            self.count,
            self.dtype,
            100.0 * self.within_one(),
            self.worst
        )?;
        if let Some((i, got, exact)) = self.worst_at {
            write!(f, " at {i} ({got:e} for {exact:e})")?;
        }
        write!(
            f,
            "; largest difference {:.3e}, relative {:.3e}\n  ulp:",
            self.max_abs, self.max_rel
        )?;
        let mut from = 0;
        for (&end, &count) in BINS.iter().zip(&self.histogram) {
            match end {
                u64::MAX => write!(f, "  {from}..: {count}")?,
                _ if end == from => write!(f, "  {end}: {count}")?,
                _ => write!(f, "  {from}-{end}: {count}")?,
            }
            from = end.wrapping_add(1);
        }
        if self.special > 0 {
            write!(f, "\n  {} NaN or infinite as they should be", self.special)?;
        }
        if let Some((i, got, exact)) = self.mismatch_at {
            write!(
                f,
                "\n  {} NaN or infinite wrongly, first at {i}: {got} for {exact}",
                self.special_mismatches
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Invariant: rounding is to nearest even in one step. Witness: all finite f16 and bf16 values, the
    /// points halfway between neighbours, and points just beside those, which two-step rounding gets wrong.
    #[test]
    fn rounding_is_correct_on_and_between_all_16_bit_values() {
        fn check<E: Float>(make: fn(u16) -> E, last_finite: u16) {
            for bits in 0..last_finite {
                let (low, high) = (make(bits), make(bits + 1));
                let (a, b) = (low.wide(), high.wide());
                let middle = (a + b) / 2.0;
                let even = if bits % 2 == 0 { low } else { high };
                let nudge = (b - a) * 1e-9;
                for (value, expected) in [
                    (a, low),
                    (b, high),
                    (middle, even),
                    (middle - nudge, low),
                    (middle + nudge, high),
                ] {
                    assert_eq!(E::round(value).wide(), expected.wide(), "{value:e}");
                    assert_eq!(E::round(-value).wide(), -expected.wide(), "{value:e}");
                }
            }
            let top = make(last_finite).wide();
            assert_eq!(E::round(top * 1.0001).wide(), top);
            assert_eq!(E::round(top * 1.01).wide(), f64::INFINITY);
        }
        check(f16::from_bits, f16::MAX.to_bits());
        check(bf16::from_bits, bf16::MAX.to_bits());
        for x in [1e-45, 0.7e-45, 3.4e38, 3.41e38, 0.1, -1e-300, f64::MAX] {
            assert_eq!(<f32 as Float>::round(x), x as f32, "{x:e}");
        }
        assert!(<f16 as Float>::round(f64::NAN).is_nan());
    }

    #[test]
    fn distances_cross_zero_and_count_neighbours() {
        assert_eq!(distance(f16::from_bits(1), f16::from_bits(0x8001)), 2);
        assert_eq!(distance(0.0f32, -0.0f32), 0);
        assert_eq!(distance(1.0f32, f32::from_bits(1.0f32.to_bits() + 3)), 3);
        assert_eq!(distance(1.0f64, 1.0 + f64::EPSILON), 1);
    }

    #[test]
    fn a_comparison_says_what_is_wrong() {
        let reference = [1.0, 2.0, f64::NAN, f64::INFINITY, 1e9, 0.0];
        let best: Vec<f16> = reference.iter().map(|&x| Float::round(x)).collect();
        let exact = compare(&best, &reference).unwrap();
        assert!(exact.holds(1.0, 0) && exact.special == 3 && exact.within_one() == 1.0);

        let mut off = best.clone();
        off[0] = f16::from_bits(off[0].to_bits() + 3);
        off[2] = f16::ONE;
        let found = compare(&off, &reference).unwrap();
        assert_eq!((found.worst, found.worst_at.unwrap().0), (3, 0));
        assert_eq!(
            (found.special_mismatches, found.mismatch_at.unwrap().0),
            (1, 2)
        );
        assert!(!found.holds(0.0, 100) && found.histogram == [2, 0, 0, 1, 0, 0, 0, 0]);
        assert!(found.to_string().contains("worst 3 ulp at 0"));
        assert!(
            found
                .to_json()
                .contains("\"special_mismatches\":1,\"mismatch_at\":{\"index\":2")
        );
        assert!(found.to_json().contains("\"reference\":\"NaN\""));
        assert_eq!(
            compare(&off[1..], &reference).unwrap_err().code().as_str(),
            "TL024"
        );
    }
}
