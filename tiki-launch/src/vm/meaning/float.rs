//! 32- and 64-bit floating point.

use super::compare::{FLUSH, asked, compare, result, stand, yes};
use super::exact::{Exact, F32, F64, Mode};
use super::{Args, File, Run, lanes, levels};
use tiki_kernel::isa::{Op, Rounding, Ty};

/// The canonical NaN for any NaN. By bits: what a NaN's payload is, the compiler may choose.
#[inline(always)]
pub(super) fn canon(x: f32) -> f32 {
    let b = x.to_bits();
    f32::from_bits(if b & 0x7fff_ffff > 0x7f80_0000 {
        0x7fff_ffff
    } else {
        b
    })
}
const SIZE64: u64 = 0x7fff_ffff_ffff_ffff;
const INF64: u64 = 0x7ff0_0000_0000_0000;
/// A NaN of a 64-bit operation: the last NaN operand, made quiet; without one, the negative default.
#[inline(always)]
fn nan64(operands: [f64; 3], r: f64) -> f64 {
    let is_nan = |x: f64| x.to_bits() & SIZE64 > INF64;
    let mut bits = 0xfff8_0000_0000_0000;
    for x in operands {
        if is_nan(x) {
            bits = x.to_bits() | 1 << 51;
        }
    }
    f64::from_bits(if is_nan(r) { bits } else { r.to_bits() })
}
/// Zero of the same sign for a subnormal.
#[inline(always)]
pub(super) fn flush(x: f32) -> f32 {
    let b = x.to_bits();
    f32::from_bits(if b & 0x7f80_0000 == 0 {
        b & 0x8000_0000
    } else {
        b
    })
}
/// A result of which the exact value lies below the normal range is zero, even if it rounds up into it.
#[inline(always)]
fn tiny(exact: f64, r: f32) -> f32 {
    if exact.abs() < f64::from(f32::MIN_POSITIVE) {
        f32::from_bits(r.to_bits() & 0x8000_0000)
    } else {
        r
    }
}
/// Clamped to 0..1; NaN gives zero.
#[inline(always)]
pub(super) fn saturate(x: f32) -> f32 {
    if x > 0.0 {
        if x < 1.0 { x } else { 1.0 }
    } else {
        0.0
    }
}

fn mode(op: &Op) -> Mode {
    Mode::of(op.get("rnd").and_then(Rounding::by_text))
}

/// A function of f32 values for every combination of flushing, saturation and rounding: `near` is to
/// nearest, `exact` gives the exact value for the other roundings.
macro_rules! arithmetic {
    ($op:ident, |$($x:ident),*| $near:expr, $exact:expr) => {{
        let (ftz, sat) = ($op.has("ftz"), $op.has("sat"));
        macro_rules! directed { ($m:expr) => { if ftz {
            lanes!(|$($x: f32),*| -> f32 { $(let $x = flush($x);)* let e = $exact; tiny(e.value, flush(f32::from_bits(F32.round(e, $m) as u32))) })
        } else {
            lanes!(|$($x: f32),*| -> f32 { f32::from_bits(F32.round($exact, $m) as u32) })
        } } }
        match (mode($op), ftz, sat) {
            (Mode::Even | Mode::Away, false, false) => lanes!(|$($x: f32),*| -> f32 { canon($near) }),
            (Mode::Even | Mode::Away, true, false) => lanes!(|$($x: f32),*| -> f32 { $(let $x = flush($x);)* tiny(($exact).value, canon(flush($near))) }),
            (Mode::Even | Mode::Away, false, true) => lanes!(|$($x: f32),*| -> f32 { saturate($near) }),
            (Mode::Even | Mode::Away, true, true) => lanes!(|$($x: f32),*| -> f32 { $(let $x = flush($x);)* saturate(tiny(($exact).value, flush($near))) }),
            (Mode::Zero, true, true) => lanes!(|$($x: f32),*| -> f32 { $(let $x = flush($x);)* saturate(flush(f32::from_bits(F32.round($exact, Mode::Zero) as u32))) }),
            (Mode::Down, true, true) => lanes!(|$($x: f32),*| -> f32 { $(let $x = flush($x);)* saturate(flush(f32::from_bits(F32.round($exact, Mode::Down) as u32))) }),
            (Mode::Up, true, true) => lanes!(|$($x: f32),*| -> f32 { $(let $x = flush($x);)* saturate(flush(f32::from_bits(F32.round($exact, Mode::Up) as u32))) }),
            (Mode::Zero, _, true) => lanes!(|$($x: f32),*| -> f32 { saturate(f32::from_bits(F32.round($exact, Mode::Zero) as u32)) }),
            (Mode::Down, _, true) => lanes!(|$($x: f32),*| -> f32 { saturate(f32::from_bits(F32.round($exact, Mode::Down) as u32)) }),
            (Mode::Up, _, true) => lanes!(|$($x: f32),*| -> f32 { saturate(f32::from_bits(F32.round($exact, Mode::Up) as u32)) }),
            (Mode::Zero, ..) => directed!(Mode::Zero),
            (Mode::Down, ..) => directed!(Mode::Down),
            (Mode::Up, ..) => directed!(Mode::Up),
        }
    }};
}
/// Operands as three.
macro_rules! three {
    ($a:ident) => {
        [$a, 0.0, 0.0]
    };
    ($a:ident, $b:ident) => {
        [$a, $b, 0.0]
    };
    ($a:ident, $b:ident, $c:ident) => {
        [$a, $c, $b]
    };
}
/// The same of f64 values.
macro_rules! arithmetic64 {
    ($op:ident, |$($x:ident),*| $near:expr, $exact:expr) => {
        match mode($op) {
            Mode::Even | Mode::Away => lanes!(|$($x: f64),*| -> f64 { nan64(three!($($x),*), $near) }),
            Mode::Zero => lanes!(|$($x: f64),*| -> f64 { nan64(three!($($x),*), f64::from_bits(F64.round($exact, Mode::Zero))) }),
            Mode::Down => lanes!(|$($x: f64),*| -> f64 { nan64(three!($($x),*), f64::from_bits(F64.round($exact, Mode::Down))) }),
            Mode::Up => lanes!(|$($x: f64),*| -> f64 { nan64(three!($($x),*), f64::from_bits(F64.round($exact, Mode::Up))) }),
        }
    };
}
/// A sum whose exact zero takes the sign that a direction wants.
#[inline(always)]
fn zero_sign(x: Exact, both_negative: bool, down: bool) -> Exact {
    if x.value == 0.0 && x.rest == 0 && !both_negative && down {
        Exact::of(-0.0)
    } else {
        x
    }
}
#[inline(always)]
fn sum32(a: f32, b: f32, down: bool) -> Exact {
    let x = Exact::sum(f64::from(a), f64::from(b));
    let x = if x.value.is_finite() {
        x
    } else {
        Exact::of(x.value)
    };
    zero_sign(
        x,
        a == 0.0 && b == 0.0 && a.is_sign_positive() && b.is_sign_positive(),
        down,
    )
}
#[inline(always)]
fn fma32(a: f32, b: f32, c: f32, down: bool) -> Exact {
    let p = f64::from(a) * f64::from(b);
    let x = Exact::sum(p, f64::from(c));
    let x = if x.value.is_finite() {
        x
    } else {
        Exact::of(x.value)
    };
    zero_sign(
        x,
        p == 0.0 && c == 0.0 && p.is_sign_positive() && c.is_sign_positive(),
        down,
    )
}
#[inline(always)]
fn product64(a: f64, b: f64) -> Exact {
    let r = a * b;
    if r.is_nan() || a.is_infinite() || b.is_infinite() || (r == 0.0 && (a == 0.0 || b == 0.0)) {
        return Exact::of(r);
    }
    Exact::beyond(r, super::exact::compare_product(a, b, r))
}
#[inline(always)]
fn sum64(a: f64, b: f64, down: bool) -> Exact {
    let x = Exact::sum(a, b);
    let x = match (x.value.is_finite(), a.is_finite() && b.is_finite()) {
        (true, _) => x,
        (false, true) => Exact::beyond(x.value, 0),
        _ => Exact::of(x.value),
    };
    let both = a == 0.0 && b == 0.0 && a.is_sign_positive() && b.is_sign_positive();
    zero_sign(x, both, down)
}
/// `a * b + c` with the sign of what the f64 result misses.
#[inline(always)]
fn fma64(a: f64, b: f64, c: f64, down: bool) -> Exact {
    let r = a.mul_add(b, c);
    if !r.is_finite() {
        let finite = a.is_finite() && b.is_finite() && c.is_finite();
        return if finite {
            Exact::beyond(r, 0)
        } else {
            Exact::of(r)
        };
    }
    // Small products are scaled up, so that no error term underflows; with a large c the sign decides.
    let small = a != 0.0 && b != 0.0 && (a * b).abs() < 1e-250;
    let up = super::exact::power(400);
    let hopeless = (a * up * (b * up)).abs() < 1e-290 && r == c;
    let rest = if small && (c.abs() > 1e-150 || hopeless) {
        if (a < 0.0) == (b < 0.0) { 1 } else { -1 }
    } else if small {
        missing(a * up, b * up, c * up * up, r * up * up)
    } else {
        missing(a, b, c, r)
    };
    let p = a * b;
    let both = p == 0.0 && c == 0.0 && p.is_sign_positive() && c.is_sign_positive();
    zero_sign(Exact { value: r, rest }, both, down)
}
/// Sign of `a * b + c - r`, `r` being its nearest value.
#[inline(always)]
fn missing(a: f64, b: f64, c: f64, r: f64) -> i32 {
    // a*b = p + e exactly; then p + c = s + f exactly; the error is (s - r) + (f + e).
    let p = a * b;
    let e = a.mul_add(b, -p);
    let s = p + c;
    let t = s - p;
    let f = (p - (s - t)) + (c - t);
    let miss = (s - r) + (f + e);
    i32::from(miss > 0.0) - i32::from(miss < 0.0)
}

macro_rules! by_width {
    ($op:ident, $narrow:expr, $wide:expr) => {
        Some(if $op.ty("t")? == Ty::F32 {
            $narrow
        } else {
            $wide
        })
    };
}

/// See the row.
#[must_use]
pub fn add(op: &Op) -> Option<Run> {
    let down = mode(op) == Mode::Down;
    if down {
        return by_width!(
            op,
            arithmetic!(op, |a, b| a + b, sum32(a, b, true)),
            arithmetic64!(op, |a, b| a + b, sum64(a, b, true))
        );
    }
    by_width!(
        op,
        arithmetic!(op, |a, b| a + b, sum32(a, b, false)),
        arithmetic64!(op, |a, b| a + b, sum64(a, b, false))
    )
}
/// See the row.
#[must_use]
pub fn sub(op: &Op) -> Option<Run> {
    if mode(op) == Mode::Down {
        return by_width!(
            op,
            arithmetic!(op, |a, b| a - b, sum32(a, -b, true)),
            arithmetic64!(op, |a, b| a - b, sum64(a, -b, true))
        );
    }
    by_width!(
        op,
        arithmetic!(op, |a, b| a - b, sum32(a, -b, false)),
        arithmetic64!(op, |a, b| a - b, sum64(a, -b, false))
    )
}
/// See the row.
#[must_use]
pub fn mul(op: &Op) -> Option<Run> {
    by_width!(
        op,
        arithmetic!(op, |a, b| a * b, Exact::of(f64::from(a) * f64::from(b))),
        arithmetic64!(op, |a, b| a * b, product64(a, b))
    )
}
/// See the row.
#[must_use]
pub fn fma(op: &Op) -> Option<Run> {
    if mode(op) == Mode::Down {
        return by_width!(
            op,
            arithmetic!(op, |a, b, c| a.mul_add(b, c), fma32(a, b, c, true)),
            arithmetic64!(op, |a, b, c| a.mul_add(b, c), fma64(a, b, c, true))
        );
    }
    by_width!(
        op,
        arithmetic!(op, |a, b, c| a.mul_add(b, c), fma32(a, b, c, false)),
        arithmetic64!(op, |a, b, c| a.mul_add(b, c), fma64(a, b, c, false))
    )
}
/// See the row. Of two NaN the first is given, unlike in sums and products.
#[must_use]
pub fn div(op: &Op) -> Option<Run> {
    by_width!(
        op,
        arithmetic!(
            op,
            |a, b| a / b,
            Exact::quotient(f64::from(a), f64::from(b))
        ),
        match mode(op) {
            Mode::Even | Mode::Away =>
                lanes!(|a: f64, b: f64| -> f64 { nan64([b, a, 0.0], a / b) }),
            Mode::Zero => lanes!(|a: f64, b: f64| -> f64 {
                nan64(
                    [b, a, 0.0],
                    f64::from_bits(F64.round(Exact::quotient(a, b), Mode::Zero)),
                )
            }),
            Mode::Down => lanes!(|a: f64, b: f64| -> f64 {
                nan64(
                    [b, a, 0.0],
                    f64::from_bits(F64.round(Exact::quotient(a, b), Mode::Down)),
                )
            }),
            Mode::Up => lanes!(|a: f64, b: f64| -> f64 {
                nan64(
                    [b, a, 0.0],
                    f64::from_bits(F64.round(Exact::quotient(a, b), Mode::Up)),
                )
            }),
        }
    )
}
/// See the row.
#[must_use]
pub fn sqrt(op: &Op) -> Option<Run> {
    by_width!(
        op,
        arithmetic!(op, |a| a.sqrt(), Exact::root(f64::from(a))),
        arithmetic64!(op, |a| a.sqrt(), Exact::root(a))
    )
}
/// See the row.
#[must_use]
pub fn rcp(op: &Op) -> Option<Run> {
    by_width!(
        op,
        arithmetic!(op, |a| 1.0 / a, Exact::quotient(1.0, f64::from(a))),
        arithmetic64!(op, |a| 1.0 / a, Exact::quotient(1.0, a))
    )
}
/// See the row.
#[must_use]
pub fn abs(op: &Op) -> Option<Run> {
    by_width!(
        op,
        if op.has("ftz") {
            lanes!(|a: f32| -> f32 { canon(flush(a)).abs() })
        } else {
            lanes!(|a: f32| -> f32 { f32::from_bits(canon(a).to_bits() & 0x7fff_ffff) })
        },
        lanes!(|a: f64| -> f64 { nan64([a, 0.0, 0.0], a.abs()) })
    )
}
/// See the row.
#[must_use]
pub fn neg(op: &Op) -> Option<Run> {
    by_width!(
        op,
        if op.has("ftz") {
            lanes!(|a: f32| -> f32 { canon(-flush(a)) })
        } else {
            lanes!(|a: f32| -> f32 { canon(-a) })
        },
        lanes!(|a: f64| -> f64 { nan64([a, 0.0, 0.0], -a) })
    )
}

/// The smaller of two, as the rows say: a number beats a NaN, -0 is below +0.
macro_rules! least {
    ($a:expr, $b:expr, $less:tt, $either:tt) => {{
        let (a, b) = ($a, $b);
        if a.is_nan() { b } else if b.is_nan() { a }
        else if a == b { let (x, y) = (a.to_bits(), b.to_bits()); <_>::from_bits_of(x $either y) }
        else if a $less b { a } else { b }
    }};
}
trait FromBits<B> {
    fn from_bits_of(b: B) -> Self;
}
impl FromBits<u32> for f32 {
    #[inline(always)]
    fn from_bits_of(b: u32) -> f32 {
        f32::from_bits(b)
    }
}
impl FromBits<u64> for f64 {
    #[inline(always)]
    fn from_bits_of(b: u64) -> f64 {
        f64::from_bits(b)
    }
}
#[inline(always)]
pub(super) fn least32(a: f32, b: f32) -> f32 {
    canon(least!(a, b, <, |))
}
#[inline(always)]
pub(super) fn most32(a: f32, b: f32) -> f32 {
    canon(least!(a, b, >, &))
}
#[inline(always)]
fn least64(a: f64, b: f64) -> f64 {
    nan64([a, b, 0.0], least!(a, b, <, |))
}
#[inline(always)]
fn most64(a: f64, b: f64) -> f64 {
    nan64([a, b, 0.0], least!(a, b, >, &))
}
/// See the row.
#[must_use]
pub fn min(op: &Op) -> Option<Run> {
    by_width!(
        op,
        if op.has("ftz") {
            lanes!(|a: f32, b: f32| -> f32 { least32(flush(a), flush(b)) })
        } else {
            lanes!(|a: f32, b: f32| -> f32 { least32(a, b) })
        },
        lanes!(|a: f64, b: f64| -> f64 { least64(a, b) })
    )
}
/// See the row.
#[must_use]
pub fn max(op: &Op) -> Option<Run> {
    by_width!(
        op,
        if op.has("ftz") {
            lanes!(|a: f32, b: f32| -> f32 { most32(flush(a), flush(b)) })
        } else {
            lanes!(|a: f32, b: f32| -> f32 { most32(a, b) })
        },
        lanes!(|a: f64, b: f64| -> f64 { most64(a, b) })
    )
}
#[inline(always)]
pub(super) fn poison(a: f32, b: f32, r: f32) -> f32 {
    if a.is_nan() || b.is_nan() {
        f32::from_bits(0x7fff_ffff)
    } else {
        r
    }
}
#[inline(always)]
fn with_sign(a: f32, b: f32, r: f32) -> f32 {
    if r.is_nan() {
        return f32::from_bits(0x7fff_ffff);
    }
    f32::from_bits(r.to_bits() & 0x7fff_ffff | (a.to_bits() ^ b.to_bits()) & 0x8000_0000)
}
macro_rules! extreme {
    ($op:ident, $f:ident) => {
        Some(match ($op.has("ftz"), $op.has("NaN"), $op.has("xorsign")) {
            (false, false, false) => lanes!(|a: f32, b: f32| -> f32 { $f(a, b) }),
            (true, false, false) => lanes!(|a: f32, b: f32| -> f32 { $f(flush(a), flush(b)) }),
            (false, true, false) => lanes!(|a: f32, b: f32| -> f32 { poison(a, b, $f(a, b)) }),
            (true, true, false) => {
                lanes!(|a: f32, b: f32| -> f32 { poison(a, b, $f(flush(a), flush(b))) })
            }
            (ftz, nan, true) => match (ftz, nan) {
                (false, false) => {
                    lanes!(|a: f32, b: f32| -> f32 { with_sign(a, b, $f(a.abs(), b.abs())) })
                }
                (true, false) => lanes!(|a: f32, b: f32| -> f32 {
                    with_sign(a, b, $f(flush(a).abs(), flush(b).abs()))
                }),
                (false, true) => lanes!(|a: f32, b: f32| -> f32 {
                    poison(a, b, with_sign(a, b, $f(a.abs(), b.abs())))
                }),
                (true, true) => lanes!(|a: f32, b: f32| -> f32 {
                    poison(a, b, with_sign(a, b, $f(flush(a).abs(), flush(b).abs())))
                }),
            },
        })
    };
}
/// See the row.
#[must_use]
pub fn min_nan(op: &Op) -> Option<Run> {
    extreme!(op, least32)
}
/// See the row.
#[must_use]
pub fn max_nan(op: &Op) -> Option<Run> {
    extreme!(op, most32)
}
/// See the row.
#[must_use]
pub fn copysign(op: &Op) -> Option<Run> {
    by_width!(
        op,
        lanes!(|a: f32, b: f32| -> f32 { b.copysign(a) }),
        lanes!(|a: f64, b: f64| -> f64 { b.copysign(a) })
    )
}
/// Flushed where the flags of a comparison say so.
#[inline(always)]
fn read(x: f32, flags: u32) -> f32 {
    if flags & FLUSH != 0 { flush(x) } else { x }
}
/// See the row.
#[must_use]
pub fn setp(op: &Op) -> Option<Run> {
    let run = by_width!(
        op,
        compare!(flags; f32, |x, y| stand(read(x, flags), read(y, flags), flags)),
        compare!(flags; f64, |x, y| stand(x, y, flags))
    );
    Some(run?.flags(asked(op)?))
}
/// See the row.
#[must_use]
pub fn set(op: &Op) -> Option<Run> {
    let run = by_width!(
        op,
        lanes!(flags; |a: f32, b: f32| -> u32 {
            yes(stand(read(a, flags), read(b, flags), flags), flags)
        }),
        lanes!(flags; |a: f64, b: f64| -> u32 { yes(stand(a, b, flags), flags) })
    );
    Some(run?.flags(asked(op)? | result(op)?))
}
