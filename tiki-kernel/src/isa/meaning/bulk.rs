//! Bulk and tensor copies.

use super::ask::{Ask, at};
use crate::isa::{Atom, Op};

/// See the rows.
#[must_use]
pub fn load(op: &Op) -> Option<Ask> {
    Some(Ask::BulkLoad {
        mask: at(op, "mask"),
    })
}
/// See the row.
#[must_use]
pub fn peer(_: &Op) -> Option<Ask> {
    Some(Ask::BulkPeer)
}
/// See the rows.
#[must_use]
pub fn store(op: &Op) -> Option<Ask> {
    let reduce = match op.get("op") {
        Some(text) => {
            let (atom, t) = (Atom::by_text(text)?, op.ty("t")?);
            super::memory::combine(atom, t)?;
            Some((atom, t))
        }
        None => None,
    };
    Some(Ask::BulkStore { reduce })
}
/// See the rows.
#[must_use]
pub fn load_box(op: &Op) -> Option<Ask> {
    Some(Ask::BoxLoad {
        mask: at(op, "mask"),
    })
}
/// See the rows: not served.
#[must_use]
pub fn load_im2col(_: &Op) -> Option<Ask> {
    None
}
/// See the rows.
#[must_use]
pub fn store_box(op: &Op) -> Option<Ask> {
    let reduce = match op.get("op") {
        Some(text) => Some(Atom::by_text(text)?),
        None => None,
    };
    Some(Ask::BoxStore { reduce })
}
/// See the rows.
#[must_use]
pub fn prefetch(_: &Op) -> Option<Ask> {
    Some(Ask::Nothing)
}
/// See the row.
#[must_use]
pub fn commit(_: &Op) -> Option<Ask> {
    Some(Ask::BulkCommit)
}
/// See the row.
#[must_use]
pub fn wait(op: &Op) -> Option<Ask> {
    Some(Ask::BulkWait {
        read: op.has("read"),
    })
}
/// See the rows: not served.
#[must_use]
pub fn edit(_: &Op) -> Option<Ask> {
    None
}
/// See the row: not served.
#[must_use]
pub fn publish(_: &Op) -> Option<Ask> {
    None
}
