//! The parts of an expression, for walks that care about few kinds.

use super::{Block, Expr, ExprKind};

/// A part.
#[derive(Debug)]
pub enum Part<'a> {
    /// An expression.
    Expr(&'a Expr),
    /// A block.
    Block(&'a Block),
}

/// Calls `f` on each direct part, in order of evaluation.
pub fn children<'a>(expr: &'a Expr, f: &mut dyn FnMut(Part<'a>)) {
    let mut e = |x: &'a Expr| f(Part::Expr(x));
    match &expr.kind {
        ExprKind::Lit(_)
        | ExprKind::Path(_)
        | ExprKind::Continue(_)
        | ExprKind::Layout(_)
        | ExprKind::Unsupported(_) => {}
        ExprKind::Unary(_, a)
        | ExprKind::Field(a, _)
        | ExprKind::Cast(a, _)
        | ExprKind::Ref(_, a)
        | ExprKind::Let(_, a) => e(a),
        ExprKind::Binary(_, a, b)
        | ExprKind::Assign(a, b)
        | ExprKind::AssignOp(_, a, b)
        | ExprKind::Index(a, b)
        | ExprKind::Repeat(a, b) => {
            e(a);
            e(b);
        }
        ExprKind::Call(callee, args) => {
            e(callee);
            args.iter().for_each(e);
        }
        ExprKind::Method { recv, args, .. } => {
            e(recv);
            args.iter().for_each(e);
        }
        ExprKind::Tuple(parts) | ExprKind::Array(parts) => parts.iter().for_each(e),
        ExprKind::Ptx {
            operands, effects, ..
        } => {
            operands.iter().flat_map(|o| &o.value).for_each(&mut e);
            effects.iter().flat_map(|effect| &effect.of).for_each(e);
        }
        ExprKind::Struct(_, fields) => fields.iter().for_each(|(_, v)| e(v)),
        ExprKind::Require(facts) => facts.iter().for_each(|fact| e(&fact.expr)),
        ExprKind::Break(_, value) | ExprKind::Return(value) => value.iter().for_each(|v| e(v)),
        ExprKind::Closure { body, .. } => e(body),
        ExprKind::Range { lo, hi, .. } => lo.iter().chain(hi).for_each(|v| e(v)),
        ExprKind::Match(value, arms) => {
            e(value);
            for arm in arms {
                arm.guard.iter().for_each(&mut e);
                e(&arm.body);
            }
        }
        ExprKind::Block(block) | ExprKind::Loop { body: block, .. } => f(Part::Block(block)),
        ExprKind::If {
            cond,
            then,
            otherwise,
        } => {
            f(Part::Expr(cond));
            f(Part::Block(then));
            otherwise.iter().for_each(|o| f(Part::Expr(o)));
        }
        ExprKind::For { iter, body, .. } => {
            f(Part::Expr(iter));
            f(Part::Block(body));
        }
        ExprKind::While { cond, body, .. } => {
            f(Part::Expr(cond));
            f(Part::Block(body));
        }
    }
}
