//! Integers and bits.

use super::{Args, File, Run, by_type, lanes, lanes_carry, levels, put_plane};
use crate::isa::Op;

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
            crate::isa::Ty::S16 => {
                type $t = i16;
                type $w = i32;
                Some($body)
            }
            crate::isa::Ty::U16 => {
                type $t = u16;
                type $w = u32;
                Some($body)
            }
            crate::isa::Ty::S32 => {
                type $t = i32;
                type $w = i64;
                Some($body)
            }
            crate::isa::Ty::U32 => {
                type $t = u32;
                type $w = u64;
                Some($body)
            }
            crate::isa::Ty::S64 => {
                type $t = i64;
                type $w = i128;
                Some($body)
            }
            crate::isa::Ty::U64 => {
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
            crate::isa::Ty::S16 => {
                type $t = i16;
                type $w = i32;
                Some($body)
            }
            crate::isa::Ty::U16 => {
                type $t = u16;
                type $w = u32;
                Some($body)
            }
            crate::isa::Ty::S32 => {
                type $t = i32;
                type $w = i64;
                Some($body)
            }
            crate::isa::Ty::U32 => {
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
    words!(op, T => lanes_carry!(_c, |a: T, b: T| -> T { a.overflowing_sub(b) }))
}
/// See the row.
#[must_use]
pub fn subc(op: &Op) -> Option<Run> {
    if op.has("cc") {
        words!(op, T => lanes_carry!(c, |a: T, b: T| -> T { a.borrowing(b, c) }))
    } else {
        words!(op, T => lanes_carry!(c, |a: T, b: T| -> T { (a.borrowing(b, c).0, c) }))
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

macro_rules! logic {
    ($($name:ident: |$($x:ident),*| $body:expr;)*) => { $(
        /// See the row.
        #[must_use]
        pub fn $name(op: &Op) -> Option<Run> {
            by_type!(op.ty("t"), [Pred => bool, B16 => u16, B32 => u32, B64 => u64], T => lanes!(|$($x: T),*| -> T { $body }))
        }
    )* };
}
logic! {
    and: |a, b| a & b;
    or: |a, b| a | b;
    xor: |a, b| a ^ b;
    not: |a| !a;
}

/// The function of three bits whose table is `lut`.
#[inline(always)]
fn lookup(a: u32, b: u32, c: u32, lut: u32) -> u32 {
    let mut r = 0;
    for i in 0..8 {
        let x = if i & 4 != 0 { a } else { !a };
        let y = if i & 2 != 0 { b } else { !b };
        let z = if i & 1 != 0 { c } else { !c };
        r |= (x & y & z) & 0u32.wrapping_sub(lut >> i & 1);
    }
    r
}
/// See the row. The table is an operand like the others.
#[must_use]
pub fn lop3(_: &Op) -> Option<Run> {
    Some(lanes!(|a: u32, b: u32, c: u32, lut: u32| -> u32 {
        lookup(a, b, c, lut)
    }))
}
/// See the row.
#[must_use]
pub fn shl(op: &Op) -> Option<Run> {
    bits!(op, T => lanes!(|a: T, n: u32| -> T { if n >= T::BITS { 0 } else { a << n } }))
}
/// See the row.
#[must_use]
pub fn shr(op: &Op) -> Option<Run> {
    by_type!(op.ty("t"), [B16 => u16, U16 => u16, S16 => i16, B32 => u32, U32 => u32, S32 => i32, B64 => u64, U64 => u64, S64 => i64],
        T => lanes!(|a: T, n: u32| -> T { if n >= T::BITS { if a < (1 as T).wrapping_sub(1) { !0 } else { 0 } } else { a >> n } }))
}
/// See the row.
#[must_use]
pub fn shf(op: &Op) -> Option<Run> {
    Some(match (op.get("dir")?, op.get("mode")?) {
        ("l", "wrap") => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            ((u64::from(b) << 32 | u64::from(a)) << (c & 31) >> 32) as u32
        }),
        ("l", _) => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            ((u64::from(b) << 32 | u64::from(a)) << c.min(32) >> 32) as u32
        }),
        (_, "wrap") => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            ((u64::from(b) << 32 | u64::from(a)) >> (c & 31)) as u32
        }),
        _ => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            ((u64::from(b) << 32 | u64::from(a)) >> c.min(32)) as u32
        }),
    })
}
/// See the row.
#[must_use]
pub fn popc(op: &Op) -> Option<Run> {
    bits!(op, T => lanes!(|a: T| -> u32 { a.count_ones() }))
}
/// See the row.
#[must_use]
pub fn clz(op: &Op) -> Option<Run> {
    bits!(op, T => lanes!(|a: T| -> u32 { a.leading_zeros() }))
}
/// See the row.
#[must_use]
pub fn brev(op: &Op) -> Option<Run> {
    bits!(op, T => lanes!(|a: T| -> T { a.reverse_bits() }))
}
/// See the row.
#[must_use]
pub fn bfind(op: &Op) -> Option<Run> {
    macro_rules! find {
        ($t:ty, $u:ty, $flip:expr) => {
            if op.has("shiftamt") {
                lanes!(|a: $t| -> u32 {
                    let x: $u = $flip(a);
                    if x == 0 { !0 } else { x.leading_zeros() }
                })
            } else {
                lanes!(|a: $t| -> u32 {
                    let x: $u = $flip(a);
                    if x == 0 {
                        !0
                    } else {
                        <$u>::BITS - 1 - x.leading_zeros()
                    }
                })
            }
        };
    }
    Some(match op.ty("t")? {
        crate::isa::Ty::U32 => find!(u32, u32, |a: u32| a),
        crate::isa::Ty::S32 => find!(i32, u32, |a: i32| (if a < 0 { !a } else { a }) as u32),
        crate::isa::Ty::U64 => find!(u64, u64, |a: u64| a),
        _ => find!(i64, u64, |a: i64| (if a < 0 { !a } else { a }) as u64),
    })
}
#[inline(always)]
fn extract(a: u64, pos: u32, len: u32, bits: u32, signed: bool) -> u64 {
    let (pos, len) = (pos & 255, len & 255);
    let top = (pos + len).min(bits).wrapping_sub(1).min(bits - 1);
    let sign = signed && len != 0 && a >> top & 1 == 1;
    let kept = if pos >= bits { 0 } else { a >> pos };
    let ones = if len >= 64 { u64::MAX } else { (1 << len) - 1 };
    let mask = if pos >= bits {
        0
    } else {
        ones & (u64::MAX >> (64 - (bits - pos)))
    };
    (kept & mask) | if sign { !mask } else { 0 }
}
/// See the row.
#[must_use]
pub fn bfe(op: &Op) -> Option<Run> {
    Some(match op.ty("t")? {
        crate::isa::Ty::U32 => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            extract(u64::from(a), b, c, 32, false) as u32
        }),
        crate::isa::Ty::S32 => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { extract(u64::from(a), b, c, 32, true) as u32 })
        }
        crate::isa::Ty::U64 => {
            lanes!(|a: u64, b: u32, c: u32| -> u64 { extract(a, b, c, 64, false) })
        }
        _ => lanes!(|a: u64, b: u32, c: u32| -> u64 { extract(a, b, c, 64, true) }),
    })
}
/// See the row.
#[must_use]
pub fn bfi(op: &Op) -> Option<Run> {
    bits!(op, T => lanes!(|a: T, b: T, c: u32, d: u32| -> T {
        let (pos, len) = (c & 255, d & 255);
        let ones: T = if len >= T::BITS { !0 } else { (1 << len) - 1 };
        let mask: T = if pos >= T::BITS { 0 } else { ones << pos };
        let moved: T = if pos >= T::BITS { 0 } else { a << pos };
        (moved & mask) | (b & !mask)
    }))
}
/// See the row.
#[must_use]
pub fn bmsk(op: &Op) -> Option<Run> {
    Some(if op.get("mode") == Some("wrap") {
        lanes!(|a: u32, b: u32| -> u32 { ((1u64 << (b & 31)) - 1 << (a & 31)) as u32 })
    } else {
        lanes!(|a: u32, b: u32| -> u32 { (((1u64 << b.min(32)) - 1) << a.min(32)) as u32 })
    })
}
/// See the row.
#[must_use]
pub fn szext(op: &Op) -> Option<Run> {
    let wrap = op.get("mode") == Some("wrap");
    Some(match (op.ty("t")?.is_signed(), wrap) {
        (false, true) => lanes!(|a: u32, b: u32| -> u32 { a & (((1u64 << (b & 31)) - 1) as u32) }),
        (false, false) => {
            lanes!(|a: u32, b: u32| -> u32 { a & (((1u64 << b.min(32)) - 1) as u32) })
        }
        (true, true) => lanes!(|a: u32, b: u32| -> u32 {
            let n = b & 31;
            if n == 0 {
                0
            } else {
                ((a << (32 - n)) as i32 >> (32 - n)) as u32
            }
        }),
        (true, false) => lanes!(|a: u32, b: u32| -> u32 {
            let n = b.min(32);
            if n == 0 {
                0
            } else {
                ((a << (32 - n)) as i32 >> (32 - n)) as u32
            }
        }),
    })
}
#[inline(always)]
fn byte(a: u32, b: u32, sel: u32) -> u32 {
    let x = ((u64::from(b) << 32 | u64::from(a)) >> ((sel & 7) * 8)) as u32 & 255;
    if sel & 8 != 0 {
        if x & 128 != 0 { 255 } else { 0 }
    } else {
        x
    }
}
/// See the row.
#[must_use]
pub fn prmt(_: &Op) -> Option<Run> {
    Some(lanes!(|a: u32, b: u32, c: u32| -> u32 {
        byte(a, b, c & 15)
            | byte(a, b, c >> 4 & 15) << 8
            | byte(a, b, c >> 8 & 15) << 16
            | byte(a, b, c >> 12 & 15) << 24
    }))
}
#[inline(always)]
fn choose(a: u32, b: u32, at: [u32; 4]) -> u32 {
    byte(a, b, at[0] & 7)
        | byte(a, b, at[1] & 7) << 8
        | byte(a, b, at[2] & 7) << 16
        | byte(a, b, at[3] & 7) << 24
}
/// See the row.
#[must_use]
pub fn prmt_mode(op: &Op) -> Option<Run> {
    Some(match op.get("mode")? {
        "f4e" => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            let n = c & 3;
            choose(a, b, [n, n + 1, n + 2, n + 3])
        }),
        "b4e" => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            let n = c & 3;
            choose(a, b, [n, n + 7, n + 6, n + 5])
        }),
        "rc8" => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            let n = c & 3;
            choose(a, b, [n; 4])
        }),
        "ecl" => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            let n = c & 3;
            choose(a, b, [n, n.max(1), n.max(2), 3])
        }),
        "ecr" => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            let n = c & 3;
            choose(a, b, [0, n.min(1), n.min(2), n])
        }),
        _ => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            let n = (c & 1) * 2;
            choose(a, b, [n, n + 1, n, n + 1])
        }),
    })
}

/// Writes a comparison's bits: combined with the condition of the row if it has one, and the opposite to
/// the predicate behind a bar.
#[inline(always)]
pub(super) fn put_compare(f: &mut File, a: &Args, mask: u32, bits: u32) {
    let (mut p, mut q) = (bits, !bits);
    if a.flags & COMBINE != 0 {
        let c = f.preds[a.s[3] as usize] ^ if a.flags & NEGATED != 0 { u32::MAX } else { 0 };
        let combine = |x: u32| match a.flags & COMBINE {
            AND => x & c,
            OR => x | c,
            _ => x ^ c,
        };
        (p, q) = (combine(p), combine(q));
    }
    let d = &mut f.preds[a.s[0] as usize];
    *d = (p & mask) | (*d & !mask);
    let d = &mut f.preds[a.pair as usize];
    *d = (q & mask) | (*d & !mask);
}
/// The condition is negated.
pub const NEGATED: u32 = 1;
const AND: u32 = 2;
const OR: u32 = 4;
const COMBINE: u32 = 2 | 4 | 8;
/// The flag of a combining word.
#[must_use]
pub fn combine_flag(op: &Op) -> u32 {
    match op.get("bool") {
        Some("and") => AND,
        Some("or") => OR,
        Some("xor") => 8,
        _ => 0,
    }
}

macro_rules! compare {
    ($t:ty, |$x:ident, $y:ident| $body:expr) => {{
        #[inline(always)]
        fn body(f: &mut File, a: &Args, mask: u32) {
            use super::Lane;
            let mut bits = 0u32;
            {
                let (p, q) = (<$t as Lane>::src(f, a.s[1]), <$t as Lane>::src(f, a.s[2]));
                for i in 0..super::LANES {
                    let ($x, $y) = (<$t as Lane>::lane(p, i), <$t as Lane>::lane(q, i));
                    bits |= u32::from($body) << i;
                }
            }
            super::int::put_compare(f, a, mask, bits);
        }
        levels!(body)
    }};
}
pub(super) use compare;

macro_rules! ordered {
    ($op:ident, $t:ident => $make:ident) => {{
        use crate::isa::Ty;
        let unsigned = matches!($op.get("cmp")?, "lo" | "ls" | "hi" | "hs");
        let t = $op.ty("t")?;
        match (t.bits(), t.is_signed() && !unsigned) {
            (16, true) => {
                type $t = i16;
                $make!()
            }
            (16, false) => {
                type $t = u16;
                $make!()
            }
            (32, true) => {
                type $t = i32;
                $make!()
            }
            (32, false) => {
                type $t = u32;
                $make!()
            }
            (64, true) => {
                type $t = i64;
                $make!()
            }
            (64, false) => {
                type $t = u64;
                $make!()
            }
            _ => {
                let _ = Ty::B8;
                return None;
            }
        }
    }};
}

/// See the row.
#[must_use]
pub fn setp(op: &Op) -> Option<Run> {
    macro_rules! make {
        () => {
            match op.get("cmp")? {
                "eq" => compare!(T, |x, y| x == y),
                "ne" => compare!(T, |x, y| x != y),
                "lt" | "lo" => compare!(T, |x, y| x < y),
                "le" | "ls" => compare!(T, |x, y| x <= y),
                "gt" | "hi" => compare!(T, |x, y| x > y),
                _ => compare!(T, |x, y| x >= y),
            }
        };
    }
    Some(ordered!(op, T => make))
}
/// See the row.
#[must_use]
pub fn set(op: &Op) -> Option<Run> {
    let float = op.ty("d")? == crate::isa::Ty::F32;
    macro_rules! one {
        (|$x:ident, $y:ident| $c:expr) => {
            if float {
                lanes!(|a: T, b: T| -> f32 {
                    let ($x, $y) = (a, b);
                    if $c { 1.0 } else { 0.0 }
                })
            } else {
                lanes!(|a: T, b: T| -> u32 {
                    let ($x, $y) = (a, b);
                    if $c { !0 } else { 0 }
                })
            }
        };
    }
    macro_rules! make {
        () => {
            match op.get("cmp")? {
                "eq" => one!(|x, y| x == y),
                "ne" => one!(|x, y| x != y),
                "lt" | "lo" => one!(|x, y| x < y),
                "le" | "ls" => one!(|x, y| x <= y),
                "gt" | "hi" => one!(|x, y| x > y),
                _ => one!(|x, y| x >= y),
            }
        };
    }
    Some(ordered!(op, T => make))
}
macro_rules! by_width {
    ($op:ident, $t:ident => $body:expr) => {
        match $op.ty("t")?.bits() {
            16 => {
                type $t = u16;
                Some($body)
            }
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
pub fn selp(op: &Op) -> Option<Run> {
    by_width!(op, T => lanes!(|a: T, b: T, c: bool| -> T { if c { a } else { b } }))
}
/// See the row.
#[must_use]
pub fn slct(op: &Op) -> Option<Run> {
    by_width!(op, T => lanes!(|a: T, b: T, c: i32| -> T { if c >= 0 { a } else { b } }))
}

/// Copies planes where the mask says.
#[inline(always)]
pub(super) fn copy(f: &mut File, from: u32, to: u32, mask: u32) {
    let plane = f.words[from as usize].0;
    put_plane(&mut f.words[to as usize], &plane, mask);
}
