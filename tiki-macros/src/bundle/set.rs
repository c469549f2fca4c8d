//! `kernel_set!`: instances of kernels under a type of the caller's own.
//!
//! ```text
//! kernel_set! { pub struct Mine; gemm = lib::gemm<E = f16, BM = 256>; gemm = lib::gemm<E = f16, BM = 64>; }
//! ```
//!
//! The kernels' tokens are fetched like a device item's; each line is one instance. A set has a function
//! for each name, which launches any of its instances: `Mine::gemm::<f16, 256>(&stream, ..)`. Since the
//! set's trait is the set's own, a library that builds more or fewer instances breaks nobody.

use super::next::{State, fetch};
use super::recorded::Recorded;
use super::{Bundle, Calls, Entry, Wanted};
use crate::dump;
use crate::expand::launch::Function;
use crate::expand::{self, Source, artifact};
use crate::parse::{path_key, text_of};
use crate::report;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use std::collections::HashMap;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, GenericParam, ItemFn, Path, Token, Visibility};

/// Whether a bundle's entry is a kernel.
pub(super) fn is_kernel(item: &ItemFn) -> bool {
    item.attrs.iter().any(|a| a.path().is_ident("kernel"))
}

/// One line: a name, and an instance of a kernel.
struct Line {
    name: Ident,
    path: Path,
    /// `E = f16, BM = 256`
    args: TokenStream,
    /// The record the instance is taken from.
    tuned: Option<Recorded>,
}

struct Set {
    krate: TokenStream,
    attrs: Vec<Attribute>,
    vis: Visibility,
    name: Ident,
    lines: Vec<Line>,
}

impl Parse for Set {
    fn parse(input: ParseStream<'_>) -> syn::Result<Set> {
        let mut krate = quote!(::tiki);
        if input.peek(Token![crate]) && input.peek2(Token![=]) {
            input.parse::<Token![crate]>()?;
            input.parse::<Token![=]>()?;
            krate = input.call(Path::parse_mod_style)?.to_token_stream();
            input.parse::<Token![;]>()?;
        }
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        input.parse::<Token![struct]>()?;
        let name = input.parse()?;
        input.parse::<Token![;]>()?;
        let mut lines = Vec::new();
        while !input.is_empty() {
            let name = input.parse()?;
            input.parse::<Token![=]>()?;
            let path = input.call(Path::parse_mod_style)?;
            let mut args = TokenStream::new();
            let mut tuned = None;
            if input.peek(Token![<]) {
                input.parse::<Token![<]>()?;
                while !input.peek(Token![>]) {
                    let parameter = input.call(Ident::parse_any)?;
                    let equals = input.parse::<Token![=]>()?;
                    if parameter == "tuned" {
                        tuned = Some(Recorded::read(&input.parse()?)?);
                        if !input.peek(Token![>]) {
                            input.parse::<Token![,]>()?;
                        }
                        continue;
                    }
                    let value: syn::GenericArgument = input.parse()?;
                    args.extend(quote!(#parameter #equals #value,));
                    if !input.peek(Token![>]) {
                        input.parse::<Token![,]>()?;
                    }
                }
                input.parse::<Token![>]>()?;
            }
            input.parse::<Token![;]>()?;
            if let Some(recorded) = &tuned {
                args.extend(recorded.args(&args)?);
            }
            lines.push(Line {
                name,
                path,
                args,
                tuned,
            });
        }
        Ok(Set {
            krate,
            attrs,
            vis,
            name,
            lines,
        })
    }
}

/// `kernel_set! { .. }`.
pub(crate) fn kernel_set(input: TokenStream) -> TokenStream {
    let set = match syn::parse2::<Set>(input.clone()) {
        Ok(set) => set,
        Err(error) => {
            let text = format!(
                "[TK102] cannot read the set: {error}\n  = help: `pub struct Mine; gemm = \
                 lib::gemm<E = f16, BM = 256>;`"
            );
            return report::error((error.span(), error.span()), &text);
        }
    };
    let mut wanted: Vec<Wanted> = Vec::new();
    for line in &set.lines {
        let key = path_key(&line.path);
        if !wanted.iter().any(|w| w.key == key) {
            wanted.push(Wanted {
                path: line.path.to_token_stream(),
                key,
                span: span_of(&line.path),
            });
        }
    }
    fetch(&set.krate, "set", input, wanted)
}

fn span_of(path: &Path) -> (Span, Span) {
    let first = path.segments.first().map(|s| s.ident.span());
    let last = path.segments.last().map(|s| s.ident.span());
    first
        .zip(last)
        .unwrap_or_else(|| (Span::call_site(), Span::call_site()))
}

/// All kernels are there: compiles the set.
pub(super) fn finish(state: &State) -> syn::Result<TokenStream> {
    let set: Set = syn::parse2(state.payload.clone())?;
    let (attrs, vis, name) = (&set.attrs, &set.vis, &set.name);
    let mut out = quote! {
        #(#attrs)*
        #[derive(Debug, Clone, Copy)]
        #vis struct #name;
    };
    let mut names: Vec<&Ident> = Vec::new();
    for line in &set.lines {
        if !names.contains(&&line.name) {
            names.push(&line.name);
        }
    }
    let answered: HashMap<&str, u64> = state
        .answered
        .iter()
        .map(|(k, h)| (k.as_str(), *h))
        .collect();
    for name in names {
        let lines: Vec<&Line> = set.lines.iter().filter(|l| l.name == *name).collect();
        let kernel_of = |line: &Line| answered.get(path_key(&line.path).as_str());
        // However their paths are written, the lines of a name are instances of one kernel.
        let first = kernel_of(lines[0]);
        let mut mixed = false;
        for line in lines.iter().filter(|line| kernel_of(line) != first) {
            let text = format!(
                "[TK104] `{name}` is `{}` already: the lines of a name are instances of one kernel\n  \
                 = help: give `{}` a name of its own",
                path_key(&lines[0].path),
                path_key(&line.path)
            );
            out.extend(report::error(span_of(&line.path), &text));
            mixed = true;
        }
        if mixed {
            continue;
        }
        if let Some(entry) = first.and_then(|hash| state.bundle.get(*hash)) {
            out.extend(member(&set, &lines, entry, &state.bundle)?);
        }
    }
    Ok(out)
}

/// The function of one name, with its instances.
fn member(set: &Set, lines: &[&Line], entry: &Entry, bundle: &Bundle) -> syn::Result<TokenStream> {
    let shown = span_of(&lines[0].path);
    let mut item: ItemFn = syn::parse2(entry.item.clone())?;
    let Some(at) = item.attrs.iter().position(|a| a.path().is_ident("kernel")) else {
        let text = format!("[TK104] `{}` is a device item, not a kernel", entry.name);
        return Ok(report::error(shown, &text));
    };
    let attribute = match &item.attrs.remove(at).meta {
        syn::Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    };
    let args = lines.iter().map(|l| &l.args).filter(|a| !a.is_empty());
    let build = quote!(build(#((#args)),*));
    let source = Source::parse(with_build(attribute, &build)?, item.to_token_stream())?;
    // Only what this kernel uses goes with it.
    let own = bundle.closure(&entry.uses);
    let source = Source {
        krate: set.krate.clone(),
        constants: own.constants(),
        renames: own.names_for(&entry.uses),
        ..source
    };
    let calls = Calls {
        roots: entry.uses.clone(),
        spans: HashMap::new(),
    };
    let set_name = &set.name;
    let name = set_name.to_string();
    let compiled = expand::compile_all(&source, &own, &calls, Some((&name, shown)));
    let records = lines.iter().filter_map(|l| l.tuned.as_ref());
    let records: TokenStream = records
        .map(|r| r.checked(&entry.name, compiled.fingerprint))
        .collect();
    let function = &lines[0].name;
    let krate = &set.krate;
    let built = format_ident!("__{}_{}", set_name, function);
    let (params, names) = generics(&source, krate);
    let list: Vec<String> = lines
        .iter()
        .map(|l| format!("<{}>", text_of(l.args.clone())))
        .collect();
    let message = format!(
        "[TK104] the set `{{Self}}` has no such instance of `{}`",
        source.name()
    );
    let note = format!("it has: {}", list.join(", "));
    let help = format!(
        "add a line to the set: `{function} = {}<..>;`",
        path_key(&lines[0].path)
    );
    let function_tokens = Function {
        name: quote!(#function),
        generics: quote!(<#(#params),*>),
        receiver: quote!(),
        parameters: quote!(),
        bound: quote!(where #set_name: #built<#(#names),*>,),
        artifact: quote!(<#set_name as #built<#(#names),*>>::ARTIFACT),
        failed: compiled.failed,
    }
    .tokens(&source);
    let impls = if compiled.failed {
        quote! {
            impl<#(#params),*> #built<#(#names),*> for #set_name {
                const ARTIFACT: &'static #krate::__private::Artifact =
                    &#krate::__private::NOTHING_BUILT;
            }
        }
    } else {
        let impls = compiled.outputs.iter().map(|output| {
            let args = artifact::arguments(&source, output);
            let literal = artifact::literal(&source, output, &compiled);
            quote! {
                impl #built #args for #set_name {
                    const ARTIFACT: &'static #krate::__private::Artifact = {
                        static ARTIFACT: #krate::__private::Artifact = #literal;
                        &ARTIFACT
                    };
                }
            }
        });
        quote!(#(#impls)*)
    };
    let artifact_fn = format_ident!("{}_artifact", function);
    let (messages, watched) = (&compiled.messages, dump::watched());
    Ok(quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #[diagnostic::on_unimplemented(message = #message, note = #note, note = #help)]
        pub trait #built<#(#params),*> {
            const ARTIFACT: &'static #krate::__private::Artifact;
        }
        #impls
        #[allow(dead_code)]
        impl #set_name {
            #function_tokens
            /// The compiled instance.
            pub const fn #artifact_fn<#(#params),*>() -> &'static #krate::__private::Artifact
            where
                #set_name: #built<#(#names),*>,
            {
                <#set_name as #built<#(#names),*>>::ARTIFACT
            }
        }
        #messages
        #records
        #watched
    })
}

/// The kernel's options with the set's instances in place of its own.
fn with_build(attribute: TokenStream, build: &TokenStream) -> syn::Result<TokenStream> {
    let options = syn::parse::Parser::parse2(
        Punctuated::<syn::Meta, Token![,]>::parse_terminated,
        attribute.clone(),
    );
    let kept: Vec<TokenStream> = match options {
        Ok(options) => options
            .into_iter()
            .filter(|o| !o.path().is_ident("build") && !o.path().is_ident("crate"))
            .map(ToTokens::into_token_stream)
            .collect(),
        Err(error) => return Err(error),
    };
    Ok(quote!(#(#kept,)* #build))
}

/// The kernel's parameters, their bounds by absolute path, and their names.
fn generics(source: &Source, krate: &TokenStream) -> (Vec<TokenStream>, Vec<Ident>) {
    let mut params = Vec::new();
    let mut names = Vec::new();
    for param in &source.item.sig.generics.params {
        match param {
            GenericParam::Type(t) => {
                let name = &t.ident;
                let bounds = t.bounds.iter().filter_map(|b| match b {
                    syn::TypeParamBound::Trait(b) => {
                        let last = &b.path.segments.last()?.ident;
                        Some(quote!(#krate::prelude::#last))
                    }
                    _ => None,
                });
                params.push(quote!(#name: #(#bounds)+*));
                names.push(name.clone());
            }
            GenericParam::Const(c) => {
                let (name, ty) = (&c.ident, &c.ty);
                params.push(quote!(const #name: #ty));
                names.push(name.clone());
            }
            GenericParam::Lifetime(_) => {}
        }
    }
    (params, names)
}
