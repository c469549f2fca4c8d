//! [`IndexMap`]: what counting and drawing need of a layout, whatever kind it is.
//!
//! A map has a shape and sends the 1-D index `0..size` (leftmost leaf fastest) to an offset.

use crate::error::Result;
use crate::xor::XorLayout;
use crate::{Composed, Layout, Tuple};

/// A function from the indices of a shape to offsets.
pub trait IndexMap {
    /// The extents of the domain.
    fn domain(&self) -> &Tuple;
    /// The offset of an index.
    fn offset_at(&self, index: i64) -> Result<i64>;
    /// The map in layout notation.
    fn notation(&self) -> String;

    /// How many indices.
    fn count(&self) -> Result<i64> {
        self.domain().product()
    }

    /// The offsets of all indices in order.
    fn all_offsets(&self) -> Result<Vec<i64>> {
        (0..self.count()?)
            .map(|index| self.offset_at(index))
            .collect()
    }
}

macro_rules! index_map {
    ($($kind:ty),*) => {$(
        impl IndexMap for $kind {
            fn domain(&self) -> &Tuple {
                self.shape()
            }

            fn offset_at(&self, index: i64) -> Result<i64> {
                self.at(index)
            }

            fn notation(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

index_map!(Layout, Composed, XorLayout);
