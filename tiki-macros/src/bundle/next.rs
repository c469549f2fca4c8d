//! The steps of fetching: a state that travels through the macros of the items it asks for.
//!
//! ```text
//! __next! { {krate} kind {payload} [{path} "key" ..] ["key" hash ..] [entry ..] @ hash [entry ..] }
//!                                   still to ask      answered        kept        the answer to the first
//! entry = { hash "name" { item } ["path" hash ..] }
//! ```

use super::{Bundle, Calls, Entry, Wanted, paths, publish, set};
use crate::expand::{self, Source};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{LitInt, LitStr, Token};

/// What is known so far, and what for.
pub(super) struct State {
    pub(super) krate: TokenStream,
    pub(super) kind: Ident,
    pub(super) payload: TokenStream,
    pub(super) pending: Vec<(TokenStream, String)>,
    pub(super) answered: Vec<(String, u64)>,
    pub(super) bundle: Bundle,
}

/// Asks for all that a kernel names.
pub(crate) fn fetch_for_kernel(source: &Source, wanted: Vec<Wanted>) -> TokenStream {
    let (attribute, item) = (&source.attribute_tokens, &source.item);
    fetch(
        &source.krate,
        "kernel",
        quote!({ #attribute } { #item }),
        wanted,
    )
}

/// Starts fetching.
pub(super) fn fetch(
    krate: &TokenStream,
    kind: &str,
    payload: TokenStream,
    wanted: Vec<Wanted>,
) -> TokenStream {
    let state = State {
        krate: krate.clone(),
        kind: quote::format_ident!("{kind}"),
        payload,
        pending: wanted.into_iter().map(|w| (w.path, w.key)).collect(),
        answered: Vec::new(),
        bundle: Bundle::default(),
    };
    state.ask()
}

/// One step.
pub(crate) fn next(input: TokenStream) -> TokenStream {
    match syn::parse2::<State>(input) {
        Ok(state) => state.ask(),
        Err(error) => error.to_compile_error(),
    }
}

impl State {
    fn ask(self) -> TokenStream {
        let Some((path, _)) = self.pending.first() else {
            return self.finish();
        };
        let krate = &self.krate;
        quote!(#path ! { { #krate::__next } { #self } })
    }

    fn finish(self) -> TokenStream {
        let finished = match self.kind.to_string().as_str() {
            "kernel" => self.finish_kernel(),
            "device" => publish::finish(&self),
            _ => set::finish(&self),
        };
        finished.unwrap_or_else(|error| error.to_compile_error())
    }

    fn finish_kernel(&self) -> syn::Result<TokenStream> {
        let (attribute, item) = syn::parse::Parser::parse2(
            |input: ParseStream<'_>| Ok((braced(input)?, braced(input)?)),
            self.payload.clone(),
        )?;
        let source = Source::parse(attribute, item)?;
        let calls = Calls {
            roots: self.answered.clone(),
            spans: paths::paths_of_kernel(&source)
                .into_iter()
                .map(|w| (w.key, w.span))
                .collect(),
        };
        Ok(expand::instances(&source, &self.bundle, &calls))
    }
}

impl ToTokens for State {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let (krate, kind, payload) = (&self.krate, &self.kind, &self.payload);
        let pending = self
            .pending
            .iter()
            .map(|(path, key)| quote!({ #path } #key));
        let answered = self.answered.iter().map(|(key, hash)| quote!(#key #hash));
        let entries = &self.bundle.entries;
        tokens.extend(quote! {
            { #krate } #kind { #payload } [#(#pending)*] [#(#answered)*] [#(#entries)*]
        });
    }
}

impl ToTokens for Entry {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let (hash, name, item) = (self.hash, &self.name, &self.item);
        let uses = self.uses.iter().map(|(path, hash)| quote!(#path #hash));
        tokens.extend(quote!({ #hash #name { #item } [#(#uses)*] }));
    }
}

impl Parse for State {
    fn parse(input: ParseStream<'_>) -> syn::Result<State> {
        let krate = braced(input)?;
        let kind = input.parse()?;
        let payload = braced(input)?;
        let mut pending = list(input, |i| Ok((braced(i)?, text(i)?)))?;
        let mut answered = list(input, key_and_hash)?;
        let entries = list(input, Entry::parse)?;
        let mut bundle = Bundle { entries };
        if input.peek(Token![@]) {
            input.parse::<Token![@]>()?;
            let hash = number(input)?;
            bundle.merge(list(input, Entry::parse)?);
            if !pending.is_empty() {
                answered.push((pending.remove(0).1, hash));
            }
        }
        Ok(State {
            krate,
            kind,
            payload,
            pending,
            answered,
            bundle,
        })
    }
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Entry> {
        let inner;
        syn::braced!(inner in input);
        Ok(Entry {
            hash: number(&inner)?,
            name: text(&inner)?,
            item: braced(&inner)?,
            uses: list(&inner, key_and_hash)?,
        })
    }
}

fn key_and_hash(input: ParseStream<'_>) -> syn::Result<(String, u64)> {
    Ok((text(input)?, number(input)?))
}

fn text(input: ParseStream<'_>) -> syn::Result<String> {
    Ok(input.parse::<LitStr>()?.value())
}

fn number(input: ParseStream<'_>) -> syn::Result<u64> {
    input.parse::<LitInt>()?.base10_parse()
}

/// The tokens between braces.
pub(super) fn braced(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    match input.parse::<TokenTree>()? {
        TokenTree::Group(group) => Ok(group.stream()),
        other => Err(syn::Error::new(other.span(), "expected a group")),
    }
}

fn list<T>(
    input: ParseStream<'_>,
    one: impl Fn(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<Vec<T>> {
    let inner;
    syn::bracketed!(inner in input);
    let mut out = Vec::new();
    while !inner.is_empty() {
        out.push(one(&inner)?);
    }
    Ok(out)
}
