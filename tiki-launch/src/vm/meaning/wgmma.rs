//! A warpgroup's matrices.

use super::Ask;
use super::matrix::product;
use tiki_kernel::isa::{Op, Ty};

/// See the row.
#[must_use]
pub fn fence(_: &Op) -> Option<Ask> {
    Some(Ask::GroupFence)
}
/// See the row.
#[must_use]
pub fn commit(_: &Op) -> Option<Ask> {
    Some(Ask::GroupCommit)
}
/// See the row.
#[must_use]
pub fn wait(_: &Op) -> Option<Ask> {
    Some(Ask::GroupWait)
}
/// See the rows.
#[must_use]
pub fn multiply(op: &Op) -> Option<Ask> {
    let shape = product(op).filter(|p| p.a != Ty::B1)?;
    let registers = op.row.form().pats[1].count != tiki_kernel::isa::row::Count::One;
    Some(Ask::GroupMultiply { shape, registers })
}
