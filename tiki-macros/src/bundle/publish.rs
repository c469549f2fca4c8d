//! Device items: kept as they are, and given a macro of their own name that hands out their tokens.

use super::known::{is_known, is_taken};
use super::next::{State, fetch};
use super::{Bundle, Calls, Entry, Wanted, hash, paths};
use crate::expand::Source;
use crate::parse::Attribute;
use crate::report;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::spanned::Spanned;
use syn::{Item, Visibility};

/// `#[tiki::device]`.
pub(crate) fn device(attribute: TokenStream, tokens: TokenStream) -> TokenStream {
    let krate = Attribute::parse(attribute).krate();
    let item = match syn::parse2::<Item>(tokens.clone()) {
        Ok(item) => item,
        Err(error) => {
            let error = error.to_compile_error();
            return quote!(#error #tokens);
        }
    };
    let kept = kept(&item);
    let Some((name, _)) = name_of(&item) else {
        let error = refused(
            &item,
            "TK001",
            "a device item is a function, a constant or a struct",
        );
        return quote!(#error #kept);
    };
    if let Some(error) = cannot_be_shared(&item, &name) {
        return quote!(#error #kept);
    }
    let wanted = paths::paths_of_item(&item);
    if let Some(own) = wanted.iter().find(|w| name == w.key.as_str()) {
        // A struct may name itself; a function that does would never end.
        if matches!(item, Item::Fn(_)) {
            let error = recursion(own, &name);
            return quote!(#error #kept);
        }
    }
    let wanted = wanted.into_iter().filter(|w| name != w.key.as_str());
    let rest = fetch(&krate, "device", item.to_token_stream(), wanted.collect());
    quote!(#kept #rest)
}

/// All of its own tokens and of what it names are there: the macro.
pub(super) fn finish(state: &State) -> syn::Result<TokenStream> {
    let item: Item = syn::parse2(state.payload.clone())?;
    let (name, vis) =
        name_of(&item).ok_or_else(|| syn::Error::new(item.span(), "no device item"))?;
    Ok(publish(
        &name,
        &vis,
        bare(&item),
        &state.answered,
        &state.bundle,
    ))
}

/// A kernel's macro, which `kernel_set!` asks.
pub(crate) fn export_kernel(source: &Source, bundle: &Bundle, calls: &Calls) -> TokenStream {
    let name = source.name();
    if is_taken(&name.to_string()) || is_known(&name.to_string()) {
        return TokenStream::new();
    }
    let (attribute, item) = (&source.attribute_tokens, &source.item);
    let (sig, block) = (&item.sig, &item.block);
    let vis = &item.vis;
    let tokens = quote!(#[kernel(#attribute)] #vis #sig #block);
    publish(name, vis, tokens, &calls.roots, bundle)
}

fn publish(
    name: &Ident,
    vis: &Visibility,
    item: TokenStream,
    uses: &[(String, u64)],
    bundle: &Bundle,
) -> TokenStream {
    let start = name.span().start();
    let place = format!("{}:{}:{}", name.span().file(), start.line, start.column);
    let used: Vec<String> = uses.iter().map(|(path, h)| format!("{path}={h}")).collect();
    let text = format!("{place} {} {item}", used.join(","));
    let hash = hash(&text);
    let own = Entry {
        hash,
        name: name.to_string(),
        item,
        uses: uses.to_vec(),
    };
    let entries = bundle.entries.iter().chain(std::iter::once(&own));
    let hidden = format_ident!("__tiki_{}_{:016x}", name, hash, span = name.span());
    let exported = matches!(vis, Visibility::Public(_)).then(|| quote!(#[macro_export]));
    quote! {
        #[doc(hidden)]
        #exported
        macro_rules! #hidden {
            ({ $($next:tt)* } { $($state:tt)* }) => {
                $($next)* ! { $($state)* @ #hash [#(#entries)*] }
            };
        }
        #[doc(hidden)]
        #[allow(unused_imports)]
        #vis use #hidden as #name;
    }
}

/// The item for the kernels: without documentation and lint levels.
fn bare(item: &Item) -> TokenStream {
    let mut item = item.clone();
    match &mut item {
        Item::Fn(f) => f.attrs.clear(),
        Item::Const(c) => c.attrs.clear(),
        Item::Struct(s) => {
            s.attrs.clear();
            s.fields.iter_mut().for_each(|f| f.attrs.clear());
        }
        _ => {}
    }
    item.to_token_stream()
}

/// The item for rustc: `#[unroll]` is ours.
fn kept(item: &Item) -> TokenStream {
    let tokens = crate::expand::without_unroll(item.to_token_stream());
    let lints = matches!(item, Item::Fn(_)).then(|| {
        quote!(#[allow(arithmetic_overflow, unconditional_panic, clippy::all, clippy::pedantic)])
    });
    quote!(#[allow(dead_code)] #lints #tokens)
}

fn name_of(item: &Item) -> Option<(Ident, Visibility)> {
    match item {
        Item::Fn(f) => Some((f.sig.ident.clone(), f.vis.clone())),
        Item::Const(c) => Some((c.ident.clone(), c.vis.clone())),
        Item::Struct(s) => Some((s.ident.clone(), s.vis.clone())),
        _ => None,
    }
}

fn cannot_be_shared(item: &Item, name: &Ident) -> Option<TokenStream> {
    let text = name.to_string();
    let span = (name.span(), name.span());
    if is_taken(&text) || is_known(&text) {
        let whose = if is_known(&text) {
            "the kernel language has something of this name"
        } else {
            "the standard library or the prelude has a macro of this name"
        };
        let text = format!(
            "[TK003] a device item cannot be called `{text}`: {whose}\n  = note: `#[tiki::device]` \
             shares the item by a hidden macro of its own name\n  = help: call it `{text}_value` or \
             `my_{text}`"
        );
        return Some(report::error(span, &text));
    }
    if has_dollar(&item.to_token_stream()) {
        return Some(refused(item, "TK001", "a device item cannot contain `$`"));
    }
    None
}

fn has_dollar(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().any(|t| match t {
        TokenTree::Punct(p) => p.as_char() == '$',
        TokenTree::Group(g) => has_dollar(&g.stream()),
        _ => false,
    })
}

fn refused(item: &Item, code: &str, text: &str) -> TokenStream {
    let mut tokens = item.to_token_stream().into_iter();
    let first = tokens.next().map_or_else(|| item.span(), |t| t.span());
    report::error((first, first), &format!("[{code}] {text}"))
}

fn recursion(own: &Wanted, name: &Ident) -> TokenStream {
    let text = format!(
        "[TK007] device function `{name}` calls itself\n  = note: device functions are inlined at each \
         call\n  = help: write a loop"
    );
    report::error(own.span, &text)
}

/// `#[tiki::module] mod name { .. }`.
pub(crate) fn module(attribute: TokenStream, tokens: TokenStream) -> TokenStream {
    let krate = Attribute::parse(attribute.clone()).krate();
    let mut module = match syn::parse2::<syn::ItemMod>(tokens.clone()) {
        Ok(module) => module,
        Err(error) => {
            let text = format!("[TK001] `#[tiki::module]` stands before an inline module: {error}");
            let error = report::error((error.span(), error.span()), &text);
            return quote!(#error #tokens);
        }
    };
    let Some((_, items)) = &mut module.content else {
        let name = &module.ident;
        let text = format!(
            "[TK001] `#[tiki::module]` cannot see into another file\n  = help: write \
             `#[tiki::module] mod {name} {{ .. }}`, or put `#[tiki::device]` on the items of that file"
        );
        let error = report::error((name.span(), name.span()), &text);
        return quote!(#error #tokens);
    };
    let cycles = cycles(items);
    let circular: Vec<String> = cycles.iter().map(|(name, _)| name.clone()).collect();
    for item in items.iter_mut() {
        // What was refused is not shared: its callers would only hear of a missing macro.
        if name_of(item).is_some_and(|(name, _)| circular.contains(&name.to_string())) {
            continue;
        }
        let attrs = match item {
            Item::Fn(f) => &mut f.attrs,
            Item::Const(c) => &mut c.attrs,
            Item::Struct(s) => &mut s.attrs,
            _ => continue,
        };
        let marked = attrs.iter().any(|a| {
            let last = a.path().segments.last().map(|s| s.ident.to_string());
            matches!(last.as_deref(), Some("device" | "kernel" | "test" | "cfg"))
        });
        if !marked {
            attrs.push(syn::parse_quote!(#[#krate::device(#attribute)]));
        }
    }
    let errors = cycles.into_iter().map(|(_, error)| error);
    quote!(#(#errors)* #module)
}

/// Functions of one module that call each other in a circle.
fn cycles(items: &[Item]) -> Vec<(String, TokenStream)> {
    let calls: Vec<(String, Vec<Wanted>)> = items
        .iter()
        .filter(|i| matches!(i, Item::Fn(_)))
        .filter_map(|i| Some((name_of(i)?.0.to_string(), paths::paths_of_item(i))))
        .collect();
    let find = |name: &str| calls.iter().find(|(n, _)| n == name);
    let mut out = Vec::new();
    for (name, wanted) in &calls {
        for first in wanted.iter().filter(|w| w.key != *name) {
            let mut seen = vec![first.key.as_str()];
            let mut todo = vec![first.key.as_str()];
            while let Some(next) = todo.pop() {
                let Some((_, uses)) = find(next) else {
                    continue;
                };
                for used in uses {
                    if !seen.contains(&used.key.as_str()) {
                        seen.push(&used.key);
                        todo.push(&used.key);
                    }
                }
            }
            if seen.contains(&name.as_str()) {
                let text = format!(
                    "[TK007] device function `{name}` calls itself through `{}`\n  = note: device \
                     functions are inlined at each call\n  = help: write a loop",
                    first.key
                );
                out.push((name.clone(), report::error(first.span, &text)));
            }
        }
    }
    out
}
