//! Device items that travel: the tokens a kernel needs beside its own.
//!
//! A macro sees only the tokens it is given, so `#[tiki::device]` makes every item bring its own: beside
//! the item stands a hidden `macro_rules!` under the item's *own name*. A `use` brings both, since macros
//! live in a namespace of their own, and rustc does all of the name resolution.
//!
//! ```text
//! kernel names `scale` and `lib::HEAD`
//!   scale!     { {tiki::__next} {state} }     asks rustc for the tokens behind `scale`
//!   __next!    { state, answer }              keeps them, asks for the next
//!   lib::HEAD! { {tiki::__next} {state} }
//!   __next!    { state, answer }              has all: compiles
//! ```
//!
//! An answer is *closed*: it holds the entries of everything the item uses, fetched the same way where the
//! item stands, so that a private callee of another crate needs no path. Entries are told apart by a hash
//! of tokens and place, and kept once however many ways lead to them.

mod known;
mod names;
mod next;
mod paths;
mod publish;
mod recorded;
mod set;

use crate::parse::{self, Reader};
use crate::report::Foreign;
use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use std::collections::HashMap;
use tiki_kernel::ast::{self, Item};
use tiki_kernel::diag::Diag;
use tiki_kernel::diag::codes::TYPE;

pub(crate) use names::Wanted;
pub(crate) use next::{fetch_for_kernel, next};
pub(crate) use paths::paths_of_kernel;
pub(crate) use publish::{device, export_kernel, module};
pub(crate) use set::kernel_set;

/// One device item (or kernel) with what its names lead to.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) hash: u64,
    pub(crate) name: String,
    pub(crate) item: TokenStream,
    /// Paths as written in it, and the entries they name.
    pub(crate) uses: Vec<(String, u64)>,
}

/// Entries, callees before callers.
#[derive(Default, Clone)]
pub(crate) struct Bundle {
    pub(crate) entries: Vec<Entry>,
}

/// What the root item's paths lead to.
#[derive(Default)]
pub(crate) struct Calls {
    pub(crate) roots: Vec<(String, u64)>,
    /// Where each root is first named.
    pub(crate) spans: HashMap<String, (Span, Span)>,
}

impl Bundle {
    /// Takes entries in that are not there yet.
    pub(crate) fn merge(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            if !self.entries.iter().any(|e| e.hash == entry.hash) {
                self.entries.push(entry);
            }
        }
    }

    fn get(&self, hash: u64) -> Option<&Entry> {
        self.entries.iter().find(|e| e.hash == hash)
    }

    /// The entries that these uses lead to.
    pub(crate) fn closure(&self, uses: &[(String, u64)]) -> Bundle {
        let mut kept: Vec<u64> = Vec::new();
        let mut todo: Vec<u64> = uses.iter().map(|(_, hash)| *hash).collect();
        while let Some(hash) = todo.pop() {
            if !kept.contains(&hash) {
                kept.push(hash);
                let uses = self.get(hash).map_or(&[][..], |e| &e.uses);
                todo.extend(uses.iter().map(|(_, h)| *h));
            }
        }
        let entries = self.entries.iter().filter(|e| kept.contains(&e.hash));
        Bundle {
            entries: entries.cloned().collect(),
        }
    }

    /// The constants among the entries as items for rustc, each under its program name.
    pub(crate) fn constants(&self) -> TokenStream {
        let mut out = TokenStream::new();
        for entry in &self.entries {
            if let Ok(syn::Item::Const(c)) = syn::parse2(entry.item.clone()) {
                let name = syn::Ident::new(&self.program_name(entry), Span::call_site());
                let value = renamed(c.expr.to_token_stream(), &self.names_for(&entry.uses));
                let ty = &c.ty;
                out.extend(quote!(#[allow(dead_code)] const #name: #ty = #value;));
            }
        }
        out
    }

    /// The name each entry has in the program: its own, unless two entries share it.
    fn program_name(&self, entry: &Entry) -> String {
        let first = self.entries.iter().find(|e| e.name == entry.name);
        if first.is_some_and(|e| e.hash == entry.hash) {
            entry.name.clone()
        } else {
            format!("{}_{:08x}", entry.name, entry.hash as u32)
        }
    }

    /// Paths as written and the names they stand for.
    pub(crate) fn names_for(&self, uses: &[(String, u64)]) -> HashMap<String, String> {
        uses.iter()
            .filter_map(|(path, hash)| {
                let entry = self.get(*hash)?;
                Some((path.clone(), self.program_name(entry)))
            })
            .collect()
    }

    /// The entry a path of the root leads to, through which another was reached.
    fn root_of(&self, hash: u64, calls: &Calls) -> (Span, Span) {
        let reaches = |from: u64| {
            let mut todo = vec![from];
            while let Some(next) = todo.pop() {
                if next == hash {
                    return true;
                }
                if let Some(entry) = self.get(next) {
                    todo.extend(entry.uses.iter().map(|(_, h)| *h));
                }
            }
            false
        };
        calls
            .roots
            .iter()
            .find(|(_, root)| reaches(*root))
            .and_then(|(path, _)| calls.spans.get(path).copied())
            .unwrap_or_else(|| (Span::call_site(), Span::call_site()))
    }

    /// The items as syntax trees, and where their errors are shown.
    pub(crate) fn items(&self, reader: &mut Reader, calls: &Calls) -> (Vec<Item>, Vec<Foreign>) {
        let (mut items, mut foreign) = (Vec::new(), Vec::new());
        for entry in &self.entries {
            let from = reader.mark();
            reader.renames = self.names_for(&entry.uses);
            match syn::parse2::<syn::Item>(entry.item.clone()) {
                Ok(syn::Item::Fn(f)) if set::is_kernel(&f) => {
                    let at = reader.at(f.sig.ident.span());
                    let text = format!("`{}` is a kernel, not a device function", entry.name);
                    reader.sink.push(
                        Diag::error(TYPE, at, text)
                            .help("move what both need into a `#[tiki::device]` function"),
                    );
                }
                Ok(item) => {
                    let name = self.program_name(entry);
                    items.extend(parse::device_item(reader, &item, &name));
                }
                Err(error) => {
                    let _: ast::Span =
                        reader.refuse(error.span(), format!("such item as `{}`", entry.name));
                }
            }
            foreign.push(Foreign {
                from,
                to: reader.mark(),
                name: entry.name.clone(),
                call: self.root_of(entry.hash, calls),
            });
        }
        (items, foreign)
    }
}

/// Tokens with whole paths replaced by names.
fn renamed(tokens: TokenStream, names: &HashMap<String, String>) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_colon =
        |t: Option<&TokenTree>| matches!(t, Some(TokenTree::Punct(p)) if p.as_char() == ':');
    let mut out = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(g) => {
                let mut group = Group::new(g.delimiter(), renamed(g.stream(), names));
                group.set_span(g.span());
                out.push(group.into());
                at += 1;
            }
            TokenTree::Ident(first) => {
                let (mut key, mut end) = (first.to_string(), at + 1);
                while is_colon(tokens.get(end)) && is_colon(tokens.get(end + 1)) {
                    let Some(TokenTree::Ident(next)) = tokens.get(end + 2) else {
                        break;
                    };
                    key = format!("{key}::{next}");
                    end += 3;
                }
                match names.get(&key) {
                    Some(name) => out.push(syn::Ident::new(name, first.span()).into()),
                    None => out.extend(tokens[at..end].iter().cloned()),
                }
                at = end;
            }
            other => {
                out.push(other.clone());
                at += 1;
            }
        }
    }
    out.into_iter().collect()
}

/// FNV-1a: stable across compilers and machines.
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    })
}
