//! Expressions, blocks and statements.

use super::Reader;
use super::pattern::literal;
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;
use tiki_kernel::ast::{Arm, BinOp, Block, Expr, ExprKind, Name, Stmt, UnOp, Unroll};
use tiki_kernel::diag::Diag;
use tiki_kernel::diag::codes::{ARGUMENTS, UNSUPPORTED};

impl Reader {
    pub(crate) fn exprs<'a>(&mut self, all: impl IntoIterator<Item = &'a syn::Expr>) -> Vec<Expr> {
        all.into_iter().map(|e| self.expr(e)).collect()
    }

    fn boxed(&mut self, expr: &syn::Expr) -> Box<Expr> {
        Box::new(self.expr(expr))
    }

    fn maybe(&mut self, expr: Option<&syn::Expr>) -> Option<Box<Expr>> {
        expr.map(|e| self.boxed(e))
    }

    pub(crate) fn expr(&mut self, expr: &syn::Expr) -> Expr {
        use syn::Expr as E;
        let (kind, span) = match expr {
            E::Paren(p) => return self.expr(&p.expr),
            E::Group(g) => return self.expr(&g.expr),
            E::Macro(m) => return self.macro_call(&m.mac),
            E::Lit(l) => {
                let span = self.at(l.lit.span());
                match literal(&l.lit) {
                    Ok(lit) => (ExprKind::Lit(lit), span),
                    Err(what) => (ExprKind::Unsupported(what.into()), span),
                }
            }
            E::Path(p) if p.qself.is_none() => {
                let span = self.path_span(&p.path);
                (ExprKind::Path(self.path(&p.path)), span)
            }
            E::Unary(u) => {
                let span = self.at(u.op.span());
                match u.op {
                    syn::UnOp::Neg(_) => (ExprKind::Unary(UnOp::Neg, self.boxed(&u.expr)), span),
                    syn::UnOp::Not(_) => (ExprKind::Unary(UnOp::Not, self.boxed(&u.expr)), span),
                    syn::UnOp::Deref(_) => {
                        (ExprKind::Unary(UnOp::Deref, self.boxed(&u.expr)), span)
                    }
                    _ => (ExprKind::Unsupported("such operators".into()), span),
                }
            }
            E::Binary(b) => {
                let (first, last) = ends(&b.op);
                let span = self.range(first, last);
                let (left, right) = (self.boxed(&b.left), self.boxed(&b.right));
                match operator(&b.op) {
                    Some((op, false)) => (ExprKind::Binary(op, left, right), span),
                    Some((op, true)) => (ExprKind::AssignOp(op, left, right), span),
                    None => (ExprKind::Unsupported("such operators".into()), span),
                }
            }
            E::Assign(a) => {
                let span = self.at(a.eq_token.span());
                let (left, right) = (self.boxed(&a.left), self.boxed(&a.right));
                (ExprKind::Assign(left, right), span)
            }
            E::Call(c) => {
                let func = self.boxed(&c.func);
                let span = func.span;
                (ExprKind::Call(func, self.exprs(&c.args)), span)
            }
            E::MethodCall(m) => {
                let recv = self.boxed(&m.receiver);
                let name = self.name(&m.method);
                let span = name.span;
                let generics = match &m.turbofish {
                    Some(args) => self.generic_args(args),
                    None => Vec::new(),
                };
                let args = self.exprs(&m.args);
                let kind = ExprKind::Method {
                    recv,
                    name,
                    generics,
                    args,
                };
                (kind, span)
            }
            E::Field(f) => {
                let base = self.boxed(&f.base);
                let name = match &f.member {
                    syn::Member::Named(ident) => self.name(ident),
                    syn::Member::Unnamed(index) => Name {
                        text: index.index.to_string(),
                        span: self.at(index.span),
                    },
                };
                let span = name.span;
                (ExprKind::Field(base, name), span)
            }
            E::Index(i) => {
                let base = self.boxed(&i.expr);
                let span = self.at(i.bracket_token.span.join());
                (ExprKind::Index(base, self.boxed(&i.index)), span)
            }
            E::Tuple(t) => {
                let span = self.at(t.paren_token.span.join());
                (ExprKind::Tuple(self.exprs(&t.elems)), span)
            }
            E::Array(a) => {
                let span = self.at(a.bracket_token.span.join());
                (ExprKind::Array(self.exprs(&a.elems)), span)
            }
            E::Repeat(r) => {
                let span = self.at(r.bracket_token.span.join());
                let (value, len) = (self.boxed(&r.expr), self.boxed(&r.len));
                (ExprKind::Repeat(value, len), span)
            }
            E::Block(b) if b.label.is_none() => {
                let block = self.block(&b.block);
                let span = block.span;
                (ExprKind::Block(block), span)
            }
            E::If(i) => {
                let span = self.at(i.if_token.span());
                let cond = self.boxed(&i.cond);
                let then = self.block(&i.then_branch);
                let otherwise = self.maybe(i.else_branch.as_ref().map(|(_, e)| &**e));
                let kind = ExprKind::If {
                    cond,
                    then,
                    otherwise,
                };
                (kind, span)
            }
            E::Let(l) => {
                let span = self.at(l.let_token.span());
                let pattern = Box::new(self.pattern(&l.pat));
                (ExprKind::Let(pattern, self.boxed(&l.expr)), span)
            }
            E::Match(m) => {
                let span = self.at(m.match_token.span());
                let value = self.boxed(&m.expr);
                let arms = m.arms.iter().map(|a| self.arm(a)).collect();
                (ExprKind::Match(value, arms), span)
            }
            E::ForLoop(f) => {
                let span = self.at(f.for_token.span());
                let unroll = self.unroll(&f.attrs);
                let label = self.label(f.label.as_ref());
                let pattern = self.pattern(&f.pat);
                let iter = self.boxed(&f.expr);
                let body = self.block(&f.body);
                let kind = ExprKind::For {
                    pattern,
                    iter,
                    body,
                    unroll,
                    label,
                };
                (kind, span)
            }
            E::While(w) => {
                let span = self.at(w.while_token.span());
                let label = self.label(w.label.as_ref());
                let cond = self.boxed(&w.cond);
                let body = self.block(&w.body);
                (ExprKind::While { cond, body, label }, span)
            }
            E::Loop(l) => {
                let span = self.at(l.loop_token.span());
                let label = self.label(l.label.as_ref());
                let body = self.block(&l.body);
                (ExprKind::Loop { body, label }, span)
            }
            E::Break(b) => {
                let span = self.at(b.break_token.span());
                let label = b.label.as_ref().map(|l| self.name(&l.ident));
                let value = self.maybe(b.expr.as_deref());
                (ExprKind::Break(label, value), span)
            }
            E::Continue(c) => {
                let span = self.at(c.continue_token.span());
                let label = c.label.as_ref().map(|l| self.name(&l.ident));
                (ExprKind::Continue(label), span)
            }
            E::Return(r) => {
                let span = self.at(r.return_token.span());
                let value = self.maybe(r.expr.as_deref());
                (ExprKind::Return(value), span)
            }
            E::Closure(c) if c.asyncness.is_none() => {
                let span = self.range(c.inputs_begin.span(), c.inputs_end.span());
                let params = c.inputs.iter().map(|p| self.pattern(p)).collect();
                let body = self.boxed(&c.body);
                (ExprKind::Closure { params, body }, span)
            }
            E::Range(r) => {
                let (first, last) = match &r.limits {
                    syn::RangeLimits::HalfOpen(t) => (t.spans[0], t.spans[1]),
                    syn::RangeLimits::Closed(t) => (t.spans[0], t.spans[2]),
                };
                let span = self.range(first, last);
                let inclusive = matches!(r.limits, syn::RangeLimits::Closed(_));
                let lo = self.maybe(r.start.as_deref());
                let hi = self.maybe(r.end.as_deref());
                (ExprKind::Range { lo, hi, inclusive }, span)
            }
            E::Cast(c) => {
                let span = self.at(c.as_token.span());
                let value = self.boxed(&c.expr);
                (ExprKind::Cast(value, self.ty(&c.ty)), span)
            }
            E::Reference(r) => {
                let span = self.at(r.and_token.span());
                let value = self.boxed(&r.expr);
                (ExprKind::Ref(r.mutability.is_some(), value), span)
            }
            E::Struct(s) if s.qself.is_none() && s.rest.is_none() => {
                let span = self.path_span(&s.path);
                let path = self.path(&s.path);
                let fields = s.fields.iter().map(|f| self.field(f)).collect();
                (ExprKind::Struct(path, fields), span)
            }
            E::Const(c) => {
                let block = self.block(&c.block);
                let span = block.span;
                (ExprKind::Block(block), span)
            }
            other => {
                let (what, token) = unsupported(other);
                let what = match instead(other) {
                    Some(other) => format!("{what}; write {other}"),
                    None => what.into(),
                };
                (ExprKind::Unsupported(what), self.at(token))
            }
        };
        self.stray_attributes(expr);
        Expr { kind, span }
    }

    fn field(&mut self, field: &syn::FieldValue) -> (Name, Expr) {
        let name = match &field.member {
            syn::Member::Named(ident) => self.name(ident),
            syn::Member::Unnamed(index) => Name {
                text: index.index.to_string(),
                span: self.at(index.span),
            },
        };
        (name, self.expr(&field.expr))
    }

    fn arm(&mut self, arm: &syn::Arm) -> Arm {
        let (pat, guard) = match &arm.pat {
            syn::Pat::Guard(g) => (&*g.pat, Some(&*g.guard)),
            pat => (pat, None),
        };
        Arm {
            pattern: self.pattern(pat),
            guard: guard.map(|g| self.expr(g)),
            body: self.expr(&arm.body),
        }
    }

    fn label(&mut self, label: Option<&syn::Label>) -> Option<Name> {
        label.map(|l| self.name(&l.name.ident))
    }

    fn unroll(&mut self, attrs: &[syn::Attribute]) -> Option<Unroll> {
        let attr = attrs.iter().find(|a| a.path().is_ident("unroll"))?;
        let span = self.at(attr.path().span());
        let factor = match &attr.meta {
            syn::Meta::Path(_) => None,
            syn::Meta::List(list) => match syn::parse2::<syn::Expr>(list.tokens.clone()) {
                Ok(e) => Some(self.boxed(&e)),
                Err(_) => {
                    self.bad_unroll(span);
                    None
                }
            },
            syn::Meta::NameValue(_) => {
                self.bad_unroll(span);
                None
            }
        };
        Some(Unroll { factor, span })
    }

    fn bad_unroll(&mut self, span: tiki_kernel::ast::Span) {
        self.sink.push(
            Diag::error(ARGUMENTS, span, "`unroll` takes nothing or one count")
                .help("`#[unroll]` repeats the whole loop, `#[unroll(4)]` four steps at a time"),
        );
    }

    /// Attributes on expressions: `#[unroll]` belongs on `for`, lint attributes are rustc's.
    fn stray_attributes(&mut self, expr: &syn::Expr) {
        let (attrs, looping) = match expr {
            syn::Expr::ForLoop(f) => (&f.attrs, true),
            syn::Expr::While(w) => (&w.attrs, false),
            syn::Expr::Loop(l) => (&l.attrs, false),
            syn::Expr::Block(b) => (&b.attrs, false),
            syn::Expr::If(i) => (&i.attrs, false),
            syn::Expr::Match(m) => (&m.attrs, false),
            syn::Expr::Call(c) => (&c.attrs, false),
            syn::Expr::MethodCall(m) => (&m.attrs, false),
            _ => return,
        };
        for attr in attrs {
            let unroll = attr.path().is_ident("unroll");
            if unroll && !looping {
                let at = self.at(attr.path().span());
                self.sink.push(
                    Diag::error(UNSUPPORTED, at, "only a `for` loop can be unrolled")
                        .help("a `for` over a build-time range"),
                );
            } else if attr.path().is_ident("cfg") {
                self.refuse(attr.path().span(), "`cfg` inside bodies");
            }
        }
    }

    pub(crate) fn block(&mut self, block: &syn::Block) -> Block {
        let span = self.at(block.brace_token.span.open());
        let mut stmts = Vec::new();
        let mut value = None;
        let last = block.stmts.len().saturating_sub(1);
        for (i, stmt) in block.stmts.iter().enumerate() {
            match stmt {
                syn::Stmt::Expr(e, None) if i == last => value = Some(self.boxed(e)),
                syn::Stmt::Expr(e, _) => {
                    let e = self.expr(e);
                    stmts.push(Stmt::Expr(e));
                }
                syn::Stmt::Macro(m) if i == last && m.semi_token.is_none() => {
                    value = Some(Box::new(self.macro_call(&m.mac)));
                }
                syn::Stmt::Macro(m) => {
                    let e = self.macro_call(&m.mac);
                    stmts.push(Stmt::Expr(e));
                }
                syn::Stmt::Local(l) => {
                    let stmt = self.local(l);
                    stmts.push(stmt);
                }
                syn::Stmt::Item(item) => stmts.extend(self.inner_item(item)),
            }
        }
        Block { stmts, value, span }
    }

    fn local(&mut self, local: &syn::Local) -> Stmt {
        let span = self.at(local.let_token.span());
        let init = local.init.as_ref().map(|init| self.expr(&init.expr));
        if let Some((token, _)) = local.init.as_ref().and_then(|i| i.diverge.as_ref()) {
            let at = self.at(token.span());
            self.sink.push(
                Diag::error(UNSUPPORTED, at, "kernels have no `let .. else`")
                    .help("`if let .. { .. } else { .. }`, decided at build time"),
            );
        }
        let (pat, ty) = match &local.pat {
            syn::Pat::Type(t) => (&*t.pat, Some(&*t.ty)),
            pat => (pat, None),
        };
        Stmt::Let {
            ty: ty.map(|t| self.ty(t)),
            pattern: self.pattern(pat),
            init,
            span,
        }
    }

    fn inner_item(&mut self, item: &syn::Item) -> Option<Stmt> {
        match item {
            syn::Item::Const(c) => {
                let name = self.name(&c.ident);
                let ty = self.ty(&c.ty);
                let value = self.expr(&c.expr);
                Some(Stmt::Const { name, ty, value })
            }
            // Names are rustc's business; the macro has seen through to what they bring.
            syn::Item::Use(_) => None,
            syn::Item::Fn(f) => {
                let at = self.at(f.sig.ident.span());
                self.sink.push(
                    Diag::error(UNSUPPORTED, at, "kernels have no functions inside them")
                        .help("a closure, or a `#[tiki::device]` function outside"),
                );
                None
            }
            other => {
                let (what, help) = match other {
                    syn::Item::Struct(s) => (
                        "structs inside them",
                        format!("outside: `#[tiki::device] struct {} ..`", s.ident),
                    ),
                    syn::Item::Enum(_) => (
                        "enums",
                        "numbers of your own: `const FIRST: u32 = 0;`".into(),
                    ),
                    syn::Item::Static(_) => ("statics", "a `const`, or an argument".into()),
                    _ => (
                        "such items inside them",
                        "functions, structs and constants outside, each `#[tiki::device]`".into(),
                    ),
                };
                let at = self.at(other.span());
                let text = format!("kernels have no {what}");
                self.sink
                    .push(Diag::error(UNSUPPORTED, at, text).help(help));
                None
            }
        }
    }
}

/// First and last token of an operator.
fn ends(op: &impl ToTokens) -> (Span, Span) {
    let mut tokens = op.to_token_stream().into_iter();
    let first = tokens.next().map_or_else(Span::call_site, |t| t.span());
    (first, tokens.last().map_or(first, |t| t.span()))
}

/// The operator and whether it assigns.
fn operator(op: &syn::BinOp) -> Option<(BinOp, bool)> {
    use syn::BinOp as B;
    Some(match op {
        B::Add(_) => (BinOp::Add, false),
        B::Sub(_) => (BinOp::Sub, false),
        B::Mul(_) => (BinOp::Mul, false),
        B::Div(_) => (BinOp::Div, false),
        B::Rem(_) => (BinOp::Rem, false),
        B::And(_) => (BinOp::AndAnd, false),
        B::Or(_) => (BinOp::OrOr, false),
        B::BitXor(_) => (BinOp::Xor, false),
        B::BitAnd(_) => (BinOp::And, false),
        B::BitOr(_) => (BinOp::Or, false),
        B::Shl(_) => (BinOp::Shl, false),
        B::Shr(_) => (BinOp::Shr, false),
        B::Eq(_) => (BinOp::Eq, false),
        B::Lt(_) => (BinOp::Lt, false),
        B::Le(_) => (BinOp::Le, false),
        B::Ne(_) => (BinOp::Ne, false),
        B::Ge(_) => (BinOp::Ge, false),
        B::Gt(_) => (BinOp::Gt, false),
        B::AddAssign(_) => (BinOp::Add, true),
        B::SubAssign(_) => (BinOp::Sub, true),
        B::MulAssign(_) => (BinOp::Mul, true),
        B::DivAssign(_) => (BinOp::Div, true),
        B::RemAssign(_) => (BinOp::Rem, true),
        B::BitXorAssign(_) => (BinOp::Xor, true),
        B::BitAndAssign(_) => (BinOp::And, true),
        B::BitOrAssign(_) => (BinOp::Or, true),
        B::ShlAssign(_) => (BinOp::Shl, true),
        B::ShrAssign(_) => (BinOp::Shr, true),
        _ => return None,
    })
}

/// What the language lacks, in words, and the token that says so.
fn unsupported(expr: &syn::Expr) -> (&'static str, Span) {
    use syn::Expr as E;
    match expr {
        E::Async(a) => ("`async` blocks", a.async_token.span()),
        E::Await(a) => ("`.await`", a.await_token.span()),
        E::Block(b) => (
            "labelled blocks",
            b.label
                .as_ref()
                .map_or_else(Span::call_site, |l| l.name.ident.span()),
        ),
        E::Closure(c) => ("`async` closures", c.inputs_begin.span()),
        E::Infer(i) => ("`_`", i.underscore_token.span()),
        E::Path(p) => ("qualified paths", ends(p).0),
        E::RawAddr(r) => ("raw pointers", r.and_token.span()),
        E::Struct(s) => ("`..` in struct literals", ends(&s.path).0),
        E::Try(t) => ("`?`", t.question_token.span()),
        E::TryBlock(t) => ("`try` blocks", t.try_token.span()),
        E::Unsafe(u) => ("`unsafe` blocks", u.unsafe_token.span()),
        E::Yield(y) => ("`yield`", y.yield_token.span()),
        other => ("such expressions", ends(other).0),
    }
}

/// What to write in place of it.
fn instead(expr: &syn::Expr) -> Option<String> {
    match expr {
        syn::Expr::Path(p) => {
            let (qself, last) = (p.qself.as_ref()?, p.path.segments.last()?);
            let ty = super::text_of(qself.ty.to_token_stream());
            Some(format!("`{ty}::{}`", last.ident))
        }
        syn::Expr::Try(_) => Some("the condition, and what is done otherwise".into()),
        _ => None,
    }
}
