//! Integers and bits.

use super::{Run, by_type, lanes, lanes_carry};
use tiki_kernel::isa::Op;

macro_rules! ints {
    ($op:ident, $t:ident => $body:expr) => {
        by_type!($op.ty("t"), [S16 => i16, U16 => u16, S32 => i32, U32 => u32, S64 => i64, U64 => u64], $t => $body)
    };
}
macro_rules! bits {
    ($op:ident, $t:ident => $body:expr) => {
        by_type!($op.ty("t"), [B16 => u16, B32 => u32, B64 => u64], $t => $body)
    };
}
macro_rules! signed {
    ($op:ident, $t:ident => $body:expr) => {
        by_type!($op.ty("t"), [S16 => i16, S32 => i32, S64 => i64], $t => $body)
    };
}
/// Halves of products, by the type twice as wide.
macro_rules! products {
    ($op:ident, $t:ident, $w:ident => $body:expr) => {
        match $op.ty("t")? {
            tiki_kernel::isa::Ty::S16 => {
                type $t = i16;
                type $w = i32;
                Some($body)
            }
            tiki_kernel::isa::Ty::U16 => {
                type $t = u16;
                type $w = u32;
                Some($body)
            }
            tiki_kernel::isa::Ty::S32 => {
                type $t = i32;
                type $w = i64;
                Some($body)
            }
            tiki_kernel::isa::Ty::U32 => {
                type $t = u32;
                type $w = u64;
                Some($body)
            }
            tiki_kernel::isa::Ty::S64 => {
                type $t = i64;
                type $w = i128;
                Some($body)
            }
            tiki_kernel::isa::Ty::U64 => {
                type $t = u64;
                type $w = u128;
                Some($body)
            }
            _ => None,
        }
    };
}
macro_rules! wide_products {
    ($op:ident, $t:ident, $w:ident => $body:expr) => {
        match $op.ty("t")? {
            tiki_kernel::isa::Ty::S16 => {
                type $t = i16;
                type $w = i32;
                Some($body)
            }
            tiki_kernel::isa::Ty::U16 => {
                type $t = u16;
                type $w = u32;
                Some($body)
            }
            tiki_kernel::isa::Ty::S32 => {
                type $t = i32;
                type $w = i64;
                Some($body)
            }
            tiki_kernel::isa::Ty::U32 => {
                type $t = u32;
                type $w = u64;
                Some($body)
            }
            _ => None,
        }
    };
}

macro_rules! rows {
    ($($name:ident: $kind:ident |$($x:ident),*| $body:expr;)*) => { $(
        /// See the row.
        #[must_use]
        pub fn $name(op: &Op) -> Option<Run> { $kind!(op, T => lanes!(|$($x: T),*| -> T { $body })) }
    )* };
}

rows! {
    add: ints |a, b| a.wrapping_add(b);
    sub: ints |a, b| a.wrapping_sub(b);
    min: ints |a, b| a.min(b);
    max: ints |a, b| a.max(b);
    sad: ints |a, b, c| c.wrapping_add(if a > b { a.wrapping_sub(b) } else { b.wrapping_sub(a) });
    abs: signed |a| a.wrapping_abs();
    neg: signed |a| a.wrapping_neg();
    cnot: bits |a| T::from(a == 0);
    div: ints |a, b| if b == 0 { !0 } else { a.wrapping_div(b) };
    rem: ints |a, b| if b == 0 { a } else { a.wrapping_rem(b) };
}

/// See the row.
#[must_use]
pub fn add_sat(_: &Op) -> Option<Run> {
    Some(lanes!(|a: i32, b: i32| -> i32 { a.saturating_add(b) }))
}
/// See the row.
#[must_use]
pub fn sub_sat(_: &Op) -> Option<Run> {
    Some(lanes!(|a: i32, b: i32| -> i32 { a.saturating_sub(b) }))
}

macro_rules! words {
    ($op:ident, $t:ident => $body:expr) => {
        match $op.ty("t")?.bits() {
            32 => {
                type $t = u32;
                Some($body)
            }
            _ => {
                type $t = u64;
                Some($body)
            }
        }
    };
}

/// See the row.
#[must_use]
pub fn add_cc(op: &Op) -> Option<Run> {
    words!(op, T => lanes_carry!(_c, |a: T, b: T| -> T { a.overflowing_add(b) }))
}
/// See the row.
#[must_use]
pub fn addc(op: &Op) -> Option<Run> {
    let keep = op.has("cc");
    if keep {
        words!(op, T => lanes_carry!(c, |a: T, b: T| -> T { a.carrying(b, c) }))
    } else {
        words!(op, T => lanes_carry!(c, |a: T, b: T| -> T { (a.carrying(b, c).0, c) }))
    }
}
/// See the row.
#[must_use]
pub fn sub_cc(op: &Op) -> Option<Run> {
    // After a subtraction the carry says that nothing was borrowed.
    words!(op, T => lanes_carry!(_c, |a: T, b: T| -> T { let (v, borrow) = a.overflowing_sub(b); (v, !borrow) }))
}
/// See the row.
#[must_use]
pub fn subc(op: &Op) -> Option<Run> {
    if op.has("cc") {
        words!(op, T => lanes_carry!(c, |a: T, b: T| -> T { let (v, borrow) = a.borrowing(b, !c); (v, !borrow) }))
    } else {
        words!(op, T => lanes_carry!(c, |a: T, b: T| -> T { (a.borrowing(b, !c).0, c) }))
    }
}

trait Carry: Sized {
    fn carrying(self, b: Self, c: bool) -> (Self, bool);
    fn borrowing(self, b: Self, c: bool) -> (Self, bool);
}
macro_rules! carry {
    ($($t:ty),*) => { $(impl Carry for $t {
        #[inline(always)]
        fn carrying(self, b: $t, c: bool) -> ($t, bool) {
            let (x, p) = self.overflowing_add(b);
            let (y, q) = x.overflowing_add(<$t>::from(c));
            (y, p | q)
        }
        #[inline(always)]
        fn borrowing(self, b: $t, c: bool) -> ($t, bool) {
            let (x, p) = self.overflowing_sub(b);
            let (y, q) = x.overflowing_sub(<$t>::from(c));
            (y, p | q)
        }
    })* };
}
carry!(u32, u64);

/// See the row.
#[must_use]
pub fn mul(op: &Op) -> Option<Run> {
    if op.get("half") == Some("hi") {
        products!(op, T, W => lanes!(|a: T, b: T| -> T { ((W::from(a) * W::from(b)) >> T::BITS) as T }))
    } else {
        ints!(op, T => lanes!(|a: T, b: T| -> T { a.wrapping_mul(b) }))
    }
}
/// See the row.
#[must_use]
pub fn mad(op: &Op) -> Option<Run> {
    if op.get("half") == Some("hi") {
        products!(op, T, W => lanes!(|a: T, b: T, c: T| -> T { (((W::from(a) * W::from(b)) >> T::BITS) as T).wrapping_add(c) }))
    } else {
        ints!(op, T => lanes!(|a: T, b: T, c: T| -> T { a.wrapping_mul(b).wrapping_add(c) }))
    }
}
/// See the row.
#[must_use]
pub fn mad_sat(_: &Op) -> Option<Run> {
    Some(lanes!(|a: i32, b: i32, c: i32| -> i32 {
        ((i64::from(a) * i64::from(b) >> 32) as i32).saturating_add(c)
    }))
}
/// See the row.
#[must_use]
pub fn mul_wide(op: &Op) -> Option<Run> {
    wide_products!(op, T, W => lanes!(|a: T, b: T| -> W { W::from(a).wrapping_mul(W::from(b)) }))
}
/// See the row.
#[must_use]
pub fn mad_wide(op: &Op) -> Option<Run> {
    wide_products!(op, T, W => lanes!(|a: T, b: T, c: W| -> W { W::from(a).wrapping_mul(W::from(b)).wrapping_add(c) }))
}
macro_rules! mad_carry {
    ($op:ident, $c:ident, $a:ident, $with:expr) => {{
        let hi = $op.get("half") == Some("hi");
        match ($op.ty("t")?.bits(), $op.ty("t")?.is_signed(), hi) {
            (32, _, false) => Some(lanes_carry!($c, |a: u32, b: u32, d: u32| -> u32 {
                let ($a, d) = (a.wrapping_mul(b), d);
                $with($a, d, $c)
            })),
            (32, false, true) => Some(lanes_carry!($c, |a: u32, b: u32, d: u32| -> u32 {
                let $a = (u64::from(a) * u64::from(b) >> 32) as u32;
                $with($a, d, $c)
            })),
            (32, true, true) => Some(lanes_carry!($c, |a: i32, b: i32, d: u32| -> u32 {
                let $a = (i64::from(a) * i64::from(b) >> 32) as u32;
                $with($a, d, $c)
            })),
            (64, _, false) => Some(lanes_carry!($c, |a: u64, b: u64, d: u64| -> u64 {
                let $a = a.wrapping_mul(b);
                $with($a, d, $c)
            })),
            (64, false, true) => Some(lanes_carry!($c, |a: u64, b: u64, d: u64| -> u64 {
                let $a = (u128::from(a) * u128::from(b) >> 64) as u64;
                $with($a, d, $c)
            })),
            _ => Some(lanes_carry!($c, |a: i64, b: i64, d: u64| -> u64 {
                let $a = (i128::from(a) * i128::from(b) >> 64) as u64;
                $with($a, d, $c)
            })),
        }
    }};
}
#[inline(always)]
fn plain<T: Carry>(a: T, b: T, _: bool) -> (T, bool) {
    a.carrying(b, false)
}
#[inline(always)]
fn with_carry<T: Carry>(a: T, b: T, c: bool) -> (T, bool) {
    a.carrying(b, c)
}
#[inline(always)]
fn with_carry_kept<T: Carry>(a: T, b: T, c: bool) -> (T, bool) {
    (a.carrying(b, c).0, c)
}
/// See the row.
#[must_use]
pub fn mad_cc(op: &Op) -> Option<Run> {
    mad_carry!(op, c, p, plain)
}
/// See the row.
#[must_use]
pub fn madc(op: &Op) -> Option<Run> {
    if op.has("cc") {
        mad_carry!(op, c, p, with_carry)
    } else {
        mad_carry!(op, c, p, with_carry_kept)
    }
}
/// See the row.
#[must_use]
pub fn mul24(op: &Op) -> Option<Run> {
    let hi = op.get("half") == Some("hi");
    Some(match (op.ty("t")?.is_signed(), hi) {
        (false, false) => {
            lanes!(|a: u32, b: u32| -> u32 { (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff) })
        }
        (false, true) => lanes!(|a: u32, b: u32| -> u32 {
            (u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff) >> 16) as u32
        }),
        (true, false) => {
            lanes!(|a: i32, b: i32| -> i32 { (a << 8 >> 8).wrapping_mul(b << 8 >> 8) })
        }
        (true, true) => lanes!(|a: i32, b: i32| -> i32 {
            (i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8) >> 16) as i32
        }),
    })
}
/// See the row.
#[must_use]
pub fn mad24(op: &Op) -> Option<Run> {
    let hi = op.get("half") == Some("hi");
    Some(match (op.ty("t")?.is_signed(), hi) {
        (false, false) => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff).wrapping_add(c)
        }),
        (false, true) => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            ((u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff) >> 16) as u32).wrapping_add(c)
        }),
        (true, false) => lanes!(|a: i32, b: i32, c: i32| -> i32 {
            (a << 8 >> 8).wrapping_mul(b << 8 >> 8).wrapping_add(c)
        }),
        (true, true) => lanes!(|a: i32, b: i32, c: i32| -> i32 {
            ((i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8) >> 16) as i32).wrapping_add(c)
        }),
    })
}
#[inline(always)]
fn part(word: u32, i: u32, bits: u32, signed: bool) -> i32 {
    let up = 32 - bits;
    let x = word >> (i * bits) << up;
    if signed {
        x as i32 >> up
    } else {
        (x >> up) as i32
    }
}
#[inline(always)]
fn dot4(a: u32, b: u32, sa: bool, sb: bool) -> i32 {
    (0..4).fold(0i32, |s, i| {
        s.wrapping_add(part(a, i, 8, sa).wrapping_mul(part(b, i, 8, sb)))
    })
}
#[inline(always)]
fn dot2(a: u32, b: u32, sa: bool, sb: bool, hi: bool) -> i32 {
    let h = if hi { 2 } else { 0 };
    (0..2).fold(0i32, |s, i| {
        s.wrapping_add(part(a, i, 16, sa).wrapping_mul(part(b, i + h, 8, sb)))
    })
}
/// See the row.
#[must_use]
pub fn dp4a(op: &Op) -> Option<Run> {
    Some(match (op.ty("at")?.is_signed(), op.ty("bt")?.is_signed()) {
        (true, true) => {
            lanes!(|a: u32, b: u32, c: i32| -> i32 { c.wrapping_add(dot4(a, b, true, true)) })
        }
        (true, false) => {
            lanes!(|a: u32, b: u32, c: i32| -> i32 { c.wrapping_add(dot4(a, b, true, false)) })
        }
        (false, true) => {
            lanes!(|a: u32, b: u32, c: i32| -> i32 { c.wrapping_add(dot4(a, b, false, true)) })
        }
        (false, false) => {
            lanes!(|a: u32, b: u32, c: i32| -> i32 { c.wrapping_add(dot4(a, b, false, false)) })
        }
    })
}
/// See the row.
#[must_use]
pub fn dp2a(op: &Op) -> Option<Run> {
    let hi = op.get("half") == Some("hi");
    macro_rules! both {
        ($sa:literal, $sb:literal) => {
            if hi {
                lanes!(|a: u32, b: u32, c: i32| -> i32 {
                    c.wrapping_add(dot2(a, b, $sa, $sb, true))
                })
            } else {
                lanes!(|a: u32, b: u32, c: i32| -> i32 {
                    c.wrapping_add(dot2(a, b, $sa, $sb, false))
                })
            }
        };
    }
    Some(match (op.ty("at")?.is_signed(), op.ty("bt")?.is_signed()) {
        (true, true) => both!(true, true),
        (true, false) => both!(true, false),
        (false, true) => both!(false, true),
        (false, false) => both!(false, false),
    })
}
