//! An author's expression as the launcher computes it: checked arithmetic.
//!
//! Every operator and method that can go wrong (`+ - * / % << >>`, minus, `as`, `abs`, `div_ceil`,
//! `next_multiple_of`) becomes a function of `tiki::host`, so that an overflow, a negative extent or a division
//! by zero is an error of the launch, with the kernel, the expression and its numbers, and not a panic.

use super::{Source, local};
use crate::parse::{path_key, text_of};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{BinOp, Expr, Pat, Stmt, UnOp};

/// Whose expression it is.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Grid,
    Fact,
    Workspace,
}

impl Place {
    /// What a computation without a result becomes.
    pub(super) fn failed(self, call: &syn::Ident, text: &str) -> TokenStream {
        let place = match self {
            Place::Grid => "its grid",
            Place::Fact => "its `require!`",
            Place::Workspace => "the shape of its workspace",
        };
        quote!(|numbers| #call.no_result(#place, #text, numbers))
    }
}

/// `argument.is_none_or(|tensor| fact)`: the name and the fact.
pub(super) fn given(call: &syn::ExprMethodCall) -> Option<(&syn::Ident, &Expr)> {
    if call.method != "is_none_or" {
        return None;
    }
    let Some(Expr::Closure(c)) = call.args.first() else {
        return None;
    };
    match c.inputs.first() {
        Some(Pat::Ident(p)) if c.inputs.len() == 1 => Some((&p.ident, &c.body)),
        _ => None,
    }
}

/// The function for an operator that can go wrong.
fn function(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Add(_) => "add",
        BinOp::Sub(_) => "sub",
        BinOp::Mul(_) => "mul",
        BinOp::Div(_) => "div",
        BinOp::Rem(_) => "rem",
        BinOp::Shl(_) => "shl",
        BinOp::Shr(_) => "shr",
        _ => return None,
    })
}

/// Methods that can go wrong.
const METHODS: &[&str] = &["div_ceil", "next_multiple_of", "abs"];

/// The expression with checked arithmetic.
pub(super) fn host(source: &Source, place: Place, expr: &Expr) -> TokenStream {
    let p = {
        let krate = &source.krate;
        quote!(#krate::__private::host)
    };
    let call = local("call");
    let failed = || place.failed(&call, &text_of(expr.to_token_stream()));
    let inside = |e: &Expr| host(source, place, e);
    match expr {
        Expr::Paren(e) => {
            let inner = inside(&e.expr);
            quote!((#inner))
        }
        Expr::Group(e) => inside(&e.expr),
        Expr::Path(e) => match source.renames.get(&path_key(&e.path)) {
            Some(name) => syn::Ident::new(name, syn::spanned::Spanned::span(e)).into_token_stream(),
            None => e.to_token_stream(),
        },
        Expr::Binary(b) => {
            let (l, r, op) = (inside(&b.left), inside(&b.right), &b.op);
            let Some(name) = function(op) else {
                return quote!(#l #op #r);
            };
            let span = syn::spanned::Spanned::span(op);
            let (name, failed) = (syn::Ident::new(name, span), failed());
            quote_spanned!(span=> #p::#name(#l, #r).map_err(#failed)?)
        }
        // A literal has its sign.
        Expr::Unary(u) if matches!(u.op, UnOp::Neg(_)) && !matches!(*u.expr, Expr::Lit(_)) => {
            let (inner, failed) = (inside(&u.expr), failed());
            quote!(#p::neg(#inner).map_err(#failed)?)
        }
        Expr::Unary(u) => {
            let (op, inner) = (&u.op, inside(&u.expr));
            quote!(#op #inner)
        }
        Expr::Cast(c) if !matches!(*c.expr, Expr::Lit(_)) => {
            let (inner, ty, failed) = (inside(&c.expr), &c.ty, failed());
            quote!(#p::cast::<_, #ty>(#inner).map_err(#failed)?)
        }
        Expr::Cast(c) => quote!((#c)),
        Expr::MethodCall(m) => {
            let recv = inside(&m.receiver);
            // No closure: the checked operators inside return from the launcher.
            if let Some((name, body)) = given(m) {
                let body = inside(body);
                return quote!(match #recv {
                    ::core::option::Option::Some(#name) => #body,
                    ::core::option::Option::None => true,
                });
            }
            let args: Vec<_> = m.args.iter().map(inside).collect();
            let method = &m.method;
            if METHODS.iter().any(|name| method == name) {
                let failed = failed();
                return quote_spanned!(method.span()=>
                    #p::#method(#recv, #(#args),*).map_err(#failed)?);
            }
            quote!(#recv.#method(#(#args),*))
        }
        Expr::If(e) => {
            let Some((_, otherwise)) = &e.else_branch else {
                return e.to_token_stream();
            };
            let (cond, yes, no) = (
                inside(&e.cond),
                block(source, place, &e.then_branch),
                inside(otherwise),
            );
            quote!(if #cond #yes else #no)
        }
        Expr::Block(b) => block(source, place, &b.block),
        other => other.to_token_stream(),
    }
}

/// A block that is one expression.
fn block(source: &Source, place: Place, block: &syn::Block) -> TokenStream {
    match block.stmts.as_slice() {
        [Stmt::Expr(value, None)] => {
            let value = host(source, place, value);
            quote!({ #value })
        }
        _ => block.to_token_stream(),
    }
}
