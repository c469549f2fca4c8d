//! The procedural macros of Tiki: tokens in, tokens out.
//!
//! ```text
//! tokens --parse--> ast --tiki-kernel--> artefacts or diagnostics --expand, report--> tokens
//!            ^
//!            `-- bundle: the tokens of the device items it uses, fetched by name
//! ```
//!
//! Everything that thinks is in tiki-kernel; here are the reading of Rust syntax, the fetching of shared
//! device items and the writing of the items that a kernel becomes. They are used through the facade,
//! whose documentation shows them.

#![forbid(unsafe_code)]

mod bundle;
mod dump;
mod expand;
mod parse;
mod report;

use proc_macro::TokenStream;

/// Turns a function into a kernel: a type of the same name with a typed `launch`.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::kernel(attribute.into(), item.into()).into()
}

/// Shares a function, a constant or a struct with kernels, in this crate and in others.
#[proc_macro_attribute]
pub fn device(attribute: TokenStream, item: TokenStream) -> TokenStream {
    bundle::device(attribute.into(), item.into()).into()
}

/// `#[tiki::device]` on every item of an inline module.
#[proc_macro_attribute]
pub fn module(attribute: TokenStream, item: TokenStream) -> TokenStream {
    bundle::module(attribute.into(), item.into()).into()
}

/// Instances of kernels, one's own or another crate's, under one type.
#[proc_macro]
pub fn kernel_set(input: TokenStream) -> TokenStream {
    bundle::kernel_set(input.into()).into()
}

/// As [`macro@kernel`], but the compiler is not asked: a test of the types alone.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn __shadow(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::only_checked(attribute.into(), item.into()).into()
}

/// The next step of fetching device items: only the other macros call it.
#[doc(hidden)]
#[proc_macro]
pub fn __next(input: TokenStream) -> TokenStream {
    bundle::next(input.into()).into()
}
