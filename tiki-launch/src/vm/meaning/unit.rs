//! The approximate unit: the correctly rounded value of the f64 function, and the special values that
//! PTX states.

use super::exact::{BF16, Exact, F16, Mode, from_bf16, from_f16};
use super::float::{canon, flush};
use super::half::map_pair;
use super::{Run, lanes};
use tiki_kernel::isa::{Op, Ty};

macro_rules! unary {
    ($($name:ident: |$x:ident| $body:expr;)*) => { $(
        /// See the row.
        #[must_use]
        pub fn $name(op: &Op) -> Option<Run> {
            Some(if op.has("ftz") {
                lanes!(|a: f32| -> f32 { let $x = f64::from(flush(a)); canon(flush($body as f32)) })
            } else {
                lanes!(|a: f32| -> f32 { let $x = f64::from(a); canon($body as f32) })
            })
        }
    )* };
}
unary! {
    ex2: |x| x.exp2();
    lg2: |x| x.log2();
    rcp: |x| 1.0 / x;
    rsqrt: |x| 1.0 / x.sqrt();
    sqrt: |x| x.sqrt();
    sin: |x| x.sin();
    cos: |x| x.cos();
    tanh: |x| x.tanh();
}

/// See the row.
#[must_use]
pub fn div(op: &Op) -> Option<Run> {
    Some(if op.has("ftz") {
        lanes!(|a: f32, b: f32| -> f32 {
            canon(flush((f64::from(flush(a)) / f64::from(flush(b))) as f32))
        })
    } else {
        lanes!(|a: f32, b: f32| -> f32 { canon((f64::from(a) / f64::from(b)) as f32) })
    })
}
#[inline(always)]
fn high(x: f64) -> f64 {
    let b = x.to_bits() & 0xffff_ffff_0000_0000;
    f64::from_bits(if b & 0x7ff0_0000_0000_0000 == 0 {
        b & 1 << 63
    } else {
        b
    })
}
#[inline(always)]
fn high_result(x: f64) -> f64 {
    if x.is_nan() {
        return f64::from_bits(0x7fff_ffff_0000_0000);
    }
    // Twenty bits of fraction remain, to nearest.
    let b = x.to_bits().wrapping_add(0x8000_0000);
    high(if x.is_infinite() {
        x
    } else {
        f64::from_bits(b)
    })
}
/// See the row.
#[must_use]
pub fn rcp64(_: &Op) -> Option<Run> {
    Some(lanes!(|a: f64| -> f64 { high_result(1.0 / high(a)) }))
}
/// See the row.
#[must_use]
pub fn rsqrt64(op: &Op) -> Option<Run> {
    Some(if op.has("ftz") {
        lanes!(|a: f64| -> f64 { high_result(1.0 / high(a).sqrt()) })
    } else {
        lanes!(|a: f64| -> f64 {
            let r = 1.0 / a.sqrt();
            if r.is_nan() {
                f64::from_bits(0x7ff8_0000_0000_0000)
            } else {
                r
            }
        })
    })
}

#[inline(always)]
fn f16_of(x: u16, f: impl Fn(f64) -> f64) -> u16 {
    F16.round(Exact::of(f(f64::from(from_f16(x)))), Mode::Even) as u16
}
#[inline(always)]
fn bf16_of(x: u16, f: impl Fn(f64) -> f64) -> u16 {
    BF16.round(Exact::of(f(f64::from(from_bf16(x)))), Mode::Even) as u16
}
macro_rules! half_unary {
    ($($name:ident: $f:path;)*) => { $(
        /// See the row.
        #[must_use]
        pub fn $name(op: &Op) -> Option<Run> {
            Some(match op.ty("t")? {
                Ty::F16 => lanes!(|a: u16| -> u16 { f16_of(a, $f) }),
                Ty::BF16 => lanes!(|a: u16| -> u16 { bf16_of(a, $f) }),
                Ty::F16x2 => lanes!(|a: u32| -> u32 { map_pair(a, |x| f16_of(x, $f)) }),
                _ => lanes!(|a: u32| -> u32 { map_pair(a, |x| bf16_of(x, $f)) }),
            })
        }
    )* };
}
half_unary! {
    ex2_half: f64::exp2;
    tanh_half: f64::tanh;
}
