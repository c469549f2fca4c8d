//! Compiling and launching an instance that is known only at run time.
//!
//! ```text
//! impl<E: Element, const N: usize> scale<E, N> {
//!     fn jit(with: &[(&str, Arg)]) -> Result<scale<E, N>, JitError>     from TEXT, its own values, and `with`
//!     fn run(&self, stream, args..)                                    N is a variable in its facts and grid
//! }
//! ```
//!
//! The type gives the element types, which the arguments need, and the values that `with` leaves alone. A
//! number that the launcher needs in a type (a tensor's rank, an argument between angle brackets) cannot be a
//! variable: it stays the type's.

use super::launch::Function;
use super::{Source, local};
use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::GenericParam;

pub(super) fn items(source: &Source, failed: bool) -> TokenStream {
    let krate = &source.krate;
    let p = quote!(#krate::__private);
    let name = source.name();
    let generics = source.generics();
    let (impl_generics, args, _) = generics.split_for_impl();
    let fixed = fixed(source);
    let (with, values) = (local("with"), local("values"));
    let base = generics.params.iter().filter_map(|param| match param {
        GenericParam::Type(t) => {
            let (ident, text) = (&t.ident, t.ident.to_string());
            Some(quote!((#text, #p::Arg::Type(<#ident as #krate::Element>::DTYPE))))
        }
        GenericParam::Const(c) => {
            let (ident, text) = (&c.ident, c.ident.to_string());
            Some(quote!((#text, #p::Arg::from(#ident))))
        }
        GenericParam::Lifetime(_) => None,
    });
    let base: Vec<TokenStream> = base.filter(|_| !failed).collect();
    let base_again = &base;
    let of_the_type = generics.params.iter().filter_map(|param| match param {
        GenericParam::Type(t) => Some(t.ident.to_string()),
        GenericParam::Const(c) => {
            let name = c.ident.to_string();
            fixed.contains(&name).then_some(name)
        }
        GenericParam::Lifetime(_) => None,
    });
    // `run`: numbers under other names in the type, and as variables under their own.
    let mut renamed = generics.clone();
    let mut variables = TokenStream::new();
    for param in renamed.params.iter_mut() {
        if let GenericParam::Const(c) = param
            && !fixed.contains(&c.ident.to_string())
        {
            let (ident, ty, text) = (c.ident.clone(), &c.ty, c.ident.to_string());
            variables.extend(quote! {
                #[allow(non_snake_case, unused_variables)]
                let #ident: #ty = #p::jit::value(&self.compiled, #text)?;
            });
            c.ident = format_ident!("{}_OF_THE_TYPE", ident);
        }
    }
    let (run_generics, run_args, _) = renamed.split_for_impl();
    let run = Function {
        name: quote!(run),
        generics: quote!(),
        receiver: quote!(&self,),
        parameters: variables,
        bound: quote!(),
        artifact: quote!(self.compiled.artifact()),
        failed,
    }
    .tokens(source);
    quote! {
        #[allow(dead_code)]
        impl #impl_generics #name #args {
            /// Compiles an instance at run time: that of this type, but for the parameters named here. Compiled
            /// again, it is the same.
            ///
            /// # Errors
            ///
            /// If a parameter is unknown or belongs to the type, or if the instance does not compile: with the
            /// messages that a build would show.
            pub fn jit(
                #with: &[(&str, #p::Arg)],
            ) -> ::core::result::Result<Self, #krate::JitError> {
                let #values: &[(&str, #p::Arg)] = &[#(#base),*];
                ::core::result::Result::Ok(Self {
                    compiled: #p::jit::compile(Self::TEXT, #values, #with, &[#(#of_the_type),*])?,
                    parameters: ::core::marker::PhantomData,
                })
            }

            /// The instances that `tune(..)` declares around that of this type, each compiled or rejected with
            /// its reason: for `tiki::tune::Tuner`.
            ///
            /// # Errors
            ///
            /// If a parameter is unknown, or the space itself is wrong.
            pub fn candidates(
                #with: &[(&str, #p::Arg)],
            ) -> ::core::result::Result<
                ::std::vec::Vec<#krate::tune::Candidate<Self>>,
                #krate::JitError,
            > {
                let #values: &[(&str, #p::Arg)] = &[#(#base_again),*];
                let found = #krate::tune::candidates(Self::TEXT, #values, #with)?;
                let kernel = |compiled| Self {
                    compiled,
                    parameters: ::core::marker::PhantomData,
                };
                ::core::result::Result::Ok(found.into_iter().map(|c| c.map(kernel)).collect())
            }

            /// What was compiled at run time: its parameters, artefact and report.
            #[must_use]
            pub fn compiled(&self) -> &#krate::Compiled {
                &self.compiled
            }
        }

        impl #impl_generics ::core::convert::AsRef<#krate::Compiled> for #name #args {
            fn as_ref(&self) -> &#krate::Compiled {
                &self.compiled
            }
        }

        #[allow(dead_code, non_upper_case_globals)]
        impl #run_generics #name #run_args {
            #run
        }
    }
}

/// Number parameters that the launcher needs in a type.
fn fixed(source: &Source) -> Vec<String> {
    let mut out = Vec::new();
    for input in &source.item.sig.inputs {
        if let syn::FnArg::Typed(t) = input {
            names(t.ty.to_token_stream(), &mut out);
        }
    }
    if let Some(grid) = source.attribute.get("grid") {
        let tokens = grid.value.to_token_stream();
        angles(tokens, &mut out);
    }
    out
}

/// What stands between `::<` and `>`.
fn angles(tokens: TokenStream, out: &mut Vec<String>) {
    let (mut before, mut depth) = (' ', 0usize);
    for token in tokens {
        let mut now = ' ';
        match token {
            TokenTree::Punct(p) => {
                now = p.as_char();
                match now {
                    '<' if before == ':' || depth > 0 => depth += 1,
                    '>' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
            TokenTree::Ident(i) if depth > 0 => out.push(i.to_string()),
            TokenTree::Group(g) if depth > 0 => names(g.stream(), out),
            TokenTree::Group(g) => angles(g.stream(), out),
            _ => {}
        }
        before = now;
    }
}

fn names(tokens: TokenStream, out: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(i) => out.push(i.to_string()),
            TokenTree::Group(g) => names(g.stream(), out),
            _ => {}
        }
    }
}
