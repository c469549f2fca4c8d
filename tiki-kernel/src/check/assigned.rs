//! Which names a body may assign, through the closures that it calls or hands on too.

use super::Check;
use super::value::Val;
use crate::ast::{Block, Expr, ExprKind, Stmt};

/// The bindings that these expressions and blocks may assign, in the order of the text.
pub(super) fn assigned<'a>(
    check: &mut Check<'a>,
    exprs: &[&'a Expr],
    blocks: &[&'a Block],
) -> Vec<usize> {
    let mut all = Assigned {
        check,
        names: Vec::new(),
        seen: Vec::new(),
    };
    exprs.iter().for_each(|expr| all.expr(expr));
    blocks.iter().for_each(|block| all.block(block));
    all.names
}

struct Assigned<'c, 'a> {
    check: &'c mut Check<'a>,
    names: Vec<usize>,
    seen: Vec<*const Expr>,
}

impl<'a> Assigned<'_, 'a> {
    fn target(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Path(path) if path.segments.len() == 1 => {
                if let Some(binding) = self.check.scope.find(&path.segments[0].name.text) {
                    let binding = match &self.check.bindings[binding].val {
                        Val::RefMut(place) => place.binding,
                        _ => binding,
                    };
                    if !self.names.contains(&binding) {
                        self.names.push(binding);
                    }
                }
            }
            ExprKind::Field(base, _) | ExprKind::Index(base, _) | ExprKind::Unary(_, base) => {
                self.target(base)
            }
            ExprKind::Tuple(parts) => parts.iter().for_each(|p| self.target(p)),
            _ => {}
        }
    }

    fn block(&mut self, block: &'a Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Let { init, .. } => init.iter().for_each(|e| self.expr(e)),
                Stmt::Expr(e) => self.expr(e),
                Stmt::Const { .. } => {}
            }
        }
        block.value.iter().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Assign(place, value) | ExprKind::AssignOp(_, place, value) => {
                self.target(place);
                self.expr(value);
            }
            ExprKind::Ref(mutable, inner) => {
                if *mutable {
                    self.target(inner);
                }
                self.expr(inner);
            }
            ExprKind::Path(path) if path.segments.len() == 1 => {
                // A closure that is called, or handed on, assigns what its body assigns.
                let found = self.check.scope.find(&path.segments[0].name.text);
                if let Some(Val::Closure(closure)) =
                    found.map(|b| self.check.bindings[b].val.clone())
                {
                    let at = std::ptr::from_ref(closure.body);
                    if !self.seen.contains(&at) {
                        self.seen.push(at);
                        let saved = std::mem::replace(&mut self.check.scope, closure.scope.clone());
                        self.expr(closure.body);
                        self.check.scope = saved;
                    }
                }
            }
            _ => crate::ast::visit::children(expr, &mut |part| match part {
                crate::ast::visit::Part::Expr(e) => self.expr(e),
                crate::ast::visit::Part::Block(b) => self.block(b),
            }),
        }
    }
}
