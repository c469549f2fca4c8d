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
mod publish;
mod set;

use crate::parse::{self, Reader};
use crate::report::Foreign;
use proc_macro2::{Span, TokenStream};
use std::collections::HashMap;
use tiki_kernel::ast::{self, Item};
use tiki_kernel::diag::Diag;
use tiki_kernel::diag::codes::TYPE;

pub(crate) use names::{Wanted, paths_of_kernel};
pub(crate) use next::{fetch_for_kernel, next};
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
                    let _: ast::Span = reader.refuse(error.span(), format!("`{}`", entry.name));
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

/// FNV-1a: stable across compilers and machines.
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    })
}
