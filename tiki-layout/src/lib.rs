//! The layout algebra of Tiki: functions from coordinates to offsets.
//!
//! # Notation
//!
//! `(4,(2,3)):(1,(4,8))` is a shape and a stride, nested alike.
#![forbid(unsafe_code)]

mod algebra;
mod arithmetic;
pub mod atoms;
pub mod banks;
mod composed;
pub mod coord;
mod coordinates;
mod error;
mod index_map;
mod inline;
pub mod laws;
mod layout;
mod partition;
pub mod picture;
#[cfg(feature = "plot")]
pub mod plot;
mod swizzle;
pub mod sym;
mod text;
mod tiler;
mod tuple;
pub mod xor;

pub use algebra::ENUMERATION_LIMIT;
pub use arithmetic::Order;
pub use composed::Composed;
pub use coord::Coord;
pub use coordinates::Coordinates;
pub use error::{Error, Result};
pub use index_map::IndexMap;
pub use layout::{Layout, Offsets};
pub use swizzle::{ByteSwizzle, Swizzle};
pub use tiler::Tiler;
pub use tuple::Tuple;
