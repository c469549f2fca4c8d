//! Functions of numbers, each with its accuracy.

use super::threads::functions;
use super::{Float, Number, device_only};

functions! {
    /// 2 to the power x: the hardware's `ex2`, relative error 2^-21.9; subnormal results kept.
    fn exp2(x: f32) -> f32;
    /// e to the power x, at most 2 units in the last place over the whole range.
    fn exp(x: f32) -> f32;
    /// 2 to the power x: the hardware's ex2 with subnormal arguments and results flushed to zero; relative error 2^-21.9. One instruction, where `exp2` takes four.
    fn exp2_fast(x: f32) -> f32;
    /// `exp2(x * log2(e))` with one rounding of the product: relative error grows with |x|, 2 + |x| units
    /// in the last place; subnormals flushed to zero.
    fn exp_fast(x: f32) -> f32;
    /// Binary logarithm: the hardware's `lg2`, absolute error 2^-22 for x in [0.5, 2], else 2^-22 relative.
    fn log2(x: f32) -> f32;
    /// Natural logarithm: `log2(x) * ln 2`; absolute error 2^-22 near 1, else 2^-21.9 relative.
    fn log(x: f32) -> f32;
    /// Square root, correctly rounded.
    fn sqrt<T: Float>(x: T) -> T;
    /// Square root by the hardware's approximation, at most 1 unit in the last place.
    fn sqrt_fast(x: f32) -> f32;
    /// Reciprocal square root by the hardware's approximation, relative error 2^-22.9.
    fn rsqrt(x: f32) -> f32;
    /// Reciprocal by the hardware's approximation, at most 1 unit in the last place.
    fn recip(x: f32) -> f32;
    /// Quotient by the hardware's approximation, at most 2 units in the last place for |b| in [2^-126,
    /// 2^126].
    fn div_fast(a: f32, b: f32) -> f32;
    /// Hyperbolic tangent through exp, relative error 2^-21.
    fn tanh(x: f32) -> f32;
    /// Hyperbolic tangent by the hardware's approximation, relative error 2^-11.
    fn tanh_fast(x: f32) -> f32;
    /// Sine by the hardware's approximation: absolute error 2^-20.9 in [-pi, pi], growing outside.
    fn sin(x: f32) -> f32;
    /// Cosine by the hardware's approximation: absolute error 2^-20.9 in [-pi, pi], growing outside.
    fn cos(x: f32) -> f32;
    /// Absolute value; clears a NaN's sign.
    fn abs<T: Number>(x: T) -> T;
    /// Greatest integer not above; exact.
    fn floor(x: f32) -> f32;
    /// Least integer not below; exact.
    fn ceil(x: f32) -> f32;
    /// Nearest integer, ties to even; exact.
    fn round(x: f32) -> f32;
    /// Integer part; exact.
    fn trunc(x: f32) -> f32;
    /// a * b + c with one rounding.
    fn fma<T: Number>(a: T, b: T, c: T) -> T;
    /// The lesser; a number wins over NaN, -0 is below +0.
    fn min<T: Number>(a: T, b: T) -> T;
    /// The greater; a number wins over NaN, -0 is below +0.
    fn max<T: Number>(a: T, b: T) -> T;
    /// The lesser; NaN if either is NaN.
    fn min_propagate_nan<T: Float>(a: T, b: T) -> T;
    /// The greater; NaN if either is NaN.
    fn max_propagate_nan<T: Float>(a: T, b: T) -> T;
}
