//! From tokens to the syntax tree.
//!
//! A [`Reader`] turns what syn understood into [`ast`] nodes and keeps, beside them, the table of token
//! spans that an [`ast::Span`] indexes. It never fails: what the language lacks becomes
//! [`ast::ExprKind::Unsupported`] where an expression is wanted and a `TK001` elsewhere, so that the
//! compiler sees the whole kernel and can say everything at once.
//!
//! A span is a pair of tokens, first and last: stable Rust underlines a `compile_error!` from its first
//! token to its last, which is how a whole path is underlined. The pair is the most telling part of a
//! node (operator, method name, path, keyword), not all of it.

mod attribute;
mod expr;
mod item;
mod pattern;
mod special;
mod ty;

use proc_macro2::Span;
use quote::ToTokens;
use std::collections::HashMap;
use tiki_kernel::ast::{self, Name, Place, Places};
use tiki_kernel::diag::codes::UNSUPPORTED;
use tiki_kernel::diag::{Diag, Sink};

pub(crate) use attribute::Attribute;
pub(crate) use item::device_item;
pub(crate) use special::{Ptx, split_conjuncts, text_of};
pub(crate) use ty::path_key;

/// Builds the tree and its table of places.
pub(crate) struct Reader {
    spans: Vec<(Span, Span)>,
    places: Places,
    files: HashMap<String, u32>,
    /// Paths that name device items, as written, and the name each has in this program.
    pub(crate) renames: HashMap<String, String>,
    /// What is wrong with the syntax.
    pub(crate) sink: Sink,
}

impl Reader {
    pub(crate) fn new() -> Reader {
        Reader {
            spans: Vec::new(),
            places: Places::default(),
            files: HashMap::new(),
            renames: HashMap::new(),
            sink: Sink::new(),
        }
    }

    /// The table's entry for one token.
    pub(crate) fn at(&mut self, span: Span) -> ast::Span {
        self.range(span, span)
    }

    /// The table's entry for the stretch between two tokens.
    pub(crate) fn range(&mut self, first: Span, last: Span) -> ast::Span {
        let start = first.start();
        let name = first.file();
        let next = self.places.files.len() as u32;
        let file = *self.files.entry(name.clone()).or_insert(next);
        if file == next {
            self.places.files.push(name);
        }
        self.places.places.push(Place {
            file,
            line: start.line as u32,
            column: start.column as u32 + 1,
        });
        self.spans.push((first, last));
        ast::Span(self.spans.len() as u32 - 1)
    }

    /// The tokens of an entry.
    pub(crate) fn tokens_of(&self, span: ast::Span) -> (Span, Span) {
        let whole = (Span::call_site(), Span::call_site());
        self.spans.get(span.0 as usize).copied().unwrap_or(whole)
    }

    /// How many entries there are: those made after this call have at least this index.
    pub(crate) fn mark(&self) -> u32 {
        self.spans.len() as u32
    }

    /// Where spans lie.
    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    pub(crate) fn name(&mut self, ident: &syn::Ident) -> Name {
        let text = ident.to_string();
        Name {
            text: text.strip_prefix("r#").unwrap_or(&text).to_owned(),
            span: self.at(ident.span()),
        }
    }

    /// First and last token of anything.
    pub(crate) fn whole(&mut self, node: &impl ToTokens) -> ast::Span {
        let mut tokens = node.to_token_stream().into_iter();
        let Some(first) = tokens.next() else {
            return self.at(Span::call_site());
        };
        let last = tokens.last().map_or(first.span(), |t| t.span());
        self.range(first.span(), last)
    }

    /// Notes that the language lacks something: kernels have no `what`.
    pub(crate) fn refuse(&mut self, span: Span, what: impl Into<String>) -> ast::Span {
        let at = self.at(span);
        let what = what.into();
        self.sink.push(Diag::error(
            UNSUPPORTED,
            at,
            format!("kernels have no {what}"),
        ));
        at
    }
}

#[cfg(test)]
mod tests;
