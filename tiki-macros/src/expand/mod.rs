//! What a kernel becomes.
//!
//! 1. [`surface`]: the type named like the kernel and the trait of what was built. They depend on the name
//!    and the parameters alone, so they are there whatever the compiler says.
//! 2. If the body names device items, their tokens are fetched ([`crate::bundle`]); then, or at once,
//! 3. [`instances`]: the compiler runs; each instance becomes an artefact and an implementation of the
//!    trait, beside them the `launch` and the shadow. If it fails, the errors and one implementation for all
//!    parameters take their place, and a `launch` that takes what the signature says and does nothing, so
//!    that the rest of the file is checked as if the kernel were right.
//!
//! What our compiler refuses in names, types or shapes, rustc would refuse a second time in the shadow, in other
//! words. It is told once: the shadow is then the signature alone, which keeps imports in use. Editors, which
//! complete in the body while it is wrong, see the body always.

mod arithmetic;
pub(crate) mod artifact;
mod assume;
mod at_run_time;
mod compile_instances;
mod facts;
pub(crate) mod launch;
mod shadow;
pub(crate) mod test;

pub(crate) use assume::keys as assumed;
pub(crate) use compile_instances::{Compiled, compile_all};
pub(crate) use shadow::without_unroll;

use crate::bundle::{self, Bundle};
use crate::dump;
use crate::parse::Attribute;
use crate::report;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use std::collections::HashMap;

/// A kernel as the door sees it.
pub(crate) struct Source {
    pub(crate) attribute: Attribute,
    pub(crate) attribute_tokens: TokenStream,
    pub(crate) item: syn::ItemFn,
    pub(crate) krate: TokenStream,
    /// Constants the launcher's expressions need where the kernel's own are out of reach, and the names
    /// that paths have there.
    pub(crate) constants: TokenStream,
    pub(crate) renames: HashMap<String, String>,
}

impl Source {
    pub(crate) fn parse(attribute: TokenStream, item: TokenStream) -> syn::Result<Source> {
        let mut item = syn::parse2::<syn::ItemFn>(item)?;
        inline_bounds(&mut item.sig.generics);
        let parsed = Attribute::parse(attribute.clone());
        Ok(Source {
            krate: parsed.krate(),
            attribute: parsed,
            attribute_tokens: attribute,
            item,
            constants: TokenStream::new(),
            renames: HashMap::new(),
        })
    }

    pub(crate) fn name(&self) -> &Ident {
        &self.item.sig.ident
    }

    /// The kernel's parameters; a lifetime is refused, so it is left out.
    pub(crate) fn generics(&self) -> syn::Generics {
        let mut generics = self.item.sig.generics.clone();
        let params = std::mem::take(&mut generics.params);
        let kept = params
            .into_iter()
            .filter(|p| !matches!(p, syn::GenericParam::Lifetime(_)));
        generics.params = kept.collect();
        generics
    }

    /// The lifetime of the trait of what was built. Where there are no parameters, the bound is kept open
    /// by one: rustc would check it at once, and say that the kernel was not built where only the tokens
    /// of a device item are missing.
    pub(crate) fn lifetime(&self, name: &TokenStream) -> TokenStream {
        if self.generics().params.is_empty() {
            quote!(<#name>)
        } else {
            TokenStream::new()
        }
    }

    /// What holds for an instance that was built.
    pub(crate) fn bound(&self) -> TokenStream {
        let built = self.built();
        if self.generics().params.is_empty() {
            quote!(for<'instance> Self: #built<'instance>)
        } else {
            quote!(Self: #built)
        }
    }

    /// The hidden trait of this kernel's instances.
    pub(crate) fn built(&self) -> Ident {
        format_ident!("{}_is_built", self.name())
    }
}

/// `where E: Element` becomes `<E: Element>`.
fn inline_bounds(generics: &mut syn::Generics) {
    let Some(clause) = generics.where_clause.take() else {
        return;
    };
    let mut kept = clause.clone();
    kept.predicates.clear();
    for predicate in clause.predicates {
        if let syn::WherePredicate::Type(p) = &predicate
            && let syn::Type::Path(path) = &p.bounded_ty
            && let Some(name) = path.path.get_ident()
            && let Some(param) = generics.type_params_mut().find(|t| t.ident == *name)
        {
            param.colon_token.get_or_insert_with(Default::default);
            param.bounds.extend(p.bounds.iter().cloned());
        } else {
            kept.predicates.push(predicate);
        }
    }
    if !kept.predicates.is_empty() {
        generics.where_clause = Some(kept);
    }
}

/// `#[tiki::kernel(..)]`.
pub(crate) fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let source = match Source::parse(attribute, item.clone()) {
        Ok(source) => source,
        Err(error) => {
            let text = format!("[TK005] a kernel is a function: {error}");
            let error = report::error((error.span(), error.span()), &text);
            return quote!(#error #item);
        }
    };
    let surface = surface(&source);
    let pending = bundle::paths_of_kernel(&source);
    let rest = if pending.is_empty() {
        instances(&source, &Bundle::default(), &bundle::Calls::default())
    } else {
        bundle::fetch_for_kernel(&source, pending)
    };
    quote!(#surface #rest)
}

/// The items of a kernel of which no instance was built.
pub(crate) fn only_checked(attribute: TokenStream, item: TokenStream) -> TokenStream {
    match Source::parse(attribute, item) {
        Ok(source) => {
            let stub = artifact::items(&source, &Compiled::nothing());
            let (surface, launch) = (surface(&source), launch::launcher(&source, false));
            let shadow = shadow::item(&source);
            quote!(#surface #stub #launch #shadow)
        }
        Err(error) => error.to_compile_error(),
    }
}

/// A kernel, and its body as rustc sees it.
pub(crate) fn twice(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut out = kernel(attribute.clone(), item.clone());
    if let Ok(source) = Source::parse(attribute, item) {
        out.extend(shadow::item(&source));
    }
    out
}

/// Everything that depends on the name and the parameters alone.
fn surface(source: &Source) -> TokenStream {
    launch::items(source)
}

/// Compiles, and writes what came of it.
pub(crate) fn instances(source: &Source, bundle: &Bundle, calls: &bundle::Calls) -> TokenStream {
    let compiled = compile_all(source, bundle, calls, None);
    let mut out = artifact::items(source, &compiled);
    out.extend(launch::launcher(source, compiled.failed));
    out.extend(match compiled.refused {
        true if !in_an_editor() => shadow::signature(source),
        _ => shadow::item(source),
    });
    out.extend(compiled.messages);
    out.extend(assume::asserts(source));
    out.extend(bundle::export_kernel(source, bundle, calls));
    out.extend(dump::watched());
    out
}

/// Whether it is not rustc, or a tool made of it, that expands.
fn in_an_editor() -> bool {
    let own = std::env::current_exe().unwrap_or_default();
    let own = own.file_stem().map(|s| s.to_string_lossy().into_owned());
    let rustc = ["rustc", "rustdoc", "clippy-driver", "miri"];
    own.is_some_and(|own| !rustc.contains(&own.as_str()))
}

/// A local name that no name of the user's can meet.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}
