//! The operations, one law per file.

mod agree;
pub(crate) mod coalesce;
mod complement;
mod compose;
mod cut;
mod divide;
mod inverse;
mod product;
pub(crate) mod recast;
mod structure;
mod through;

pub use compose::ENUMERATION_LIMIT;
pub(crate) use compose::first_difference;
