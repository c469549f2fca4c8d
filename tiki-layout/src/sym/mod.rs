//! Symbolic integers: what can be proven about values that are known only at run time.
//!
//! # Semantics
//! A [`Symbol`] is a named integer that is fixed before the statement in question runs: an extent, a stride, a loop
//! index. An [`Expr`] is a term over symbols whose value is a mathematical integer (no width, no wrap). An
//! *admissible assignment* gives every symbol an integer such that every fact in the [`Facts`] store holds and every
//! divisor that is met is at least 1.
//!
//! A question is answered about **all** admissible assignments at once:
//!
//! | answer | meaning |
//! | --- | --- |
//! | [`Answer::Proven`]  | true at every admissible assignment |
//! | [`Answer::Refuted`] | false at every admissible assignment |
//! | [`Answer::Open`]    | neither was shown; nothing may be concluded |
//!
//! `Open` is also the answer when a number leaves 128 bits or a limit of the search is reached: the store never
//! guesses. The same three values, asked of a condition that must hold, are called [`Precondition`].
//!
//! # How it decides
//! 1. [`Facts`] turns an expression into a polynomial with integer coefficients over *atoms*: symbols, floor quotients,
//!    minima and maxima. A remainder is `p - k*floor(p/k)`, a ceiling quotient is `floor((p + k - 1)/k)`, a symbol known
//!    to be a multiple of 64 is `64*t` for a fresh integer `t`, and an equality is solved for one of its symbols. After
//!    that, divisibility is a gcd of coefficients and equal terms look equal.
//! 2. Minima and maxima are split into cases.
//! 3. `g <= 0` is proven by showing that the facts together with `g >= 1` have no solution: variables are
//!    eliminated one by one (Fourier and Motzkin) with rounding to integers at each step. Products of symbols take
//!    part through products of facts (a bound of one factor times a relation of the other).
//!
//! ```
//! use tiki_layout::sym::{Answer, Expr, Facts};
//! let mut facts = Facts::new();
//! let n = facts.symbol("n");
//! let i = facts.symbol("i");
//! let j = facts.symbol("j");
//! facts.assume_range(i, 0, Expr::from(n).ceil_div(128) - 1)?;
//! facts.assume_range(j, 0, 127)?;
//! // The last tile may be partial ...
//! assert_eq!(facts.lt(i * 128 + j, n), Answer::Open);
//! // ... unless the extent is a multiple of the tile.
//! facts.assume_divides(n, 128)?;
//! assert_eq!(facts.lt(i * 128 + j, n), Answer::Proven);
//! assert_eq!(facts.divides(i * 128 + Expr::from(n) * 3, 64), Answer::Proven);
//! # Ok::<(), tiki_layout::sym::SymError>(())
//! ```

mod bounds;
mod changes;
mod eliminate;
mod error;
mod example;
mod expr;
mod facts;
mod normal;
mod poly;
mod predicate;
mod prove;
mod show;
mod strided;
mod witness;

pub use bounds::Interval;
pub use error::SymError;
pub use expr::{Expr, Symbol};
pub use facts::Facts;
pub use predicate::{Answer, Precondition, Predicate};
pub use strided::{Strided, VectorWidth};
