//! Arithmetic of launchers: what a kernel's `grid = [..]` and `require!(..)` compute on the host.
//!
//! The operators of those expressions are replaced by these functions, so that an overflow, a negative
//! difference of extents or a division by zero is an error of the launch and not a panic.

use std::fmt;
use tiki_kernel::artifact::Artifact;
use tiki_launch::{LaunchError, Stream};

/// Why a computation has no result: its numbers, and what is wrong with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostMath(String);

impl fmt::Display for HostMath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for HostMath {}

/// A number on its way from one type to another.
#[derive(Debug, Clone, Copy)]
pub enum Wide {
    /// Of an integer or a truth.
    Int(i128),
    /// Of a float.
    Float(f64),
}

/// What `as` takes.
pub trait Castable: Copy + fmt::Debug {
    #[doc(hidden)]
    fn wide(self) -> Wide;
}

impl Castable for bool {
    fn wide(self) -> Wide {
        Wide::Int(self.into())
    }
}

/// A number a launcher can compute with. Each method is the operator of Rust, or nothing where that would
/// panic, wrap or lose the number.
#[doc(hidden)]
#[allow(missing_docs)]
pub trait Number: Castable {
    const NAME: &'static str;
    const SIGNED: bool;
    fn binary(op: &'static str, a: Self, b: Self) -> Option<Self>;
    fn negated(self) -> Option<Self>;
    fn absolute(self) -> Option<Self>;
    fn shifted(self, left: bool, by: i128) -> Option<Self>;
    fn narrow(wide: Wide) -> Option<Self>;
    fn is_zero(self) -> bool;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Castable for $t {
            #[inline]
            fn wide(self) -> Wide {
                Wide::Int(self as i128)
            }
        }
        impl Number for $t {
            const NAME: &'static str = stringify!($t);
            #[allow(unused_comparisons)]
            const SIGNED: bool = <$t>::MIN < 0;
            #[inline(always)]
            fn binary(op: &'static str, a: $t, b: $t) -> Option<$t> {
                match op {
                    "+" => a.checked_add(b),
                    "-" => a.checked_sub(b),
                    "*" => a.checked_mul(b),
                    "/" => a.checked_div(b),
                    _ => a.checked_rem(b),
                }
            }
            fn negated(self) -> Option<$t> {
                self.checked_neg()
            }
            #[allow(unused_comparisons)]
            fn absolute(self) -> Option<$t> {
                if self < 0 { self.checked_neg() } else { Some(self) }
            }
            fn shifted(self, left: bool, by: i128) -> Option<$t> {
                let by = u32::try_from(by).ok()?;
                if left {
                    self.checked_shl(by).filter(|y| y.checked_shr(by) == Some(self))
                } else {
                    self.checked_shr(by)
                }
            }
            #[inline]
            fn narrow(wide: Wide) -> Option<$t> {
                match wide {
                    Wide::Int(i) => i.try_into().ok(),
                    // Both limits are exact: powers of two, or near enough to one to round to it.
                    Wide::Float(x) => {
                        let x = x.trunc();
                        let inside = x >= <$t>::MIN as f64 && x < <$t>::MAX as f64 + 1.0;
                        inside.then_some(x as $t)
                    }
                }
            }
            #[inline]
            fn is_zero(self) -> bool {
                self == 0
            }
        }
    )*};
}
integers!(usize u8 u16 u32 u64 isize i8 i16 i32 i64 i128);

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Castable for $t {
            #[inline]
            fn wide(self) -> Wide {
                Wide::Float(self.into())
            }
        }
        impl Number for $t {
            const NAME: &'static str = stringify!($t);
            const SIGNED: bool = true;
            #[inline(always)]
            fn binary(op: &'static str, a: $t, b: $t) -> Option<$t> {
                Some(match op {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "/" => a / b,
                    _ => a % b,
                })
            }
            fn negated(self) -> Option<$t> {
                Some(-self)
            }
            fn absolute(self) -> Option<$t> {
                Some(self.abs())
            }
            fn shifted(self, _: bool, _: i128) -> Option<$t> {
                None
            }
            #[inline]
            fn narrow(wide: Wide) -> Option<$t> {
                Some(match wide {
                    Wide::Int(i) => i as $t,
                    Wide::Float(x) => x as $t,
                })
            }
            #[inline]
            fn is_zero(self) -> bool {
                false // what is divided by it is infinite
            }
        }
    )*};
}
floats!(f32 f64);

/// A value of a fact, as it is told.
pub fn shown(value: &dyn fmt::Debug) -> Option<String> {
    Some(format!("{value:?}"))
}

/// The same, where it can be computed at all.
pub fn shown_if<T: fmt::Debug>(value: impl FnOnce() -> Result<T, LaunchError>) -> Option<String> {
    value().ok().and_then(|value| shown(&value))
}

#[cold]
fn unfit<T: Number>(numbers: fmt::Arguments<'_>) -> HostMath {
    HostMath(format!("{numbers}, which does not fit in {}", T::NAME))
}

#[cold]
fn by_zero(numbers: fmt::Arguments<'_>) -> HostMath {
    HostMath(format!("{numbers}, a division by zero"))
}

#[inline(always)] // the operator is known there
fn checked<T: Number>(op: &'static str, a: T, b: T) -> Result<T, HostMath> {
    match T::binary(op, a, b) {
        Some(result) => Ok(result),
        None => Err(none(op, a, b)),
    }
}

#[cold]
fn none<T: Number>(op: &'static str, a: T, b: T) -> HostMath {
    match op {
        "/" | "%" if b.is_zero() => by_zero(format_args!("{a:?} {op} {b:?}")),
        "-" if !T::SIGNED => HostMath(format!("{a:?} - {b:?}, which is negative")),
        _ => unfit::<T>(format_args!("{a:?} {op} {b:?}")),
    }
}

/// `a + b`
#[inline]
pub fn add<T: Number>(a: T, b: T) -> Result<T, HostMath> {
    checked("+", a, b)
}
/// `a - b`
#[inline]
pub fn sub<T: Number>(a: T, b: T) -> Result<T, HostMath> {
    checked("-", a, b)
}
/// `a * b`
#[inline]
pub fn mul<T: Number>(a: T, b: T) -> Result<T, HostMath> {
    checked("*", a, b)
}
/// `a / b`
#[inline]
pub fn div<T: Number>(a: T, b: T) -> Result<T, HostMath> {
    checked("/", a, b)
}
/// `a % b`
#[inline]
pub fn rem<T: Number>(a: T, b: T) -> Result<T, HostMath> {
    checked("%", a, b)
}

fn shift<T: Number, U: Number>(left: bool, a: T, by: U) -> Result<T, HostMath> {
    let bits = match by.wide() {
        Wide::Int(bits) => bits,
        Wide::Float(_) => -1,
    };
    a.shifted(left, bits).ok_or_else(|| {
        let op = if left { "<<" } else { ">>" };
        unfit::<T>(format_args!("{a:?} {op} {by:?}"))
    })
}

/// `a << by`
pub fn shl<T: Number, U: Number>(a: T, by: U) -> Result<T, HostMath> {
    shift(true, a, by)
}
/// `a >> by`
pub fn shr<T: Number, U: Number>(a: T, by: U) -> Result<T, HostMath> {
    shift(false, a, by)
}

/// `-a`
pub fn neg<T: Number>(a: T) -> Result<T, HostMath> {
    a.negated()
        .ok_or_else(|| unfit::<T>(format_args!("-({a:?})")))
}

/// `a.abs()`
pub fn abs<T: Number>(a: T) -> Result<T, HostMath> {
    a.absolute()
        .ok_or_else(|| unfit::<T>(format_args!("({a:?}).abs()")))
}

/// `a as T`
#[inline]
pub fn cast<A: Castable, T: Number>(a: A) -> Result<T, HostMath> {
    match T::narrow(a.wide()) {
        Some(result) => Ok(result),
        None => Err(unfit::<T>(format_args!("{a:?}"))),
    }
}

#[inline]
fn up<T: Number>(a: T, b: T) -> Option<T> {
    let rest = T::binary("%", a, b)?;
    let quotient = T::binary("/", a, b)?;
    if rest.is_zero() {
        return Some(quotient);
    }
    T::binary("+", quotient, T::narrow(Wide::Int(1))?)
}

/// `a.div_ceil(b)`
#[inline]
pub fn div_ceil<T: Number>(a: T, b: T) -> Result<T, HostMath> {
    // Of non-negative numbers, it fits whenever `b` is not 0.
    match up(a, b) {
        Some(result) => Ok(result),
        None => Err(by_zero(format_args!("{a:?}.div_ceil({b:?})"))),
    }
}

/// `a.next_multiple_of(b)`
pub fn next_multiple_of<T: Number>(a: T, b: T) -> Result<T, HostMath> {
    let numbers = format_args!("{a:?}.next_multiple_of({b:?})");
    let quotient = up(a, b).ok_or_else(|| by_zero(numbers))?;
    T::binary("*", quotient, b).ok_or_else(|| unfit::<T>(numbers))
}

/// Blocks along an axis of the grid.
#[inline]
pub fn extent<T: Number>(blocks: T) -> Result<u64, HostMath> {
    cast::<T, u64>(blocks)
}

/// The grid of up to three extents, x first.
#[inline]
pub fn grid(extents: &[u64]) -> [u64; 3] {
    let mut grid = [1; 3];
    for (to, from) in grid.iter_mut().zip(extents) {
        *to = *from;
    }
    grid
}

/// The grid of a persistent kernel: as many blocks as the device holds at once, in whole clusters.
#[inline(always)]
pub fn persistent(stream: &Stream, artifact: &Artifact) -> [u64; 3] {
    stream.device().persistent_grid(artifact)
}

#[cfg(test)]
mod tests;
