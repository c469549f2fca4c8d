//! How the barriers of pipelines come to be.
//!
//! One thread initialises them, a fence shows that to the asynchronous path, and the block (the cluster, if
//! other blocks use them) meets before anybody else may touch them. Pipelines made one after the other share
//! the branch, the fence and the meeting: they stand where the last of them is made.

use super::super::Check;
use super::super::join::pure;
use super::barrier_at;
use crate::ast::Span;
use crate::dtype::DType;
use crate::ir::{
    Async, Barrier, Compare, Const, Op, Shared, Special, Stmt, StmtKind, Transaction, Uniform,
};

/// Where barriers were made last: in this block of statements, from this one on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    serial: u64,
    at: usize,
    /// The cluster meets.
    cluster: bool,
}

impl Check<'_> {
    /// Barriers of a pipeline, initialised: each stage is full after one arrival and its bytes, empty after
    /// one arrival of each warp that uses it, in each of these blocks.
    pub(super) fn transaction_barriers(
        &mut self,
        stages: u32,
        consumers: u32,
        blocks: u32,
        span: Span,
    ) -> ((usize, usize), Made) {
        let mut alloc = |name: &str| {
            let index = self.kernel.shared.len();
            let detail = format!("{stages} barriers x 8 bytes");
            self.kernel.shared.push(Shared {
                name: name.into(),
                dtype: DType::U64,
                bytes: stages * 8,
                align: 8,
                stages,
                detail,
                over: None,
                span,
            });
            index
        };
        let (full, empty) = (alloc("full"), alloc("empty"));
        let thread = self.emit(
            Op::Special(Special::Thread),
            DType::U32,
            Uniform::Thread,
            span,
        );
        let zero = self.emit(Op::Const(Const::Int(0)), DType::U32, Uniform::Block, span);
        let first = self.emit(
            Op::Compare(Compare::Eq, thread, zero),
            DType::BOOL,
            Uniform::Thread,
            span,
        );
        let (mut inits, mut cluster) = self.made_before();
        cluster |= blocks > 1;
        let (stmts, ()) = self.collect(|c| {
            c.block.append(&mut inits);
            for stage in 0..stages {
                c.transaction(
                    barrier_at(full, i64::from(stage), None),
                    Transaction::Init(1),
                    span,
                );
                c.transaction(
                    barrier_at(empty, i64::from(stage), None),
                    Transaction::Init(4 * consumers * blocks),
                    span,
                );
            }
            c.push(StmtKind::Async(Async::FenceBarriers), span);
        });
        let made = Made {
            serial: self.block_serial,
            at: self.block.len(),
            cluster,
        };
        self.push(
            StmtKind::If {
                cond: first,
                then: stmts,
                otherwise: Vec::new(),
            },
            span,
        );
        // Before another block arrives here or sends to here, the barriers are made.
        self.push(
            if cluster {
                StmtKind::Async(Async::ClusterBarrier)
            } else {
                StmtKind::Barrier(Barrier::Block)
            },
            span,
        );
        ((full, empty), made)
    }

    /// Takes back how the pipelines just before were made, if nothing since has used them: their initialisations, and
    /// whether the cluster must meet.
    fn made_before(&mut self) -> (Vec<Stmt>, bool) {
        let last = self.pipes.iter().rev().find_map(|p| p.made);
        let here = last.filter(|m| m.serial == self.block_serial);
        let since = |m: &Made| self.block.get(m.at + 2..).unwrap_or_default();
        let idle = |s: &Stmt| matches!(s.kind, StmtKind::Set(..)) || pure(std::slice::from_ref(s));
        let Some(made) = here.filter(|m| since(m).iter().all(idle)) else {
            return (Vec::new(), false);
        };
        let mut taken = self.block.drain(made.at..made.at + 2);
        let Some(StmtKind::If {
            then: mut inits, ..
        }) = taken.next().map(|s| s.kind)
        else {
            unreachable!("bug: barriers are made under a branch");
        };
        // The fence.
        inits.pop();
        (inits, made.cluster)
    }
}
