//! Arguments that an instance may do without: `bias: Option<&Global<f32, 1>>`.
//!
//! Whether one is given is a fact of the instance, stated like any other: `require!(bias.is_some() == BIAS)`,
//! with `BIAS` a parameter of the kernel. It is read before the arguments are declared; an instance
//! without the tensor has no such argument, and what would use it is never looked at. What holds of the
//! tensor if it is there is said by `bias.is_none_or(|b| b.dim(0) == N)`.

use super::scope::Scope;
use super::value::{GlobalVal, Val};
use super::{Check, Push};
use crate::artifact::ParamKind;
use crate::ast::{self, BinOp, Expr, ExprKind, GenericArg, Name, Span, Stmt, TypeKind, UnOp};
use crate::diag::codes;

/// The type inside `Option<..>`.
pub(crate) fn inner(ty: &ast::Type) -> Option<&ast::Type> {
    let TypeKind::Path(path) = &ty.kind else {
        return None;
    };
    let last = path.segments.last()?;
    match (last.name.text.as_str(), &last.generics[..]) {
        ("Option", [GenericArg::Type(inner)]) => Some(inner),
        _ => None,
    }
}

impl<'a> Check<'a> {
    /// An optional argument, after its type's `Option` is taken off: what is declared for it, and its
    /// kind if the instance has it.
    pub(crate) fn optional_param(
        &mut self,
        index: usize,
        name: &Name,
        ty: &'a ast::Type,
    ) -> (Val<'a>, Option<ParamKind>) {
        let Some(given) = self.presence(&name.text) else {
            self.error(
                codes::NEED_CONST,
                name.span,
                format!("whether `{}` is given is not known at build time", name.text),
            )
            .help(format!(
                "state it for each instance: `require!({}.is_some() == GIVEN);`, with `const GIVEN: bool` \
                 a parameter of the kernel",
                name.text
            ))
            .push(self);
            return (Val::Poison, None);
        };
        match self.param_kind(index, &name.text, ty) {
            Some((kind @ ParamKind::Tensor { writes: false, .. }, Some(global))) => {
                let kind = given.then_some(kind);
                (Val::Optional(kind.map(|_| global)), kind)
            }
            None => (Val::Poison, None),
            Some(_) => {
                self.error(
                    codes::SIGNATURE,
                    ty.span,
                    "only an input can be optional: `Option<&Global<..>>`",
                )
                .push(self);
                (Val::Poison, None)
            }
        }
    }

    /// What the body's facts say of an optional argument.
    fn presence(&mut self, name: &str) -> Option<bool> {
        let body = &self.program.kernel.body;
        let exprs = body.stmts.iter().filter_map(|s| match s {
            Stmt::Expr(e) => Some(e),
            _ => None,
        });
        for expr in exprs.chain(body.value.as_deref()) {
            let ExprKind::Require(facts) = &expr.kind else {
                continue;
            };
            if let Some(given) = facts.iter().find_map(|f| self.says(&f.expr, name)) {
                return Some(given);
            }
        }
        None
    }

    /// Whether a fact settles it.
    fn says(&mut self, fact: &'a Expr, name: &str) -> Option<bool> {
        match &fact.kind {
            ExprKind::Binary(BinOp::AndAnd, a, b) => {
                self.says(a, name).or_else(|| self.says(b, name))
            }
            ExprKind::Binary(BinOp::Eq, a, b) => {
                let (given, other) = match (self.says(a, name), self.says(b, name)) {
                    (Some(given), _) => (given, b),
                    (_, Some(given)) => (given, a),
                    _ => return None,
                };
                match self.collect(|c| c.eval(other)).1 {
                    Val::Bool(b) => Some(b == given),
                    _ => None,
                }
            }
            ExprKind::Unary(UnOp::Not, inner) => self.says(inner, name).map(|given| !given),
            ExprKind::Method {
                recv,
                name: m,
                args,
                ..
            } if args.is_empty() => {
                let ExprKind::Path(path) = &recv.kind else {
                    return None;
                };
                let about = matches!(&path.segments[..], [only] if only.name.text == name);
                match m.text.as_str() {
                    "is_some" if about => Some(true),
                    "is_none" if about => Some(false),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// A method of an optional argument.
    pub(crate) fn optional_method(
        &mut self,
        val: Option<GlobalVal>,
        recv: &Expr,
        name: &Name,
        args: &'a [Expr],
    ) -> Val<'a> {
        match (name.text.as_str(), args) {
            ("is_some", []) => Val::Bool(val.is_some()),
            ("is_none", []) => Val::Bool(val.is_none()),
            ("unwrap", []) | ("expect", [_]) => match val {
                Some(global) => Val::Global(global),
                None => {
                    let own = match &recv.kind {
                        ExprKind::Path(p) if p.segments.len() == 1 => &p.segments[0].name.text,
                        _ => "argument",
                    };
                    let text = format!("this instance is built without `{own}`");
                    let diag = self
                        .error(codes::CONST_EVAL, name.span, text)
                        .help(format!("ask first: `if let Some({own}) = {own} {{ .. }}`"));
                    self.refuse(diag)
                }
            },
            _ => {
                let text = format!("an optional argument has no operation `{}` here", name.text);
                let diag = self
                    .error(codes::UNKNOWN_NAME, name.span, text)
                    .note("it has `is_some`, `is_none`, `unwrap` and, in facts, `is_none_or`")
                    .near(
                        &name.text,
                        ["is_some", "is_none", "unwrap", "expect", "is_none_or"],
                    );
                self.refuse(diag)
            }
        }
    }

    /// `argument.is_none_or(|tensor| fact)`: the fact, where the instance has the argument.
    pub(crate) fn fact_if_given(&mut self, recv: &'a Expr, closure: &'a Expr) {
        let val = self.eval(recv);
        let (ExprKind::Closure { body, .. }, [param]) = (&closure.kind, closure_params(closure))
        else {
            self.error(
                codes::CONDITION,
                closure.span,
                "a fact about an optional argument is a closure of it: `|tensor| tensor.dim(0) == N`",
            )
            .push(self);
            return;
        };
        match val {
            Val::Optional(Some(global)) => {
                let scope = Scope::child(&self.scope);
                self.in_scope(scope, |c| {
                    c.bind(param, Val::Global(global));
                    c.fact(body);
                });
            }
            Val::Optional(None) | Val::Poison => {}
            val => self.not_optional(&val, recv.span),
        }
    }

    /// `Some(..)` or `None` as a pattern against a value: the tensor, if it is there.
    pub(crate) fn optional_of(&mut self, val: &Val<'a>, span: Span) -> Option<Option<GlobalVal>> {
        match val {
            Val::Optional(inner) => Some(inner.clone()),
            Val::Poison => None,
            val => {
                self.not_optional(val, span);
                None
            }
        }
    }

    fn not_optional(&mut self, val: &Val<'a>, span: Span) {
        self.error(
            codes::TYPE,
            span,
            format!("an optional argument is wanted, not {}", val.kind()),
        )
        .push(self);
    }
}

fn closure_params(closure: &Expr) -> &[ast::Pattern] {
    match &closure.kind {
        ExprKind::Closure { params, .. } => params,
        _ => &[],
    }
}
