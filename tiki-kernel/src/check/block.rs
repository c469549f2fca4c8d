//! Blocks and statements.

use super::scope::Scope;
use super::value::Val;
use super::{Check, Push};
use crate::ast::{Block, ExprKind, Stmt, Type, TypeKind};
use crate::diag::codes;

impl<'a> Check<'a> {
    /// A block in a scope of its own.
    pub(crate) fn block_value(&mut self, block: &'a Block) -> Val<'a> {
        let scope = Scope::child(&self.scope);
        self.in_scope(scope, |c| {
            for stmt in &block.stmts {
                if c.flow.is_some() {
                    return Val::Never;
                }
                c.stmt(stmt);
            }
            if c.flow.is_some() {
                return Val::Never;
            }
            let value = block.value.as_ref().map_or(Val::Unit, |e| {
                if matches!(e.kind, ExprKind::Require(_)) {
                    Val::Unit
                } else {
                    c.eval(e)
                }
            });
            if c.flow.is_some() { Val::Never } else { value }
        })
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Let {
                pattern,
                ty,
                init,
                span,
            } => {
                let val = match init {
                    Some(init) => {
                        let val = self.eval(init);
                        self.typed(val, ty.as_ref(), init.span)
                    }
                    None => Val::Unit,
                };
                if self.flow.is_some() {
                    return;
                }
                if matches!(val, Val::Unit)
                    && init.is_some()
                    && !matches!(pattern.kind, crate::ast::PatternKind::Wild)
                {
                    self.error(codes::TYPE, *span, "this gives no value")
                        .push(self);
                    self.bind(pattern, Val::Poison);
                    return;
                }
                self.bind(pattern, val);
            }
            Stmt::Const { name, ty, value } => {
                let val = self.eval(value);
                let val = self.typed(val, Some(ty), name.span);
                self.declare(&name.text, val, false, name.span);
            }
            // Facts were taken before the body.
            Stmt::Expr(e) if matches!(e.kind, ExprKind::Require(_)) && self.control == 0 => {}
            Stmt::Expr(e) => {
                self.eval(e);
            }
        }
    }

    /// A value with a written type: literals take it, others must have it.
    pub(crate) fn typed(
        &mut self,
        val: Val<'a>,
        ty: Option<&Type>,
        span: crate::ast::Span,
    ) -> Val<'a> {
        let Some(ty) = ty else { return val };
        match (&ty.kind, &val) {
            (TypeKind::Infer, _) => val,
            (TypeKind::Ref { inner, .. }, _) => self.typed(val, Some(inner), span),
            (TypeKind::Tuple(tys), Val::Tuple(vals)) if tys.len() == vals.len() => {
                let vals = vals.clone();
                Val::Tuple(
                    vals.into_iter()
                        .zip(tys)
                        .map(|(v, t)| self.typed(v, Some(t), span))
                        .collect(),
                )
            }
            (TypeKind::Array(inner, _), Val::Array(vals)) => {
                let vals = vals.clone();
                Val::Array(
                    vals.into_iter()
                        .map(|v| self.typed(v, Some(inner), span))
                        .collect(),
                )
            }
            (
                TypeKind::Path(path),
                Val::Int(..) | Val::Float(..) | Val::Scalar(_) | Val::Bool(_),
            ) => {
                let name = path.segments.last().map_or("", |s| s.name.text.as_str());
                let num = if name == "usize" {
                    super::value::Num::Usize
                } else {
                    match self.type_named(name) {
                        Some(t) => super::value::Num::D(t),
                        None => return val,
                    }
                };
                self.typed_number(val, num, span)
            }
            _ => val,
        }
    }

    /// A number that must have a type.
    pub(crate) fn typed_number(
        &mut self,
        val: Val<'a>,
        num: super::value::Num,
        span: crate::ast::Span,
    ) -> Val<'a> {
        use super::value::Num;
        match val {
            Val::Int(i, Num::Lit) if !num.is_float() => self.int_in_range(i, num, span),
            Val::Float(f, Num::Lit) if num.is_float() => {
                let f = if num == Num::D(crate::dtype::DType::F32) {
                    f64::from(f as f32)
                } else {
                    f
                };
                Val::Float(f, num)
            }
            Val::Int(_, n) | Val::Float(_, n) if n == num => val,
            Val::Bool(_) if num == Num::D(crate::dtype::DType::BOOL) => val,
            val => match self.scalar_as(&val, num, span) {
                Some(s) => Val::Scalar(s),
                None => Val::Poison,
            },
        }
    }
}
