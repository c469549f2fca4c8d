//! Copies of a thread.

use super::Ask;
use tiki_kernel::isa::Op;

/// See the row.
#[must_use]
pub fn issue(_: &Op) -> Option<Ask> {
    Some(Ask::CopyIssue)
}
/// See the row.
#[must_use]
pub fn commit(_: &Op) -> Option<Ask> {
    Some(Ask::CopyCommit)
}
/// See the rows.
#[must_use]
pub fn wait(_: &Op) -> Option<Ask> {
    Some(Ask::CopyWait)
}
/// See the rows.
#[must_use]
pub fn arrive(op: &Op) -> Option<Ask> {
    Some(Ask::CopyArrive {
        noinc: op.has("noinc"),
    })
}
