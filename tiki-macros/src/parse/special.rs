//! The macros that mean something in a kernel (`require!`, `layout!`, `ptx!`), and tokens as text.

use super::Reader;
use proc_macro2::{Delimiter, LineColumn, TokenStream, TokenTree};
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{Token, parse::Parser};
use tiki_kernel::ast::{self, Expr, ExprKind, Fact};
use tiki_kernel::diag::Diag;
use tiki_kernel::diag::codes::{ARGUMENTS, UNSUPPORTED};

impl Reader {
    pub(crate) fn macro_call(&mut self, mac: &syn::Macro) -> Expr {
        let span = self.path_span(&mac.path);
        let name = mac
            .path
            .segments
            .last()
            .map(|s| s.ident.to_string())
            .unwrap_or_default();
        let kind = match name.as_str() {
            "require" => self.require(mac, span),
            "layout" => ExprKind::Layout(dense_text(mac.tokens.clone())),
            "ptx" => self.ptx(mac, span),
            other => ExprKind::Unsupported(format!("macro `{other}!`")),
        };
        Expr { kind, span }
    }

    fn arguments(&mut self, mac: &syn::Macro) -> Vec<syn::Expr> {
        let parser = Punctuated::<syn::Expr, Token![,]>::parse_terminated;
        match parser.parse2(mac.tokens.clone()) {
            Ok(list) => list.into_iter().collect(),
            Err(e) => {
                let at = self.at(e.span());
                self.sink.push(Diag::error(
                    UNSUPPORTED,
                    at,
                    format!("cannot read this: {e}"),
                ));
                Vec::new()
            }
        }
    }

    fn require(&mut self, mac: &syn::Macro, span: ast::Span) -> ExprKind {
        let args = self.arguments(mac);
        if args.is_empty() && mac.tokens.is_empty() {
            self.sink.push(
                Diag::error(ARGUMENTS, span, "`require!` needs a fact")
                    .help("`require!(x.dim(1) == N);`"),
            );
        }
        let mut facts = Vec::new();
        for arg in &args {
            self.conjuncts(arg, &mut facts);
        }
        ExprKind::Require(facts)
    }

    fn conjuncts(&mut self, expr: &syn::Expr, out: &mut Vec<Fact>) {
        for part in split_conjuncts(expr) {
            out.push(Fact {
                text: text_of(part.to_token_stream()),
                expr: self.expr(part),
            });
        }
    }

    fn ptx(&mut self, mac: &syn::Macro, span: ast::Span) -> ExprKind {
        let args = self.arguments(mac);
        let text = match args.first() {
            Some(syn::Expr::Lit(l)) => match &l.lit {
                syn::Lit::Str(s) => Some(s.value()),
                _ => None,
            },
            _ => None,
        };
        let Some(text) = text else {
            self.sink.push(
                Diag::error(ARGUMENTS, span, "`ptx!` starts with the instruction's text")
                    .help("`ptx!(\"mnemonic\", operand, ..)`"),
            );
            return ExprKind::Tuple(Vec::new());
        };
        let args = args[1..].iter().map(|e| self.expr(e)).collect();
        ExprKind::Ptx { text, args }
    }
}

/// The parts of `a && b && c`.
pub(crate) fn split_conjuncts(expr: &syn::Expr) -> Vec<&syn::Expr> {
    match expr {
        syn::Expr::Binary(b) if matches!(b.op, syn::BinOp::And(_)) => {
            let mut parts = split_conjuncts(&b.left);
            parts.extend(split_conjuncts(&b.right));
            parts
        }
        syn::Expr::Paren(p) => split_conjuncts(&p.expr),
        syn::Expr::Group(g) => split_conjuncts(&g.expr),
        other => vec![other],
    }
}

/// Tokens as text without blanks.
fn dense_text(tokens: TokenStream) -> String {
    let mut text = Text::default();
    text.put(tokens, true);
    text.out
}

/// Tokens as their author spaced them; any stretch of blanks and lines is one blank.
pub(crate) fn text_of(tokens: TokenStream) -> String {
    let mut text = Text::default();
    text.put(tokens, false);
    text.out
}

#[derive(Default)]
struct Text {
    out: String,
    end: Option<LineColumn>,
}

impl Text {
    fn put(&mut self, tokens: TokenStream, dense: bool) {
        for token in tokens {
            let TokenTree::Group(group) = token else {
                let span = token.span();
                self.token(&token.to_string(), span.start(), span.end(), dense);
                continue;
            };
            let (open, close) = match group.delimiter() {
                Delimiter::Parenthesis => ("(", ")"),
                Delimiter::Brace => ("{", "}"),
                Delimiter::Bracket => ("[", "]"),
                Delimiter::None => ("", ""),
            };
            // A group made anew has one span for all of it: its delimiters are the ends of that.
            let (start, end) = (group.span().start(), group.span().end());
            let opened = LineColumn {
                column: start.column + 1,
                ..start
            };
            let closing = LineColumn {
                column: end.column.saturating_sub(1),
                ..end
            };
            self.token(open, start, opened, dense);
            self.put(group.stream(), dense);
            self.token(close, closing, end, dense);
        }
    }

    fn token(&mut self, text: &str, from: LineColumn, to: LineColumn, dense: bool) {
        if text.is_empty() {
            return;
        }
        if !dense && self.end.is_some_and(|end| end != from) {
            self.out.push(' ');
        }
        self.out.push_str(text);
        self.end = Some(to);
    }
}
