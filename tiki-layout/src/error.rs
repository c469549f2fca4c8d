//! What can go wrong, with the caller's numbers.
//!
//! Every fallible operation of the algebra answers with one [`Error`]. A variant is one *condition*; its first field
//! `op` names the operation that asked for it, the others are the offending modes and numbers. Nothing in this crate
//! panics on a caller's input, and no arithmetic wraps.

use crate::Tuple;
use std::fmt;

/// The result of an operation of the algebra.
pub type Result<T> = std::result::Result<T, Error>;

/// A violated condition: which operation, which condition, which numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// Two tuples must have the same profile (nesting) and do not.
    Incongruent {
        op: &'static str,
        left: Tuple,
        right: Tuple,
    },
    /// A coordinate, tiler or order does not fit the shape it is applied to.
    Mismatch {
        op: &'static str,
        got: Tuple,
        shape: Tuple,
    },
    /// An extent is negative.
    NegativeExtent { op: &'static str, extent: i64 },
    /// An argument that must be positive is not.
    NotPositive {
        op: &'static str,
        what: &'static str,
        got: i64,
    },
    /// A rank is not what the operation needs.
    Rank {
        op: &'static str,
        got: usize,
        want: usize,
    },
    /// A mode number is past the end.
    Mode {
        op: &'static str,
        mode: usize,
        rank: usize,
    },
    /// A coordinate is outside what can be evaluated.
    Coordinate {
        op: &'static str,
        coordinate: i64,
        extent: i64,
    },
    /// One number must divide the other (or be divided by it).
    Divisibility {
        op: &'static str,
        left: i64,
        right: i64,
    },
    /// The required function is not a layout of this shape: at `index` the nearest candidate gives `got`, the law
    /// demands `want`.
    NotRepresentable {
        op: &'static str,
        index: i64,
        got: i64,
        want: i64,
    },
    /// A tile and its complement would leave out `place`: the strides of the tile do not divide each other.
    Unreached { op: &'static str, place: i64 },
    /// Exactness could be decided only by visiting more indices than the limit.
    TooLarge {
        op: &'static str,
        size: i64,
        limit: i64,
    },
    /// Two different indices reach the same offset although the operation needs an injective layout.
    Overlap {
        op: &'static str,
        extent: i64,
        stride: i64,
        below: i64,
    },
    /// The operation has no meaning for a negative stride.
    NegativeStride {
        op: &'static str,
        extent: i64,
        stride: i64,
    },
    /// The operand is empty (an extent of zero) and the operation has no empty answer.
    Empty { op: &'static str, shape: Tuple },
    /// The tile does not divide the target.
    TileDoesNotDivide {
        op: &'static str,
        mode: usize,
        tile: i64,
        target: i64,
    },
    /// `Sw<bits,base,shift>` is not a swizzle: the bit fields overlap, are negative, or pass bit 62.
    Swizzle {
        op: &'static str,
        bits: i64,
        base: i64,
        shift: i64,
    },
    /// The two bit masks are not the fields of one swizzle.
    SwizzleMask { op: &'static str, y: i64, z: i64 },
    /// An atom of the hardware cannot take this operand.
    Atom {
        op: &'static str,
        what: &'static str,
        got: i64,
        want: i64,
    },
    /// A name that no table knows.
    Unknown { op: &'static str, name: String },
    /// A number left the range of `i64`.
    Overflow {
        op: &'static str,
        left: i64,
        right: i64,
    },
    /// The text is not in layout notation.
    Parse {
        at: usize,
        expected: &'static str,
        text: String,
    },
}

impl Error {
    /// The operation that refused.
    pub fn operation(&self) -> &'static str {
        match self {
            Error::Incongruent { op, .. }
            | Error::Mismatch { op, .. }
            | Error::NegativeExtent { op, .. }
            | Error::NotPositive { op, .. }
            | Error::Rank { op, .. }
            | Error::Mode { op, .. }
            | Error::Coordinate { op, .. }
            | Error::Divisibility { op, .. }
            | Error::NotRepresentable { op, .. }
            | Error::Unreached { op, .. }
            | Error::TooLarge { op, .. }
            | Error::Overlap { op, .. }
            | Error::NegativeStride { op, .. }
            | Error::Empty { op, .. }
            | Error::TileDoesNotDivide { op, .. }
            | Error::Swizzle { op, .. }
            | Error::SwizzleMask { op, .. }
            | Error::Atom { op, .. }
            | Error::Unknown { op, .. }
            | Error::Overflow { op, .. } => op,
            Error::Parse { .. } => "parse",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.operation())?;
        match self {
            Error::Incongruent { left, right, .. } => {
                write!(f, "{left} and {right} are not nested alike")
            }
            Error::Mismatch { got, shape, .. } => write!(f, "{got} does not fit {shape}"),
            Error::NegativeExtent { extent, .. } => write!(f, "the extent {extent} is negative"),
            Error::NotPositive { what, got, .. } => write!(f, "{what} must be positive, got {got}"),
            Error::Rank { got, want, .. } => write!(f, "the rank is {got}, wanted {want}"),
            Error::Mode { mode, rank, .. } => {
                write!(f, "mode {mode} does not exist, the rank is {rank}")
            }
            Error::Coordinate {
                coordinate, extent, ..
            } => {
                write!(
                    f,
                    "the coordinate {coordinate} is outside the extent {extent}"
                )
            }
            Error::Divisibility { left, right, .. } => {
                write!(f, "neither of {left} and {right} divides the other")
            }
            Error::NotRepresentable {
                index, got, want, ..
            } => {
                write!(
                    f,
                    "no layout has the required values: at index {index} got {got}, wanted {want}"
                )
            }
            Error::Unreached { place, .. } => write!(f, "{place} would never be reached"),
            Error::TooLarge { size, limit, .. } => {
                write!(
                    f,
                    "{size} indices would have to be visited to decide this, the limit is {limit}"
                )
            }
            Error::Overlap {
                extent,
                stride,
                below,
                ..
            } => {
                write!(
                    f,
                    "the mode {extent}:{stride} overlaps the modes below it, which span {below}"
                )
            }
            Error::NegativeStride { extent, stride, .. } => {
                write!(f, "the mode {extent}:{stride} runs backwards")
            }
            Error::Empty { shape, .. } => write!(f, "the shape {shape} is empty"),
            Error::TileDoesNotDivide {
                mode, tile, target, ..
            } => {
                write!(f, "in mode {mode} the tile {tile} does not divide {target}")
            }
            Error::Swizzle {
                bits, base, shift, ..
            } => {
                write!(
                    f,
                    "Sw<{bits},{base},{shift}> needs bits >= 0, base >= 0, |shift| >= bits and 62 bits at most"
                )
            }
            Error::SwizzleMask { y, z, .. } => {
                write!(
                    f,
                    "the masks {y:#x} and {z:#x} are not two disjoint runs of equally many bits"
                )
            }
            Error::Atom {
                what, got, want, ..
            } => write!(f, "{what} is {got}, wanted {want}"),
            Error::Unknown { name, .. } => write!(f, "nothing is called `{name}`"),
            Error::Overflow { left, right, .. } => {
                write!(f, "{left} and {right} leave the 64-bit range")
            }
            Error::Parse { at, expected, text } => {
                write!(f, "expected {expected} at byte {at} of `{text}`")
            }
        }
    }
}

impl std::error::Error for Error {}

/// Checked arithmetic: an overflow is an error that shows its operands.
pub(crate) fn mul(op: &'static str, a: i64, b: i64) -> Result<i64> {
    a.checked_mul(b).ok_or(Error::Overflow {
        op,
        left: a,
        right: b,
    })
}

pub(crate) fn add(op: &'static str, a: i64, b: i64) -> Result<i64> {
    a.checked_add(b).ok_or(Error::Overflow {
        op,
        left: a,
        right: b,
    })
}

pub(crate) fn abs(op: &'static str, a: i64) -> Result<i64> {
    a.checked_abs().ok_or(Error::Overflow {
        op,
        left: a,
        right: -1,
    })
}

/// `ceil(a / b)` for `a >= 0`, `b > 0`.
pub(crate) fn div_up(a: i64, b: i64) -> i64 {
    a / b + i64::from(a % b != 0)
}
