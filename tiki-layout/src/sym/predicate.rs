//! Statements about terms, and the two three-valued answers.

use super::{Expr, SymError, Symbol};

/// What is known of a statement at all admissible assignments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// True at every one.
    Proven,
    /// False at every one.
    Refuted,
    /// Not decided.
    Open,
}

impl Answer {
    /// Whether the statement may be relied on.
    pub fn is_proven(self) -> bool {
        self == Answer::Proven
    }

    /// The answer to the opposite statement.
    #[must_use]
    pub fn negate(self) -> Answer {
        match self {
            Answer::Proven => Answer::Refuted,
            Answer::Refuted => Answer::Proven,
            Answer::Open => Answer::Open,
        }
    }

    /// The answer to the conjunction of two statements.
    #[must_use]
    pub fn and(self, other: Answer) -> Answer {
        match (self, other) {
            (Answer::Refuted, _) | (_, Answer::Refuted) => Answer::Refuted,
            (Answer::Proven, Answer::Proven) => Answer::Proven,
            _ => Answer::Open,
        }
    }
}

/// The state of a condition that an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precondition {
    /// It holds at every admissible assignment.
    Holds,
    /// It fails at every admissible assignment: an error.
    Violated,
    /// It is not decided: a guard, a check at launch, or an entry in a report.
    Unproven,
}

impl From<Answer> for Precondition {
    fn from(answer: Answer) -> Precondition {
        match answer {
            Answer::Proven => Precondition::Holds,
            Answer::Refuted => Precondition::Violated,
            Answer::Open => Precondition::Unproven,
        }
    }
}

/// A statement that can be assumed, asked and evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Predicate {
    /// `left <= right`.
    Le(Expr, Expr),
    /// `left < right`.
    Lt(Expr, Expr),
    /// `left == right`.
    Eq(Expr, Expr),
    /// `term % divisor == 0`; a divisor of 0 says that the term is 0.
    Divides(Expr, u64),
    /// `0 <= term < 2^32`.
    FitsU32(Expr),
}

impl Predicate {
    /// The truth of the statement at an assignment.
    pub fn eval(&self, value: &dyn Fn(Symbol) -> Option<i64>) -> Result<bool, SymError> {
        Ok(match self {
            Predicate::Le(a, b) => a.eval(value)? <= b.eval(value)?,
            Predicate::Lt(a, b) => a.eval(value)? < b.eval(value)?,
            Predicate::Eq(a, b) => a.eval(value)? == b.eval(value)?,
            Predicate::Divides(e, 0) => e.eval(value)? == 0,
            Predicate::Divides(e, k) => e.eval(value)? % i128::from(*k) == 0,
            Predicate::FitsU32(e) => (0..=i128::from(u32::MAX)).contains(&e.eval(value)?),
        })
    }
}
