//! The operations, one law per file.

pub(crate) mod coalesce;
mod complement;
mod compose;
mod divide;
mod inverse;
mod product;
mod structure;

pub use compose::ENUMERATION_LIMIT;
pub(crate) use compose::first_difference;
