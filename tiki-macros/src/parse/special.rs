//! The macros that mean something in a kernel (`require!`, `layout!`, `ptx!`), and tokens as text.

use super::Reader;
use proc_macro2::{Delimiter, LineColumn, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Token;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use tiki_kernel::ast::{self, Expr, ExprKind, Fact, PtxEffect, PtxOperand, PtxRole};
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
        let source = match syn::parse2::<Ptx>(mac.tokens.clone()) {
            Ok(source) => source,
            Err(e) => {
                let at = if mac.tokens.is_empty() {
                    span
                } else {
                    self.at(e.span())
                };
                self.sink.push(
                    Diag::error(ARGUMENTS, at, format!("cannot read this `ptx!`: {e}")).help(
                        "`ptx!(\"..\", out d: u32, in a: u32 = x, const n: u32 = N, reads(t))`",
                    ),
                );
                return ExprKind::Tuple(Vec::new());
            }
        };
        let operands = source.operands.iter().map(|o| PtxOperand {
            role: o.role,
            name: self.name(&o.name),
            ty: self.ty(&o.ty),
            value: o.value.as_ref().map(|v| self.expr(v)),
        });
        let operands = operands.collect();
        let effects = source.effects.iter().map(|e| PtxEffect {
            name: self.name(&e.name),
            of: e.of.iter().map(|x| self.expr(x)).collect(),
        });
        ExprKind::Ptx {
            effects: effects.collect(),
            operands,
            text: source.text.value(),
            place: self.at(source.text.span()),
        }
    }
}

/// What stands in `ptx!(..)`.
pub(crate) struct Ptx {
    text: syn::LitStr,
    operands: Vec<Operand>,
    effects: Vec<Effect>,
}

struct Operand {
    role: PtxRole,
    name: syn::Ident,
    ty: syn::Type,
    value: Option<syn::Expr>,
}

struct Effect {
    name: syn::Ident,
    of: Vec<syn::Expr>,
}

impl Ptx {
    /// The expressions and types in it.
    pub(crate) fn parts(&self) -> (Vec<&syn::Expr>, Vec<&syn::Type>) {
        let values = self.operands.iter().flat_map(|o| &o.value);
        let tensors = self.effects.iter().flat_map(|e| &e.of);
        let types = self.operands.iter().map(|o| &o.ty);
        (values.chain(tensors).collect(), types.collect())
    }
}

impl Parse for Ptx {
    fn parse(input: ParseStream<'_>) -> syn::Result<Ptx> {
        let mut ptx = Ptx {
            text: input.parse()?,
            operands: Vec::new(),
            effects: Vec::new(),
        };
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let role = if input.peek(Token![in]) {
                input.parse::<Token![in]>()?;
                PtxRole::In
            } else if input.peek(Token![const]) {
                input.parse::<Token![const]>()?;
                PtxRole::Const
            } else {
                let name: syn::Ident = input.parse()?;
                if name != "out" {
                    let mut of = Vec::new();
                    if input.peek(syn::token::Paren) {
                        let inner;
                        syn::parenthesized!(inner in input);
                        of.extend(Punctuated::<_, Token![,]>::parse_terminated(&inner)?);
                    }
                    ptx.effects.push(Effect { name, of });
                    continue;
                }
                PtxRole::Out
            };
            let name = input.call(syn::Ident::parse_any)?;
            input.parse::<Token![:]>()?;
            let ty = input.parse()?;
            let value = if role == PtxRole::Out {
                None
            } else {
                input.parse::<Token![=]>()?;
                Some(input.parse()?)
            };
            ptx.operands.push(Operand {
                role,
                name,
                ty,
                value,
            });
        }
        Ok(ptx)
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
