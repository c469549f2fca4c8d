//! Barrier objects.

use super::Ask;
use tiki_kernel::isa::Op;

/// See the row.
#[must_use]
pub fn init(_: &Op) -> Option<Ask> {
    Some(Ask::ObjectInit)
}
/// See the row.
#[must_use]
pub fn inval(_: &Op) -> Option<Ask> {
    Some(Ask::ObjectInval)
}
fn releases(op: &Op) -> bool {
    op.get("order") != Some("relaxed")
}
/// See the rows.
#[must_use]
pub fn arrive(op: &Op) -> Option<Ask> {
    Some(Ask::ObjectArrive {
        drop: op.get("mode")? == "arrive_drop",
        expect: false,
        release: releases(op),
    })
}
/// See the row.
#[must_use]
pub fn arrive_tx(op: &Op) -> Option<Ask> {
    Some(Ask::ObjectArrive {
        drop: op.get("mode")? == "arrive_drop",
        expect: true,
        release: releases(op),
    })
}
/// See the row.
#[must_use]
pub fn tx(op: &Op) -> Option<Ask> {
    Some(Ask::ObjectBytes {
        complete: op.get("mode")? == "complete_tx",
    })
}
/// See the rows.
#[must_use]
pub fn wait(op: &Op) -> Option<Ask> {
    Some(Ask::ObjectWait {
        parity: op.row.slot("parity").is_some(),
        may_wait: op.get("mode")? == "try_wait",
        acquire: op.get("order") != Some("relaxed"),
    })
}
/// See the row.
#[must_use]
pub fn pending(_: &Op) -> Option<Ask> {
    Some(Ask::ObjectPending)
}
