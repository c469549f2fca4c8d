//! The example kernels on a device, at every width and element type, against f64 references.
//!
//! The same cases run on the virtual machine (`tests/numerics.rs`) and on a GPU (`tests/gpu.rs`), which
//! also compares the two bit by bit.
//!
//! Bounds. Results in 16 bits are compared with the correctly rounded f64 reference: at least 99.9% of the
//! elements within one unit in the last place, none further than two. Results in f32 are compared with a
//! forward bound of the formula, in units of 2^-24: every rounding counts one half, an approximate unit what
//! its documentation says. Between two devices, 16-bit results differ by at most one unit in the last place
//! (a rounding that falls the other way), f32 results by the approximate unit's bound and the roundings
//! that follow it on both sides; where terms cancel, by twice the forward bound, in either type.

#![allow(dead_code, reason = "each test binary uses its part")]

pub mod cases;
pub mod columns;
mod edges;
pub mod formulas;
mod given;
pub mod inputs;
pub mod kernels;
mod library;
pub mod rings;
pub mod rows;
pub mod scans;
mod special;

use tiki::prelude::Element as Typed;

/// What one case gave: its name, the bytes of its result, and whether the reference holds.
pub struct Outcome {
    pub name: String,
    /// The result's bytes, for comparisons between devices.
    pub bytes: Vec<u8>,
    pub apart: Apart,
    /// Element type of the result.
    pub dtype: &'static str,
    /// `Err` says what is wrong.
    pub verdict: Result<String, String>,
}

/// How far the results of two devices may be apart.
pub enum Apart {
    /// Not at all, bit for bit.
    Bits,
    /// Because of approximate units: so many units of 2^-24 of the result, or, of 16-bit results, one unit in the last
    /// place.
    Units(f64),
    /// So far each element, where terms cancel and the result says nothing of its error: as far as two results can be
    /// apart that both lie within the bound of the reference.
    Each(Vec<f64>),
}

impl From<Option<f64>> for Apart {
    fn from(units: Option<f64>) -> Self {
        units.map_or(Apart::Bits, Apart::Units)
    }
}

/// An element type of the cases.
pub trait Real: Typed + tiki::report::Float + Default {
    fn from_wide(x: f64) -> Self;
    fn wide_of(self) -> f64;
    const NAME: &'static str;
    /// Explicit significand bits.
    const BITS: i32;
}

macro_rules! real {
    ($($t:ty, $name:literal, $bits:literal, $from:expr, $to:expr;)*) => {$(
        impl Real for $t {
            fn from_wide(x: f64) -> Self {
                $from(x)
            }
            fn wide_of(self) -> f64 {
                $to(self)
            }
            const NAME: &'static str = $name;
            const BITS: i32 = $bits;
        }
    )*};
}

real! {
    f32, "f32", 23, |x| x as f32, f64::from;
    tiki::prelude::f16, "f16", 10, tiki::prelude::f16::from_f64, tiki::prelude::f16::to_f64;
    tiki::prelude::bf16, "bf16", 7, tiki::prelude::bf16::from_f64, tiki::prelude::bf16::to_f64;
}

/// Compares with the reference: 16-bit results by units in the last place, f32 by a relative bound.
pub fn judge<E: Real>(result: &[E], reference: &[f64], bound: f64) -> Result<String, String> {
    let c = tiki::report::compare(result, reference).map_err(|e| e.to_string())?;
    let holds = if E::BITS < 23 {
        c.holds(0.999, 2)
    } else {
        c.special_mismatches == 0 && off_by(result, reference) <= bound
    };
    let text = format!(
        "worst {} ulp, {:.4}% within 1, relative {:.2e} (bound {bound:.2e})",
        c.worst,
        100.0 * c.within_one(),
        c.max_rel
    );
    if holds {
        Ok(text)
    } else {
        Err(format!("{text}\n{c}"))
    }
}

/// The largest difference relative to the reference; results below the normal range by their spacing.
fn off_by<E: Real>(result: &[E], reference: &[f64]) -> f64 {
    let tiny = 2f64.powi(-126);
    let pairs = result.iter().zip(reference).filter(|(_, e)| e.is_finite());
    pairs
        .map(|(r, e)| (r.wide_of() - e).abs() / e.abs().max(tiny))
        .fold(0.0, f64::max)
}

pub fn bytes<E: Real>(values: &[E]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|v| (v.wide_of() as f32).to_le_bytes())
        .collect()
}
