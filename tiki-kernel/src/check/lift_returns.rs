//! Early returns of device functions, as branches.
//!
//! A device function is inlined: under a run-time condition it has nowhere to return to. But what
//!
//! ```text
//!     if c { ..; return a; }  rest          says is          if c { ..; a } else { rest }
//! ```
//!
//! and so, from the function's end inward, every return that stands last in a branch becomes that
//! branch's value. Other returns stay: where they are reached is then known at build time, or they
//! are refused. Spans stay as they are, so messages lie where the author wrote.

use crate::ast::{Block, Expr, ExprKind, Item, Program, Stmt};
use std::borrow::Cow;

/// The program with its device functions' returns lifted; itself if there are none.
pub fn run(program: &Program) -> Cow<'_, Program> {
    let early = program.items.iter().any(|item| match item {
        Item::Fn(f) => f.body.stmts.iter().any(statement_ends),
        _ => false,
    });
    if !early {
        return Cow::Borrowed(program);
    }
    let mut program = program.clone();
    for item in &mut program.items {
        if let Item::Fn(f) = item {
            f.body = tail(f.body.clone());
        }
    }
    Cow::Owned(program)
}

/// Whether a statement of a function's end has a branch that returns.
fn statement_ends(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Expr(expr) => match &expr.kind {
            ExprKind::Return(_) => true,
            ExprKind::If {
                cond,
                then,
                otherwise,
            } => {
                // What follows must not move under the names of an `if let`.
                ends(then) || !binds(cond) && otherwise.as_deref().is_some_and(expr_ends)
            }
            ExprKind::Block(block) => ends(block),
            _ => false,
        },
        _ => false,
    }
}

fn binds(cond: &Expr) -> bool {
    match &cond.kind {
        ExprKind::Let(..) => true,
        ExprKind::Binary(_, a, b) => binds(a) || binds(b),
        _ => false,
    }
}

/// Whether every way through the block returns.
fn ends(block: &Block) -> bool {
    match (&block.value, block.stmts.last()) {
        (Some(value), _) => expr_ends(value),
        (None, Some(Stmt::Expr(last))) => expr_ends(last),
        _ => false,
    }
}

fn expr_ends(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Return(_) => true,
        ExprKind::Block(block) => ends(block),
        ExprKind::If {
            then,
            otherwise: Some(otherwise),
            ..
        } => ends(then) && expr_ends(otherwise),
        _ => false,
    }
}

/// A block at the function's end, whose value is the function's.
fn tail(mut block: Block) -> Block {
    let early = |stmt: &Stmt| statement_ends(stmt);
    let Some(at) = block.stmts.iter().position(early) else {
        block.value = block.value.map(|value| Box::new(tail_expr(*value)));
        return block;
    };
    let rest = block.stmts.split_off(at + 1);
    let Some(Stmt::Expr(expr)) = block.stmts.pop() else {
        unreachable!("the statement that was found");
    };
    let value = block.value.take();
    let span = expr.span;
    // What follows, where it is reached: behind `first`, whose names it must not see.
    let follow = |first: Option<Expr>| {
        let stmts = first.into_iter().map(Stmt::Expr).chain(rest);
        tail(Block {
            stmts: stmts.collect(),
            value,
            span: block.span,
        })
    };
    let lifted = match expr.kind {
        ExprKind::If {
            cond,
            then,
            otherwise,
        } if ends(&then) => {
            let rest = follow(otherwise.map(|e| *e));
            let kind = ExprKind::Block(rest);
            ExprKind::If {
                cond,
                then: tail(then),
                otherwise: Some(Box::new(Expr { kind, span })),
            }
        }
        ExprKind::If {
            cond,
            then,
            otherwise,
        } => {
            let kind = ExprKind::Block(then);
            ExprKind::If {
                cond,
                then: follow(Some(Expr { kind, span })),
                otherwise: otherwise.map(|e| Box::new(tail_expr(*e))),
            }
        }
        // A return, or a block that ends in one: nothing follows.
        kind => tail_expr(Expr { kind, span }).kind,
    };
    block.value = Some(Box::new(Expr { kind: lifted, span }));
    block
}

fn tail_expr(expr: Expr) -> Expr {
    let span = expr.span;
    let kind = match expr.kind {
        ExprKind::Return(Some(value)) => return tail_expr(*value),
        ExprKind::Return(None) => ExprKind::Block(Block {
            stmts: Vec::new(),
            value: None,
            span,
        }),
        ExprKind::Block(block) => ExprKind::Block(tail(block)),
        ExprKind::If {
            cond,
            then,
            otherwise,
        } => ExprKind::If {
            cond,
            then: tail(then),
            otherwise: otherwise.map(|e| Box::new(tail_expr(*e))),
        },
        ExprKind::Match(value, arms) => ExprKind::Match(
            value,
            arms.into_iter()
                .map(|mut arm| {
                    arm.body = tail_expr(arm.body);
                    arm
                })
                .collect(),
        ),
        kind => kind,
    };
    Expr { kind, span }
}
