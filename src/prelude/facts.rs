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

/// Instructions of the target, as text; gives the outputs (a tuple if there are several, `()` if there is none).
///
/// ```ignore
/// let high = ptx!("mul.hi.u32 d, a, b;", out d: u32, in a: u32 = x, in b: u32 = y);
/// let folded = v.map(|x| ptx!("lop3.b32 d, a, a, a, table;", out d: u32, in a: u32 = x, const table: u32 = T));
/// ptx!("prefetch.global.L2 [p];", in p: u64 = x.address([row, 0]), reads(x));
/// ```
///
/// The operands are registers that the text names; it may declare more (`{ .reg .b32 t; .. }`). Instructions are
/// held against the compiler's instruction table, so that the machine runs them too. An instruction that touches
/// memory names the tensors (`reads(x)`, `writes(y)`), one that orders memory says `fence`. Control flow, barriers and
/// asynchronous work are statements of the language and refused here. Floating-point sums and products are
/// rounded as written: without `.rn` the assembler may fuse them.
#[doc(hidden)]
#[macro_export]
macro_rules! __ptx {
    (@ []) => { $crate::prelude::executed() };
    (@ [$($out:ty),*]) => { $crate::prelude::written::<($($out),*)>() };
    (@ [$($out:ty),*] out $name:ident : $ty:ty $(, $($rest:tt)*)?) => {
        $crate::__ptx!(@ [$($out,)* $ty] $($($rest)*)?)
    };
    (@ [$($out:ty),*] in $name:ident : $ty:ty = $value:expr $(, $($rest:tt)*)?) => {{
        let _: $ty = $value;
        $crate::__ptx!(@ [$($out),*] $($($rest)*)?)
    }};
    (@ [$($out:ty),*] const $name:ident : $ty:ty = $value:expr $(, $($rest:tt)*)?) => {{
        let _: $ty = $value;
        $crate::__ptx!(@ [$($out),*] $($($rest)*)?)
    }};
    (@ [$($out:ty),*] $effect:ident ($($of:expr),+ $(,)?) $(, $($rest:tt)*)?) => {{
        $( let _ = &$of; )+
        $crate::__ptx!(@ [$($out),*] $($($rest)*)?)
    }};
    (@ [$($out:ty),*] $effect:ident $(, $($rest:tt)*)?) => {
        $crate::__ptx!(@ [$($out),*] $($($rest)*)?)
    };
    ($text:literal $(, $($rest:tt)*)?) => { $crate::__ptx!(@ [] $($($rest)*)?) };
}

/// The outputs of instructions.
#[doc(hidden)]
#[must_use]
pub fn written<T>() -> T {
    super::device_only()
}

/// Of instructions without outputs.
#[doc(hidden)]
pub fn executed() {
    super::device_only()
}

#[doc(inline)]
pub use crate::{__layout as layout, __ptx as ptx, __require as require};
