//! 16-bit floating point. A pair is computed half by half.

use super::compare::{FLUSH, asked, compare, stand, yes};
use super::exact::{BF16, Exact, F16, Format, Mode, from_bf16, from_f16, to_bf16, to_f16};
use super::float::{least32, most32, poison, saturate};
use super::{Args, File, Run, lanes, levels};
use tiki_kernel::isa::{Op, Ty};

/// A 16-bit format, as a type.
trait Half {
    const FORMAT: Format;
    fn read(x: u16) -> f32;
    /// Exact for sums and products of two f16 in f32; of bfloats see [`Half::sum`].
    fn write(x: f32) -> u16;
    fn sum(a: f32, b: f32) -> u16;
    fn flush(x: u16) -> u16;
}
struct F;
struct B;
impl Half for F {
    const FORMAT: Format = F16;
    #[inline(always)]
    fn read(x: u16) -> f32 {
        from_f16(x)
    }
    #[inline(always)]
    fn write(x: f32) -> u16 {
        to_f16(x)
    }
    #[inline(always)]
    fn sum(a: f32, b: f32) -> u16 {
        to_f16(a + b)
    }
    #[inline(always)]
    fn flush(x: u16) -> u16 {
        if x & 0x7c00 == 0 { x & 0x8000 } else { x }
    }
}
impl Half for B {
    const FORMAT: Format = BF16;
    #[inline(always)]
    fn read(x: u16) -> f32 {
        from_bf16(x)
    }
    #[inline(always)]
    fn write(x: f32) -> u16 {
        to_bf16(x)
    }
    #[inline(always)]
    fn sum(a: f32, b: f32) -> u16 {
        // 24 bits are more than twice the 8 of a bfloat plus two: rounding twice is rounding once.
        to_bf16(a + b)
    }
    #[inline(always)]
    fn flush(x: u16) -> u16 {
        x
    }
}

#[inline(always)]
fn fused<H: Half>(a: u16, b: u16, c: u16) -> u16 {
    let x = Exact::fused(
        f64::from(H::read(a)),
        f64::from(H::read(b)),
        f64::from(H::read(c)),
    );
    let x = if x.value.is_finite() {
        x
    } else {
        Exact::of(x.value)
    };
    H::FORMAT.round(x, Mode::Even) as u16
}
#[inline(always)]
fn pair(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}
#[inline(always)]
fn clamp<H: Half>(x: u16) -> u16 {
    H::write(saturate(H::read(x)))
}

/// For each format and width: single or pair.
macro_rules! each {
    ($op:ident, $h:ident, |$($x:ident),*| $body:expr) => { each!(_flags; $op, $h, |$($x),*| $body) };
    ($flags:ident; $op:ident, $h:ident, |$($x:ident),*| $body:expr) => {
        match $op.ty("t")? {
            Ty::F16 => { type $h = F; Some(lanes!($flags; |$($x: u16),*| -> u16 { $body })) }
            Ty::BF16 => { type $h = B; Some(lanes!($flags; |$($x: u16),*| -> u16 { $body })) }
            Ty::F16x2 => { type $h = F; Some(lanes!($flags; |$($x: u32),*| -> u32 { each!(@pair |$($x),*| $body) })) }
            Ty::BF16x2 => { type $h = B; Some(lanes!($flags; |$($x: u32),*| -> u32 { each!(@pair |$($x),*| $body) })) }
            _ => None,
        }
    };
    (@pair |$($x:ident),*| $body:expr) => {{
        let lo: u16 = { $(let $x = $x as u16;)* $body };
        let hi: u16 = { $(let $x = ($x >> 16) as u16;)* $body };
        u32::from(lo) | u32::from(hi) << 16
    }};
}

macro_rules! binary {
    ($($name:ident: |$a:ident, $b:ident| $r:expr;)*) => { $(
        /// See the row.
        #[must_use]
        pub fn $name(op: &Op) -> Option<Run> {
            match (op.has("ftz"), op.has("sat")) {
                (false, false) => each!(op, H, |p, q| { let ($a, $b) = (H::read(p), H::read(q)); $r }),
                (true, false) => each!(op, H, |p, q| { let ($a, $b) = (H::read(H::flush(p)), H::read(H::flush(q))); H::flush($r) }),
                (false, true) => each!(op, H, |p, q| { let ($a, $b) = (H::read(p), H::read(q)); clamp::<H>($r) }),
                (true, true) => each!(op, H, |p, q| { let ($a, $b) = (H::read(H::flush(p)), H::read(H::flush(q))); clamp::<H>(H::flush($r)) }),
            }
        }
    )* };
}
binary! {
    add: |a, b| H::sum(a, b);
    sub: |a, b| H::sum(a, -b);
}

/// A result of which the exact value lies below the normal range is zero, even if it rounds up into it.
#[inline(always)]
fn tiny<H: Half>(exact: f64, r: u16) -> u16 {
    let least = f64::from(H::read(1 << H::FORMAT.fraction));
    if H::FORMAT.fraction == 10 && exact.abs() < least {
        r & 0x8000
    } else {
        H::flush(r)
    }
}
#[inline(always)]
fn product<H: Half>(a: u16, b: u16) -> u16 {
    let (x, y) = (H::read(H::flush(a)), H::read(H::flush(b)));
    tiny::<H>(f64::from(x) * f64::from(y), H::write(x * y))
}
#[inline(always)]
fn fused_flushed<H: Half>(a: u16, b: u16, c: u16) -> u16 {
    let (a, b, c) = (H::flush(a), H::flush(b), H::flush(c));
    let exact = f64::from(H::read(a)) * f64::from(H::read(b)) + f64::from(H::read(c));
    tiny::<H>(exact, fused::<H>(a, b, c))
}
/// See the row.
#[must_use]
pub fn mul(op: &Op) -> Option<Run> {
    match (op.has("ftz"), op.has("sat")) {
        (false, false) => each!(op, H, |p, q| H::write(H::read(p) * H::read(q))),
        (true, false) => each!(op, H, |p, q| product::<H>(p, q)),
        (false, true) => each!(op, H, |p, q| clamp::<H>(H::write(H::read(p) * H::read(q)))),
        (true, true) => each!(op, H, |p, q| clamp::<H>(product::<H>(p, q))),
    }
}

/// See the row.
#[must_use]
pub fn fma(op: &Op) -> Option<Run> {
    match (op.has("ftz"), op.has("sat"), op.has("relu")) {
        (false, false, false) => each!(op, H, |a, b, c| fused::<H>(a, b, c)),
        (true, false, false) => each!(op, H, |a, b, c| fused_flushed::<H>(a, b, c)),
        (ftz, true, _) => {
            if ftz {
                each!(op, H, |a, b, c| clamp::<H>(fused_flushed::<H>(a, b, c)))
            } else {
                each!(op, H, |a, b, c| clamp::<H>(fused::<H>(a, b, c)))
            }
        }
        (false, false, true) => each!(op, H, |a, b, c| relu(fused::<H>(a, b, c))),
        (true, false, true) => each!(op, H, |a, b, c| relu(fused_flushed::<H>(a, b, c))),
    }
}
/// The one NaN for any.
#[inline(always)]
fn quiet<H: Half>(x: u16) -> u16 {
    if u64::from(x & 0x7fff) > H::FORMAT.infinity.unwrap_or(0x7fff) {
        0x7fff
    } else {
        x
    }
}
/// Zero for a negative; NaN stays.
#[inline(always)]
pub(super) fn relu(x: u16) -> u16 {
    if x & 0x8000 != 0 && x != 0x7fff { 0 } else { x }
}
/// See the row.
#[must_use]
pub fn abs(op: &Op) -> Option<Run> {
    if op.has("ftz") {
        each!(op, H, |a| quiet::<H>(H::flush(a) & 0x7fff))
    } else {
        each!(op, H, |a| quiet::<H>(a & 0x7fff))
    }
}
/// See the row.
#[must_use]
pub fn neg(op: &Op) -> Option<Run> {
    if op.has("ftz") {
        each!(op, H, |a| quiet::<H>(H::flush(a) ^ 0x8000))
    } else {
        each!(op, H, |a| quiet::<H>(a ^ 0x8000))
    }
}
macro_rules! extreme {
    ($op:ident, $f:ident) => {{
        macro_rules! go {
            ($read:expr, $fix:expr) => {
                each!($op, H, |p, q| {
                    let read = $read;
                    let (a, b): (f32, f32) =
                        (H::read(read(p, H::flush(p))), H::read(read(q, H::flush(q))));
                    let fix = $fix;
                    H::write(fix(a, b))
                })
            };
        }
        match ($op.has("ftz"), $op.has("NaN"), $op.has("xorsign")) {
            (false, false, false) => go!(|x, _: u16| x, |a: f32, b: f32| $f(a, b)),
            (true, false, false) => go!(|_: u16, x| x, |a: f32, b: f32| $f(a, b)),
            (false, true, false) => go!(|x, _: u16| x, |a: f32, b: f32| poison(a, b, $f(a, b))),
            (true, true, false) => go!(|_: u16, x| x, |a: f32, b: f32| poison(a, b, $f(a, b))),
            (false, nan, true) => {
                if nan {
                    go!(|x, _: u16| x, |a: f32, b: f32| poison(
                        a,
                        b,
                        signed(a, b, $f(a.abs(), b.abs()))
                    ))
                } else {
                    go!(|x, _: u16| x, |a: f32, b: f32| signed(
                        a,
                        b,
                        $f(a.abs(), b.abs())
                    ))
                }
            }
            (true, nan, true) => {
                if nan {
                    go!(|_: u16, x| x, |a: f32, b: f32| poison(
                        a,
                        b,
                        signed(a, b, $f(a.abs(), b.abs()))
                    ))
                } else {
                    go!(|_: u16, x| x, |a: f32, b: f32| signed(
                        a,
                        b,
                        $f(a.abs(), b.abs())
                    ))
                }
            }
        }
    }};
}
#[inline(always)]
fn signed(a: f32, b: f32, r: f32) -> f32 {
    if a.is_sign_negative() != b.is_sign_negative() {
        -r
    } else {
        r
    }
}
/// See the row.
#[must_use]
pub fn min(op: &Op) -> Option<Run> {
    extreme!(op, least32)
}
/// See the row.
#[must_use]
pub fn max(op: &Op) -> Option<Run> {
    extreme!(op, most32)
}

/// Whether two stand as the flags ask.
#[inline(always)]
fn answer<H: Half>(x: u16, y: u16, flags: u32) -> bool {
    let read = |x| H::read(if flags & FLUSH != 0 { H::flush(x) } else { x });
    stand(read(x), read(y), flags)
}
/// See the row.
#[must_use]
pub fn setp(op: &Op) -> Option<Run> {
    let run = match op.ty("t")? {
        Ty::F16 => compare!(flags; u16, |x, y| answer::<F>(x, y, flags)),
        Ty::BF16 => compare!(flags; u16, |x, y| answer::<B>(x, y, flags)),
        Ty::F16x2 => pair_compare!(F),
        _ => pair_compare!(B),
    };
    Some(run.flags(asked(op)?))
}
/// Both halves: the low one's answer in the first predicate, the high one's behind the bar.
macro_rules! pair_compare {
    ($h:ident) => {{
        #[inline(always)]
        fn body(f: &mut File, a: &Args, mask: u32) {
            let (p, q) = (f.words[a.s[1] as usize].0, f.words[a.s[2] as usize].0);
            let mut bits = [0u32; 2];
            for i in 0..super::LANES {
                for (k, out) in bits.iter_mut().enumerate() {
                    let (x, y) = ((p[i] >> (16 * k)) as u16, (q[i] >> (16 * k)) as u16);
                    *out |= u32::from(answer::<$h>(x, y, a.flags)) << i;
                }
            }
            let both = Args {
                pair: super::SINK_PRED,
                ..a.clone()
            };
            super::compare::put_compare(f, &both, mask, bits[0]);
            let high = Args {
                s: {
                    let mut s = a.s;
                    s[0] = a.pair;
                    s
                },
                pair: super::SINK_PRED,
                ..a.clone()
            };
            super::compare::put_compare(f, &high, mask, bits[1]);
        }
        levels!(body)
    }};
}
use pair_compare;

/// What `set` writes for a yes stands above the other flags.
const YES: u32 = 16;
/// See the row. One is `3c00` as f16, `3f80` as bfloat.
#[must_use]
pub fn set(op: &Op) -> Option<Run> {
    let one = if matches!(op.ty("d")?, Ty::F16 | Ty::F16x2) {
        0x3c00
    } else {
        0x3f80
    };
    Some(chosen(op)?.flags(asked(op)? | one << YES))
}
/// See the row.
#[must_use]
pub fn set_bits(op: &Op) -> Option<Run> {
    let run = if op.ty("d")?.bits() == 32 && op.ty("t")?.bits() == 16 {
        match op.ty("t")? {
            Ty::F16 => {
                lanes!(flags; |p: u16, q: u16| -> u32 { yes(answer::<F>(p, q, flags), flags) })
            }
            _ => lanes!(flags; |p: u16, q: u16| -> u32 { yes(answer::<B>(p, q, flags), flags) }),
        }
    } else {
        chosen(op)?
    };
    Some(run.flags(asked(op)? | 0xffff << YES))
}
/// What the flags say, for a yes.
fn chosen(op: &Op) -> Option<Run> {
    each!(flags; op, H, |p, q| if answer::<H>(p, q, flags) { (flags >> YES) as u16 } else { 0 })
}
/// Both halves of two registers through a function of f32 values.
#[inline(always)]
pub(super) fn map_pair(a: u32, f: impl Fn(u16) -> u16) -> u32 {
    pair(a, 0, |x, _| f(x))
}
