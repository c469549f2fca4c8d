//! Barriers and warp operations that some of their threads do not reach.
//!
//! A walk keeps how far the threads that are here are the same: *whole block*, *whole warps*, or *some
//! lanes*, each with the condition that split them. A break or continue under a condition splits the
//! rest of its loop; a return splits everything after it.

use super::evaluate::Evaluator;
use crate::ast::Span;
use crate::diag::{Code, Diag, Sink, codes};
use crate::ir::asynchronous::Async;
use crate::ir::reduction::Steps;
use crate::ir::{Barrier, Block, Kernel, Op, StmtKind, Uniform, Value, Written, scan, visit};

/// Checks every barrier.
pub fn run(kernel: &Kernel, sink: &mut Sink) {
    let mut walk = Walk {
        kernel,
        sink,
        eval: Evaluator::new(kernel),
        returned: None,
        loops: Vec::new(),
    };
    walk.block(&kernel.body, Here(Uniform::Block, None));
}

/// How far the threads that are here are the same, and what split them.
#[derive(Clone, Copy)]
struct Here(Uniform, Option<Span>);

struct Walk<'a, 'b> {
    kernel: &'a Kernel,
    sink: &'b mut Sink,
    eval: Evaluator<'a>,
    returned: Option<Here>,
    /// Per open loop: what its breaks and continues have split.
    loops: Vec<Here>,
}

fn worse(a: Here, b: Here) -> Here {
    if b.0 > a.0 { b } else { a }
}

impl<'a> Walk<'a, '_> {
    fn condition(&mut self, cond: Value) -> Here {
        let info = &self.kernel.values[cond.0 as usize];
        if info.uniform == Uniform::Block {
            return Here(Uniform::Block, None);
        }
        let level = match self.eval.value(cond) {
            Some(s) if s.same() => Uniform::Block,
            Some(s) if s.same_in_warps() => Uniform::Warp,
            _ => info.uniform,
        };
        Here(level, Some(info.span))
    }

    fn block(&mut self, stmts: &'a Block, here: Here) {
        for stmt in stmts {
            let mut now = here;
            for l in self.loops.iter().chain(&self.returned) {
                now = worse(now, *l);
            }
            if visit::written(&stmt.kind).is_some_and(Written::is_convergent) {
                self.lanes(now, stmt.span, "an instruction of the whole warp");
            }
            match &stmt.kind {
                StmtKind::Let(_, op) => self.op(op, now, stmt.span),
                StmtKind::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    let inner = worse(here, self.condition(*cond));
                    self.block(then, inner);
                    self.block(otherwise, inner);
                }
                StmtKind::For { lo, hi, body, .. } => {
                    let (lo, hi) = (self.condition(*lo), self.condition(*hi));
                    self.around(&[body], worse(here, worse(lo, hi)));
                }
                StmtKind::While { head, cond, body } => {
                    let c = self.condition(*cond);
                    self.around(&[head, body], worse(here, c));
                }
                StmtKind::Once(body) => {
                    self.loops.push(Here(Uniform::Block, None));
                    self.block(body, here);
                    self.loops.pop();
                }
                StmtKind::Break(up) | StmtKind::Continue(up) => {
                    // Only what splits the threads within that loop matters to its rest.
                    let n = self.loops.len();
                    for l in &mut self.loops[n - 1 - *up as usize..] {
                        *l = worse(*l, here);
                    }
                }
                StmtKind::Return if here.0 > Uniform::Block => {
                    self.returned = Some(Here(here.0, Some(stmt.span)));
                }
                StmtKind::Barrier(Barrier::Block) => {
                    self.whole(now, stmt.span, "the block's barrier")
                }
                StmtKind::Barrier(Barrier::Named { threads, .. }) => {
                    if *threads == self.kernel.threads {
                        self.whole(now, stmt.span, "a barrier of all threads");
                    } else {
                        self.lanes(now, stmt.span, "a named barrier");
                    }
                }
                StmtKind::Async(Async::Mma(_) | Async::SetRegisters { .. }) => {
                    self.lanes(
                        now,
                        stmt.span,
                        "a tensor-core product or a change of registers",
                    );
                }
                StmtKind::Barrier(Barrier::Warp) => {
                    self.lanes(now, stmt.span, "the warp's barrier")
                }
                _ => {}
            }
        }
    }

    fn around(&mut self, bodies: &[&'a Block], here: Here) {
        // Twice: a break late in the body splits what comes early in the next round.
        let mut carried = Here(Uniform::Block, None);
        for _ in 0..2 {
            self.loops.push(carried);
            for body in bodies {
                self.block(body, here);
            }
            carried = worse(carried, self.loops.pop().unwrap_or(carried));
        }
    }

    fn op(&mut self, op: &Op, now: Here, span: Span) {
        match op {
            Op::Shuffle { .. } => self.lanes(now, span, "a shuffle"),
            Op::Vote(..) => self.lanes(now, span, "a vote"),
            Op::Match(_) => self.lanes(now, span, "a match"),
            Op::Redux(..) => self.lanes(now, span, "a warp reduction"),
            Op::Exchange(_) => self.lanes(now, span, "a redistribution"),
            Op::Reduce(r) => {
                let Some(t) = self.kernel.values[r.value.0 as usize].ty.tensor() else {
                    return;
                };
                let steps = Steps::of(t, r.axis as usize);
                if steps.needs_scratch() {
                    self.meets(&r.meet, now, span, "a reduction over several warps");
                } else if !steps.butterflies.is_empty() {
                    self.lanes(now, span, "a reduction over lanes");
                }
            }
            Op::Scan(s) => {
                let t = self.kernel.values[s.value.0 as usize].ty.tensor();
                let Some(steps) = t.and_then(|t| scan::Steps::of(t, s.axis as usize)) else {
                    return;
                };
                if steps.needs_scratch() {
                    self.meets(&s.meet, now, span, "a scan over several warps");
                } else if steps.lane_steps() > 0 {
                    self.lanes(now, span, "a scan over lanes");
                }
            }
            _ => {}
        }
    }

    /// Warps that meet in an operation: those of the block, or whole warps of a role.
    fn meets(&mut self, at: &Barrier, now: Here, span: Span, what: &str) {
        if *at == Barrier::Block {
            let what = format!("{what}, which meets at the block's barrier");
            self.whole(now, span, &what);
        } else {
            let what = format!("{what}, which meets at the role's barrier");
            self.lanes(now, span, &what);
        }
    }

    fn whole(&mut self, now: Here, span: Span, what: &str) {
        if now.0 > Uniform::Block {
            self.tell(
                codes::BARRIER_DIVERGENT,
                now,
                span,
                format!("not all threads of the block reach {what}"),
            );
        }
    }

    fn lanes(&mut self, now: Here, span: Span, what: &str) {
        if now.0 > Uniform::Warp {
            self.tell(
                codes::COLLECTIVE_DIVERGENT,
                now,
                span,
                format!("not all lanes of the warp reach {what}"),
            );
        }
    }

    fn tell(&mut self, code: Code, now: Here, span: Span, message: String) {
        let left = self.returned.is_some_and(|r| r.1 == now.1);
        let code = if left && code == codes::BARRIER_DIVERGENT {
            codes::RETURN
        } else {
            code
        };
        let mut diag = Diag::error(code, span, message);
        if !left {
            diag = diag.help("move it out of the branch or loop on which that depends");
        }
        if let Some(split) = now.1 {
            let why = if left {
                "some threads leave here"
            } else {
                "this is not the same for all of them"
            };
            diag = diag.also(split, why);
        }
        self.sink.push(diag);
    }
}
