//! Barriers of blocks and clusters.

use super::ask::{Ask, Fold, at};
use tiki_kernel::isa::Op;

/// See the rows.
#[must_use]
pub fn bar(op: &Op) -> Option<Ask> {
    Some(Ask::Bar {
        wait: op.get("mode")? != "arrive",
        aligned: op.row.head() == "bar" || op.has("aligned"),
        id: at(op, "a")?,
        count: at(op, "b"),
        fold: match op.get("op") {
            Some("popc") => Fold::Popc,
            Some("and") => Fold::And,
            Some("or") => Fold::Or,
            _ => Fold::None,
        },
        pred: at(op, "c"),
    })
}
/// See the rows.
#[must_use]
pub fn cluster(op: &Op) -> Option<Ask> {
    Some(if op.get("mode")? == "arrive" {
        Ask::ClusterArrive {
            release: op.get("order") != Some("relaxed"),
        }
    } else {
        Ask::ClusterWait
    })
}
/// See the row. Launches of the machine follow one another: there is nothing to wait for.
#[must_use]
pub fn grid(_: &Op) -> Option<Ask> {
    Some(Ask::Nothing)
}
/// See the row.
#[must_use]
pub fn setmaxnreg(_: &Op) -> Option<Ask> {
    Some(Ask::SetRegisters)
}
