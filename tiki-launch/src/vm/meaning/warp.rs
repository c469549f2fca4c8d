//! What lanes do together.

use super::Ask;
use tiki_kernel::isa::{Op, Shfl, Ty, Vote};

/// See the row.
#[must_use]
pub fn shfl(op: &Op) -> Option<Ask> {
    Shfl::by_text(op.get("mode")?).map(Ask::Shuffle)
}
/// See the row.
#[must_use]
pub fn vote(op: &Op) -> Option<Ask> {
    Vote::by_text(op.get("mode")?).map(Ask::Vote)
}
/// See the row.
#[must_use]
pub fn matches(op: &Op) -> Option<Ask> {
    Some(Ask::Match {
        all: op.get("mode")? == "all",
        wide: op.ty("t")?.bits() == 64,
    })
}
/// See the row.
#[must_use]
pub fn redux(op: &Op) -> Option<Ask> {
    let f: fn(u32, u32) -> u32 = match (op.get("op")?, op.ty("t")?) {
        ("add", _) => u32::wrapping_add,
        ("and", _) => |a, b| a & b,
        ("or", _) => |a, b| a | b,
        ("xor", _) => |a, b| a ^ b,
        ("min", Ty::S32) => |a, b| (a as i32).min(b as i32) as u32,
        ("max", Ty::S32) => |a, b| (a as i32).max(b as i32) as u32,
        ("min", _) => std::cmp::min,
        _ => std::cmp::max,
    };
    Some(Ask::Redux(f))
}
/// See the row.
#[must_use]
pub fn activemask(_: &Op) -> Option<Ask> {
    Some(Ask::ActiveMask)
}
/// See the row.
#[must_use]
pub fn sync(_: &Op) -> Option<Ask> {
    Some(Ask::SyncWarp)
}
