//! Which paths of an item may lead to device items.
//!
//! A path is wanted if it is neither bound where it stands (parameter, `let`, closure parameter, pattern,
//! generic), nor the language's own, nor an item within the body. So in `let band = band(x);` the right side is a
//! device function, as it is for rustc.

use super::known::is_known;
use crate::parse::path_key;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{HashMap, HashSet};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, ItemFn, Path, Token};

/// One path that is to be fetched.
#[derive(Clone)]
pub(crate) struct Wanted {
    pub(crate) path: TokenStream,
    pub(crate) key: String,
    pub(crate) span: (Span, Span),
}

#[derive(Default)]
pub(super) struct Names {
    /// What is bound here, innermost last.
    bound: Vec<String>,
    /// Paths that mean something else in all of the body: its items, and what the author says the value of.
    pub(super) hidden: HashSet<String>,
    found: Vec<Wanted>,
    seen: HashMap<String, usize>,
}

impl Names {
    pub(super) fn wanted(self) -> Vec<Wanted> {
        let hidden = self.hidden;
        let free = |w: &Wanted| !hidden.contains(&w.key);
        self.found.into_iter().filter(free).collect()
    }

    pub(super) fn bind(&mut self, generics: &syn::Generics) {
        for param in &generics.params {
            match param {
                syn::GenericParam::Type(t) => self.bound.push(t.ident.to_string()),
                syn::GenericParam::Const(c) => self.bound.push(c.ident.to_string()),
                syn::GenericParam::Lifetime(_) => {}
            }
        }
    }

    /// What is bound within goes out of sight behind it.
    fn scope(&mut self, within: impl FnOnce(&mut Names)) {
        let outside = self.bound.len();
        within(self);
        self.bound.truncate(outside);
    }

    /// Of what a macro holds: the same names are bound there.
    fn inner(&self) -> Names {
        Names {
            bound: self.bound.clone(),
            ..Names::default()
        }
    }
}

/// Operations whose arguments are closures or functions.
const TAKE_FUNCTIONS: &[&str] = &["map", "map_at", "zip", "rows", "cols", "mask"];

impl<'a> Visit<'a> for Names {
    fn visit_block(&mut self, block: &'a syn::Block) {
        self.scope(|names| visit::visit_block(names, block));
    }

    fn visit_local(&mut self, local: &'a syn::Local) {
        // What is on the right does not see what is bound on the left.
        if let Some(init) = &local.init {
            self.handed_on(&init.expr);
            if let Some((_, otherwise)) = &init.diverge {
                self.visit_expr(otherwise);
            }
        }
        local.attrs.iter().for_each(|a| self.visit_attribute(a));
        self.visit_pat(&local.pat);
    }

    fn visit_expr_let(&mut self, expr: &'a syn::ExprLet) {
        self.visit_expr(&expr.expr);
        self.visit_pat(&expr.pat);
    }

    fn visit_expr_if(&mut self, expr: &'a syn::ExprIf) {
        self.scope(|names| {
            names.visit_expr(&expr.cond);
            names.visit_block(&expr.then_branch);
        });
        if let Some((_, otherwise)) = &expr.else_branch {
            self.visit_expr(otherwise);
        }
    }

    fn visit_expr_while(&mut self, expr: &'a syn::ExprWhile) {
        self.scope(|names| visit::visit_expr_while(names, expr));
    }

    fn visit_expr_for_loop(&mut self, expr: &'a syn::ExprForLoop) {
        expr.attrs.iter().for_each(|a| self.visit_attribute(a));
        self.visit_expr(&expr.expr);
        self.scope(|names| {
            names.visit_pat(&expr.pat);
            names.visit_block(&expr.body);
        });
    }

    fn visit_expr_closure(&mut self, closure: &'a syn::ExprClosure) {
        self.scope(|names| visit::visit_expr_closure(names, closure));
    }

    fn visit_arm(&mut self, arm: &'a syn::Arm) {
        self.scope(|names| visit::visit_arm(names, arm));
    }

    fn visit_pat_ident(&mut self, pat: &'a syn::PatIdent) {
        let name = pat.ident.to_string();
        if name.starts_with(|c: char| c.is_uppercase()) && pat.subpat.is_none() {
            self.visit_path(&Path::from(pat.ident.clone()));
        } else {
            self.bound.push(name);
        }
        visit::visit_pat_ident(self, pat);
    }

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        self.hidden.insert(item.sig.ident.to_string());
    }

    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.hidden.insert(item.ident.to_string());
    }

    fn visit_item_const(&mut self, item: &'a syn::ItemConst) {
        self.hidden.insert(item.ident.to_string());
        visit::visit_item_const(self, item);
    }

    fn visit_expr_path(&mut self, expr: &'a syn::ExprPath) {
        // A lone lower-case name that is neither called nor handed on is a variable; if there is none,
        // rustc says so.
        let lone = expr.path.get_ident().map(ToString::to_string);
        if !lone.is_some_and(|n| n.starts_with(|c: char| c.is_lowercase() || c == '_')) {
            visit::visit_expr_path(self, expr);
        }
    }

    fn visit_expr_call(&mut self, call: &'a syn::ExprCall) {
        self.handed_on(&call.func);
        call.args.iter().for_each(|a| self.handed_on(a));
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        self.visit_expr(&call.receiver);
        if let Some(turbofish) = &call.turbofish {
            self.visit_angle_bracketed_generic_arguments(turbofish);
        }
        let takes_functions = TAKE_FUNCTIONS.iter().any(|n| call.method == n);
        for arg in &call.args {
            if takes_functions {
                self.handed_on(arg);
            } else {
                self.visit_expr(arg);
            }
        }
    }

    fn visit_path(&mut self, path: &'a Path) {
        visit::visit_path(self, path);
        let Some(first) = path.segments.first().map(|s| s.ident.to_string()) else {
            return;
        };
        if is_known(&first) || first == "Self" || self.bound.contains(&first) {
            return;
        }
        // A type's own function or constant: device items have none, and the compiler knows those of the prelude.
        let of_a_type = path.segments.iter().rev().nth(1);
        let starts = |s: &syn::PathSegment| s.ident.to_string().starts_with(char::is_uppercase);
        if of_a_type.is_some_and(starts) {
            return;
        }
        let key = path_key(path);
        if self.seen.contains_key(&key) {
            return;
        }
        self.seen.insert(key.clone(), self.found.len());
        let mut bare = path.clone();
        for segment in &mut bare.segments {
            segment.arguments = syn::PathArguments::None;
        }
        let ends = path.segments.first().zip(path.segments.last());
        let here = Span::call_site();
        let span = ends.map_or((here, here), |(a, b)| (a.ident.span(), b.ident.span()));
        self.found.push(Wanted {
            path: bare.to_token_stream(),
            key,
            span,
        });
    }

    fn visit_attribute(&mut self, attr: &'a syn::Attribute) {
        if attr.path().is_ident("unroll")
            && let syn::Meta::List(list) = &attr.meta
            && let Ok(factor) = syn::parse2::<Expr>(list.tokens.clone())
        {
            // The expression lives only here; what is found in it is owned.
            let mut inner = self.inner();
            inner.visit_expr(&factor);
            self.adopt(inner);
        }
    }

    fn visit_type_path(&mut self, ty: &'a syn::TypePath) {
        // Types with small letters are the language's own, or none that it has.
        let lone = ty.path.get_ident().map(ToString::to_string);
        if !lone.is_some_and(|n| n.starts_with(char::is_lowercase)) {
            visit::visit_type_path(self, ty);
        }
    }

    fn visit_type_param_bound(&mut self, _: &'a syn::TypeParamBound) {}

    fn visit_macro(&mut self, mac: &'a syn::Macro) {
        let mut inner = self.inner();
        if mac.path.is_ident("layout") {
            inner.idents(mac.tokens.clone());
        } else if mac.path.is_ident("require") {
            let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
            if let Ok(args) = parser.parse2(mac.tokens.clone()) {
                args.iter().for_each(|e| inner.visit_expr(e));
            }
        } else if mac.path.is_ident("ptx")
            && let Ok(ptx) = syn::parse2::<crate::parse::Ptx>(mac.tokens.clone())
        {
            let (values, types) = ptx.parts();
            values.into_iter().for_each(|e| inner.visit_expr(e));
            types.into_iter().for_each(|t| inner.visit_type(t));
        }
        self.adopt(inner);
    }
}

impl<'a> Names {
    /// What is called, passed or bound: a lone name that it is, or gives, may be a function's.
    fn handed_on(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Path(p) => self.visit_path(&p.path),
            Expr::Paren(p) => self.handed_on(&p.expr),
            Expr::Reference(r) => self.handed_on(&r.expr),
            Expr::Tuple(t) => t.elems.iter().for_each(|e| self.handed_on(e)),
            Expr::Array(a) => a.elems.iter().for_each(|e| self.handed_on(e)),
            Expr::Block(b) => self.scope(|names| names.given_by(&b.block)),
            Expr::If(i) => {
                self.scope(|names| {
                    names.visit_expr(&i.cond);
                    names.scope(|names| names.given_by(&i.then_branch));
                });
                if let Some((_, otherwise)) = &i.else_branch {
                    self.handed_on(otherwise);
                }
            }
            other => self.visit_expr(other),
        }
    }

    /// A block whose value is handed on.
    fn given_by(&mut self, block: &'a syn::Block) {
        block.stmts.iter().for_each(|stmt| match stmt {
            syn::Stmt::Expr(value, None) => self.handed_on(value),
            stmt => self.visit_stmt(stmt),
        });
    }

    fn adopt(&mut self, inner: Names) {
        self.hidden.extend(inner.hidden);
        for wanted in inner.found {
            if !self.seen.contains_key(&wanted.key) {
                self.seen.insert(wanted.key.clone(), self.found.len());
                self.found.push(wanted);
            }
        }
    }

    /// Capitalised names among tokens (a layout's extents).
    fn idents(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(g) => self.idents(g.stream()),
                TokenTree::Ident(i) if i.to_string().starts_with(char::is_uppercase) => {
                    let path = Path::from(i);
                    self.visit_path(&path);
                }
                _ => {}
            }
        }
    }
}
