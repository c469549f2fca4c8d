//! Bits: logic, shifts, counts, fields and bytes.

use super::{Run, by_type, lanes};
use tiki_kernel::isa::Op;

macro_rules! bits {
    ($op:ident, $t:ident => $body:expr) => {
        by_type!($op.ty("t"), [B16 => u16, B32 => u32, B64 => u64], $t => $body)
    };
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
        tiki_kernel::isa::Ty::U32 => find!(u32, u32, |a: u32| a),
        tiki_kernel::isa::Ty::S32 => find!(i32, u32, |a: i32| (if a < 0 { !a } else { a }) as u32),
        tiki_kernel::isa::Ty::U64 => find!(u64, u64, |a: u64| a),
        _ => find!(i64, u64, |a: i64| (if a < 0 { !a } else { a }) as u64),
    })
}
#[inline(always)]
fn extract(a: u64, pos: u32, len: u32, bits: u32, signed: bool) -> u64 {
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
        tiki_kernel::isa::Ty::U32 => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            extract(u64::from(a), b & 255, c & 255, 32, false) as u32
        }),
        tiki_kernel::isa::Ty::S32 => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 {
                extract(u64::from(a), b & 255, c & 255, 32, true) as u32
            })
        }
        tiki_kernel::isa::Ty::U64 => {
            lanes!(|a: u64, b: u32, c: u32| -> u64 {
                extract(a, b.min(255), c.min(255), 64, false)
            })
        }
        _ => {
            lanes!(|a: u64, b: u32, c: u32| -> u64 { extract(a, b.min(255), c.min(255), 64, true) })
        }
    })
}
/// See the row.
#[must_use]
pub fn bfi(op: &Op) -> Option<Run> {
    bits!(op, T => lanes!(|a: T, b: T, c: u32, d: u32| -> T {
        // The 64-bit form is made of others and takes all bits of place and length.
        let (pos, len) = if T::BITS == 64 { (c.min(255), d.min(255)) } else { (c & 255, d & 255) };
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
