//! Stages of pipelines over transaction barriers, and shared tiles that the accelerator reads: followed along
//! the paths through each role.
//!
//! A *stage* is what one `acquire` or one `wait` gave. Along a path it is filled, read by products that are
//! under way until a wait covers their group, and released. What a path does wrong is refuted:
//!
//! | rule | |
//! | --- | --- |
//! | a stage is read between its `wait` and its `release`, also by what is under way | TK610 |
//! | copies go into a stage that was acquired, and complete that stage | TK610 |
//! | a stage expects as many bytes as are copied into it | TK610 |
//! | one thread fills; as many warps release as the pipeline is for | TK610 |
//! | what threads write is fenced, and they have met, before a tensor copy or a warpgroup's product reads it | TK611 |
//! | a tile that a tensor copy reads is not written before a wait says that it was read | TK611 |
//!
//! A loop is gone through twice (or as often as it runs, if less is known), a run-time branch both ways. A rule that
//! is broken only on paths that skip a loop or depend on a branch is unproven: such a path may not exist.

use super::Unproven;
use super::evaluate::Evaluator;
use super::stages::{Elected, Ring, State, rings};
use crate::ast::Span;
use crate::diag::{Diag, Sink};
use crate::ir::asynchronous::{Async, TensorCopyKind, Transaction};
use crate::ir::{Barrier, Block, Kernel, Op, Place, Stmt, StmtKind, Uniform, Value};
use std::collections::{BTreeSet, HashMap};

/// Paths that are followed at once; further ones are not looked at.
const PATHS: usize = 48;
/// Rounds of a loop.
const ROUNDS: i64 = 2;

/// Follows all stages; gives the allocations whose use is decided here.
pub fn run(kernel: &Kernel, sink: &mut Sink, unproven: &mut Unproven) -> BTreeSet<usize> {
    let rings = rings(kernel);
    let mut decided: BTreeSet<usize> = rings.iter().flat_map(|r| r.tiles.clone()).collect();
    let mut stored = false;
    let mut defs = HashMap::new();
    crate::ir::visit::each(&kernel.body, &mut |s| match &s.kind {
        StmtKind::Let(v, op) => {
            defs.insert(*v, op);
        }
        StmtKind::Async(Async::TensorCopy(t)) if t.kind != TensorCopyKind::Load => {
            stored = true;
            decided.insert(t.shared.alloc);
        }
        _ => {}
    });
    if rings.is_empty() && !stored {
        return BTreeSet::new();
    }
    let mut walk = Walk {
        kernel,
        sink,
        unproven,
        eval: Evaluator::new(kernel),
        defs,
        releases: vec![(BTreeSet::new(), None); rings.len()],
        rings,
        told: BTreeSet::new(),
        found: Vec::new(),
        mistaken: BTreeSet::new(),
    };
    let start = State::new(kernel.threads);
    let ends = walk.block(&kernel.body, vec![start]);
    for state in &ends {
        walk.count_bytes(state, None);
    }
    walk.count_releases();
    walk.tell();
    decided
}

pub(super) struct Walk<'a, 'b> {
    pub(super) kernel: &'a Kernel,
    pub(super) sink: &'b mut Sink,
    pub(super) unproven: &'b mut Unproven,
    pub(super) eval: Evaluator<'a>,
    pub(super) defs: HashMap<Value, &'a Op>,
    pub(super) rings: Vec<Ring>,
    /// Warps that release, of each ring, and where.
    pub(super) releases: Vec<(BTreeSet<u32>, Option<Span>)>,
    /// What was told, where.
    pub(super) told: BTreeSet<(u32, &'static str)>,
    /// Rules that are broken on paths that exist.
    pub(super) found: Vec<(&'static str, Diag)>,
    /// Where a stage was acquired that was then read.
    pub(super) mistaken: BTreeSet<Span>,
}

impl<'a> Walk<'a, '_> {
    fn block(&mut self, stmts: &'a Block, mut states: Vec<State>) -> Vec<State> {
        for stmt in stmts {
            states = self.stmt(stmt, states);
            if states.len() > PATHS {
                states.truncate(PATHS);
            }
        }
        states
    }

    /// A rule is broken on this path.
    pub(super) fn broken(&mut self, state: &State, rule: &'static str, diag: Diag) {
        if !state.sure {
            self.unproven.add(diag.span, diag.message.clone());
            return;
        }
        if self.told.insert((diag.span.0, rule)) {
            self.found.push((rule, diag));
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt, mut states: Vec<State>) -> Vec<State> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Let(v, Op::Get(var)) => {
                self.eval.read(*v, *var);
                for s in &mut states {
                    let held = s.vars.get(var).copied();
                    s.bind(*v, held);
                }
            }
            StmtKind::Let(v, Op::Cast(a, _)) => {
                for s in &mut states {
                    let held = s.values.get(a).copied();
                    s.bind(*v, held);
                }
            }
            StmtKind::Let(_, Op::LoadShared { view, .. })
            | StmtKind::Let(
                _,
                Op::LoadElement {
                    place: Place::Shared(view),
                    ..
                },
            ) => {
                for s in &states {
                    self.read(s, view, span);
                }
            }
            StmtKind::Set(var, v) => {
                self.eval.assign(*var);
                for s in &mut states {
                    match s.values.get(v).copied() {
                        Some(held) => s.vars.insert(*var, held),
                        None => s.vars.remove(var),
                    };
                }
            }
            StmtKind::StoreShared { view, .. } | StmtKind::StoreSharedElement { view, .. } => {
                for s in &mut states {
                    self.write(s, view, span);
                }
            }
            StmtKind::Barrier(b) => {
                let arrive = matches!(b, Barrier::Named { arrive: true, .. } | Barrier::Warp);
                for s in states.iter_mut().filter(|_| !arrive) {
                    s.apart.clear();
                }
            }
            StmtKind::Async(a) => {
                for s in &mut states {
                    self.asynchronous(a, s, span);
                }
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => return self.branch(*cond, then, otherwise, states),
            StmtKind::For {
                index,
                lo,
                hi,
                step,
                body,
                ..
            } => {
                let mut bound = |v: Value| self.eval.value(v).and_then(|s| s.constant());
                let runs = match (bound(*lo), bound(*hi)) {
                    (Some(l), Some(h)) => Some((h - l).max(0).div_euclid(i64::from(*step).max(1))),
                    _ => None,
                };
                return self.around(Some(*index), &[body], runs, states);
            }
            StmtKind::While { head, body, .. } => {
                return self.around(None, &[head, body], None, states);
            }
            StmtKind::Once(body) => return self.block(body, states),
            StmtKind::Break(_) | StmtKind::Continue(_) => {
                states.iter_mut().for_each(|s| s.sure = false);
            }
            StmtKind::Return => return Vec::new(),
            _ => {}
        }
        states
    }

    fn around(
        &mut self,
        index: Option<Value>,
        bodies: &[&'a Block],
        runs: Option<i64>,
        states: Vec<State>,
    ) -> Vec<State> {
        let mut out = Vec::new();
        let matters = self.matters(bodies);
        if matters && runs.is_none_or(|n| n == 0) {
            out.extend(states.iter().cloned().map(|mut s| {
                s.sure &= runs.is_some();
                s
            }));
        }
        let rounds = runs.unwrap_or(ROUNDS).min(if matters { ROUNDS } else { 1 });
        let mut now = states;
        for round in 1..=rounds {
            for body in bodies {
                self.eval.again(index, body);
                now = self.block(body, now);
            }
            if runs.is_none() || round == rounds {
                out.extend(now.iter().cloned());
            }
        }
        out
    }

    /// Whether a block has anything that is followed here.
    fn matters(&self, bodies: &[&'a Block]) -> bool {
        let mut found = false;
        for body in bodies {
            crate::ir::visit::each(body, &mut |s| {
                found |= match &s.kind {
                    // What makes the barriers is done before any of this begins.
                    StmtKind::Async(Async::Transaction { op, .. }) => {
                        !matches!(op, Transaction::Init(_))
                    }
                    StmtKind::Async(a) => !matches!(a, Async::FenceBarriers),
                    StmtKind::StoreShared { .. }
                    | StmtKind::StoreSharedElement { .. }
                    | StmtKind::Barrier(_) => true,
                    _ => false,
                };
            });
        }
        found
    }

    fn branch(
        &mut self,
        cond: Value,
        then: &'a Block,
        otherwise: &'a Block,
        states: Vec<State>,
    ) -> Vec<State> {
        if let [
            Stmt {
                kind:
                    StmtKind::Async(Async::Transaction {
                        barrier,
                        op: Transaction::Arrive | Transaction::ArriveAt(_),
                    }),
                span,
            },
        ] = &then[..]
            && let Some(ring) = self.rings.iter().position(|r| r.empty == barrier.alloc)
        {
            let mut states = states;
            for s in &mut states {
                self.release(s, ring, barrier, *span);
            }
            return states;
        }
        if !self.matters(&[then, otherwise]) {
            self.block(then, Vec::new());
            self.block(otherwise, Vec::new());
            return states;
        }
        let elected = self.elected(cond);
        if let Some(part) = elected {
            let mut inside = states;
            for s in &mut inside {
                let warps = s.warps();
                let count = match &part {
                    Some(own) => warps.iter().filter(|w| own[**w as usize]).count(),
                    None => warps.len(),
                };
                s.elected = Elected::Threads(count as u32);
            }
            let before = Elected::All;
            let mut out = self.block(then, inside);
            out.iter_mut().for_each(|s| s.elected = before);
            return self.block(otherwise, out);
        }
        let table = self.eval.value(cond).filter(|s| s.known());
        let before = states.first().map_or(Elected::All, |s| s.elected);
        let uniform = self.kernel.values[cond.0 as usize].uniform == Uniform::Block;
        let side = |s: &State, wanted: bool| -> Option<State> {
            let mut s = s.clone();
            match &table {
                Some(t) => {
                    for (on, c) in s.threads.iter_mut().zip(&t.table) {
                        *on &= (*c != 0) == wanted;
                    }
                    s.threads.contains(&true).then_some(s)
                }
                None => {
                    s.sure = false;
                    if !uniform {
                        s.elected = Elected::Some;
                    }
                    Some(s)
                }
            }
        };
        let left: Vec<State> = states.iter().filter_map(|s| side(s, true)).collect();
        let right: Vec<State> = states.iter().filter_map(|s| side(s, false)).collect();
        let mut out = self.block(then, left);
        out.extend(self.block(otherwise, right));
        if table.is_none() {
            out.iter_mut().for_each(|s| s.elected = before);
        }
        out
    }

    /// If the condition is `elect_one()`: which warps it elects from, all if `None`.
    fn elected(&mut self, cond: Value) -> Option<Option<Vec<bool>>> {
        match self.defs.get(&cond)? {
            Op::Elect => Some(None),
            Op::Binary(crate::ir::Binary::And, own, e)
                if matches!(self.defs.get(e), Some(Op::Elect)) =>
            {
                let own = self.eval.value(*own).filter(|s| s.known())?;
                Some(Some(own.table.chunks(32).map(|w| w[0] != 0).collect()))
            }
            _ => None,
        }
    }
}
