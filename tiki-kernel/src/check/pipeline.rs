//! Pipelines: stages that are filled ahead of their use.
//!
//! A pipeline keeps its stage (and phase) in variables of its own: the side that fills and the side that
//! uses each count for themselves. What each verb emits:
//!
//! | verb | over `cp.async` groups | over transaction barriers |
//! | --- | --- | --- |
//! | creation | the counters | the barriers, as [`made`] says |
//! | `acquire` | nothing: the `wait` before freed the stage | waits on *empty*, arrives on *full* with the bytes of the copies that follow, once what is written before the first of them is |
//! | `commit` | ends the thread's group | nothing |
//! | `wait` | waits for the group, then the block's barrier | waits on *full* |
//! | `release` | nothing | one lane of each warp arrives on *empty*; for a cluster, lane n on that of block n |
//! | `expect` | | adds bytes to the arrival of `acquire` |
//!
//! For groups, how far filling is ahead of use is followed at build time: it decides how many groups a
//! `wait` may leave pending, and must be the same in every round of a loop.

mod made;

use super::call::Call;
use super::value::{Num, Scalar, Val};
use super::{Check, Push};
use crate::ast::Span;
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{
    Async, Barrier, Binary, Compare, Const, Op, SharedView, Special, StmtKind, Transaction, Type,
    Uniform, Value, Var,
};
use crate::target::Feature;
use made::Made;

/// How far a pipeline is ahead, and how often it was waited for.
pub(crate) type Ahead = (Option<i64>, u32);

/// One pipeline.
#[derive(Debug, Clone)]
pub(crate) struct Pipe {
    pub stages: u32,
    /// Filled by all blocks of the cluster.
    cluster: bool,
    /// Allocations of the *full* and *empty* barriers, if it has them.
    barriers: Option<(usize, usize)>,
    /// Where they are made.
    pub made: Option<Made>,
    /// Counters of the filling side and of the using side: stage, phase.
    fill: (Var, Var),
    used: (Var, Var),
    /// Stages committed and not yet waited for (groups); `None` if that is not known.
    pub ahead: Option<i64>,
    /// Waits for groups so far, and where the last one stands.
    waits: (u32, Span),
    /// A stage is being filled: acquired and not yet committed.
    open: bool,
    /// Where the last `acquire`'s arrival stands, for the bytes of the copies that follow.
    pub(super) expect: Option<(u64, usize)>,
    pub(super) span: Span,
}

impl<'a> Check<'a> {
    pub(crate) fn pipeline_new(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(stages) = self.const_in(&call.arg(0), "a pipeline's stages", 1, 32, call.at(0))
        else {
            return Val::Poison;
        };
        if self.control > 0 {
            let diag = self
                .error(
                    codes::UNSUPPORTED,
                    call.span,
                    "a pipeline is made once for the whole kernel, not under run-time control",
                )
                .help("move it before the branch or loop");
            return self.refuse(diag);
        }
        let cluster = call.row.name == "cluster";
        let tma = cluster || call.row.name == "tma";
        if cluster && self.kernel.cluster < 2 {
            let diag = self
                .error(
                    codes::PIPELINE,
                    call.span,
                    "a pipeline of the cluster's blocks in a kernel without clusters",
                )
                .help("add `cluster = 2` to the kernel, or use `Pipeline::tma`");
            return self.refuse(diag);
        }
        let feature = if tma {
            Feature::Tma
        } else {
            Feature::AsyncCopy
        };
        if !self.need(
            feature,
            if tma {
                "a pipeline over transaction barriers"
            } else {
                "a pipeline of asynchronous copies"
            },
            call.span,
        ) {
            return Val::Poison;
        }
        let (barriers, made) = if tma {
            let Some(consumers) =
                self.const_in(&call.arg(1), "a pipeline's consumers", 1, 32, call.at(1))
            else {
                return Val::Poison;
            };
            let blocks = if cluster { self.kernel.cluster } else { 1 };
            let (stages, consumers) = (stages as u32, consumers as u32);
            let (barriers, made) = self.transaction_barriers(stages, consumers, blocks, call.span);
            (Some(barriers), Some(made))
        } else {
            if stages < 2 {
                let diag = self
                    .error(
                        codes::PIPELINE,
                        call.at(0),
                        "a pipeline of one stage has nothing to fill while it is used",
                    )
                    .help("use two stages or more");
                return self.refuse(diag);
            }
            (None, None)
        };
        let counter = |c: &mut Self, name: &str| {
            let var = c.var(Type::Scalar(DType::U32), name, call.span);
            let zero = c.emit(
                Op::Const(Const::Int(0)),
                DType::U32,
                Uniform::Block,
                call.span,
            );
            c.push(StmtKind::Set(var, zero), call.span);
            var
        };
        let fill = (counter(self, "fill_stage"), counter(self, "fill_phase"));
        let used = (counter(self, "use_stage"), counter(self, "use_phase"));
        self.pipes.push(Pipe {
            stages: stages as u32,
            cluster,
            barriers,
            made,
            fill,
            used,
            ahead: Some(0),
            waits: (0, call.span),
            open: false,
            expect: None,
            span: call.span,
        });
        Val::Pipeline(self.pipes.len() - 1)
    }

    fn transaction(&mut self, barrier: SharedView, op: Transaction, span: Span) {
        self.push(StmtKind::Async(Async::Transaction { barrier, op }), span);
    }

    fn pipe(&self, call: &Call<'a>) -> Option<usize> {
        match call.recv {
            Val::Pipeline(i) => Some(i),
            _ => None,
        }
    }

    /// The counter's stage and phase now; then it moves on.
    fn advance_stage(
        &mut self,
        stages: u32,
        (stage, phase): (Var, Var),
        phased: bool,
        span: Span,
    ) -> (Value, Option<Value>) {
        let now = self.emit(Op::Get(stage), DType::U32, Uniform::Thread, span);
        let parity = phased.then(|| self.emit(Op::Get(phase), DType::U32, Uniform::Thread, span));
        let constant = |c: &mut Self, i: u32| {
            c.emit(
                Op::Const(Const::Int(i.into())),
                DType::U32,
                Uniform::Block,
                span,
            )
        };
        let (zero, one, all) = (constant(self, 0), constant(self, 1), constant(self, stages));
        let next = self.emit(
            Op::Binary(Binary::Add, now, one),
            DType::U32,
            Uniform::Thread,
            span,
        );
        let wraps = self.emit(
            Op::Compare(Compare::Eq, next, all),
            DType::BOOL,
            Uniform::Thread,
            span,
        );
        let next = self.emit(
            Op::Select(wraps, zero, next),
            DType::U32,
            Uniform::Thread,
            span,
        );
        self.push(StmtKind::Set(stage, next), span);
        if let Some(parity) = parity {
            let other = self.emit(
                Op::Binary(Binary::Xor, parity, one),
                DType::U32,
                Uniform::Thread,
                span,
            );
            let next = self.emit(
                Op::Select(wraps, other, parity),
                DType::U32,
                Uniform::Thread,
                span,
            );
            self.push(StmtKind::Set(phase, next), span);
        }
        (now, parity)
    }

    fn stage_index(value: Value, stages: u32) -> Val<'a> {
        Val::Scalar(Scalar {
            value,
            num: Num::Usize,
            lo: 0,
            hi: i128::from(stages) - 1,
            expr: None,
        })
    }

    pub(crate) fn pipe_acquire(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(i) = self.pipe(call) else {
            return Val::Poison;
        };
        let pipe = self.pipes[i].clone();
        match pipe.barriers {
            None => {
                if pipe.open {
                    let diag = self
                        .error(
                            codes::PIPELINE,
                            call.span,
                            "a stage is acquired while another is open",
                        )
                        .also(pipe.span, "the pipeline")
                        .help("`commit` closes a stage");
                    return self.refuse(diag);
                }
                if pipe.ahead.is_some_and(|n| n >= i64::from(pipe.stages)) {
                    let diag = self
                        .error(
                            codes::PIPELINE,
                            call.span,
                            format!(
                                "all {} stages are filled and none was waited for",
                                pipe.stages
                            ),
                        )
                        .also(pipe.span, "the pipeline")
                        .help(format!(
                            "fill at most {} stages before the first `wait`",
                            pipe.stages - 1
                        ));
                    return self.refuse(diag);
                }
                self.pipes[i].open = true;
                let (stage, _) = self.advance_stage(pipe.stages, pipe.fill, false, call.span);
                Self::stage_index(stage, pipe.stages)
            }
            Some((full, empty)) => {
                let (stage, phase) = self.advance_stage(pipe.stages, pipe.fill, true, call.span);
                if let Some(phase) = phase {
                    let one = self.emit(
                        Op::Const(Const::Int(1)),
                        DType::U32,
                        Uniform::Block,
                        call.span,
                    );
                    let before = self.emit(
                        Op::Binary(Binary::Xor, phase, one),
                        DType::U32,
                        Uniform::Thread,
                        call.span,
                    );
                    self.transaction(
                        barrier_at(empty, 0, Some(stage)),
                        Transaction::Wait(before),
                        call.span,
                    );
                }
                self.pipes[i].expect = Some((self.block_serial, self.block.len()));
                self.transaction(
                    barrier_at(full, 0, Some(stage)),
                    Transaction::ArriveExpect(0),
                    call.span,
                );
                Self::stage_index(stage, pipe.stages)
            }
        }
    }

    /// The *full* barrier of a stage.
    pub(crate) fn full_barrier(
        &mut self,
        i: usize,
        stage: &Scalar,
        span: Span,
    ) -> Option<SharedView> {
        let Some((full, _)) = self.pipes[i].barriers else {
            let at = self.pipes[i].span;
            self.error(
                codes::PIPELINE,
                span,
                "the pipeline has no transaction barriers",
            )
            .also(at, "the pipeline")
            .help("make it by `Pipeline::tma(stages, consumers)`")
            .push(self);
            return None;
        };
        let value = self.narrow(stage, span);
        Some(barrier_at(full, 0, Some(value)))
    }

    pub(crate) fn pipe_commit(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(i) = self.pipe(call) else {
            return Val::Poison;
        };
        if self.pipes[i].barriers.is_some() {
            return Val::Unit;
        }
        if !self.pipes[i].open {
            let at = self.pipes[i].span;
            let diag = self
                .error(codes::PIPELINE, call.span, "no stage is open")
                .also(at, "the pipeline")
                .help("`acquire` opens one");
            return self.refuse(diag);
        }
        self.push(StmtKind::Async(Async::CommitCopies), call.span);
        let pipe = &mut self.pipes[i];
        pipe.open = false;
        pipe.ahead = pipe.ahead.map(|n| n + 1);
        Val::Unit
    }

    pub(crate) fn pipe_wait(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(i) = self.pipe(call) else {
            return Val::Poison;
        };
        let pipe = self.pipes[i].clone();
        let Some((full, _)) = pipe.barriers else {
            let pending = match pipe.ahead {
                Some(n) if n >= 1 => n - 1,
                Some(_) => {
                    let diag = self
                        .error(
                            codes::PIPELINE,
                            call.span,
                            "no stage was filled that this `wait` could wait for",
                        )
                        .also(pipe.span, "the pipeline");
                    return self.refuse(diag);
                }
                None => {
                    let diag = self
                        .error(codes::PIPELINE, call.span, "how many stages are filled here is not the same on every path")
                        .also(pipe.span, "the pipeline")
                        .note("a loop fills as many stages a round as it waits for; one that only fills has a build-time length");
                    return self.refuse(diag);
                }
            };
            self.block_wide("this pipeline's barrier", call.span);
            self.push(
                StmtKind::Async(Async::WaitCopies(pending as u32)),
                call.span,
            );
            self.push(StmtKind::Barrier(Barrier::Block), call.span);
            self.pipes[i].ahead = Some(pending);
            self.pipes[i].waits = (pipe.waits.0 + 1, call.span);
            let (stage, _) = self.advance_stage(pipe.stages, pipe.used, false, call.span);
            return Self::stage_index(stage, pipe.stages);
        };
        let (stage, phase) = self.advance_stage(pipe.stages, pipe.used, true, call.span);
        if let Some(phase) = phase {
            self.transaction(
                barrier_at(full, 0, Some(stage)),
                Transaction::Wait(phase),
                call.span,
            );
        }
        Self::stage_index(stage, pipe.stages)
    }

    pub(crate) fn pipe_release(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(i) = self.pipe(call) else {
            return Val::Poison;
        };
        let Some(stage) = self.scalar_as(&call.arg(0), Num::Usize, call.at(0)) else {
            return Val::Poison;
        };
        let Some((_, empty)) = self.pipes[i].barriers else {
            return Val::Unit;
        };
        // Lane n arrives in block n.
        let blocks = if self.pipes[i].cluster {
            self.kernel.cluster
        } else {
            1
        };
        let stage = self.narrow(&stage, call.at(0));
        let (block, thread) = (Uniform::Block, Uniform::Thread);
        let lane = Op::Special(Special::Lane);
        let lane = self.emit(lane, DType::U32, thread, call.span);
        let count = Op::Const(Const::Int(blocks.into()));
        let count = self.emit(count, DType::U32, block, call.span);
        let first = Op::Compare(Compare::Lt, lane, count);
        let first = self.emit(first, DType::BOOL, thread, call.span);
        let arrive = if blocks > 1 {
            Transaction::ArriveAt(lane)
        } else {
            Transaction::Arrive
        };
        let (stmts, ()) = self.collect(|c| {
            c.transaction(barrier_at(empty, 0, Some(stage)), arrive, call.span);
        });
        self.push(
            StmtKind::If {
                cond: first,
                then: stmts,
                otherwise: Vec::new(),
            },
            call.span,
        );
        Val::Unit
    }

    pub(crate) fn pipe_expect(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(i) = self.pipe(call) else {
            return Val::Poison;
        };
        let Some(stage) = self.scalar_as(&call.arg(0), Num::Usize, call.at(0)) else {
            return Val::Poison;
        };
        let Some(bytes) = self.const_in(
            &call.arg(1),
            "the bytes of a stage",
            0,
            (1 << 20) - 1,
            call.at(1),
        ) else {
            return Val::Poison;
        };
        if self.full_barrier(i, &stage, call.span).is_some() {
            // With the arrival itself: a stage that is whole too early would be read too early.
            self.expect_bytes(i, bytes as u32, call.span);
        }
        Val::Unit
    }

    /// How far every pipeline is ahead, and how often it was waited for.
    pub(crate) fn pipes_ahead(&self) -> Vec<Ahead> {
        self.pipes.iter().map(|p| (p.ahead, p.waits.0)).collect()
    }

    /// After a loop's body was evaluated once: what all its rounds did. A `wait` counts the groups that may be missing, so the
    /// rounds of a loop that waits must all begin equally far ahead.
    pub(crate) fn pipes_after_loop(&mut self, before: &[Ahead], rounds: Option<i128>) {
        for i in 0..before.len() {
            let (pipe, (before, waits)) = (self.pipes[i].clone(), before[i]);
            let (Some(b), Some(now)) = (before, pipe.ahead) else {
                self.pipes[i].ahead = None;
                continue;
            };
            if b != now && pipe.waits.0 > waits && rounds.is_none_or(|n| n > 1) {
                let (more, than) = if now > b {
                    (now - b, "fills more than it waits for")
                } else {
                    (b - now, "waits for more than it fills")
                };
                let stages = if more == 1 { "stage" } else { "stages" };
                let text = format!(
                    "a round of the loop around this `wait` {than}, by {more} {stages}: in the next round it would count other groups"
                );
                self.error(codes::PIPELINE, pipe.waits.1, text)
                    .also(pipe.span, "the pipeline")
                    .note("rounds of a loop that waits begin equally far ahead; what is left over is waited for within the round, in an unrolled loop")
                    .push(self);
                self.pipes[i].ahead = None;
                continue;
            }
            let pipe = &mut self.pipes[i];
            pipe.ahead = match (now - b, rounds) {
                (0, _) => Some(now),
                (delta, Some(n)) => i64::try_from(n)
                    .ok()
                    .and_then(|n| delta.checked_mul(n))
                    .map(|d| b + d),
                (_, None) => None,
            };
        }
    }

    /// After two branches.
    pub(crate) fn pipes_after_branches(&mut self, then: &[Ahead]) {
        for (pipe, (then, _)) in self.pipes.iter_mut().zip(then) {
            if pipe.ahead != *then {
                pipe.ahead = None;
            }
        }
    }

    pub(crate) fn set_pipes_ahead(&mut self, ahead: &[Ahead]) {
        for (pipe, (n, _)) in self.pipes.iter_mut().zip(ahead) {
            pipe.ahead = *n;
        }
    }
}

/// A barrier of an array of them.
fn barrier_at(alloc: usize, offset: i64, stage: Option<Value>) -> SharedView {
    SharedView {
        alloc,
        axes: Vec::new(),
        swizzle: None,
        offset,
        dynamic: stage.map(|s| (s, 1)).into_iter().collect(),
        block: None,
    }
}
