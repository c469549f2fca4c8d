//! Roles: which warps of the block execute a statement.
//!
//! A condition on the warp's or the warpgroup's number alone is known for every warp at build time. The
//! code under it is a role's: it counts its own threads, and barriers and elections are its own.

use super::call::Call;
use super::value::{Num, Scalar, Val};
use super::{Check, Push};
use crate::ast::Span;
use crate::budget::occupancy;
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{
    Async, Barrier, Binary, Compare, Const, Op, Special, StmtKind, Unary, Uniform, Value,
};
use crate::target::Feature;
use std::collections::HashMap;

/// Numbers of named barriers.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    given: u32,
    /// What the author has made.
    named: Vec<Named>,
    /// Those at which a role's reductions and scans meet, by its warps.
    meetings: HashMap<u64, u32>,
}

/// A barrier of the author's. It takes a number for each group of warps that meets at it by itself, when the first of them
/// comes: one that is made outside the roles and met at in one of them is one barrier.
#[derive(Debug)]
struct Named {
    span: Span,
    /// By the warps; 0 for those that only together are as many as the barrier waits for.
    numbers: Vec<(u64, u32)>,
}

impl<'a> Check<'a> {
    /// The warps of the block, one bit each.
    pub(crate) fn all_warps(&self) -> u64 {
        let warps = self.kernel.threads.div_ceil(32).clamp(1, 64);
        u64::MAX >> (64 - warps)
    }

    /// The warps that come here.
    pub(crate) fn warps_here(&self) -> u64 {
        self.warps.unwrap_or_else(|| self.all_warps())
    }

    /// Threads that come here.
    pub(crate) fn threads_here(&self) -> u32 {
        self.warps_here().count_ones() * 32
    }

    /// First thread that comes here.
    pub(crate) fn first_thread(&self) -> u32 {
        self.warps_here().trailing_zeros() * 32
    }

    /// For which warps a condition holds, if that is known at build time.
    pub(crate) fn warps_where(&self, cond: Value) -> Option<u64> {
        let mut mask = 0;
        for warp in 0..self.kernel.threads.div_ceil(32).min(64) {
            if self.for_warp(cond, warp, 0)? != 0 {
                mask |= 1 << warp;
            }
        }
        Some(mask)
    }

    fn for_warp(&self, value: Value, warp: u32, depth: u32) -> Option<i128> {
        if depth > 32 {
            return None;
        }
        let next = |v: &Value| self.for_warp(*v, warp, depth + 1);
        Some(match self.defs.get(&value)? {
            Op::Const(Const::Int(i)) => *i,
            Op::Const(Const::Bool(b)) => i128::from(*b),
            Op::Special(Special::Warp) => warp.into(),
            Op::Special(Special::Warpgroup) => (warp / 4).into(),
            Op::Cast(a, _) => next(a)?,
            Op::Unary(Unary::Not, a) if self.dtype(*a) == DType::BOOL => 1 - next(a)?,
            Op::Binary(f, a, b) => {
                let (a, b) = (next(a)?, next(b)?);
                match f {
                    Binary::Add => a + b,
                    Binary::Sub => a - b,
                    Binary::Mul => a * b,
                    Binary::Div if b != 0 => a / b,
                    Binary::Rem if b != 0 => a % b,
                    Binary::And => a & b,
                    Binary::Or => a | b,
                    Binary::Xor => a ^ b,
                    _ => return None,
                }
            }
            Op::Compare(f, a, b) => {
                let (a, b) = (next(a)?, next(b)?);
                i128::from(match f {
                    Compare::Eq => a == b,
                    Compare::Ne => a != b,
                    Compare::Lt => a < b,
                    Compare::Le => a <= b,
                    Compare::Gt => a > b,
                    Compare::Ge => a >= b,
                })
            }
            _ => return None,
        })
    }

    pub(crate) fn warpgroup_idx(&mut self, call: &Call<'a>) -> Val<'a> {
        if !self.kernel.threads.is_multiple_of(128) {
            let diag = self.error(
                codes::THREADS,
                call.span,
                format!(
                    "{} threads are not whole warpgroups of 128",
                    self.kernel.threads
                ),
            );
            return self.refuse(diag);
        }
        let here = self.warps_here();
        let value = self.emit(
            Op::Special(Special::Warpgroup),
            DType::U32,
            Uniform::Warp,
            call.span,
        );
        let (lo, hi) = (here.trailing_zeros() / 4, (63 - here.leading_zeros()) / 4);
        if lo == hi {
            return Val::Int(lo.into(), Num::Usize);
        }
        let symbol = self.facts.extent("warpgroup_idx()");
        let _ = self
            .facts
            .assume_range(symbol, i64::from(lo), i64::from(hi));
        Val::Scalar(Scalar {
            value,
            num: Num::Usize,
            lo: lo.into(),
            hi: hi.into(),
            expr: Some(symbol.into()),
        })
    }

    pub(crate) fn elect_one(&mut self, call: &Call<'a>) -> Val<'a> {
        let here = self.warps_here();
        let elected = self.emit(Op::Elect, DType::BOOL, Uniform::Thread, call.span);
        let warps = here.count_ones();
        if warps == 1 {
            return self.bool_scalar(elected);
        }
        // One thread a warpgroup, where the role is made of whole warpgroups; else one of all.
        let grouped =
            warps > 4 && warps.is_multiple_of(4) && (here.trailing_zeros()).is_multiple_of(4);
        let number = self.emit(
            Op::Special(Special::Warp),
            DType::U32,
            Uniform::Warp,
            call.span,
        );
        let (number, first) = if grouped {
            let four = self.emit(
                Op::Const(Const::Int(4)),
                DType::U32,
                Uniform::Block,
                call.span,
            );
            (
                self.emit(
                    Op::Binary(Binary::Rem, number, four),
                    DType::U32,
                    Uniform::Warp,
                    call.span,
                ),
                0,
            )
        } else {
            (number, here.trailing_zeros())
        };
        let first = self.emit(
            Op::Const(Const::Int(first.into())),
            DType::U32,
            Uniform::Block,
            call.span,
        );
        let own = self.emit(
            Op::Compare(Compare::Eq, number, first),
            DType::BOOL,
            Uniform::Warp,
            call.span,
        );
        let both = self.emit(
            Op::Binary(Binary::And, own, elected),
            DType::BOOL,
            Uniform::Thread,
            call.span,
        );
        self.bool_scalar(both)
    }

    pub(crate) fn set_registers(&mut self, call: &Call<'a>) -> Val<'a> {
        if !self.need(Feature::Warpgroup, "`set_registers`", call.span) {
            return Val::Poison;
        }
        let Some(count) =
            self.const_in(&call.arg(0), "the registers of a role", 24, 256, call.at(0))
        else {
            return Val::Poison;
        };
        let count = count as u32;
        if !count.is_multiple_of(8) {
            let diag = self.error(
                codes::REGISTER_BUDGET,
                call.at(0),
                format!("{count} registers; roles take multiples of 8"),
            );
            return self.refuse(diag);
        }
        let here = self.warps_here();
        if !self.threads_here().is_multiple_of(128) || !here.trailing_zeros().is_multiple_of(4) {
            let diag = self.error(
                codes::REGISTER_BUDGET,
                call.span,
                format!(
                    "registers are set for whole warpgroups; {} threads come here",
                    self.threads_here()
                ),
            );
            return self.refuse(diag);
        }
        let entry = occupancy::registers_at_entry(
            self.kernel.target,
            self.kernel.threads,
            self.kernel.blocks_per_sm.unwrap_or(1),
        );
        self.roles.push((here, count, call.span));
        let threads = here.count_ones() * 32;
        self.kernel.roles.push((threads, count));
        let total: u32 = self
            .roles
            .iter()
            .map(|(warps, count, _)| warps.count_ones() * 32 * count)
            .sum();
        let pool = entry * self.kernel.threads;
        if total > pool {
            let mut diag = self.error(codes::REGISTER_BUDGET, call.at(0), format!("the roles ask for {total} registers; the block has {pool} ({entry} a thread at entry)"));
            for (warps, count, span) in self.roles.clone() {
                diag = diag.also(
                    span,
                    format!("{count} registers for {} threads", warps.count_ones() * 32),
                );
            }
            return self.refuse(diag);
        }
        self.push(
            StmtKind::Async(Async::SetRegisters {
                count,
                more: count > entry,
            }),
            call.span,
        );
        Val::Unit
    }

    /// An error unless the target has a feature.
    pub(crate) fn need(&mut self, feature: Feature, what: &str, span: Span) -> bool {
        if self.kernel.target.has(feature) {
            return true;
        }
        let able: Vec<String> = crate::target::Target::all()
            .filter(|t| t.has(feature))
            .map(|t| format!("`target = \"{t}\"`"))
            .collect();
        self.error(
            codes::TARGET,
            span,
            format!("{what} needs what {} does not have", self.kernel.target),
        )
        .help(format!("build for {}", able.join(" or ")))
        .push(self);
        false
    }

    pub(crate) fn barrier_named(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(threads) = self.const_in(
            &call.arg(0),
            "a barrier's thread count",
            32,
            1024,
            call.at(0),
        ) else {
            return Val::Poison;
        };
        let threads = threads as u32;
        if !threads.is_multiple_of(32) {
            let diag = self.error(
                codes::THREADS,
                call.at(0),
                format!("{threads} threads are not whole warps of 32"),
            );
            return self.refuse(diag);
        }
        self.barriers.named.push(Named {
            span: call.span,
            numbers: Vec::new(),
        });
        Val::Barrier {
            index: self.barriers.named.len() - 1,
            threads,
        }
    }

    /// A barrier's number that nobody else has.
    fn numbered(&mut self, span: Span) -> Option<u32> {
        let next = self.barriers.given + 1;
        let most = self.kernel.target.row().barriers_per_block;
        if next >= most {
            let last = most - 1;
            let text = format!(
                "this is barrier {next}; a block has {most}, of which 0 is `sync_block`'s and {last} the last"
            );
            let mut diag = self.error(codes::THREADS, span, text);
            for named in &self.barriers.named {
                let text = match named.numbers.len() {
                    0 => continue,
                    1 => "this barrier counts once".to_owned(),
                    n => format!(
                        "this barrier counts {n} times: so many groups meet at it, each by itself"
                    ),
                };
                diag = diag.also(named.span, text);
            }
            match self.barriers.meetings.len() {
                0 => {}
                1 => diag = diag.note("one is where a role's reductions and scans meet"),
                n => {
                    let text = format!("{n} are where reductions and scans of {n} roles meet");
                    diag = diag.note(text);
                }
            }
            diag.help("let groups that never wait at once take turns at one barrier, or meet in fewer groups")
                .push(self);
            return None;
        }
        self.barriers.given = next;
        Some(next)
    }

    /// The number at which a group of warps meets at a barrier. Threads that are as many as the barrier's are a group by
    /// themselves; others meet with whoever else comes, all under one number.
    fn number_of(&mut self, index: usize, group: u64, threads: u32, span: Span) -> Option<u32> {
        let whole = group.count_ones() * 32 == threads;
        let group = if whole { group } else { 0 };
        let known = &self.barriers.named[index].numbers;
        if let Some((_, number)) = known.iter().find(|(g, _)| *g == group) {
            return Some(*number);
        }
        let number = self.numbered(span)?;
        self.barriers.named[index].numbers.push((group, number));
        Some(number)
    }

    /// Where those who come here meet in an operation of `several` of their warps: at the block's barrier, or at one that a
    /// role has for all of its own; `None` if there is no number left.
    pub(crate) fn meeting(&mut self, several: bool, what: &str, span: Span) -> Option<Barrier> {
        let warps = self.warps_here();
        if !several || warps == self.all_warps() {
            if several {
                self.block_wide(what, span);
            }
            return Some(Barrier::Block);
        }
        let id = match self.barriers.meetings.get(&warps) {
            Some(id) => *id,
            None => self.numbered(span)?,
        };
        self.barriers.meetings.insert(warps, id);
        Some(Barrier::Named {
            id,
            threads: self.threads_here(),
            arrive: false,
        })
    }

    pub(crate) fn barrier_sync(&mut self, call: &Call<'a>) -> Val<'a> {
        let Val::Barrier { index, threads } = call.recv else {
            return Val::Poison;
        };
        let arrive = call.row.name == "arrive";
        let named = |id| {
            StmtKind::Barrier(Barrier::Named {
                id,
                threads,
                arrive,
            })
        };
        let groups = self.groups(threads);
        let mut ids = Vec::new();
        for group in &groups {
            match self.number_of(index, *group, threads, call.span) {
                Some(id) => ids.push(id),
                None => return Val::Poison,
            }
        }
        if let [id] = ids[..] {
            self.push(named(id), call.span);
            return Val::Unit;
        }
        // Numbers stay constants: which group a warpgroup is in decides.
        let part = self.emit(
            Op::Special(Special::Warpgroup),
            DType::U32,
            Uniform::Warp,
            call.span,
        );
        let mut inner = Vec::new();
        for (id, group) in ids.into_iter().zip(groups).rev() {
            let (stmts, ()) = self.collect(|c| c.push(named(id), call.span));
            inner = if inner.is_empty() {
                stmts
            } else {
                let (stmts, ()) = self.collect(|c| {
                    let last = (64 - group.leading_zeros()) / 4;
                    let edge = c.emit(
                        Op::Const(Const::Int(last.into())),
                        DType::U32,
                        Uniform::Block,
                        call.span,
                    );
                    let own = c.emit(
                        Op::Compare(Compare::Lt, part, edge),
                        DType::BOOL,
                        Uniform::Warp,
                        call.span,
                    );
                    c.push(
                        StmtKind::If {
                            cond: own,
                            then: stmts,
                            otherwise: inner,
                        },
                        call.span,
                    );
                });
                stmts
            };
        }
        self.block.extend(inner);
        Val::Unit
    }

    /// The groups in which the threads here meet at a barrier of so many: whole warpgroups side by side, several times the
    /// barrier's threads, are as many groups; all others are one.
    fn groups(&self, threads: u32) -> Vec<u64> {
        let (here, count) = (self.warps_here(), self.threads_here());
        let first = here.trailing_zeros();
        let side_by_side = (here >> first).trailing_ones() == here.count_ones();
        let parts = count > threads && count.is_multiple_of(threads) && threads.is_multiple_of(128);
        if !(parts && side_by_side && first.is_multiple_of(4)) {
            return vec![here];
        }
        let warps = threads / 32;
        let group = u64::MAX >> (64 - warps);
        (0..count / threads)
            .map(|i| group << (first + i * warps))
            .collect()
    }
}
