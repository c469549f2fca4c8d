//! How far a card's approximate unit may be from the machine's correctly rounded value, form by form.
//!
//! The limits are those of `isa/rows/unit.rs`: of PTX where a sweep of all inputs on a card bears them out, else of the
//! sweep (`benches/results/approximate_h200.csv`). Quotients and f64 are PTX's and the CUDA guide's. A limit is on the
//! distance from the exact value, so half a unit of the machine's own rounding comes on top of it. A NaN must meet a
//! NaN and an infinity itself; a result below the smallest normal number may be flushed.

use tiki_kernel::isa::{Op, Ty};

/// What is bounded.
#[derive(Debug, Clone, Copy)]
enum Bound {
    /// Distance from the correctly rounded value, in units of the last place.
    Units(u64),
    Relative(f64),
    Absolute(f64),
    /// Absolute for arguments of 0.5 to 2, relative for others.
    Either(f64),
    /// One unit of the upper word; the lower one is zero.
    Upper,
}

/// A row: its name, the value of its modifier `kind` if it has one, the bound, and the operands for which it is promised.
struct Limit {
    row: &'static str,
    kind: Option<&'static str>,
    bound: Bound,
    promised: fn(&[f64]) -> bool,
}

const ANY: fn(&[f64]) -> bool = |_| true;
/// One turn.
const TURN: fn(&[f64]) -> bool = |x| x[0].abs() <= std::f64::consts::PI;
/// A divisor whose reciprocal is a normal number.
const DIVISOR: fn(&[f64]) -> bool = |x| (2f64.powi(-126)..=2f64.powi(126)).contains(&x[1].abs());

fn limits() -> Vec<Limit> {
    let power = |e: f64| e.exp2();
    let limit = |row, kind, bound, promised| Limit {
        row,
        kind,
        bound,
        promised,
    };
    vec![
        limit("EX2", None, Bound::Units(2), ANY),
        limit("EX2_F16", None, Bound::Relative(power(-9.9)), ANY),
        limit("EX2_BF16", None, Bound::Relative(power(-7.0)), ANY),
        limit("LG2", None, Bound::Either(power(-22.0)), ANY),
        limit("RCP", None, Bound::Units(1), ANY),
        limit("RCP64", None, Bound::Upper, ANY),
        limit("RSQRT", None, Bound::Relative(power(-22.9)), ANY),
        limit("RSQRT64", Some("ftz"), Bound::Upper, ANY),
        limit("RSQRT64", None, Bound::Units(1), ANY),
        limit("SQRT", None, Bound::Relative(power(-23.0)), ANY),
        limit("SIN", None, Bound::Absolute(power(-20.9)), TURN),
        limit("COS", None, Bound::Absolute(power(-20.9)), TURN),
        limit("TANH", None, Bound::Relative(power(-11.0)), ANY),
        limit("TANH_F16", None, Bound::Absolute(power(-10.9)), ANY),
        limit("TANH_BF16", None, Bound::Absolute(power(-7.9)), ANY),
        limit("DIV", Some("full"), Bound::Units(2), ANY),
        limit("DIV", Some("approx"), Bound::Units(2), DIVISOR),
    ]
}

/// Whether a form only approximates.
pub fn approximates(op: &Op) -> bool {
    op.row.text.contains("approx") || op.row.text.contains("full")
}

/// The limit of a form that only approximates.
pub struct Judge {
    limit: Limit,
    ty: Ty,
    flushes: bool,
}

impl Judge {
    pub fn of(op: &Op) -> Option<Judge> {
        let flushes = op.has("ftz") || op.row.text.contains("ftz t:bf16");
        let fits = |l: &Limit| match l.kind {
            _ if l.row != op.row.name => false,
            None => true,
            Some("ftz") => op.has("ftz"),
            Some(kind) => op.get("kind") == Some(kind),
        };
        Some(Judge {
            limit: limits().into_iter().find(fits)?,
            ty: op.ty("t")?,
            flushes,
        })
    }

    /// Whether a card may give `card` where the machine gives `machine`, for these operands.
    pub fn allows(&self, operands: &[u64], machine: u64, card: u64) -> bool {
        let (ty, parts) = match self.ty {
            Ty::F16x2 => (Ty::F16, 2),
            Ty::BF16x2 => (Ty::BF16, 2),
            t => (t, 1),
        };
        (0..parts).all(|p| {
            let cut = |w: u64| w >> (16 * p) & (u64::MAX >> (64 - ty.bits()));
            let mut args: Vec<f64> = operands.iter().map(|w| value(ty, cut(*w))).collect();
            if self.flushes {
                let least = smallest(ty);
                args.iter_mut()
                    .filter(|x| x.abs() < least)
                    .for_each(|x| *x = 0.0);
            }
            self.part(ty, &args, cut(machine), cut(card))
        })
    }

    fn part(&self, ty: Ty, args: &[f64], machine: u64, card: u64) -> bool {
        if !(self.limit.promised)(args) {
            return true;
        }
        let (x, y) = (value(ty, machine), value(ty, card));
        if x.is_nan() || y.is_nan() {
            return x.is_nan() && y.is_nan();
        }
        if x.is_infinite() || y.is_infinite() {
            return x == y;
        }
        let least = smallest(ty);
        let flushed = x.abs() <= least && y.abs() <= least;
        let half = unit(ty, machine) / 2.0;
        let within = |far: f64| (x - y).abs() <= far + half;
        match self.limit.bound {
            Bound::Units(n) => flushed || order(ty, machine).abs_diff(order(ty, card)) <= n,
            Bound::Relative(e) => flushed || within(e * x.abs()),
            Bound::Absolute(e) => within(e),
            Bound::Either(e) if (0.5..=2.0).contains(&args[0]) => within(e),
            Bound::Either(e) => flushed || within(e * x.abs()),
            Bound::Upper => {
                let upper = |w: u64| order(ty, w) >> 32;
                flushed || (card as u32 == 0 && upper(machine).abs_diff(upper(card)) <= 1)
            }
        }
    }
}

fn value(ty: Ty, bits: u64) -> f64 {
    match ty {
        Ty::F64 => f64::from_bits(bits),
        Ty::F16 => half::f16::from_bits(bits as u16).to_f64(),
        Ty::BF16 => half::bf16::from_bits(bits as u16).to_f64(),
        _ => f64::from(f32::from_bits(bits as u32)),
    }
}

/// The smallest normal number.
fn smallest(ty: Ty) -> f64 {
    match ty {
        Ty::F64 => f64::MIN_POSITIVE,
        Ty::F16 => 2f64.powi(-14),
        _ => f64::from(f32::MIN_POSITIVE),
    }
}

/// Bits of floats, counted upwards from zero on either side of it.
fn order(ty: Ty, bits: u64) -> i64 {
    let sign = 1u64 << (ty.bits() - 1);
    let size = (bits & (sign - 1)) as i64;
    if bits & sign == 0 { size } else { -size }
}

/// From a number to the next larger one in size.
fn unit(ty: Ty, bits: u64) -> f64 {
    let size = bits & !(1u64 << (ty.bits() - 1));
    value(ty, size + 1) - value(ty, size)
}
