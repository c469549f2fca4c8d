//! Terms over symbols.
//!
//! A term is built without doing arithmetic, so building cannot fail; [`Expr::eval`] gives it a value at an
//! assignment, [`Facts`](super::Facts) reasons about all of them. Quotients round towards minus infinity (`floor_div`)
//! or plus infinity (`ceil_div`), and a remainder has the range `0..divisor`. A divisor below 1 has no value.

use core::ops::{Add, Mul, Neg, Sub};

use super::SymError;

/// A named run-time integer of one [`Facts`](super::Facts) store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(pub(super) u32);

/// A term: see the module page.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A constant.
    Int(i64),
    /// A run-time value.
    Symbol(Symbol),
    /// The sum of the parts; empty is 0.
    Sum(Vec<Expr>),
    /// The product of the parts; empty is 1.
    Product(Vec<Expr>),
    /// Quotient rounded down.
    FloorDiv(Box<Expr>, Box<Expr>),
    /// Quotient rounded up.
    CeilDiv(Box<Expr>, Box<Expr>),
    /// Remainder of the quotient rounded down.
    Mod(Box<Expr>, Box<Expr>),
    /// The smaller.
    Min(Box<Expr>, Box<Expr>),
    /// The larger.
    Max(Box<Expr>, Box<Expr>),
}

impl Expr {
    /// `floor(self / divisor)`.
    pub fn floor_div(self, divisor: impl Into<Expr>) -> Expr {
        Expr::FloorDiv(Box::new(self), Box::new(divisor.into()))
    }

    /// `ceil(self / divisor)`.
    pub fn ceil_div(self, divisor: impl Into<Expr>) -> Expr {
        Expr::CeilDiv(Box::new(self), Box::new(divisor.into()))
    }

    /// `self - divisor * floor(self / divisor)`.
    pub fn modulo(self, divisor: impl Into<Expr>) -> Expr {
        Expr::Mod(Box::new(self), Box::new(divisor.into()))
    }

    /// The smaller of two.
    pub fn min(self, other: impl Into<Expr>) -> Expr {
        Expr::Min(Box::new(self), Box::new(other.into()))
    }

    /// The larger of two.
    pub fn max(self, other: impl Into<Expr>) -> Expr {
        Expr::Max(Box::new(self), Box::new(other.into()))
    }

    /// The smallest multiple of `divisor` that is at least `self`.
    pub fn round_up(self, divisor: impl Into<Expr>) -> Expr {
        let divisor = divisor.into();
        self.ceil_div(divisor.clone()) * divisor
    }

    /// The value at an assignment, computed in 128 bits.
    pub fn eval(&self, value: &dyn Fn(Symbol) -> Option<i64>) -> Result<i128, SymError> {
        let pair = |a: &Expr, b: &Expr| Ok::<_, SymError>((a.eval(value)?, b.eval(value)?));
        Ok(match self {
            Expr::Int(k) => i128::from(*k),
            Expr::Symbol(s) => i128::from(value(*s).ok_or(SymError::Unassigned {
                index: s.0 as usize,
            })?),
            Expr::Sum(parts) => parts.iter().try_fold(0i128, |sum, p| {
                sum.checked_add(p.eval(value)?).ok_or(SymError::Overflow)
            })?,
            // Every factor is evaluated even after a zero: an undefined factor leaves the product undefined.
            Expr::Product(parts) => parts.iter().try_fold(1i128, |prod, p| {
                prod.checked_mul(p.eval(value)?).ok_or(SymError::Overflow)
            })?,
            Expr::FloorDiv(a, b) => {
                let (a, b) = pair(a, b)?;
                floor_div(a, b)?
            }
            Expr::CeilDiv(a, b) => {
                let (a, b) = pair(a, b)?;
                let up = a
                    .checked_add(b)
                    .and_then(|s| s.checked_sub(1))
                    .ok_or(SymError::Overflow)?;
                floor_div(up, b)?
            }
            Expr::Mod(a, b) => {
                let (a, b) = pair(a, b)?;
                floor_div(a, b)?;
                a.rem_euclid(b)
            }
            Expr::Min(a, b) => {
                let (a, b) = pair(a, b)?;
                a.min(b)
            }
            Expr::Max(a, b) => {
                let (a, b) = pair(a, b)?;
                a.max(b)
            }
        })
    }
}

/// `floor(a / b)` for a divisor of at least 1.
fn floor_div(a: i128, b: i128) -> Result<i128, SymError> {
    if b < 1 {
        return Err(SymError::Divisor { value: b });
    }
    Ok(a.div_euclid(b))
}

impl From<i64> for Expr {
    fn from(k: i64) -> Expr {
        Expr::Int(k)
    }
}

impl From<Symbol> for Expr {
    fn from(s: Symbol) -> Expr {
        Expr::Symbol(s)
    }
}

impl From<&Expr> for Expr {
    fn from(e: &Expr) -> Expr {
        e.clone()
    }
}

/// Joins two operands of an associative operation into one list, so that a long chain stays one level deep.
fn join(a: Expr, b: Expr, sum: bool) -> Expr {
    let mut parts = match a {
        Expr::Sum(parts) if sum => parts,
        Expr::Product(parts) if !sum => parts,
        other => vec![other],
    };
    match b {
        Expr::Sum(more) if sum => parts.extend(more),
        Expr::Product(more) if !sum => parts.extend(more),
        other => parts.push(other),
    }
    if sum {
        Expr::Sum(parts)
    } else {
        Expr::Product(parts)
    }
}

macro_rules! operators {
    ($($left:ty),*) => {$(
        impl<T: Into<Expr>> Add<T> for $left {
            type Output = Expr;
            fn add(self, other: T) -> Expr {
                join(self.into(), other.into(), true)
            }
        }
        impl<T: Into<Expr>> Sub<T> for $left {
            type Output = Expr;
            fn sub(self, other: T) -> Expr {
                join(self.into(), -other.into(), true)
            }
        }
        impl<T: Into<Expr>> Mul<T> for $left {
            type Output = Expr;
            fn mul(self, other: T) -> Expr {
                join(self.into(), other.into(), false)
            }
        }
        impl Neg for $left {
            type Output = Expr;
            fn neg(self) -> Expr {
                join(Expr::Int(-1), self.into(), false)
            }
        }
    )*};
}

operators!(Expr, &Expr, Symbol);
