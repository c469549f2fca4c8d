//! `grid = [..]` and `require!(..)` on the host.
//!
//! Both are the author's expressions, evaluated on the host's tensors once per launch. Every operator
//! that can go wrong (`+ - * / %`, `div_ceil`) is replaced by a checked one, so that an overflow or a
//! division by zero is an error with the numbers and not a panic.
//!
//! A `require!` may name arguments, parameters, and variables whose whole value the host can compute:
//! the launcher repeats the `let`s it needs. Only facts at the top level of the body are facts of the
//! launch; others are refused ([`check`]).

use super::{Source, local};
use crate::parse::{Reader, path_key, split_conjuncts, text_of};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use std::collections::{HashMap, HashSet};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{BinOp, Expr, Pat, Stmt, Token};
use tiki_kernel::diag::Diag;
use tiki_kernel::diag::codes::NEED_CONST;

/// Methods the host has under the same name and meaning.
const METHODS: &[&str] = &[
    "dim",
    "shape",
    "stride",
    "div_ceil",
    "min",
    "max",
    "next_multiple_of",
    "is_multiple_of",
    "is_power_of_two",
    "abs",
    "is_some",
    "is_none",
];

/// Sets the grid.
pub(crate) fn grid(source: &Source, artifact: &TokenStream) -> TokenStream {
    let (krate, call) = (&source.krate, local("call"));
    if source.attribute.is_persistent() {
        let stream = local("stream");
        return quote!(#call.grid(#krate::__private::host::persistent(#stream, #artifact))?;);
    }
    match source.attribute.get("grid").and_then(|o| o.value.as_ref()) {
        Some(Expr::Array(list)) => {
            let parts = list.elems.iter().map(|e| host(source, e));
            quote!(#call.grid(#krate::__private::host::grid(&[#(#parts),*]))?;)
        }
        // The compiler says that it is missing or no list.
        _ => TokenStream::new(),
    }
}

/// The shape of a workspace, as the launcher computes it, if the argument of this name is one.
pub(crate) fn workspace(source: &Source, name: &syn::Ident) -> Option<TokenStream> {
    let option = source.attribute.get("workspace")?;
    let shape = option.args.iter().find_map(|arg| match arg {
        Expr::Assign(a) => match (&*a.left, &*a.right) {
            (Expr::Path(p), Expr::Array(shape)) if p.path.is_ident(name) => Some(shape),
            _ => None,
        },
        _ => None,
    })?;
    let parts = shape.elems.iter().map(|e| host(source, e));
    Some(quote!(&[#(#parts),*]))
}

/// What the host can compute at the top level of a body, in order.
enum Step<'a> {
    Let(&'a syn::Local, &'a syn::Ident, &'a Expr),
    Fact(Box<Expr>),
}

fn steps(source: &Source) -> (Vec<Step<'_>>, Vec<(Span, String)>) {
    let mut known: HashMap<String, bool> = HashMap::new();
    for input in &source.item.sig.inputs {
        if let syn::FnArg::Typed(t) = input
            && let Pat::Ident(p) = &*t.pat
        {
            known.insert(p.ident.to_string(), true);
        }
    }
    let (mut steps, mut refused) = (Vec::new(), Vec::new());
    for stmt in &source.item.block.stmts {
        match stmt {
            Stmt::Local(l) => {
                let mut bound = Vec::new();
                bound_names(&l.pat, &mut bound);
                let pat = match &l.pat {
                    Pat::Type(t) => &*t.pat,
                    pat => pat,
                };
                let computable = match (pat, &l.init) {
                    (Pat::Ident(p), Some(init))
                        if p.mutability.is_none() && unknown(&init.expr, &known).is_none() =>
                    {
                        steps.push(Step::Let(l, &p.ident, &init.expr));
                        true
                    }
                    _ => false,
                };
                for name in bound {
                    known.insert(name, computable);
                }
            }
            Stmt::Macro(m) if m.mac.path.is_ident("require") => {
                let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
                let Ok(args) = parser.parse2(m.mac.tokens.clone()) else {
                    continue;
                };
                for arg in &args {
                    for part in split_conjuncts(arg) {
                        match unknown(part, &known) {
                            None => steps.push(Step::Fact(Box::new(part.clone()))),
                            Some(what) => refused.push(what),
                        }
                    }
                }
            }
            _ => {}
        }
    }
    (steps, refused)
}

/// Refuses facts that the host cannot check.
pub(crate) fn check(reader: &mut Reader, source: &Source) {
    for (span, what) in steps(source).1 {
        let at = reader.at(span);
        reader.sink.push(
            Diag::error(
                NEED_CONST,
                at,
                format!("`require!` is checked by the launcher, which does not know {what}"),
            )
            .help("use arguments, parameters and values computed from them alone"),
        );
    }
}

/// The checks of one launch.
pub(crate) fn checks(source: &Source) -> TokenStream {
    let call = local("call");
    let (steps, _) = steps(source);
    let needed = needed(&steps);
    let mut out = TokenStream::new();
    for (i, step) in steps.iter().enumerate() {
        match step {
            Step::Let(l, name, init) if needed.contains(&i) => {
                let value = host(source, init);
                let ty = match &l.pat {
                    Pat::Type(t) => {
                        let ty = &t.ty;
                        quote!(: #ty)
                    }
                    _ => TokenStream::new(),
                };
                out.extend(quote!(let #name #ty = #value;));
            }
            Step::Let(..) => {}
            Step::Fact(expr) => out.extend(fact(source, &call, expr)),
        }
    }
    // A scope of their own: the body may rebind an argument's name.
    quote!({ #out })
}

fn fact(source: &Source, call: &syn::Ident, expr: &Expr) -> TokenStream {
    let krate = &source.krate;
    let text = text_of(expr.to_token_stream());
    if let Expr::Binary(b) = expr
        && matches!(
            b.op,
            BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_)
        )
    {
        let (left, right, op) = (host(source, &b.left), host(source, &b.right), &b.op);
        let (l, r) = (local("left"), local("right"));

        let p = quote!(#krate::__private);
        return quote_spanned! {op.span()=>
            let (#l, #r) = (#left, #right);
            let holds = #l #op #r;
            let (#l, #r) = #p::host::numbers(#l, #r);
            #call.fact(holds, #text, #l, #r)?;
        };
    }
    let value = host(source, expr);
    quote!(#call.fact(#value, #text, 0, 1)?;)
}

/// The `let`s that facts need, directly or through others.
fn needed(steps: &[Step<'_>]) -> HashSet<usize> {
    let mut wanted: HashSet<String> = HashSet::new();
    let mut out = HashSet::new();
    for (i, step) in steps.iter().enumerate().rev() {
        match step {
            Step::Fact(e) => names_in(e.to_token_stream(), &mut wanted),
            Step::Let(_, name, init) if wanted.contains(&name.to_string()) => {
                out.insert(i);
                names_in(init.to_token_stream(), &mut wanted);
            }
            Step::Let(..) => {}
        }
    }
    out
}

fn names_in(tokens: TokenStream, out: &mut HashSet<String>) {
    for token in tokens {
        match token {
            proc_macro2::TokenTree::Ident(i) => {
                out.insert(i.to_string());
            }
            proc_macro2::TokenTree::Group(g) => names_in(g.stream(), out),
            _ => {}
        }
    }
}

fn bound_names(pat: &Pat, out: &mut Vec<String>) {
    for token in pat.to_token_stream() {
        let mut names = HashSet::new();
        names_in(token.into(), &mut names);
        out.extend(names);
    }
}

/// The first thing in an expression that the host cannot compute.
fn unknown(expr: &Expr, known: &HashMap<String, bool>) -> Option<(Span, String)> {
    let all = |list: &[&Expr]| list.iter().find_map(|e| unknown(e, known));
    match expr {
        Expr::Lit(_) => None,
        Expr::Paren(p) => unknown(&p.expr, known),
        Expr::Group(g) => unknown(&g.expr, known),
        Expr::Unary(u) => unknown(&u.expr, known),
        Expr::Cast(c) => unknown(&c.expr, known),
        Expr::Binary(b) => all(&[&b.left, &b.right]),
        Expr::Path(p) => {
            let name = p.path.get_ident()?.to_string();
            (known.get(&name) == Some(&false)).then(|| (p.span(), format!("`{name}`")))
        }
        Expr::MethodCall(m) => {
            if let Some((name, body)) = given(m) {
                let mut inside = known.clone();
                inside.insert(name.to_string(), true);
                return unknown(&m.receiver, known).or_else(|| unknown(body, &inside));
            }
            if !METHODS.iter().any(|n| m.method == n) {
                return Some((m.method.span(), format!("`.{}(..)`", m.method)));
            }
            let args: Vec<&Expr> = m.args.iter().collect();
            unknown(&m.receiver, known).or_else(|| all(&args))
        }
        other => Some((
            other.span(),
            format!("`{}`", text_of(other.to_token_stream())),
        )),
    }
}

/// `argument.is_none_or(|tensor| fact)`: the name and the fact.
fn given(call: &syn::ExprMethodCall) -> Option<(&syn::Ident, &Expr)> {
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

/// The expression with checked arithmetic.
fn host(source: &Source, expr: &Expr) -> TokenStream {
    let krate = &source.krate;
    match expr {
        Expr::Paren(p) => {
            let inner = host(source, &p.expr);
            quote!((#inner))
        }
        Expr::Group(g) => host(source, &g.expr),
        Expr::Path(p) => match source.renames.get(&path_key(&p.path)) {
            Some(name) => syn::Ident::new(name, p.span()).into_token_stream(),
            None => p.to_token_stream(),
        },
        Expr::Binary(b) => {
            let (l, r, op) = (host(source, &b.left), host(source, &b.right), &b.op);
            let name = match op {
                BinOp::Add(_) => "add",
                BinOp::Sub(_) => "sub",
                BinOp::Mul(_) => "mul",
                BinOp::Div(_) => "div",
                BinOp::Rem(_) => "rem",
                _ => return quote!(#l #op #r),
            };
            let name = syn::Ident::new(name, op.span());
            quote_spanned!(op.span()=> #krate::__private::host::#name(#l, #r)?)
        }
        Expr::Unary(u) => {
            let (op, inner) = (&u.op, host(source, &u.expr));
            quote!(#op #inner)
        }
        Expr::Cast(c) => {
            let (inner, ty) = (host(source, &c.expr), &c.ty);
            quote!((#inner as #ty))
        }
        Expr::MethodCall(m) => {
            let recv = host(source, &m.receiver);
            // No closure: the checked operators inside return from the launcher.
            if let Some((name, body)) = given(m) {
                let body = host(source, body);
                return quote!(match #recv {
                    ::core::option::Option::Some(#name) => #body,
                    ::core::option::Option::None => true,
                });
            }
            let args: Vec<_> = m.args.iter().map(|a| host(source, a)).collect();
            let method = &m.method;
            if method == "div_ceil" || method == "next_multiple_of" {
                return quote_spanned!(method.span()=>
                    #krate::__private::host::#method(#recv, #(#args),*)?);
            }
            quote!(#recv.#method(#(#args),*))
        }
        other => other.to_token_stream(),
    }
}
