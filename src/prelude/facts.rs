//! The macros of a body.

/// A fact that holds at every launch: the launcher checks it, the compiler builds on it.
///
/// ```ignore
/// require!(x.dim(1) == N && weight.dim(0) == N);
/// ```
///
/// A fact may name arguments, parameters, and variables computed from them alone. It stands at the top
/// level of the body. If it does not hold, `launch` returns an error with both sides.
#[doc(hidden)]
#[macro_export]
macro_rules! __require {
    ($($fact:expr),+ $(,)?) => {
        $( let _: ::core::primitive::bool = $fact; )+
    };
}

/// A layout in CuTe notation: `layout!((32, 8):(8, 1))`.
///
/// Extents and strides are literals or build-time values of the body.
#[doc(hidden)]
#[macro_export]
macro_rules! __layout {
    ($($text:tt)+) => {
        $crate::prelude::Layout::written(::core::stringify!($($text)+))
    };
}

/// One instruction of the target, by its text, with its operands; gives its result.
#[doc(hidden)]
#[macro_export]
macro_rules! __ptx {
    ($text:literal $(, $operand:expr)* $(,)?) => {{
        $( let _ = $operand; )*
        $crate::prelude::Layout::instruction($text)
    }};
}

#[doc(inline)]
pub use crate::{__layout as layout, __ptx as ptx, __require as require};
