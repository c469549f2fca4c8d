//! Conversions.

use super::exact::{
    self, BF16, E4M3, E5M2, Exact, F16, F32, F64, Format, Mode, from_bf16, from_f16, to_bf16,
    to_f16,
};
use super::float::{canon, flush};
use super::half::relu;
use super::{Run, lanes};
use tiki_kernel::isa::{Op, Rounding, Ty};

/// For each integer source type.
macro_rules! from_ints {
    ($op:ident, $s:ident => $body:expr) => {
        match $op.ty("a")? {
            Ty::U8 => {
                type $s = u8;
                $body
            }
            Ty::S8 => {
                type $s = i8;
                $body
            }
            Ty::U16 => {
                type $s = u16;
                $body
            }
            Ty::S16 => {
                type $s = i16;
                $body
            }
            Ty::U32 => {
                type $s = u32;
                $body
            }
            Ty::S32 => {
                type $s = i32;
                $body
            }
            Ty::U64 => {
                type $s = u64;
                $body
            }
            Ty::S64 => {
                type $s = i64;
                $body
            }
            _ => return None,
        }
    };
}
/// For each integer result type; small ones fill a whole word, extended.
macro_rules! to_ints {
    ($op:ident, $d:ident => $body:expr) => {
        match $op.ty("d")? {
            Ty::U8 => {
                type $d = u8;
                $body
            }
            Ty::S8 => {
                type $d = i8;
                $body
            }
            Ty::U16 => {
                type $d = u16;
                $body
            }
            Ty::S16 => {
                type $d = i16;
                $body
            }
            Ty::U32 => {
                type $d = u32;
                $body
            }
            Ty::S32 => {
                type $d = i32;
                $body
            }
            Ty::U64 => {
                type $d = u64;
                $body
            }
            Ty::S64 => {
                type $d = i64;
                $body
            }
            _ => return None,
        }
    };
}

/// See the row.
#[must_use]
pub fn int(op: &Op) -> Option<Run> {
    Some(if op.has("sat") {
        from_ints!(op, S => to_ints!(op, D => lanes!(|a: S| -> D { i128::from(a).clamp(i128::from(D::MIN), i128::from(D::MAX)) as D })))
    } else {
        from_ints!(op, S => to_ints!(op, D => lanes!(|a: S| -> D { a as D })))
    })
}

#[inline(always)]
fn exactly(x: i128) -> Exact {
    let value = x as f64;
    let back = value as i128;
    Exact {
        value,
        rest: i32::from(x > back) - i32::from(x < back),
    }
}

const MODES: [Mode; 5] = [Mode::Even, Mode::Away, Mode::Zero, Mode::Down, Mode::Up];
fn mode(op: &Op) -> (Mode, u32) {
    let m = Mode::of(op.get("rnd").and_then(Rounding::by_text));
    (m, MODES.iter().position(|x| *x == m).unwrap_or(0) as u32)
}
#[inline(always)]
fn mode_of(flags: u32) -> Mode {
    MODES[(flags & 7) as usize % 5]
}

/// See the row.
#[must_use]
pub fn int_float(op: &Op) -> Option<Run> {
    let (m, code) = mode(op);
    Some(match (op.ty("d")?, m) {
        (Ty::F32, Mode::Even) => from_ints!(op, S => lanes!(|a: S| -> f32 { a as f32 })),
        (Ty::F64, Mode::Even) => from_ints!(op, S => lanes!(|a: S| -> f64 { a as f64 })),
        (Ty::F32, _) => from_ints!(op, S => lanes!(flags; |a: S| -> u32 { F32.round(exactly(i128::from(a)), mode_of(flags)) as u32 })),
        (Ty::F64, _) => from_ints!(op, S => lanes!(flags; |a: S| -> u64 { F64.round(exactly(i128::from(a)), mode_of(flags)) })),
        (Ty::F16, _) => from_ints!(op, S => lanes!(flags; |a: S| -> u16 { F16.round(exactly(i128::from(a)), mode_of(flags)) as u16 })),
        _ => from_ints!(op, S => lanes!(flags; |a: S| -> u16 { BF16.round(exactly(i128::from(a)), mode_of(flags)) as u16 })),
    }
    .flags(code))
}

/// A value rounded to an integer that stays a float.
#[inline(always)]
fn integral(x: f64, m: Mode) -> f64 {
    match m {
        Mode::Even => x.round_ties_even(),
        Mode::Away => x.round(),
        Mode::Zero => x.trunc(),
        Mode::Down => x.floor(),
        Mode::Up => x.ceil(),
    }
}

/// See the row.
#[must_use]
pub fn float_int(op: &Op) -> Option<Run> {
    let (_, code) = mode(op);
    let odd_nan = op.ty("a")? == Ty::F64 || op.ty("d")?.bits() == 64;
    let flags = code | if odd_nan { 8 } else { 0 } | if op.has("ftz") { 16 } else { 0 };
    macro_rules! from {
        ($s:ty, |$x:ident| $read:expr) => {
            to_ints!(op, D => lanes!(flags; |a: $s| -> D {
                let $x = a;
                let v: f64 = $read;
                let v = if flags & 16 != 0 && v.abs() < f64::from(f32::MIN_POSITIVE) { 0.0 } else { v };
                if v.is_nan() { if flags & 8 != 0 { (1 as D).rotate_right(1) } else { 0 } } else { integral(v, mode_of(flags)) as D }
            }))
        };
    }
    Some(
        match op.ty("a")? {
            Ty::F16 => from!(u16, |x| f64::from(from_f16(x))),
            Ty::BF16 => from!(u16, |x| f64::from(from_bf16(x))),
            Ty::F32 => from!(f32, |x| f64::from(x)),
            _ => from!(f64, |x| x),
        }
        .flags(flags),
    )
}

fn format(t: Ty) -> Option<Format> {
    Some(match t {
        Ty::F16 => F16,
        Ty::BF16 => BF16,
        Ty::F32 => F32,
        Ty::F64 => F64,
        _ => return None,
    })
}

/// A NaN of 64 bits in a narrower format: its sign and the top of its payload, quiet.
#[inline(always)]
fn kept_nan(x: u64, exponent: u32, fraction: u32) -> u64 {
    let ones = (1u64 << exponent) - 1;
    (x >> 63) << (exponent + fraction)
        | ones << fraction
        | 1 << (fraction - 1)
        | (x & ((1 << 52) - 1)) >> (52 - fraction)
}
/// An f32 as f64; a NaN keeps its payload and becomes quiet.
#[inline(always)]
fn widen32(x: u32) -> u64 {
    if x << 1 > 0xff00_0000 {
        return u64::from(x >> 31) << 63 | 0x7ff8_0000_0000_0000 | u64::from(x & 0x7f_ffff) << 29;
    }
    f64::from(f32::from_bits(x)).to_bits()
}

/// See the row.
#[must_use]
pub fn float(op: &Op) -> Option<Run> {
    let (d, a) = (op.ty("d")?, op.ty("a")?);
    let whole = op.get("rnd").is_some_and(|r| r.ends_with('i'));
    let (m, code) = mode(op);
    let (ftz, sat) = (op.has("ftz"), op.has("sat"));
    if !ftz && !sat && !whole && m == Mode::Even {
        match (d, a) {
            (Ty::F32, Ty::F16) => return Some(lanes!(|x: u16| -> f32 { canon(from_f16(x)) })),
            (Ty::F16, Ty::F32) => return Some(lanes!(|x: f32| -> u16 { to_f16(x) })),
            (Ty::F64, Ty::F32) => return Some(lanes!(|x: u32| -> u64 { widen32(x) })),
            (Ty::F32, Ty::F64) => {
                return Some(lanes!(|x: f64| -> f32 {
                    let r = x as f32;
                    if x.to_bits() << 1 > 0xffe0_0000_0000_0000 {
                        f32::from_bits(kept_nan(x.to_bits(), 8, 23) as u32)
                    } else {
                        r
                    }
                }));
            }
            (Ty::F32, Ty::F32) => return Some(lanes!(|x: u32| -> u32 { x })),
            (Ty::F64, Ty::F64) if op.get("rnd").is_none() => {
                return Some(lanes!(|x: u64| -> u64 { x }));
            }
            _ => {}
        }
    }
    format(d)?;
    // Where the result is a 16-bit float, the flag changes nothing.
    let ftz = ftz && !matches!(d, Ty::F16 | Ty::BF16);
    let flags =
        code | if whole { 8 } else { 0 } | if ftz { 16 } else { 0 } | if sat { 32 } else { 0 };
    #[inline(always)]
    fn step(v: f64, single: bool, flags: u32) -> Exact {
        let v = if flags & 16 != 0 && single && v.abs() < f64::from(f32::MIN_POSITIVE) {
            0f64.copysign(v)
        } else {
            v
        };
        let v = if flags & 8 != 0 {
            integral(v, mode_of(flags))
        } else {
            v
        };
        Exact::of(if flags & 32 != 0 {
            if v > 0.0 { v.min(1.0) } else { 0.0 }
        } else {
            v
        })
    }
    macro_rules! to {
        ($s:ty, $single:literal, |$x:ident| $read:expr, $nan:expr) => {
            match d {
                Ty::F16 => lanes!(flags; |a: $s| -> u16 { let $x = a; let v = $read; match $nan {
                    Some(bits) if v.is_nan() && flags & 32 == 0 => kept_nan(bits, 5, 10) as u16,
                    _ => F16.round(step(v, $single, flags), mode_of(flags)) as u16,
                } }),
                Ty::BF16 => lanes!(flags; |a: $s| -> u16 { let $x = a; let v = $read; match $nan {
                    Some(bits) if v.is_nan() && flags & 32 == 0 => kept_nan(bits, 8, 7) as u16,
                    _ => BF16.round(step(v, $single, flags), mode_of(flags)) as u16,
                } }),
                Ty::F32 => lanes!(flags; |a: $s| -> f32 { let $x = a; let v = $read; match $nan {
                    Some(bits) if v.is_nan() && flags & 32 == 0 => f32::from_bits(kept_nan(bits, 8, 23) as u32),
                    _ => {
                        let r = f32::from_bits(F32.round(step(v, $single, flags), mode_of(flags)) as u32);
                        if flags & 16 != 0 { flush(r) } else { r }
                    }
                } }),
                _ => lanes!(flags; |a: $s| -> u64 { let $x = a; let v = $read;
                    if v.is_nan() && flags & 32 == 0 {
                        if flags & 16 != 0 { 0x7fff_ffff_e000_0000 } else { v.to_bits() | 1 << 51 }
                    } else {
                        F64.round(step(v, $single, flags), mode_of(flags))
                    } }),
            }
        };
    }
    const CANONICAL: Option<u64> = None;
    Some(
        match a {
            Ty::F16 => to!(
                u16,
                false,
                |x| f64::from_bits(widen32(from_f16(x).to_bits())),
                CANONICAL
            ),
            Ty::BF16 => to!(
                u16,
                false,
                |x| f64::from_bits(widen32(from_bf16(x).to_bits())),
                CANONICAL
            ),
            Ty::F32 => to!(f32, true, |x| f64::from(x), CANONICAL),
            _ => to!(f64, false, |x| x, Some(x.to_bits())),
        }
        .flags(flags),
    )
}

/// Rounding of one f32 to a 16-bit float: flag 8 clamps negatives to zero, 16 clamps to the finite range.
#[inline(always)]
fn narrow_to(f: &Format, x: f32, flags: u32) -> u16 {
    let e = Exact::of(f64::from(x));
    let r = if flags & 16 != 0 {
        f.round_finite(e, mode_of(flags))
    } else {
        f.round(e, mode_of(flags))
    } as u16;
    if flags & 8 != 0 { relu(r) } else { r }
}
fn narrow_flags(op: &Op) -> u32 {
    mode(op).1 | if op.has("relu") { 8 } else { 0 } | if op.has("satfinite") { 16 } else { 0 }
}
/// See the row.
#[must_use]
pub fn narrow(op: &Op) -> Option<Run> {
    let flags = narrow_flags(op);
    Some(
        match (op.ty("d")?, flags) {
            (Ty::F16, 0) => lanes!(|x: f32| -> u16 { to_f16(x) }),
            (Ty::F16, _) => lanes!(flags; |x: f32| -> u16 { narrow_to(&F16, x, flags) }),
            (_, 0) => lanes!(|x: f32| -> u16 { to_bf16(x) }),
            _ => lanes!(flags; |x: f32| -> u16 { narrow_to(&BF16, x, flags) }),
        }
        .flags(flags),
    )
}
/// See the row.
#[must_use]
pub fn pair(op: &Op) -> Option<Run> {
    let flags = narrow_flags(op);
    Some(match (op.ty("d")?, flags) {
        (Ty::F16x2, 0) => lanes!(|a: f32, b: f32| -> u32 { u32::from(to_f16(a)) << 16 | u32::from(to_f16(b)) }),
        (Ty::F16x2, _) => lanes!(flags; |a: f32, b: f32| -> u32 { u32::from(narrow_to(&F16, a, flags)) << 16 | u32::from(narrow_to(&F16, b, flags)) }),
        (_, 0) => lanes!(|a: f32, b: f32| -> u32 { u32::from(to_bf16(a)) << 16 | u32::from(to_bf16(b)) }),
        _ => lanes!(flags; |a: f32, b: f32| -> u32 { u32::from(narrow_to(&BF16, a, flags)) << 16 | u32::from(narrow_to(&BF16, b, flags)) }),
    }
    .flags(flags))
}
/// See the row.
#[must_use]
pub fn widen(op: &Op) -> Option<Run> {
    Some(if op.has("ftz") {
        lanes!(|a: u16| -> f32 { canon(flush(from_bf16(a))) })
    } else {
        lanes!(|a: u16| -> u32 { u32::from(a) << 16 })
    })
}
/// See the row.
#[must_use]
pub fn tf32(op: &Op) -> Option<Run> {
    // To nearest away works on the bits alone, so that a NaN keeps its sign; the others give one NaN. There `satfinite` is a
    // step down from what is infinite or NaN after rounding: of a NaN whose payload is lost the greatest number stays.
    let away = mode(op).0 == Mode::Away;
    let flags = narrow_flags(op) | if away { 32 } else { 0 };
    Some(
        lanes!(flags; |a: f32| -> u32 {
            if a.is_nan() {
                let step = if flags & 16 != 0 { 0x2000 } else { 0 };
                if flags & 32 != 0 { (a.to_bits() & !0x1fff) - step } else { 0x7fff_e000 }
            } else {
                let e = Exact::of(f64::from(a));
                let r = if flags & 16 != 0 { exact::TF32.round_finite(e, mode_of(flags)) } else { exact::TF32.round(e, mode_of(flags)) } as u32;
                if flags & 8 != 0 && r >> 31 == 1 { 0 } else { r }
            }
        })
        .flags(flags),
    )
}
#[inline(always)]
fn f8(f: &Format, x: f32, flags: u32) -> u32 {
    let r = f.round_finite(Exact::of(f64::from(x)), Mode::Even) as u32;
    let r = if x.is_nan() { f.nan as u32 } else { r };
    if flags & 8 != 0 && r & 0x80 != 0 {
        0
    } else {
        r
    }
}
/// See the row.
#[must_use]
pub fn f8_pair(op: &Op) -> Option<Run> {
    let flags = narrow_flags(op) & !16;
    Some(match op.ty("d")? {
        Ty::E4M3x2 => lanes!(flags; |a: f32, b: f32| -> u32 { f8(&E4M3, a, flags) << 8 | f8(&E4M3, b, flags) }),
        _ => lanes!(flags; |a: f32, b: f32| -> u32 { f8(&E5M2, a, flags) << 8 | f8(&E5M2, b, flags) }),
    }
    .flags(flags))
}
/// See the row.
#[must_use]
pub fn f8_half(op: &Op) -> Option<Run> {
    let flags = narrow_flags(op) & !16;
    Some(match op.ty("d")? {
        Ty::E4M3x2 => lanes!(flags; |a: u32| -> u32 { f8(&E4M3, from_f16((a >> 16) as u16), flags) << 8 | f8(&E4M3, from_f16(a as u16), flags) }),
        _ => lanes!(flags; |a: u32| -> u32 { f8(&E5M2, from_f16((a >> 16) as u16), flags) << 8 | f8(&E5M2, from_f16(a as u16), flags) }),
    }
    .flags(flags))
}
#[inline(always)]
fn from_f8(f: &Format, x: u32, flags: u32) -> u32 {
    let r = F16.round(Exact::of(f.value(u64::from(x & 255))), Mode::Even) as u16;
    u32::from(if flags & 8 != 0 { relu(r) } else { r })
}
/// See the row.
#[must_use]
pub fn f8_widen(op: &Op) -> Option<Run> {
    let flags = narrow_flags(op);
    Some(match op.ty("a")? {
        Ty::E4M3x2 => lanes!(flags; |a: u32| -> u32 { from_f8(&E4M3, a >> 8, flags) << 16 | from_f8(&E4M3, a, flags) }),
        _ => lanes!(flags; |a: u32| -> u32 { from_f8(&E5M2, a >> 8, flags) << 16 | from_f8(&E5M2, a, flags) }),
    }
    .flags(flags))
}
/// See the row.
#[must_use]
pub fn pack(op: &Op) -> Option<Run> {
    Some(match (op.ty("d")?, op.row.form().pats.len()) {
        (Ty::U16, 3) => lanes!(|a: i32, b: i32| -> u32 {
            (a.clamp(0, 65535) as u32) << 16 | b.clamp(0, 65535) as u32
        }),
        (Ty::S16, 3) => lanes!(|a: i32, b: i32| -> u32 {
            (a.clamp(-32768, 32767) as u32) << 16 | b.clamp(-32768, 32767) as u32 & 0xffff
        }),
        (Ty::U8, 3) => lanes!(|a: i32, b: i32| -> u32 {
            (a.clamp(0, 255) as u32) << 8 | b.clamp(0, 255) as u32
        }),
        (Ty::S8, 3) => lanes!(|a: i32, b: i32| -> u32 {
            (a.clamp(-128, 127) as u32 & 255) << 8 | b.clamp(-128, 127) as u32 & 255
        }),
        (Ty::U8, 4) => lanes!(|a: i32, b: i32, c: u32| -> u32 {
            (a.clamp(0, 255) as u32) << 8 | b.clamp(0, 255) as u32 | c << 16
        }),
        (Ty::S8, 4) => lanes!(|a: i32, b: i32, c: u32| -> u32 {
            (a.clamp(-128, 127) as u32 & 255) << 8 | b.clamp(-128, 127) as u32 & 255 | c << 16
        }),
        (Ty::U4, 4) => lanes!(|a: i32, b: i32, c: u32| -> u32 {
            (a.clamp(0, 15) as u32) << 4 | b.clamp(0, 15) as u32 | c << 8
        }),
        (Ty::S4, 4) => lanes!(|a: i32, b: i32, c: u32| -> u32 {
            (a.clamp(-8, 7) as u32 & 15) << 4 | b.clamp(-8, 7) as u32 & 15 | c << 8
        }),
        _ => return None,
    })
}
