//! Why a fact could not be taken or a term could not be evaluated.

use core::fmt;

/// A refusal of the symbolic layer. Questions never return it: where an assumption would be an error, a question
/// is [`Open`](super::Answer::Open).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymError {
    /// A number left the 128 bits in which terms are computed.
    Overflow,
    /// The normal form of a term has more than the allowed number of terms, factors or nested levels.
    TooLarge {
        /// What was counted: `terms`, `factors` or `levels`.
        what: &'static str,
        /// The largest number that is allowed.
        limit: usize,
    },
    /// A symbol of another store.
    UnknownSymbol {
        /// Its number.
        index: usize,
        /// How many symbols this store has.
        known: usize,
    },
    /// A divisor that is zero or negative.
    Divisor {
        /// The divisor.
        value: i128,
    },
    /// No assignment satisfies this fact together with the earlier ones.
    Contradiction {
        /// The fact, in the names of the store.
        fact: String,
    },
    /// Evaluation met a symbol that has no value.
    Unassigned {
        /// The symbol's number.
        index: usize,
    },
    /// Shape and stride, or layout and coordinate, differ in rank.
    Rank {
        /// Rank of the first operand.
        left: usize,
        /// Rank of the second operand.
        right: usize,
    },
}

impl fmt::Display for SymError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SymError::Overflow => write!(f, "a number leaves 128 bits"),
            SymError::TooLarge { what, limit } => {
                write!(f, "the term has more than {limit} {what}")
            }
            SymError::UnknownSymbol { index, known } => {
                write!(f, "symbol {index} is not of this store, which has {known}")
            }
            SymError::Divisor { value } => write!(f, "the divisor {value} is not positive"),
            SymError::Contradiction { fact } => {
                write!(f, "`{fact}` contradicts the facts before it")
            }
            SymError::Unassigned { index } => write!(f, "symbol {index} has no value"),
            SymError::Rank { left, right } => write!(f, "ranks differ: {left} and {right}"),
        }
    }
}

impl core::error::Error for SymError {}
