//! What is known along one path: stages held, products and tensor copies under way, tiles not yet fenced.

use crate::ast::Span;
use crate::ir::asynchronous::{Async, TensorCopyKind, Transaction};
use crate::ir::{Kernel, SharedView, StmtKind, Value, Var, visit};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A pipeline over transaction barriers.
#[derive(Debug, Clone)]
pub(super) struct Ring {
    pub full: usize,
    pub empty: usize,
    /// Tiles that its copies fill.
    pub tiles: BTreeSet<usize>,
    /// Arrivals that free a stage.
    pub arrivals: u32,
    /// Released across the cluster.
    pub clustered: bool,
    /// Something acquires its stages.
    pub filled: bool,
    pub waited_in_a_loop: bool,
    pub span: Span,
}

/// The pipelines of a kernel: two allocations of barriers that were made together.
pub(super) fn rings(kernel: &Kernel) -> Vec<Ring> {
    let mut rings = Vec::new();
    for (i, pair) in kernel.shared.windows(2).enumerate() {
        let barriers = pair
            .iter()
            .all(|s| s.detail.ends_with("barriers x 8 bytes"));
        if barriers && pair[0].name == "full" && pair[1].name == "empty" {
            rings.push(Ring {
                full: i,
                empty: i + 1,
                tiles: BTreeSet::new(),
                arrivals: 0,
                clustered: false,
                filled: false,
                waited_in_a_loop: false,
                span: pair[0].span,
            });
        }
    }
    visit::each(&kernel.body, &mut |s| {
        let StmtKind::Async(a) = &s.kind else { return };
        match a {
            Async::TensorCopy(t) if t.kind == TensorCopyKind::Load => {
                let at = t.barrier.as_ref().map(|b| b.alloc);
                for r in rings.iter_mut().filter(|r| Some(r.full) == at) {
                    r.tiles.insert(t.shared.alloc);
                }
            }
            Async::Transaction { barrier, op } => {
                for r in &mut rings {
                    match op {
                        Transaction::Init(n) if r.empty == barrier.alloc => r.arrivals = *n,
                        Transaction::ArriveAt(_) if r.empty == barrier.alloc => r.clustered = true,
                        Transaction::ArriveExpect(_) if r.full == barrier.alloc => r.filled = true,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    });
    visit::each(&kernel.body, &mut |s| {
        let bodies: Vec<_> = match &s.kind {
            StmtKind::For { body, .. } => vec![body],
            StmtKind::While { head, body, .. } => vec![head, body],
            _ => return,
        };
        for body in bodies {
            visit::each(body, &mut |s| {
                if let StmtKind::Async(Async::Transaction {
                    barrier,
                    op: Transaction::Wait(_),
                }) = &s.kind
                {
                    for r in rings.iter_mut().filter(|r| r.full == barrier.alloc) {
                        r.waited_in_a_loop = true;
                    }
                }
            });
        }
    });
    rings
}

/// A stage that an `acquire` or a `wait` gave.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub ring: usize,
    /// By `acquire`.
    pub fills: bool,
    pub span: Span,
    pub released: Option<Span>,
    /// Bytes that complete it, and the copies into it with theirs; all are to this block alone.
    pub expected: Option<u32>,
    pub copies: Vec<(Span, u32)>,
    pub plain: bool,
}

impl Held {
    pub fn new(ring: usize, fills: bool, span: Span) -> Held {
        Held {
            ring,
            fills,
            span,
            released: None,
            expected: None,
            copies: Vec::new(),
            plain: true,
        }
    }
}

/// A part of a shared allocation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Region {
    alloc: usize,
    dynamic: Vec<(Value, i64)>,
    first: i64,
    last: i64,
}

impl Region {
    pub fn of(view: &SharedView) -> Region {
        let shape = view.shape();
        let zero = vec![0; shape.len()];
        let end: Vec<u32> = shape.iter().map(|n| n.saturating_sub(1)).collect();
        let (a, b) = (view.linear(&zero), view.linear(&end));
        Region {
            alloc: view.alloc,
            dynamic: view.dynamic.clone(),
            first: a.min(b),
            last: a.max(b),
        }
    }
    /// Whether two share elements: `None` if not, else whether that is sure.
    pub fn meets(&self, other: &Region) -> Option<bool> {
        if self.alloc != other.alloc {
            return None;
        }
        let apart = self.last < other.first || other.last < self.first;
        match (self.dynamic == other.dynamic, apart) {
            (true, true) => None,
            (true, false) => Some(true),
            (false, _) => Some(false),
        }
    }
}

/// Which of a path's threads are here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Elected {
    All,
    /// So many, one a warp or a warpgroup.
    Threads(u32),
    /// Not known.
    Some,
}

/// One path.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub threads: Vec<bool>,
    pub elected: Elected,
    /// No loop was skipped and no run-time branch taken on the way.
    pub sure: bool,
    /// All stages so far; values and variables name them.
    pub held: Vec<Held>,
    pub values: HashMap<Value, usize>,
    pub vars: HashMap<Var, usize>,
    /// Groups of products under way, oldest first: the stages they read.
    pub groups: Vec<Vec<usize>>,
    /// Tensor stores: of the open group, and of those under way.
    pub open: Vec<(Region, Span)>,
    pub stores: Vec<Vec<(Region, Span)>>,
    /// Allocations written and not fenced; and fenced with no barrier since.
    pub unfenced: BTreeMap<usize, Span>,
    pub apart: BTreeMap<usize, Span>,
}

impl State {
    pub fn new(threads: u32) -> State {
        State {
            threads: vec![true; threads as usize],
            elected: Elected::All,
            sure: true,
            held: Vec::new(),
            values: HashMap::new(),
            vars: HashMap::new(),
            groups: Vec::new(),
            open: Vec::new(),
            stores: Vec::new(),
            unfenced: BTreeMap::new(),
            apart: BTreeMap::new(),
        }
    }
    pub fn bind(&mut self, v: Value, held: Option<usize>) {
        match held {
            Some(h) => self.values.insert(v, h),
            None => self.values.remove(&v),
        };
    }
    /// Warps with threads here.
    pub fn warps(&self) -> Vec<u32> {
        let on = |w: &(usize, &[bool])| w.1.contains(&true);
        let warps = self.threads.chunks(32).enumerate().filter(on);
        warps.map(|(i, _)| i as u32).collect()
    }
    /// Threads here, if that is known.
    pub fn count(&self) -> Option<u32> {
        match self.elected {
            Elected::All => Some(self.threads.iter().filter(|on| **on).count() as u32),
            Elected::Threads(n) => Some(n),
            Elected::Some => None,
        }
    }
}
