//! Comparisons and choices.

use super::{Args, File, Run, by_type, lanes, levels, put_plane};
use tiki_kernel::isa::Op;

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

/// What a comparison asks for, in its flags: how two numbers must stand to each other for a yes.
const LESS: u32 = 1 << 8;
const EQUAL: u32 = 1 << 9;
const GREATER: u32 = 1 << 10;
/// One of them is NaN.
const UNORDERED: u32 = 1 << 11;
/// Of floats: subnormal operands are zero.
pub(super) const FLUSH: u32 = 1 << 12;
/// The flags of a row's comparison.
pub(super) fn asked(op: &Op) -> Option<u32> {
    let relation = match op.get("cmp")? {
        "eq" => EQUAL,
        "ne" => LESS | GREATER,
        "lt" | "lo" => LESS,
        "le" | "ls" => LESS | EQUAL,
        "gt" | "hi" => GREATER,
        "ge" | "hs" => GREATER | EQUAL,
        "equ" => EQUAL | UNORDERED,
        "neu" => LESS | GREATER | UNORDERED,
        "ltu" => LESS | UNORDERED,
        "leu" => LESS | EQUAL | UNORDERED,
        "gtu" => GREATER | UNORDERED,
        "geu" => GREATER | EQUAL | UNORDERED,
        "num" => LESS | EQUAL | GREATER,
        _ => UNORDERED,
    };
    Some(relation | if op.has("ftz") { FLUSH } else { 0 })
}
/// Whether two numbers stand as asked. Without a branch: a loop over lanes is made of vectors.
#[inline(always)]
pub(super) fn stand<T: PartialOrd>(x: T, y: T, asked: u32) -> bool {
    let (less, equal, greater) = (x < y, x == y, x > y);
    (less & (asked & LESS != 0))
        | (equal & (asked & EQUAL != 0))
        | (greater & (asked & GREATER != 0))
        | (!(less | equal | greater) & (asked & UNORDERED != 0))
}

/// A comparison that sets predicates, from one lane's; with the flags that `Run::flags` sets, if asked.
macro_rules! compare {
    ($t:ty, |$x:ident, $y:ident| $body:expr) => { compare!(_flags; $t, |$x, $y| $body) };
    ($flags:ident; $t:ty, |$x:ident, $y:ident| $body:expr) => {{
        #[inline(always)]
        fn body(f: &mut File, a: &Args, mask: u32) {
            use super::Lane;
            let mut bits = 0u32;
            let $flags = a.flags;
            {
                let (p, q) = (<$t as Lane>::src(f, a.s[1]), <$t as Lane>::src(f, a.s[2]));
                for i in 0..super::LANES {
                    let ($x, $y) = (<$t as Lane>::lane(p, i), <$t as Lane>::lane(q, i));
                    bits |= u32::from($body) << i;
                }
            }
            super::compare::put_compare(f, a, mask, bits);
        }
        levels!(body)
    }};
}
pub(super) use compare;

macro_rules! ordered {
    ($op:ident, $t:ident => $make:ident) => {{
        use tiki_kernel::isa::Ty;
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
/// What `set` writes where the answer is yes.
pub(super) const ONE: u32 = 1 << 13;
/// All bits, or the float one where the flags say so.
#[inline(always)]
pub(super) fn yes(answer: bool, flags: u32) -> u32 {
    let yes = if flags & ONE != 0 { 1f32.to_bits() } else { !0 };
    if answer { yes } else { 0 }
}
/// The flag of a row's result.
pub(super) fn result(op: &Op) -> Option<u32> {
    Some(if op.ty("d")? == tiki_kernel::isa::Ty::F32 {
        ONE
    } else {
        0
    })
}
/// See the row.
#[must_use]
pub fn set(op: &Op) -> Option<Run> {
    macro_rules! make {
        () => {
            lanes!(flags; |a: T, b: T| -> u32 { yes(stand(a, b, flags), flags) })
        };
    }
    let run = ordered!(op, T => make);
    Some(run.flags(asked(op)? | result(op)?))
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
/// See the row.
#[must_use]
pub fn testp(op: &Op) -> Option<Run> {
    let kind = op.get("kind")?;
    by_type!(op.ty("t"), [F32 => f32, F64 => f64], T => match kind {
        "finite" => lanes!(|a: T| -> bool { a.is_finite() }),
        "infinite" => lanes!(|a: T| -> bool { a.is_infinite() }),
        "number" => lanes!(|a: T| -> bool { !a.is_nan() }),
        "notanumber" => lanes!(|a: T| -> bool { a.is_nan() }),
        "normal" => lanes!(|a: T| -> bool { a.is_normal() || a == 0.0 }),
        _ => lanes!(|a: T| -> bool { a.is_subnormal() }),
    })
}
