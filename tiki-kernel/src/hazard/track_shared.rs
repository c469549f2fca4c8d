//! Shared memory in program order: races and undefined reads.
//!
//! The walk keeps the accesses since the last barrier of the block. A new access is compared with each
//! that writes where it reads or writes: both are enumerated over threads and values, and two different
//! threads at one element are a race. Loops are walked twice, so that the end of one round meets the
//! start of the next.
//!
//! Run-time offsets that both accesses share cancel; where they differ, or a condition cannot be
//! followed, the answer is unproven.

use super::Unproven;
use super::evaluate::{Evaluator, Symbol};
use crate::ast::Span;
use crate::diag::{Diag, Sink, codes};
use crate::ir::{Barrier, Block, Kernel, Op, Place, SharedView, StmtKind, Uniform, Value, Var};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Tracks all shared memory.
pub fn run(kernel: &Kernel, sink: &mut Sink, unproven: &mut Unproven) {
    let threads = kernel.threads as usize;
    let mut walk = Walk {
        kernel,
        sink,
        unproven,
        eval: Evaluator::new(kernel),
        pending: Vec::new(),
        written: vec![Written::default(); kernel.shared.len()],
    };
    let all = Active {
        threads: vec![true; threads],
        exact: true,
        uniform: true,
    };
    walk.block(&kernel.body, &all);
}

/// Which threads are here.
#[derive(Clone)]
struct Active {
    threads: Vec<bool>,
    /// All of them surely are, or none.
    exact: bool,
    /// All threads of the block.
    uniform: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Atomic,
}

#[derive(Clone)]
struct Access {
    alloc: usize,
    span: Span,
    kind: Kind,
    /// Thread and element offset; `None` if it cannot be followed.
    cells: Option<Vec<(u32, i64)>>,
    symbols: BTreeMap<Symbol, i64>,
    swizzle: (u32, u32, i32),
    exact: bool,
    /// The lanes of a warp have met since.
    warp_met: bool,
    /// Some threads have met since, at a named barrier.
    some_met: bool,
}

/// What is written of an allocation.
#[derive(Clone, Default)]
struct Written {
    may: BTreeSet<i64>,
    must: BTreeSet<i64>,
    /// Something is written at offsets that are not known.
    somewhere: bool,
}

struct Walk<'a, 'b> {
    kernel: &'a Kernel,
    sink: &'b mut Sink,
    unproven: &'b mut Unproven,
    eval: Evaluator<'a>,
    pending: Vec<Access>,
    written: Vec<Written>,
}

impl<'a> Walk<'a, '_> {
    fn block(&mut self, stmts: &'a Block, here: &Active) {
        for stmt in stmts {
            self.stmt(&stmt.kind, stmt.span, here);
        }
    }

    fn stmt(&mut self, kind: &'a StmtKind, span: Span, here: &Active) {
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
            StmtKind::Barrier(Barrier::Block) => self.pending.clear(),
            StmtKind::Barrier(Barrier::Warp) => {
                self.pending.iter_mut().for_each(|a| a.warp_met = true)
            }
            StmtKind::Barrier(Barrier::Named {
                threads, arrive, ..
            }) => {
                if *threads == self.kernel.threads && !arrive {
                    self.pending.clear();
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
        self.block(then, &side(true));
        let after = self.written.clone();
        let mut rest = Vec::new();
        if same && !both {
            // Only one side runs.
            rest = std::mem::replace(&mut self.pending, before);
        }
        if !both {
            for (w, b) in self.written.iter_mut().zip(base) {
                w.must = b.must;
            }
        }
        self.block(otherwise, &side(false));
        self.pending.extend(rest);
        if !both {
            for (w, a) in self.written.iter_mut().zip(after) {
                w.must = w.must.intersection(&a.must).copied().collect();
            }
        }
        self.set_in(then);
        self.set_in(otherwise);
    }

    /// Variables assigned on one side of a branch differ from both versions after it.
    fn set_in(&mut self, stmts: &'a Block) {
        let mut vars: BTreeSet<Var> = BTreeSet::new();
        crate::ir::visit::each(stmts, &mut |s| {
            if let StmtKind::Set(v, _) = &s.kind {
                vars.insert(*v);
            }
        });
        vars.into_iter().for_each(|v| self.eval.assign(v));
    }

    fn around(&mut self, index: Option<Value>, bodies: &[&'a Block], runs: bool, here: &Active) {
        let before = self.written.clone();
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
        }
        for body in bodies {
            self.set_in(body);
        }
    }

    /// A tile's access, by thread and value.
    fn tile(
        &mut self,
        view: &SharedView,
        v: Value,
        kind: Kind,
        span: Span,
        here: &Active,
    ) -> Access {
        let t = self.kernel.values[v.0 as usize].ty.tensor().cloned();
        let mut cells = Vec::new();
        if let Some(t) = &t {
            let rank = t.shape.len();
            for thread in
                (0..t.dist.thread_count() as usize).filter(|i| here.threads.get(*i) == Some(&true))
            {
                if kind == Kind::Write && !first_holder(&t.dist, thread as u32) {
                    continue;
                }
                for value in 0..t.dist.len() {
                    let at = t.dist.coordinate(thread, value, rank);
                    if at.iter().zip(&t.shape).all(|(c, s)| c < s) {
                        cells.push((thread as u32, view.linear(&at)));
                    }
                }
            }
        }
        self.placed(view, cells, kind, span, here)
    }

    /// An element's access: each thread that is here.
    fn element(&mut self, view: &SharedView, kind: Kind, span: Span, here: &Active) -> Access {
        let cells = (0..self.kernel.threads)
            .filter(|t| here.threads[*t as usize])
            .map(|t| (t, view.offset))
            .collect();
        self.placed(view, cells, kind, span, here)
    }

    fn placed(
        &mut self,
        view: &SharedView,
        mut cells: Vec<(u32, i64)>,
        kind: Kind,
        span: Span,
        here: &Active,
    ) -> Access {
        let mut symbols: BTreeMap<Symbol, i64> = BTreeMap::new();
        let mut known = true;
        for (v, step) in &view.dynamic {
            match self.eval.value(*v) {
                Some(sum) => {
                    for (s, n) in &sum.symbols {
                        *symbols.entry(*s).or_default() += n * step;
                    }
                    for (t, at) in &mut cells {
                        *at += sum.table[*t as usize] * step;
                    }
                }
                None => known = false,
            }
        }
        symbols.retain(|_, n| *n != 0);
        let mut swizzle = (0, 0, 0);
        if let Some(x) = view.swizzle.filter(|x| x.bits > 0) {
            if symbols.is_empty() {
                cells.iter_mut().for_each(|(_, at)| *at = x.apply(*at));
            } else {
                swizzle = (x.bits, x.base, x.shift);
            }
        }
        Access {
            alloc: view.alloc,
            span,
            kind,
            cells: known.then_some(cells),
            symbols,
            swizzle,
            exact: here.exact,
            warp_met: false,
            some_met: false,
        }
    }

    fn meet(&mut self, a: Access, here: &Active) {
        let name = self.kernel.shared[a.alloc].name.clone();
        for old in &self.pending {
            if old.alloc != a.alloc || old.kind == Kind::Read && a.kind == Kind::Read {
                continue;
            }
            if old.kind == Kind::Atomic && a.kind == Kind::Atomic {
                continue;
            }
            let found = conflict(old, &a);
            let verb = |k: Kind| match k {
                Kind::Read => "read",
                Kind::Write => "written",
                Kind::Atomic => "changed",
            };
            match found {
                Found::None => {}
                Found::Threads(x, y) if old.exact && a.exact && !old.some_met => {
                    let mut diag = Diag::error(
                        codes::RACE,
                        a.span,
                        format!("`{name}` is {} here with no barrier since other threads have it {}", verb(a.kind), verb(old.kind)),
                    )
                    .label(format!("thread {y} meets what thread {x} has {}", verb(old.kind)))
                    .also(old.span, format!("{} here", verb(old.kind)));
                    if here.uniform {
                        diag = diag.help("sync_block(); before it");
                    }
                    self.sink.push(diag);
                }
                _ => self.unproven.add(
                    a.span,
                    format!("whether `{name}`, {} here, meets what other threads have {} without a barrier", verb(a.kind), verb(old.kind)),
                ),
            }
        }
        self.define(&a, &name);
        self.pending.push(a);
    }

    fn define(&mut self, a: &Access, name: &str) {
        let w = &mut self.written[a.alloc];
        let cells = a.cells.as_ref().filter(|_| a.symbols.is_empty());
        if a.kind != Kind::Read {
            match cells {
                Some(cells) => {
                    w.may.extend(cells.iter().map(|c| c.1));
                    if a.exact {
                        w.must.extend(cells.iter().map(|c| c.1));
                    }
                }
                None => w.somewhere = true,
            }
            if a.kind == Kind::Write {
                return;
            }
        }
        let undefined = match cells {
            Some(cells) => cells
                .iter()
                .find(|c| !w.may.contains(&c.1))
                .filter(|_| !w.somewhere)
                .copied(),
            None => None,
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
            }
            self.sink.push(diag);
        } else if a.kind == Kind::Read {
            let proven = cells.is_some_and(|cells| cells.iter().all(|c| w.must.contains(&c.1)));
            if !proven {
                self.unproven.add(
                    a.span,
                    format!("whether all that is read of `{name}` here has been written"),
                );
            }
        }
    }
}

enum Found {
    None,
    Threads(u32, u32),
    Unknown,
}

fn conflict(old: &Access, new: &Access) -> Found {
    let (Some(a), Some(b)) = (&old.cells, &new.cells) else {
        return Found::Unknown;
    };
    if old.symbols != new.symbols || old.swizzle != new.swizzle {
        return Found::Unknown;
    }
    // With lanes in step, only threads of different warps can meet.
    let id = |t: u32| if old.warp_met { t / 32 } else { t };
    let mut first: HashMap<i64, (u32, u32)> = HashMap::new();
    for (t, at) in a {
        let e = first.entry(*at).or_insert((*t, *t));
        if id(*t) != id(e.0) {
            e.1 = *t;
        }
    }
    for (t, at) in b {
        if let Some((x, y)) = first.get(at) {
            if id(*x) != id(*t) {
                return Found::Threads(*x, *t);
            }
            if id(*y) != id(*t) {
                return Found::Threads(*y, *t);
            }
        }
    }
    Found::None
}

/// Whether a thread is the first of those that hold the same elements: only these store.
#[must_use]
pub fn first_holder(dist: &crate::ir::Dist, thread: u32) -> bool {
    let mut stride = 1;
    for m in &dist.threads {
        if m.axis.is_none() && !(thread / stride).is_multiple_of(m.extent) {
            return false;
        }
        stride *= m.extent;
    }
    true
}
