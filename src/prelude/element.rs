//! Element types and what can be asked of them.

use super::device_only;
use half::{bf16, f16};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, Sub, SubAssign};
use tiki_launch::{e4m3, e5m2};

/// A type of tensor elements: `f32`, `f16`, `bf16`, `f64`, the integers, `bool`,
/// and the 8-bit floats, which are stored and multiplied by tensor cores only.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element type of a tensor",
    note = "element types are f32, f16, bf16, f64, e4m3, e5m2, i8 to i64, u8 to u64 and bool"
)]
pub trait Element: tiki_launch::Element + Word + PartialEq + PartialOrd {
    /// Bytes of one element in memory.
    const BYTES: usize;
}

/// An element type with arithmetic. Integers wrap; floats round to nearest even.
#[diagnostic::on_unimplemented(message = "`{Self}` has no arithmetic in kernels")]
pub trait Number:
    Element
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
}

/// A floating-point type.
#[diagnostic::on_unimplemented(message = "`{Self}` is no floating-point type")]
pub trait Float: Number + Neg<Output = Self> {
    /// Positive infinity.
    const INFINITY: Self;
    /// Negative infinity.
    const NEG_INFINITY: Self;
    /// A quiet NaN.
    const NAN: Self;
    /// The greatest finite value.
    const MAX: Self;
    /// The least finite value.
    const MIN: Self;
    /// The least positive normal value.
    const MIN_POSITIVE: Self;
    /// The distance from 1 to the next value.
    const EPSILON: Self;
}

macro_rules! float {
    ($($t:ty)*) => {$(
        impl Float for $t {
            const INFINITY: $t = <$t>::INFINITY;
            const NEG_INFINITY: $t = <$t>::NEG_INFINITY;
            const NAN: $t = <$t>::NAN;
            const MAX: $t = <$t>::MAX;
            const MIN: $t = <$t>::MIN;
            const MIN_POSITIVE: $t = <$t>::MIN_POSITIVE;
            const EPSILON: $t = <$t>::EPSILON;
        }
    )*};
}

float! { f32 f64 f16 bf16 }

/// A 16-bit floating-point type: what tensor cores multiply.
#[diagnostic::on_unimplemented(message = "`{Self}` is no 16-bit floating-point type")]
pub trait Half: Float {}

/// An integer type.
#[diagnostic::on_unimplemented(message = "`{Self}` is no integer type")]
pub trait Integer: Number + Ord {}

/// `i32` and `u32`: what a whole warp reduces in one instruction.
#[diagnostic::on_unimplemented(message = "`{Self}` is neither `i32` nor `u32`")]
pub trait Int32: Integer {}

/// What a shuffle carries: a value of at most 64 bits. `usize` counts as one.
#[diagnostic::on_unimplemented(message = "a shuffle cannot carry `{Self}`")]
pub trait Word: Copy {}

macro_rules! element {
    ($($t:ty: $($mark:ident)*;)*) => {$(
        impl Element for $t {
            const BYTES: usize = size_of::<$t>();
        }
        impl Word for $t {}
        $(impl $mark for $t {})*
    )*};
}

element! {
    f32: Number ;
    f16: Number Half;
    bf16: Number Half;
    f64: Number ;
    i8: Number Integer;
    i16: Number Integer;
    i32: Number Integer Int32;
    i64: Number Integer;
    u8: Number Integer;
    u16: Number Integer;
    u32: Number Integer Int32;
    u64: Number Integer;
    bool: ;
    e4m3: ;
    e5m2: ;
}

impl Word for usize {}

/// What a scalar can do in a kernel beyond what Rust's own types can on the host.
pub trait ScalarOps: Copy {
    /// Conversion, to nearest even; floats to integers toward zero and saturating, NaN to 0; to 8-bit floats
    /// saturating, infinities too.
    fn cast<T: Element>(self) -> T {
        device_only()
    }
    /// Absolute value; clears a NaN's sign.
    fn abs(self) -> Self {
        device_only()
    }
}

impl<T: Word> ScalarOps for T {}
