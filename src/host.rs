//! Arithmetic of launchers: what a kernel's `grid = [..]` and `require!(..)` compute on the host.
//!
//! The operators of those expressions are replaced by these functions, so that an overflow, a negative
//! difference of extents or a division by zero is an error of the launch and not a panic.

use std::fmt;
use tiki_kernel::artifact::Artifact;
use tiki_launch::Stream;

/// A computation of a launcher that has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostMath {
    operator: &'static str,
    left: i128,
    right: i128,
}

impl fmt::Display for HostMath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HostMath {
            operator,
            left,
            right,
        } = self;
        write!(f, "`{left} {operator} {right}` has no result")
    }
}

impl std::error::Error for HostMath {}

impl From<HostMath> for tiki_launch::LaunchError {
    fn from(math: HostMath) -> Self {
        let fact = format!(
            "`left {} right` in its grid or a fact has a result",
            math.operator
        );
        let error = tiki_launch::FactError {
            kernel: String::new(),
            fact,
            left: math.left,
            right: math.right,
        };
        error.into()
    }
}

/// A number a launcher can compute with.
pub trait Number: Copy + fmt::Display {
    /// For messages.
    fn number(self) -> i128;
    #[doc(hidden)]
    fn checked(op: &'static str, a: Self, b: Self) -> Option<Self>;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn number(self) -> i128 {
                self as i128
            }
            fn checked(op: &'static str, a: $t, b: $t) -> Option<$t> {
                match op {
                    "+" => a.checked_add(b),
                    "-" => a.checked_sub(b),
                    "*" => a.checked_mul(b),
                    "/" => a.checked_div(b),
                    _ => a.checked_rem(b),
                }
            }
        }
        impl Compare for $t {
            fn numbers(a: $t, b: $t) -> (i128, i128) {
                (a as i128, b as i128)
            }
        }
    )*};
}
integers!(usize u8 u16 u32 u64 isize i8 i16 i32 i64 i128);

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn number(self) -> i128 {
                self as i128
            }
            fn checked(op: &'static str, a: $t, b: $t) -> Option<$t> {
                Some(match op {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "/" => a / b,
                    _ => a % b,
                })
            }
        }
        impl Compare for $t {
            fn numbers(a: $t, b: $t) -> (i128, i128) {
                (a as i128, b as i128)
            }
        }
    )*};
}
floats!(f32 f64);

/// What a fact can compare.
pub trait Compare: Copy {
    /// The numbers to show when two differ.
    fn numbers(a: Self, b: Self) -> (i128, i128);
}

impl Compare for bool {
    fn numbers(a: bool, b: bool) -> (i128, i128) {
        (i128::from(a), i128::from(b))
    }
}

/// Shapes: the first axis on which they differ.
impl<const R: usize> Compare for [usize; R] {
    fn numbers(a: [usize; R], b: [usize; R]) -> (i128, i128) {
        let differing = a.into_iter().zip(b).find(|(x, y)| x != y);
        let (x, y) = differing.unwrap_or_default();
        (x as i128, y as i128)
    }
}

/// The numbers to show of a comparison.
pub fn numbers<T: Compare>(a: T, b: T) -> (i128, i128) {
    T::numbers(a, b)
}

fn checked<T: Number>(op: &'static str, a: T, b: T) -> Result<T, HostMath> {
    T::checked(op, a, b).ok_or_else(|| HostMath {
        operator: op,
        left: a.number(),
        right: b.number(),
    })
}

/// `a + b`
pub fn add<T: Number>(a: T, b: T) -> Result<T, HostMath> {
    checked("+", a, b)
}
/// `a - b`
pub fn sub<T: Number>(a: T, b: T) -> Result<T, HostMath> {
    checked("-", a, b)
}
/// `a * b`
pub fn mul<T: Number>(a: T, b: T) -> Result<T, HostMath> {
    checked("*", a, b)
}
/// `a / b`
pub fn div<T: Number>(a: T, b: T) -> Result<T, HostMath> {
    checked("/", a, b)
}
/// `a % b`
pub fn rem<T: Number>(a: T, b: T) -> Result<T, HostMath> {
    checked("%", a, b)
}

/// `a.div_ceil(b)`
pub fn div_ceil(a: usize, b: usize) -> Result<usize, HostMath> {
    div(a, b).map(|quotient| quotient + usize::from(!a.is_multiple_of(b)))
}

/// `a.next_multiple_of(b)`
pub fn next_multiple_of(a: usize, b: usize) -> Result<usize, HostMath> {
    mul(div_ceil(a, b)?, b)
}

/// The grid of up to three extents, x first.
pub fn grid(extents: &[usize]) -> [u64; 3] {
    let mut grid = [1; 3];
    for (to, from) in grid.iter_mut().zip(extents) {
        *to = *from as u64;
    }
    grid
}

/// The grid of a persistent kernel: as many blocks as the device holds at once, in whole clusters.
pub fn persistent(stream: &Stream, artifact: &Artifact) -> [u64; 3] {
    stream.device().persistent_grid(artifact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_result_names_its_numbers() {
        assert_eq!(add(2usize, 3), Ok(5));
        assert_eq!(
            sub(2usize, 3).unwrap_err().to_string(),
            "`2 - 3` has no result"
        );
        assert!(mul(usize::MAX, 2).is_err() && next_multiple_of(usize::MAX, 2).is_err());
        assert!(div(1usize, 0).is_err() && rem(1usize, 0).is_err() && div_ceil(1, 0).is_err());
        assert_eq!(div_ceil(7, 2), Ok(4));
    }

    #[test]
    fn shapes_show_the_axis_on_which_they_differ() {
        assert_eq!(numbers([1, 2, 3], [1, 5, 3]), (2, 5));
        assert_eq!(grid(&[7]), [7, 1, 1]);
    }
}
