//! Memory requests.

use super::ask::{Access, Ask, Atomic, Sync, at};
use super::exact::{BF16, Exact, F16, Format, Mode};
use super::float::flush;
use tiki_kernel::isa::{Atom, Op, Ty, row::Count};

fn access(op: &Op, value: &str) -> Option<Access> {
    let t = op.ty("t")?;
    let value = at(op, value)?;
    let count = match op.row.form().pats[value as usize].count {
        Count::One => 1,
        c => op.count(c).unwrap_or(1),
    };
    Some(Access {
        space: op.space(),
        bytes: t.bytes(),
        count,
        signed: t.is_signed(),
        addr: at(op, "a")?,
        value,
        strong: op.get("order").is_some_and(|o| o != "weak"),
        order: Sync::of(op),
    })
}

/// See the row.
#[must_use]
pub fn load(op: &Op) -> Option<Ask> {
    access(op, "d").map(Ask::Load)
}
/// See the row.
#[must_use]
pub fn store(op: &Op) -> Option<Ask> {
    access(op, "b").map(Ask::Store)
}
/// See the row.
#[must_use]
pub fn store_async(op: &Op) -> Option<Ask> {
    access(op, "b").map(Ask::StoreAsync)
}

type Apply = fn(u64, u64) -> u64;

fn f32_of(x: u64) -> f32 {
    f32::from_bits(x as u32)
}
fn sum32(a: u64, b: u64) -> u64 {
    let r = f32_of(a) + f32_of(b);
    u64::from(if r.is_nan() { 0x7fff_ffff } else { r.to_bits() })
}
fn sum32_flushed(a: u64, b: u64) -> u64 {
    let r = flush(flush(f32_of(a)) + flush(f32_of(b)));
    u64::from(if r.is_nan() { 0x7fff_ffff } else { r.to_bits() })
}
fn half(f: &Format, a: u64, b: u64) -> u64 {
    f.round(
        Exact::sum(f.value(a & 0xffff), f.value(b & 0xffff)),
        Mode::Even,
    )
}
fn halves(f: &Format, a: u64, b: u64) -> u64 {
    half(f, a, b) | half(f, a >> 16, b >> 16) << 16
}
fn half_most(f: &Format, a: u64, b: u64, least: bool) -> u64 {
    let (x, y) = (f.value(a & 0xffff), f.value(b & 0xffff));
    if x.is_nan() {
        b & 0xffff
    } else if y.is_nan() || (x < y) == least || (x == y && (a >> 15 & 1 == 1) == least) {
        a & 0xffff
    } else {
        b & 0xffff
    }
}
fn halves_most(f: &Format, a: u64, b: u64, least: bool) -> u64 {
    half_most(f, a, b, least) | half_most(f, a >> 16, b >> 16, least) << 16
}

fn apply(op: Atom, t: Ty) -> Option<(Apply, Apply)> {
    let same = |f: Apply| Some((f, f));
    match (op, t) {
        (Atom::Add, Ty::F32) => Some((sum32, sum32_flushed)),
        (Atom::Add, Ty::F64) => same(|a, b| {
            let r = f64::from_bits(a) + f64::from_bits(b);
            if r.is_nan() {
                0x7ff8_0000_0000_0000
            } else {
                r.to_bits()
            }
        }),
        (Atom::Add, Ty::F16) => same(|a, b| half(&F16, a, b)),
        (Atom::Add, Ty::BF16) => same(|a, b| half(&BF16, a, b)),
        (Atom::Add, Ty::F16x2) => same(|a, b| halves(&F16, a, b)),
        (Atom::Add, Ty::BF16x2) => same(|a, b| halves(&BF16, a, b)),
        (Atom::Min, Ty::F16) => same(|a, b| half_most(&F16, a, b, true)),
        (Atom::Max, Ty::F16) => same(|a, b| half_most(&F16, a, b, false)),
        (Atom::Min, Ty::BF16) => same(|a, b| half_most(&BF16, a, b, true)),
        (Atom::Max, Ty::BF16) => same(|a, b| half_most(&BF16, a, b, false)),
        (Atom::Min, Ty::F16x2) => same(|a, b| halves_most(&F16, a, b, true)),
        (Atom::Max, Ty::F16x2) => same(|a, b| halves_most(&F16, a, b, false)),
        (Atom::Min, Ty::BF16x2) => same(|a, b| halves_most(&BF16, a, b, true)),
        (Atom::Max, Ty::BF16x2) => same(|a, b| halves_most(&BF16, a, b, false)),
        (_, t) if t.is_float() => None,
        (Atom::And, _) => same(|a, b| a & b),
        (Atom::Or, _) => same(|a, b| a | b),
        (Atom::Xor, _) => same(|a, b| a ^ b),
        (Atom::Exch | Atom::Cas, _) => same(|_, b| b),
        (Atom::Add, _) => same(|a, b| a.wrapping_add(b)),
        (Atom::Inc, _) => same(|a, b| if a as u32 >= b as u32 { 0 } else { a + 1 }),
        (Atom::Dec, _) => same(|a, b| {
            if a as u32 == 0 || a as u32 > b as u32 {
                b
            } else {
                a - 1
            }
        }),
        (Atom::Min, Ty::S32) => same(|a, b| u64::from((a as i32).min(b as i32) as u32)),
        (Atom::Max, Ty::S32) => same(|a, b| u64::from((a as i32).max(b as i32) as u32)),
        (Atom::Min, Ty::S64) => same(|a, b| (a as i64).min(b as i64) as u64),
        (Atom::Max, Ty::S64) => same(|a, b| (a as i64).max(b as i64) as u64),
        (Atom::Min, _) => same(|a, b| a.min(b)),
        (Atom::Max, _) => same(|a, b| a.max(b)),
    }
}

/// How a bulk reduction combines one element.
#[must_use]
pub fn combine(op: Atom, t: Ty) -> Option<fn(u64, u64) -> u64> {
    apply(op, t).map(|a| a.1)
}

fn atomic(op: &Op, old: bool) -> Option<Ask> {
    let t = op.ty("t")?;
    let kind = Atom::by_text(op.get("op")?)?;
    let (plain, global) = apply(kind, t)?;
    let a = access(op, "b")?;
    if a.bytes > 8 && !matches!(kind, Atom::Exch | Atom::Cas) {
        return None;
    }
    Some(Ask::Atomic(Atomic {
        space: a.space,
        bytes: a.bytes,
        count: a.count,
        apply: plain,
        apply_global: global,
        cas: if kind == Atom::Cas { at(op, "c") } else { None },
        addr: a.addr,
        value: a.value,
        old: if old { at(op, "d") } else { None },
        ordered: old
            || t.is_float()
            || t.class() == tiki_kernel::isa::Class::Packed
            || kind == Atom::Exch,
        order: Sync::of(op),
    }))
}
/// See the row.
#[must_use]
pub fn atom(op: &Op) -> Option<Ask> {
    atomic(op, true)
}
/// See the row.
#[must_use]
pub fn red(op: &Op) -> Option<Ask> {
    atomic(op, false)
}
/// See the row.
#[must_use]
pub fn prefetch(_: &Op) -> Option<Ask> {
    Some(Ask::Nothing)
}
/// See the row.
#[must_use]
pub fn fence(op: &Op) -> Option<Ask> {
    Some(Ask::Fence {
        wide: Sync::of(op).wide,
        init: op.row.slot("mbarrier_init").is_some(),
    })
}
/// See the row.
#[must_use]
pub fn fence_map(op: &Op) -> Option<Ask> {
    Some(Ask::MapAcquire { addr: at(op, "a")? })
}
/// See the row.
#[must_use]
pub fn fence_proxy(op: &Op) -> Option<Ask> {
    let asynchronous = op.row.slot("async").is_some();
    let space = op.get("fspace");
    Some(Ask::FenceProxy {
        shared: asynchronous && space != Some("global"),
        global: asynchronous && space.is_none_or(|s| s == "global"),
    })
}
