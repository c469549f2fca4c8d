//! Moves, packing and addresses.
//!
//! Generic addresses: every space but global has a window of 2^36 bytes ([`window`]); addresses of global
//! memory lie above all windows. An address of another block of the cluster has that block's rank plus one
//! in bits 24 to 31 of its shared address.

use super::compare::copy;
use super::{Args, File, Lane, Run, by_type, lanes, levels};
use tiki_kernel::isa::{Op, Space};

/// Start of a space's window of generic addresses; zero for global memory, which has none.
#[must_use]
pub const fn window(space: Space) -> u64 {
    match space {
        Space::Shared | Space::SharedCta | Space::SharedCluster => 1 << 36,
        Space::Local => 2 << 36,
        Space::Param | Space::ParamEntry | Space::ParamFunc => 3 << 36,
        Space::Const => 4 << 36,
        Space::Global | Space::Generic => 0,
    }
}
/// The first address of global memory.
pub const GLOBAL: u64 = 1 << 40;

/// The space of a generic address and the address in it.
#[must_use]
#[inline(always)]
pub fn locate(generic: u64) -> (Space, u64) {
    let low = generic & ((1 << 36) - 1);
    match generic >> 36 {
        1 => (Space::Shared, low),
        2 => (Space::Local, low),
        3 => (Space::Param, low),
        4 => (Space::Const, low),
        _ => (Space::Global, generic),
    }
}

/// Bit of a shared address where the rank of a block, plus one, begins.
pub const RANK_SHIFT: u32 = 24;
/// What stands there in the address of a block's own variable, in a kernel of clusters. A card has the rank there, so that
/// an address taken for an offset is wrong in all blocks but the first; here it is in all.
pub const OWN_RANK: u32 = 0x20;

/// See the row.
#[must_use]
pub fn mov(op: &Op) -> Option<Run> {
    #[inline(always)]
    fn one(f: &mut File, a: &Args, mask: u32) {
        copy(f, a.s[1], a.s[0], mask);
    }
    #[inline(always)]
    fn two(f: &mut File, a: &Args, mask: u32) {
        copy(f, a.s[1], a.s[0], mask);
        copy(f, a.s[1] + 1, a.s[0] + 1, mask);
    }
    #[inline(always)]
    fn four(f: &mut File, a: &Args, mask: u32) {
        for k in 0..4 {
            copy(f, a.s[1] + k, a.s[0] + k, mask);
        }
    }
    Some(match op.ty("t")?.bits() {
        1 => lanes!(|a: bool| -> bool { a }),
        64 => levels!(two),
        128 => levels!(four),
        _ => levels!(one),
    })
}
/// Joins parts of `bits / parts` bits: whole words are copied, smaller ones shifted together.
#[must_use]
pub fn pack(op: &Op) -> Option<Run> {
    let parts = op.count(op.row.form().pats[1].count)?;
    parts_of(op.ty("t")?.bits(), parts, true)
}
/// The opposite.
#[must_use]
pub fn unpack(op: &Op) -> Option<Run> {
    let parts = op.count(op.row.form().pats[0].count)?;
    parts_of(op.ty("t")?.bits(), parts, false)
}
fn parts_of(bits: u32, parts: u32, join: bool) -> Option<Run> {
    macro_rules! words {
        ($n:literal, $per:literal) => {{
            #[inline(always)]
            fn joined(f: &mut File, a: &Args, mask: u32) {
                let from: [[u32; 32]; $n * $per] = std::array::from_fn(|k| {
                    f.words[(a.list[a.s[1] as usize + k / $per] as usize) + k % $per].0
                });
                for k in 0..$n * $per {
                    super::put_plane(&mut f.words[a.s[0] as usize + k], &from[k], mask);
                }
            }
            #[inline(always)]
            fn split(f: &mut File, a: &Args, mask: u32) {
                let from: [[u32; 32]; $n * $per] =
                    std::array::from_fn(|k| f.words[a.s[1] as usize + k].0);
                for k in 0..$n * $per {
                    let to = a.list[a.s[0] as usize + k / $per] as usize + k % $per;
                    super::put_plane(&mut f.words[to], &from[k], mask);
                }
            }
            if join {
                levels!(joined)
            } else {
                levels!(split)
            }
        }};
    }
    macro_rules! small {
        ($t:ty, $n:literal, $bits:literal) => {{
            #[inline(always)]
            fn joined(f: &mut File, a: &Args, mask: u32) {
                let mut out = <$t as Lane>::out();
                for i in 0..super::LANES {
                    let mut v: $t = 0;
                    for k in 0..$n {
                        let part = f.words[a.list[a.s[1] as usize + k] as usize].0[i]
                            & ((1u32 << $bits) - 1);
                        v |= (part as $t) << (k * $bits);
                    }
                    <$t as Lane>::set(&mut out, i, v);
                }
                <$t as Lane>::put(f, a.s[0], out, mask);
            }
            #[inline(always)]
            fn split(f: &mut File, a: &Args, mask: u32) {
                let mut out = [[0u32; 32]; $n];
                {
                    let src = <$t as Lane>::src(f, a.s[1]);
                    for i in 0..super::LANES {
                        let v = <$t as Lane>::lane(src, i);
                        for k in 0..$n {
                            out[k][i] = (v >> (k * $bits)) as u32 & ((1u32 << $bits) - 1);
                        }
                    }
                }
                for k in 0..$n {
                    super::put_plane(
                        &mut f.words[a.list[a.s[0] as usize + k] as usize],
                        &out[k],
                        mask,
                    );
                }
            }
            if join {
                levels!(joined)
            } else {
                levels!(split)
            }
        }};
    }
    Some(match (bits, parts) {
        (64, 2) => words!(2, 1),
        (128, 2) => words!(2, 2),
        (128, 4) => words!(4, 1),
        (32, 2) => small!(u32, 2, 16),
        (16, 2) => small!(u16, 2, 8),
        (32, 4) => small!(u32, 4, 8),
        (64, 4) => small!(u64, 4, 16),
        _ => return None,
    })
}

macro_rules! shifted {
    ($op:ident, $f:ident) => {
        match $op.space() {
            Space::Global | Space::Generic => by_type!($op.ty("t"), [U32 => u32, U64 => u64], T => lanes!(|a: T| -> T { a })),
            Space::Local => Some(lanes!(|a: u64| -> u64 { $f(a, window(Space::Local)) })),
            Space::Param | Space::ParamEntry | Space::ParamFunc => Some(lanes!(|a: u64| -> u64 { $f(a, window(Space::Param)) })),
            Space::Const => Some(lanes!(|a: u64| -> u64 { $f(a, window(Space::Const)) })),
            _ => Some(lanes!(|a: u64| -> u64 { $f(a, window(Space::Shared)) })),
        }
    };
}
#[inline(always)]
fn raise(a: u64, w: u64) -> u64 {
    a.wrapping_add(w)
}
#[inline(always)]
fn lower(a: u64, w: u64) -> u64 {
    a.wrapping_sub(w)
}
/// See the row.
#[must_use]
pub fn cvta(op: &Op) -> Option<Run> {
    shifted!(op, raise)
}
/// See the row.
#[must_use]
pub fn cvta_to(op: &Op) -> Option<Run> {
    shifted!(op, lower)
}
/// See the row.
#[must_use]
pub fn isspacep(op: &Op) -> Option<Run> {
    Some(match op.space() {
        Space::Global => lanes!(|a: u64| -> bool { a >= GLOBAL }),
        Space::Local => lanes!(|a: u64| -> bool { a >> 36 == 2 }),
        Space::Param | Space::ParamEntry | Space::ParamFunc => {
            lanes!(|a: u64| -> bool { a >> 36 == 3 })
        }
        Space::Const => lanes!(|a: u64| -> bool { a >> 36 == 4 }),
        _ => lanes!(|a: u64| -> bool { a >> 36 == 1 }),
    })
}
/// See the row.
#[must_use]
pub fn mapa(op: &Op) -> Option<Run> {
    const LOW: u32 = (1 << RANK_SHIFT) - 1;
    if op.ty("t")?.bits() == 32 {
        Some(lanes!(|a: u32, b: u32| -> u32 {
            (a & LOW) | (b + 1) << RANK_SHIFT
        }))
    } else {
        Some(lanes!(|a: u64, b: u32| -> u64 {
            (a & !(0xff << RANK_SHIFT)) | u64::from(b + 1) << RANK_SHIFT
        }))
    }
}
/// See the row.
#[must_use]
pub fn getctarank(op: &Op) -> Option<Run> {
    #[inline(always)]
    fn body(f: &mut File, a: &Args, mask: u32) {
        let own = f.place.rank;
        let plane = f.words[a.s[1] as usize].0;
        let out = plane.map(|x| match x >> RANK_SHIFT & 0xff {
            0 | OWN_RANK => own,
            r => r - 1,
        });
        super::put_plane(&mut f.words[a.s[0] as usize], &out, mask);
    }
    let _ = op;
    Some(levels!(body))
}
/// See the row. The machine has no cache: a policy is any value.
#[must_use]
pub fn policy(_: &Op) -> Option<Run> {
    #[inline(always)]
    fn body(f: &mut File, a: &Args, mask: u32) {
        for k in 0..2 {
            super::put_plane(&mut f.words[a.s[0] as usize + k], &[0; 32], mask);
        }
    }
    Some(levels!(body))
}
/// See the row. The lowest lane that is there is elected.
#[must_use]
pub fn elect(_: &Op) -> Option<Run> {
    #[inline(always)]
    fn body(f: &mut File, a: &Args, mask: u32) {
        let leader = mask.trailing_zeros();
        super::put_plane(&mut f.words[a.s[0] as usize], &[leader; 32], mask);
        <bool as Lane>::put(f, a.pair, 1u32.checked_shl(leader).unwrap_or(0), mask);
    }
    Some(levels!(body))
}
