//! Ways out: `break` and `continue` of loops, `return` of functions.
//!
//! Where a way out is reached is known at build time, or not. If it is, evaluation just goes on elsewhere. If a
//! run-time condition decides and what is left is a run-time loop, it is a jump. Unrolled loops and inlined functions
//! have nowhere to jump to: they become a *stretch* ([`StmtKind::Once`]) that a `Break` leaves, and what they assign or
//! give lives in variables.
//!
//! That a stretch is needed turns out only within it; then it is noted in [`Check::early`] and the kernel is
//! evaluated again. So build-time ways out cost nothing, and keep build-time values what they are.

use super::unroll::Loop;
use super::value::{PlaceRef, Val};
use super::{Check, Flow};
use crate::ast::{Expr, Span, Type};
use crate::diag::codes;
use crate::ir::{Stmt, StmtKind, visit};

/// A call being evaluated.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// Whose.
    key: Span,
    output: Option<&'a Type>,
    /// Control depth of its body.
    control: usize,
    /// Of a stretch: the index of its loop, and where the result goes once there is one.
    stretch: Option<usize>,
    result: Option<Val<'a>>,
}

impl<'a> Check<'a> {
    /// Evaluates what can be left by `return`: a function's body, or a closure's, called at `span`. `assigned` and
    /// `bodies` say what it may assign of others.
    pub(super) fn leavable(
        &mut self,
        (key, span): (Span, Span),
        output: Option<&'a Type>,
        assigned: &[PlaceRef],
        bodies: &[&'a Expr],
        f: impl FnOnce(&mut Self) -> Val<'a>,
    ) -> Val<'a> {
        let stretch = self.region == 0 && self.early.contains(&key);
        let mut frame = Frame {
            key,
            output,
            control: self.control,
            stretch: None,
            result: None,
        };
        if !stretch {
            self.frames.push(frame);
            let val = f(self);
            self.frames.pop();
            let val = self.returned_or(val);
            return self.typed(val, output, span);
        }
        for place in assigned {
            self.cell_at(place, key);
        }
        self.promote(bodies, &[], key);
        let depth = self.loops.len();
        frame.stretch = Some(depth);
        frame.control += 1;
        self.loops.push(Loop {
            hidden: true,
            ..Loop::new(None, true, self.control, key)
        });
        self.frames.push(frame);
        self.control += 1;
        let (stmts, ()) = self.collect(|c| {
            let val = f(c);
            let val = c.returned_or(val);
            // A way that ends in jumps gives nothing here.
            if c.flow.take().is_none() {
                c.give(val, span);
            }
        });
        self.control -= 1;
        let frame = self.frames.pop();
        self.loops.truncate(depth);
        self.stretch(stmts, key);
        match frame.and_then(|f| f.result) {
            Some(cells) => self.read(cells, span),
            None => {
                self.flow = Some(Flow::Dead);
                Val::Never
            }
        }
    }

    fn returned_or(&mut self, val: Val<'a>) -> Val<'a> {
        if self.flow == Some(Flow::Return) {
            self.flow = None;
            return self.returned.take().map_or(Val::Unit, |r| r.0);
        }
        val
    }

    /// Puts the result of the innermost call where it is read afterwards.
    fn give(&mut self, val: Val<'a>, span: Span) {
        let Some(mut frame) = self.frames.pop() else {
            return;
        };
        let val = self.typed(val, frame.output, span);
        match &frame.result {
            _ if matches!(val, Val::Never) => {}
            Some(cells) if cells.is_poison() => {}
            _ if val.is_poison() => frame.result = Some(Val::Poison),
            Some(cells) => {
                let cells = cells.clone();
                self.set_cells(&cells, val, "the result", span);
            }
            None => frame.result = Some(self.celled(val, "result", span)),
        }
        self.frames.push(frame);
    }

    /// Emits a stretch; its statements alone if nothing leaves it.
    pub(super) fn stretch(&mut self, mut stmts: Vec<Stmt>, span: Span) {
        // A jump from its end to its end.
        while stmts.last().is_some_and(|s| s.kind == StmtKind::Break(0)) {
            stmts.pop();
        }
        if left(&stmts, 0) {
            self.push(StmtKind::Once(stmts), span);
        } else {
            raise(&mut stmts, 0);
            self.block.extend(stmts);
        }
    }

    /// How many loops and stretches lie within the one at this index.
    pub(super) fn levels_within(&self, at: usize) -> u32 {
        self.loops[at + 1..].iter().filter(|l| l.run_time).count() as u32
    }

    /// A run-time condition leaves this: it must be a stretch, in another evaluation.
    pub(super) fn leaves_early(&mut self, key: Span) {
        if !self.early.contains(&key) {
            self.early.push(key);
        }
        self.flow = Some(Flow::Dead);
    }

    pub(crate) fn return_expr(&mut self, value: Option<&'a Expr>, span: Span) -> Val<'a> {
        if let Some(frame) = self.frames.last() {
            let (key, control, stretch) = (frame.key, frame.control, frame.stretch);
            let val = value.map_or(Val::Unit, |e| self.eval(e));
            if self.flow.is_some() {
                return Val::Never;
            }
            if self.control == control || self.region > 0 {
                self.returned = Some((val, span));
                self.flow = Some(Flow::Return);
                return Val::Never;
            }
            let Some(at) = stretch else {
                self.leaves_early(key);
                return Val::Never;
            };
            self.give(val, span);
            let level = self.levels_within(at);
            self.push(StmtKind::Break(level), span);
            self.flow = Some(Flow::Dead);
            return Val::Never;
        }
        if self.region > 0 {
            let diag = self.error(
                codes::UNSUPPORTED,
                span,
                "`return` within an elementwise closure",
            );
            return self.refuse(diag);
        }
        if self.control > 0 {
            self.left = Some(span);
        }
        self.push(StmtKind::Return, span);
        self.flow = Some(Flow::Dead);
        Val::Never
    }
}

/// Whether something within a stretch leaves it, and not merely what lies around it as well.
fn left(stmts: &[Stmt], depth: u32) -> bool {
    stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break(up) | StmtKind::Continue(up) => *up == depth,
        StmtKind::If {
            then, otherwise, ..
        } => left(then, depth) || left(otherwise, depth),
        kind => visit::blocks(kind)
            .iter()
            .any(|inner| left(inner, depth + 1)),
    })
}

/// Takes one level away around statements.
fn raise(stmts: &mut [Stmt], depth: u32) {
    for stmt in stmts {
        match &mut stmt.kind {
            StmtKind::Break(up) | StmtKind::Continue(up) => *up -= u32::from(*up > depth),
            StmtKind::If {
                then, otherwise, ..
            } => {
                raise(then, depth);
                raise(otherwise, depth);
            }
            kind => {
                for inner in visit::blocks_mut(kind) {
                    raise(inner, depth + 1);
                }
            }
        }
    }
}
