//! Bulk and tensor copies.

use super::ask::{Ask, at};
use tiki_kernel::isa::{Atom, Op};

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
        offsets: at(op, "off"),
    })
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
/// What can be changed of a tensor map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapField {
    /// Address of the first element.
    Address,
    /// Dimensions, less one.
    Rank,
    /// Element type, by number.
    Element,
    /// Interleaving, by number.
    Interleave,
    /// Spread in shared memory, by number.
    Swizzle,
    /// What is outside, by number.
    Fill,
    /// Elements of the box along a dimension.
    Box,
    /// Elements of the tensor along a dimension.
    Extent,
    /// Elements from one that is copied to the next along a dimension.
    Step,
    /// Bytes between neighbours along a dimension but the first.
    Stride,
}

/// The fields by their names.
const FIELDS: &[(&str, MapField)] = &[
    ("global_address", MapField::Address),
    ("rank", MapField::Rank),
    ("elemtype", MapField::Element),
    ("interleave_layout", MapField::Interleave),
    ("swizzle_mode", MapField::Swizzle),
    ("fill_mode", MapField::Fill),
    ("box_dim", MapField::Box),
    ("global_dim", MapField::Extent),
    ("element_stride", MapField::Step),
    ("global_stride", MapField::Stride),
];

/// See the rows.
#[must_use]
pub fn edit(op: &Op) -> Option<Ask> {
    let name = op.get("field")?;
    Some(Ask::MapEdit {
        field: FIELDS.iter().find(|f| f.0 == name)?.1,
        space: op.space(),
        index: at(op, "i"),
        value: at(op, "b")?,
    })
}
/// See the row.
#[must_use]
pub fn publish(_: &Op) -> Option<Ask> {
    Some(Ask::MapPublish)
}
