//! `grid = [..]` and `require!(..)` on the host.
//!
//! Both are the author's expressions, evaluated on the host's tensors once per launch, with checked
//! arithmetic ([`super::arithmetic`]). A fact that does not hold is told with the values of its operands.
//!
//! A `require!` may name arguments, parameters, and variables whose whole value the host can compute:
//! the launcher repeats the `let`s it needs. Only facts at the top level of the body are facts of the
//! launch; others are refused ([`check`]).

use super::arithmetic::{Place, given, host};
use super::{Source, local};
use crate::parse::{Reader, split_conjuncts, text_of};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use std::collections::{HashMap, HashSet};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{BinOp, Expr, Pat, Stmt, Token, UnOp};
use tiki_kernel::diag::Diag;
use tiki_kernel::diag::codes::NEED_CONST;
use tiki_kernel::near;

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
            let p = quote!(#krate::__private);
            let parts = list.elems.iter().map(|e| {
                let (value, text) = (host(source, Place::Grid, e), text_of(e.to_token_stream()));
                let failed = Place::Grid.failed(&call, &text);
                quote!(#p::host::extent(#value).map_err(#failed)?)
            });
            let blocks = local("blocks");
            let whole = source.attribute.denies("partial_waves");
            let whole = whole.then(|| quote!(#call.whole_waves()?;));
            quote! {
                let #blocks = #p::host::grid(&[#(#parts),*]);
                #call.grid(#blocks)?;
                #whole
            }
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
    let parts = shape.elems.iter();
    let parts = parts.map(|e| host(source, Place::Workspace, e));
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
        let text = format!("`require!` is checked by the launcher, which does not know {what}");
        let diag = Diag::error(NEED_CONST, at, text);
        let method = what
            .strip_prefix("`.")
            .and_then(|m| m.strip_suffix("(..)`"));
        let question = method.and_then(|m| near::question(m, METHODS.iter().copied()));
        let other = "use arguments, parameters and values computed from them alone";
        reader
            .sink
            .push(diag.help(question.unwrap_or(other.into())));
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
                let value = host(source, Place::Fact, init);
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
    let text = text_of(expr.to_token_stream());
    checked(source, call, expr, &text)
}

/// Refuses the launch unless `expr` holds, which is the fact of this text or what is left of it.
fn checked(source: &Source, call: &syn::Ident, expr: &Expr, text: &str) -> TokenStream {
    let p = {
        let krate = &source.krate;
        quote!(#krate::__private)
    };
    if let Some(inner) = enclosed(expr) {
        return checked(source, call, inner, text);
    }
    if let Expr::Binary(b) = expr
        && compares(&b.op)
    {
        let (left, right) = (
            host(source, Place::Fact, &b.left),
            host(source, Place::Fact, &b.right),
        );
        let (l, r, op) = (local("left"), local("right"), &b.op);
        let sides = [(&*b.left, &l), (&*b.right, &r)].into_iter();
        let sides = sides.filter(|(e, _)| has_a_name(e)).map(|(e, name)| {
            let text = text_of(e.to_token_stream());
            quote!((#text, #p::host::shown(&#name)))
        });
        return quote_spanned! {op.span()=>
            let (#l, #r) = (#left, #right);
            #call.fact(#l #op #r, #text, || ::std::vec![#(#sides),*])?;
        };
    }
    // No closure: the checked operators inside return from the launcher.
    if let Expr::MethodCall(m) = expr
        && let Some((name, body)) = given(m)
    {
        let (recv, inner) = (
            host(source, Place::Fact, &m.receiver),
            checked(source, call, body, text),
        );
        return quote!(if let ::core::option::Option::Some(#name) = #recv { #inner });
    }
    let value = host(source, Place::Fact, expr);
    let mut shown = Vec::new();
    operands(expr, &mut shown);
    let shown = shown.into_iter().filter(|e| has_a_name(e)).map(|e| {
        let (text, value) = (text_of(e.to_token_stream()), host(source, Place::Fact, e));
        // What the operators before it made unnecessary may have no value.
        quote!((#text, #p::host::shown_if(|| ::core::result::Result::Ok(#value))))
    });
    quote!(#call.fact(#value, #text, || ::std::vec![#(#shown),*])?;)
}

fn compares(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_)
    )
}

fn enclosed(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Paren(p) => Some(&p.expr),
        Expr::Group(g) => Some(&g.expr),
        _ => None,
    }
}

/// The numbers that decide about a fact, outermost first.
fn operands<'a>(expr: &'a Expr, out: &mut Vec<&'a Expr>) {
    match expr {
        Expr::Paren(_) | Expr::Group(_) => operands(enclosed(expr).unwrap_or(expr), out),
        Expr::Unary(u) if matches!(u.op, UnOp::Not(_)) => operands(&u.expr, out),
        Expr::Binary(b) if compares(&b.op) => out.extend([&*b.left, &*b.right]),
        Expr::Binary(b) => {
            operands(&b.left, out);
            operands(&b.right, out);
        }
        Expr::MethodCall(m) if m.method == "is_multiple_of" || m.method == "is_power_of_two" => {
            out.push(&m.receiver);
            out.extend(&m.args);
        }
        _ => {}
    }
}

/// A number that stands there needs no showing.
fn has_a_name(expr: &Expr) -> bool {
    let mut names = HashSet::new();
    names_in(expr.to_token_stream(), &mut names);
    !names.is_empty()
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
