//! Why an XOR layout does not exist.

use crate::{Error, Tuple};
use std::fmt;

/// The condition that failed, with its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A leaf's extent has no bits: it is not a power of two.
    Extent {
        /// The extent.
        extent: i64,
    },
    /// A leaf's stride is not a power of two (or zero), so its multiples carry; or they leave 62 bits.
    Stride {
        /// The leaf's extent.
        extent: i64,
        /// Its stride.
        stride: i64,
    },
    /// Two leaves reach the same offset bit, so their sum carries.
    Carry {
        /// The bit.
        bit: u32,
        /// The leaf, `(extent, stride)`, that reaches it after another.
        leaf: (i64, i64),
    },
    /// A constant offset has bits that the layout changes, so adding it carries.
    Offset {
        /// The offset.
        offset: i64,
        /// The bits that the layout uses.
        used: i64,
    },
    /// The inner layout reaches an index that the outer one does not have.
    Outside {
        /// The index.
        index: i64,
        /// The outer size.
        size: i64,
    },
    /// Different indices reach the same offset: `index` and 0 do, up to the constant.
    NotInjective {
        /// An index other than 0.
        index: i64,
    },
    /// A bound is not a power of two, or some offset lies beyond it.
    Bound {
        /// The bound.
        bound: i64,
        /// The largest offset.
        reach: i64,
    },
    /// Shape and columns do not have the same leaves and bits.
    Columns {
        /// The shape.
        shape: Tuple,
        /// How many lists of columns were given.
        lists: usize,
    },
    /// The map is linear over bits but is not one swizzle after a strided layout.
    NotASwizzle {
        /// A column that no single swizzle makes.
        column: i64,
    },
    /// The part that is done on strided layouts was refused.
    Layout(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::Layout(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Extent { extent } => write!(f, "the extent {extent} is not a power of two"),
            Refusal::Stride { extent, stride } => {
                write!(
                    f,
                    "the stride of {extent}:{stride} is not a power of two whose multiples fit 62 bits"
                )
            }
            Refusal::Carry {
                bit,
                leaf: (extent, stride),
            } => {
                write!(
                    f,
                    "bit {bit} of the offset is reached by {extent}:{stride} and by a leaf before it: their sum carries"
                )
            }
            Refusal::Offset { offset, used } => {
                write!(
                    f,
                    "the offset {offset} shares the bits {:#b} with the layout: adding it carries",
                    offset & used
                )
            }
            Refusal::Outside { index, size } => {
                write!(f, "index {index} is outside of a layout of size {size}")
            }
            Refusal::NotInjective { index } => {
                write!(f, "indices 0 and {index} have the same offset")
            }
            Refusal::Bound { bound, reach } => {
                write!(
                    f,
                    "the bound {bound} must be a power of two above the largest offset {reach}"
                )
            }
            Refusal::Columns { shape, lists } => {
                write!(
                    f,
                    "the shape {shape} needs one column per bit of each leaf; {lists} lists do not fit"
                )
            }
            Refusal::NotASwizzle { column } => {
                write!(
                    f,
                    "the column {column:#b} is not made by one swizzle after a strided layout"
                )
            }
            Refusal::Layout(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}
