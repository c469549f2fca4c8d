//! The shadow: the body as a function that nobody calls.
//!
//! rustc checks names, types and borrows in it against the documented types of the prelude, and
//! rust-analyzer completes in it. What is only wrong on the host (an overflow or an index that the
//! compiler of the kernel judges by itself) is allowed.

use super::{Source, launch};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};

/// Of a kernel that was refused: the names of its arguments' types are in use, and nothing is said twice.
pub(crate) fn signature(source: &Source) -> TokenStream {
    let inputs = source
        .item
        .sig
        .inputs
        .iter()
        .filter_map(|input| match input {
            syn::FnArg::Typed(t) if launch::takes(source, &t.ty) => Some(&t.ty),
            _ => None,
        });
    let generics = &source.item.sig.generics.params;
    quote! {
        #[allow(unused)]
        const _: () = {
            fn arguments<#generics>(#(_: #inputs),*) {}
        };
    }
}

pub(crate) fn item(source: &Source) -> TokenStream {
    let sig = &source.item.sig;
    let lints: Vec<_> = source
        .item
        .attrs
        .iter()
        .filter(|a| a.path().is_ident("allow") || a.path().is_ident("expect"))
        .collect();
    let body = without_unroll(source.item.block.to_token_stream());
    quote! {
        #[allow(
            arithmetic_overflow,
            unconditional_panic,
            unused,
            non_snake_case,
            clippy::all,
            clippy::pedantic,
            clippy::nursery
        )]
        const _: () = {
            #(#lints)*
            #sig #body
        };
    }
}

/// Drops `#[unroll]` and `#[unroll(..)]`, which rustc does not know.
pub(crate) fn without_unroll(tokens: TokenStream) -> TokenStream {
    let mut out = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(p) if p.as_char() == '#' => {
                let unroll = matches!(tokens.peek(), Some(TokenTree::Group(g)) if is_unroll(g));
                if unroll {
                    tokens.next();
                } else {
                    out.push(TokenTree::Punct(p));
                }
            }
            TokenTree::Group(g) => {
                let mut group = Group::new(g.delimiter(), without_unroll(g.stream()));
                group.set_span(g.span());
                out.push(TokenTree::Group(group));
            }
            other => out.push(other),
        }
    }
    out.into_iter().collect()
}

fn is_unroll(group: &Group) -> bool {
    let first = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket
        && matches!(first, Some(TokenTree::Ident(i)) if i == "unroll")
}
