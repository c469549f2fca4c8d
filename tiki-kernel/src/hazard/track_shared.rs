//! Shared memory in program order: races and undefined reads.
//!
//! The walk keeps the accesses since the last barrier of the block. A new access is compared with each
//! that writes where it reads or writes: both are enumerated over threads and values, and two different
//! threads at one element are a race. Loops are walked twice, so that the end of one round meets the
//! start of the next.
//!
//! A copy that a thread has started (`CopyTile`) writes until the thread has waited for its group; until
//! then no barrier ends it, and even the thread itself must not look. Products of warps read their
//! operands as if every thread read every element. What the accelerator and warpgroups do in flight is
//! held against reads of what nobody writes only; the rest of it is listed as unproven.
//!
//! What another block of the cluster reads is held against what is written since the cluster last met, by whichever
//! thread: blocks run the same text, so what one reads there is what its own text writes here ([`super::meet_peers`]).
//!
//! Run-time offsets that both accesses share cancel; where they differ, or a condition cannot be
//! followed, the answer is unproven.

use super::cells::{self, Cells, Moves};
use super::conflict::{Found, conflict, verb};
use super::evaluate::{Evaluator, Symbol};
use super::offsets::Offsets;
use super::{Unproven, first_holder};
use crate::ast::Span;
use crate::diag::{Diag, Sink, codes};
use crate::ir::asynchronous::{Async, Operand, TensorCopyKind};
use crate::ir::{
    Barrier, Block, Coordinates, Dist, Kernel, Op, Place, SharedView, StmtKind, Uniform, Value,
    Var, visit,
};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Tracks all shared memory.
/// Of allocations that are followed elsewhere, what is asynchronous is not looked at here.
pub fn run(kernel: &Kernel, followed: &BTreeSet<usize>, sink: &mut Sink, unproven: &mut Unproven) {
    let threads = kernel.threads as usize;
    let mut walk = Walk {
        kernel,
        followed,
        sink,
        unproven,
        eval: Evaluator::new(kernel),
        pending: Vec::new(),
        across: Vec::new(),
        written: vec![Written::default(); kernel.shared.len()],
        groups: 0,
        beside: followed.clone(),
        made: cells::Made::default(),
    };
    let all = Active {
        threads: vec![true; threads],
        exact: true,
        uniform: true,
    };
    walk.block(&kernel.body, &all);
    walk.leave_peers();
}

/// Which threads are here.
#[derive(Clone)]
pub(super) struct Active {
    pub(super) threads: Vec<bool>,
    /// All of them surely are, or none.
    pub(super) exact: bool,
    /// All threads of the block.
    pub(super) uniform: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    Atomic,
}

#[derive(Clone)]
pub(super) struct Access {
    pub(super) alloc: usize,
    pub(super) span: Span,
    pub(super) kind: Kind,
    /// Thread and element offset; `None` if it cannot be followed.
    pub(super) cells: Option<Rc<Cells>>,
    pub(super) symbols: BTreeMap<Symbol, i64>,
    pub(super) swizzle: (u32, u32, i32),
    pub(super) exact: bool,
    /// The lanes of a warp have met since.
    pub(super) warp_met: bool,
    /// Some threads have met since, at a named barrier.
    pub(super) some_met: bool,
    /// A copy under way: the thread's how-manieth group it belongs to.
    pub(super) group: Option<u32>,
    /// In another block of the cluster.
    pub(super) peer: bool,
}

/// What is written of an allocation.
#[derive(Clone, Default)]
pub(super) struct Written {
    pub(super) may: Offsets,
    pub(super) must: Offsets,
    /// Something is written at offsets that are not known.
    pub(super) somewhere: bool,
    /// Its storage went to another allocation: where, and which.
    pub(super) ended: Option<(Span, usize)>,
}

pub(super) struct Walk<'a, 'b> {
    pub(super) kernel: &'a Kernel,
    pub(super) followed: &'b BTreeSet<usize>,
    pub(super) sink: &'b mut Sink,
    pub(super) unproven: &'b mut Unproven,
    pub(super) eval: Evaluator<'a>,
    pub(super) pending: Vec<Access>,
    /// Accesses since the cluster last met, where blocks read one another's memory.
    pub(super) across: Vec<Access>,
    pub(super) written: Vec<Written>,
    /// Groups of copies that the threads have closed.
    pub(super) groups: u32,
    /// Allocations that the accelerator or warpgroups read or write beside the threads.
    pub(super) beside: BTreeSet<usize>,
    made: cells::Made<'a>,
}

impl<'a> Walk<'a, '_> {
    fn block(&mut self, stmts: &'a Block, here: &Active) {
        for stmt in stmts {
            self.stmt(&stmt.kind, stmt.span, here);
        }
    }

    fn stmt(&mut self, kind: &'a StmtKind, span: Span, here: &Active) {
        if let Some(fragment) = visit::written(kind) {
            self.fragment(fragment, span, here);
        }
        match kind {
            StmtKind::Let(v, Op::Get(var)) => self.eval.read(*v, *var),
            StmtKind::Let(v, Op::LoadShared { view, .. }) => {
                let a = self.tile(view, *v, Kind::Read, span, here);
                self.meet(a, here);
            }
            StmtKind::Let(
                _,
                Op::LoadElement {
                    place: Place::Shared(view),
                    ..
                },
            ) => {
                let a = self.element(view, Kind::Read, span, here);
                self.meet(a, here);
            }
            StmtKind::Let(
                _,
                Op::Atom {
                    place: Place::Shared(view),
                    ..
                },
            )
            | StmtKind::Red {
                place: Place::Shared(view),
                ..
            } => {
                let a = self.element(view, Kind::Atomic, span, here);
                self.meet(a, here);
            }
            StmtKind::StoreShared { view, value, .. } => {
                let a = self.tile(view, *value, Kind::Write, span, here);
                self.meet(a, here);
            }
            StmtKind::StoreSharedElement { view, .. } => {
                let a = self.element(view, Kind::Write, span, here);
                self.meet(a, here);
            }
            StmtKind::Set(var, _) => self.eval.assign(*var),
            StmtKind::Barrier(Barrier::Block) => self.pending.retain(|a| a.group.is_some()),
            StmtKind::Async(Async::ClusterBarrier) => self.meet_cluster(here),
            StmtKind::Return => self.leave_peers(),
            StmtKind::Async(a) => self.asynchronous(a, span, here),
            StmtKind::Barrier(Barrier::Warp) => {
                self.pending.iter_mut().for_each(|a| a.warp_met = true)
            }
            StmtKind::Barrier(Barrier::Named {
                threads, arrive, ..
            }) => {
                if *threads == self.kernel.threads && !arrive {
                    self.pending.retain(|a| a.group.is_some());
                } else {
                    self.pending.iter_mut().for_each(|a| a.some_met = true);
                }
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => self.branch(*cond, then, otherwise, here),
            StmtKind::For {
                index,
                lo,
                hi,
                body,
                ..
            } => {
                let (lo, hi) = (self.eval.value(*lo), self.eval.value(*hi));
                let runs = match (lo.and_then(|l| l.constant()), hi.and_then(|h| h.constant())) {
                    (Some(l), Some(h)) => l < h,
                    _ => false,
                };
                self.around(Some(*index), &[body], runs, here);
            }
            StmtKind::While { head, body, .. } => self.around(None, &[head, body], false, here),
            StmtKind::Once(body) => {
                let certain = !visit::leaves(body, 0);
                let inside = Active {
                    exact: here.exact && certain,
                    uniform: here.uniform && certain,
                    ..here.clone()
                };
                self.block(body, &inside);
                self.set_in(body);
            }
            _ => {}
        }
    }

    fn branch(&mut self, cond: Value, then: &'a Block, otherwise: &'a Block, here: &Active) {
        let same = self.kernel.values[cond.0 as usize].uniform == Uniform::Block;
        let table = self.eval.value(cond).filter(|s| s.known());
        let side = |wanted: bool| match &table {
            Some(s) => Active {
                threads: here
                    .threads
                    .iter()
                    .zip(&s.table)
                    .map(|(on, c)| *on && (*c != 0) == wanted)
                    .collect(),
                exact: here.exact,
                uniform: here.uniform && s.same(),
            },
            None => Active {
                threads: here.threads.clone(),
                exact: here.exact && same,
                uniform: here.uniform && same,
            },
        };
        let both = table.is_some();
        let (before, base) = (self.pending.clone(), self.written.clone());
        let across = self.across.clone();
        self.block(then, &side(true));
        let after = self.written.clone();
        let (mut rest, mut beyond) = (Vec::new(), Vec::new());
        if same && !both {
            // Only one side runs.
            rest = std::mem::replace(&mut self.pending, before);
            beyond = std::mem::replace(&mut self.across, across);
        }
        if !both {
            for (w, b) in self.written.iter_mut().zip(base) {
                w.must = b.must;
            }
        }
        self.block(otherwise, &side(false));
        self.pending.extend(rest);
        self.across.extend(beyond);
        if !both {
            for (w, a) in self.written.iter_mut().zip(after) {
                w.must.keep(&a.must);
            }
        }
        self.set_in(then);
        self.set_in(otherwise);
    }

    /// Variables assigned on one side of a branch differ from both versions after it.
    fn set_in(&mut self, stmts: &'a Block) {
        let mut vars: BTreeSet<Var> = BTreeSet::new();
        visit::each(stmts, &mut |s| {
            if let StmtKind::Set(v, _) = &s.kind {
                vars.insert(*v);
            }
        });
        vars.into_iter().for_each(|v| self.eval.assign(v));
    }

    fn around(&mut self, index: Option<Value>, bodies: &[&'a Block], runs: bool, here: &Active) {
        let (before, across) = (self.written.clone(), self.across.clone());
        for round in 0..2 {
            for body in bodies {
                if round > 0 {
                    self.eval.again(index, body);
                } else {
                    self.set_in(body);
                }
                self.block(body, here);
            }
        }
        if !runs {
            for (w, b) in self.written.iter_mut().zip(before) {
                w.must = b.must;
            }
            self.keep_across(across);
        }
        for body in bodies {
            self.set_in(body);
        }
    }

    fn asynchronous(&mut self, a: &'a Async, span: Span, here: &Active) {
        match a {
            Async::CopyTile { into, dist, .. } => {
                let mut copy = self.dealt(into, &into.shape(), dist, Kind::Write, span, here);
                copy.group = Some(self.groups);
                self.meet(copy, here);
            }
            Async::CommitCopies => self.groups += 1,
            Async::WaitCopies(newest) => {
                let done = self.groups.saturating_sub(*newest);
                for p in self.pending.iter_mut().chain(&mut self.across) {
                    if p.group.is_some_and(|g| g < done) {
                        p.group = None;
                    }
                }
            }
            Async::Mma(m) => {
                let left = match &m.a {
                    Operand::Shared(view) => Some(view),
                    Operand::Register(_) => None,
                };
                for view in left.into_iter().chain([&m.b]) {
                    let read = self.everything(view, Kind::Read, span, here);
                    if m.kind.by_warps() {
                        self.meet(read, here);
                    } else {
                        self.beside.insert(view.alloc);
                        let name = self.kernel.shared[view.alloc].name.clone();
                        self.define(&read, &name);
                        self.open(view.alloc, span, format!("whether the stage of `{name}` that this product reads is held until it is done"));
                    }
                }
            }
            Async::TensorCopy(t) => {
                let kind = if t.kind == TensorCopyKind::Load {
                    Kind::Write
                } else {
                    Kind::Read
                };
                let access = self.everything(&t.shared, kind, span, here);
                self.beside.insert(t.shared.alloc);
                let name = self.kernel.shared[t.shared.alloc].name.clone();
                self.define(&access, &name);
                self.open(
                    t.shared.alloc,
                    span,
                    format!(
                        "whether others use the stage of `{name}` while this copy is under way"
                    ),
                );
            }
            _ => {}
        }
    }

    /// What is not decided here, nor elsewhere.
    fn open(&mut self, alloc: usize, span: Span, text: String) {
        if !self.followed.contains(&alloc) {
            self.unproven.add(span, text);
        }
    }

    /// An access to all of a view: by the first and the last thread that are here, which stand for all.
    fn everything(
        &mut self,
        view: &'a SharedView,
        kind: Kind,
        span: Span,
        here: &Active,
    ) -> Access {
        let on = |t: &u32| here.threads.get(*t as usize) == Some(&true);
        let mut all = (0..self.kernel.threads).filter(on);
        // Nobody is here: nothing is touched.
        let Some(first) = all.next() else {
            return self.placed(view, Vec::new, kind, span, here);
        };
        let ends = [first, all.next_back().unwrap_or(first)];
        let cells = || {
            let offsets = cells::all_of(view).into_iter();
            offsets.flat_map(|at| ends.map(|t| (t, at))).collect()
        };
        self.placed(view, cells, kind, span, here)
    }

    /// A tile's access, by thread and value.
    fn tile(
        &mut self,
        view: &'a SharedView,
        v: Value,
        kind: Kind,
        span: Span,
        here: &Active,
    ) -> Access {
        match self.kernel.values[v.0 as usize].ty.tensor() {
            Some(t) => self.dealt(view, &t.shape, &t.dist, kind, span, here),
            None => self.placed(view, Vec::new, kind, span, here),
        }
    }

    /// An access of each thread to its part.
    fn dealt(
        &mut self,
        view: &'a SharedView,
        shape: &[u32],
        dist: &Dist,
        kind: Kind,
        span: Span,
        here: &Active,
    ) -> Access {
        let holds = |t: &usize| kind != Kind::Write || first_holder(dist, *t as u32);
        let active = |t: &usize| here.threads[*t] && holds(t);
        // A role's threads are dealt to from its first on.
        let count = dist.thread_count().max(1) as usize;
        let cells = || {
            let all = Coordinates::new(dist, shape.len());
            let threads = (0..here.threads.len()).filter(active);
            cells::dealt(view, shape, &all, threads.map(|t| (t, t % count)))
        };
        self.placed(view, cells, kind, span, here)
    }

    /// An element's access: each thread that is here.
    fn element(&mut self, view: &'a SharedView, kind: Kind, span: Span, here: &Active) -> Access {
        let threads = 0..self.kernel.threads;
        let cells = || {
            let active = threads.filter(|t| here.threads[*t as usize]);
            active.map(|t| (t, view.offset)).collect()
        };
        self.placed(view, cells, kind, span, here)
    }

    /// An access, whose cells are known but for the run-time offsets and the swizzle.
    fn placed(
        &mut self,
        view: &'a SharedView,
        cells: impl FnOnce() -> Vec<(u32, i64)>,
        kind: Kind,
        span: Span,
        here: &Active,
    ) -> Access {
        let mut symbols: BTreeMap<Symbol, i64> = BTreeMap::new();
        let mut moved = vec![0; here.threads.len()];
        let mut known = true;
        for (v, step) in &view.dynamic {
            match self.eval.value(*v) {
                Some(sum) => {
                    for (s, n) in &sum.symbols {
                        *symbols.entry(*s).or_default() += n * step;
                    }
                    // Threads that are not here may have any number.
                    for (moved, by) in moved.iter_mut().zip(&sum.table) {
                        *moved = by.wrapping_mul(*step).wrapping_add(*moved);
                    }
                }
                None => known = false,
            }
        }
        symbols.retain(|_, n| *n != 0);
        let (swizzle, whole) = (view.swizzle.filter(|x| x.bits > 0), symbols.is_empty());
        let cells = known.then(|| {
            let moves = Moves {
                threads: here.threads.clone(),
                by: moved,
                swizzle: swizzle.filter(|_| whole),
            };
            self.made.of(view, moves, cells)
        });
        Access {
            alloc: view.alloc,
            span,
            kind,
            cells,
            symbols,
            swizzle: swizzle
                .filter(|_| !whole)
                .map_or((0, 0, 0), |x| (x.bits, x.base, x.shift)),
            exact: here.exact,
            warp_met: false,
            some_met: false,
            group: None,
            peer: view.block.is_some(),
        }
    }

    pub(super) fn meet(&mut self, a: Access, here: &Active) {
        let name = self.kernel.shared[a.alloc].name.clone();
        if !self.inside(&a, &name) {
            // Where it wanted to write is not known: nothing more is said about what is read.
            self.written[a.alloc].somewhere = true;
            return;
        }
        if self.kernel.cluster > 1 {
            self.meet_peers(&a, &name);
            self.across.push(a.clone());
        }
        if a.peer {
            self.define(&a, &name);
            return;
        }
        for old in &self.pending {
            if old.alloc != a.alloc || old.kind == Kind::Read && a.kind == Kind::Read {
                continue;
            }
            if old.kind == Kind::Atomic && a.kind == Kind::Atomic {
                continue;
            }
            let found = conflict(old, &a);
            match found {
                Found::None => {}
                Found::Threads(x, y) if old.exact && a.exact && !old.some_met => {
                    let flies = old.group.is_some();
                    let why = if flies {
                        "while a copy into it may still be under way".to_string()
                    } else {
                        format!("with no barrier since it was {} by other threads", verb(old.kind))
                    };
                    let mut diag = Diag::error(
                        codes::RACE,
                        a.span,
                        format!("`{name}` is {} here {why}", verb(a.kind)),
                    )
                    .label(format!("thread {y} comes to an element that thread {x} has {}", verb(old.kind)))
                    .also(old.span, format!("{} here", verb(old.kind)));
                    if flies {
                        diag = diag.help("wait for the copy's group, then for the block, before it");
                    } else if here.uniform {
                        diag = diag.help("put `sync_block();` before this line");
                    }
                    self.sink.push(diag);
                }
                _ => self.unproven.add(
                    a.span,
                    format!("whether `{name}`, {} here, meets what other threads have {} without a barrier", verb(a.kind), verb(old.kind)),
                ),
            }
        }
        self.meet_lives(&a, &name);
        self.define(&a, &name);
        self.pending.push(a);
    }

    fn define(&mut self, a: &Access, name: &str) {
        if a.kind != Kind::Read {
            self.end_lives(a);
        }
        let w = &mut self.written[a.alloc];
        let cells = a.cells.as_ref().filter(|_| a.symbols.is_empty());
        if a.kind != Kind::Read {
            match cells {
                Some(cells) => {
                    w.may.add(cells.elements());
                    if a.exact {
                        w.must.add(cells.elements());
                    }
                }
                None => w.somewhere = true,
            }
            if a.kind == Kind::Write {
                return;
            }
        }
        let undefined = match cells {
            Some(cells) if !w.somewhere && !w.may.covers(cells.elements()) => {
                cells.iter().find(|c| !w.may.contains(c.1))
            }
            _ => None,
        };
        let nothing = w.may.is_empty() && !w.somewhere;
        if a.kind == Kind::Read && (undefined.is_some() || nothing) && a.exact {
            let mut diag = Diag::error(
                codes::UNDEFINED_READ,
                a.span,
                format!("`{name}` is read here where nothing has been written"),
            );
            if let Some((t, at)) = undefined {
                diag = diag.label(format!("thread {t} reads element {at}"));
                diag = diag.help(a.written_first());
            }
            if let Some((span, by)) = w.ended {
                let taken = &self.kernel.shared[by].name;
                diag = diag.also(span, format!("its storage is written as `{taken}` here"));
            }
            self.sink.push(diag);
        } else if a.kind == Kind::Read {
            let proven = cells.is_some_and(|cells| w.must.covers(cells.elements()));
            if !proven {
                self.unproven.add(
                    a.span,
                    format!("whether all that is read of `{name}` here has been written"),
                );
            }
        }
    }
}
