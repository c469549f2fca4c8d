//! Why an access cannot be counted or a swizzle cannot be chosen.

use crate::Error;
use std::fmt;

/// The condition that failed, with its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BankError {
    /// A lane moves 1, 2, 4, 8 or 16 bytes.
    Width {
        /// The bytes asked for.
        bytes: i64,
    },
    /// More lanes than a warp (or a tile's access) has, or rows that are not whole 8x8 matrices.
    Lanes {
        /// The number of lanes or rows.
        count: usize,
    },
    /// An address is not a multiple of the access width: the hardware faults.
    Misaligned {
        /// The lane.
        lane: usize,
        /// Its byte address.
        address: i64,
        /// Bytes per lane.
        width: i64,
    },
    /// An address is negative or leaves 62 bits.
    Address {
        /// The lane.
        lane: usize,
    },
    /// The words of one phase are not a coset of a subspace, so no XOR argument applies to them.
    NotLinear {
        /// The access, by its place in the list.
        access: usize,
        /// The phase.
        phase: usize,
    },
    /// The number of subspaces to visit passes the limit.
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The layout of the access could not be evaluated.
    Layout(Error),
}

impl From<Error> for BankError {
    fn from(error: Error) -> Self {
        BankError::Layout(error)
    }
}

impl fmt::Display for BankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BankError::Width { bytes } => {
                write!(f, "a lane moves 1, 2, 4, 8 or 16 bytes, not {bytes}")
            }
            BankError::Lanes { count } => {
                write!(
                    f,
                    "{count} lanes: a warp has 32, a tile is accessed by 65536 at most, and matrices have 8 rows each"
                )
            }
            BankError::Misaligned {
                lane,
                address,
                width,
            } => {
                write!(
                    f,
                    "lane {lane} accesses {width} bytes at byte {address}, which is not a multiple of {width}"
                )
            }
            BankError::Address { lane } => write!(f, "the address of lane {lane} is out of range"),
            BankError::NotLinear { access, phase } => {
                write!(
                    f,
                    "the words of phase {phase} of access {access} are not a coset of bit vectors: XOR cannot help, padding may"
                )
            }
            BankError::TooLarge { limit } => {
                write!(
                    f,
                    "more than {limit} subspaces would have to be visited to prove a choice optimal"
                )
            }
            BankError::Layout(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BankError {}
