//! `kernel_set!`: instances of kernels under a type of the caller's own.

use super::next::State;
use proc_macro2::TokenStream;
use syn::ItemFn;

/// Whether a bundle's entry is a kernel.
pub(super) fn is_kernel(item: &ItemFn) -> bool {
    item.attrs.iter().any(|a| a.path().is_ident("kernel"))
}

pub(crate) fn kernel_set(input: TokenStream) -> TokenStream {
    let _ = input;
    TokenStream::new()
}

pub(super) fn finish(state: &State) -> syn::Result<TokenStream> {
    let _ = state;
    Ok(TokenStream::new())
}
