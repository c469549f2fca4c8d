//! Maps computed where they are used: a chain load, cast, map, reduce or store then runs element by
//! element, and between the links a thread holds one element, not all.
//!
//! A map (or splat) is deferred to its user if
//!
//! 1. the user is one later statement of the same block that goes through the elements in order (a
//!    map, a reduction, a store, an assignment), and
//! 2. between the two nothing long-lived happens (a reduction, a barrier, control flow), or holding its
//!    inputs that long takes no more registers than holding its result.
//!
//! A widening cast of a loaded tensor is deferred to all its users in the block: what stays live is the
//! loaded words, half as many registers, and a cast is one instruction.

use crate::ir::visit::{each, operands, reads};
use crate::ir::{Block, Kernel, Op, StmtKind, Type, Value};
use crate::report::Report;
use std::collections::{BTreeMap, BTreeSet};

/// The deferred values.
pub fn run(kernel: &Kernel, report: &mut Report) -> BTreeSet<Value> {
    let mut uses: BTreeMap<Value, u32> = BTreeMap::new();
    let mut loaded = BTreeSet::new();
    each(&kernel.body, &mut |stmt| {
        for v in reads(&stmt.kind) {
            *uses.entry(v).or_default() += 1;
        }
        if let StmtKind::Let(v, Op::Load { .. } | Op::LoadShared { .. }) = &stmt.kind {
            loaded.insert(*v);
        }
    });
    let mut pass = Pass {
        kernel,
        uses,
        loaded,
        leaves: BTreeMap::new(),
        report,
    };
    pass.block(&kernel.body);
    pass.leaves.into_keys().collect()
}

struct Pass<'a> {
    kernel: &'a Kernel,
    uses: BTreeMap<Value, u32>,
    loaded: BTreeSet<Value>,
    /// Per deferred value: the tensors that must be held until it is computed.
    leaves: BTreeMap<Value, BTreeSet<Value>>,
    report: &'a mut Report,
}

impl Pass<'_> {
    fn block(&mut self, stmts: &Block) {
        for stmt in stmts {
            for inner in crate::ir::visit::blocks(&stmt.kind) {
                self.block(inner);
            }
        }
        for (i, stmt) in stmts.iter().enumerate() {
            let StmtKind::Let(v, op) = &stmt.kind else {
                continue;
            };
            if !matches!(op, Op::Map(_) | Op::Splat(_)) || !self.movable(op) {
                continue;
            }
            let sites: Vec<usize> = (i + 1..stmts.len())
                .filter(|&j| reads(&stmts[j].kind).contains(v))
                .collect();
            let seen: u32 = sites
                .iter()
                .map(|&j| reads(&stmts[j].kind).iter().filter(|r| *r == v).count() as u32)
                .sum();
            let all = self.uses.get(v).copied().unwrap_or(0);
            if seen != all || sites.iter().any(|&j| !in_order(&stmts[j].kind, *v)) {
                continue;
            }
            let leaves = self.leaves_of(op);
            let again = all > 1 && self.widening(*v, op);
            if all != 1 && !again && !matches!(op, Op::Splat(_)) {
                continue;
            }
            let quiet = sites
                .last()
                .is_none_or(|&last| stmts[i + 1..last].iter().all(|s| quiet(&s.kind)));
            let dying: u32 = leaves
                .iter()
                .filter(|l| {
                    !stmts[i + 1..]
                        .iter()
                        .any(|s| self.reads_later(&s.kind, **l, *v))
                })
                .map(|l| self.registers(*l))
                .sum();
            if again || quiet || dying <= self.registers(*v) {
                let name = &self.kernel.values[v.0 as usize].name;
                let what = if again {
                    "at each use, from the loaded words"
                } else {
                    "in its user, element by element"
                };
                if matches!(op, Op::Map(_)) {
                    self.report
                        .add("fused map", stmt.span, name, format!("computed {what}"));
                }
                self.leaves.insert(*v, leaves);
            }
        }
    }

    /// Nothing in it depends on when it is computed.
    fn movable(&self, op: &Op) -> bool {
        let Op::Map(map) = op else { return true };
        let mut set = BTreeSet::new();
        let mut pure = true;
        each(&map.region.body, &mut |s| match &s.kind {
            StmtKind::Set(v, _) => {
                set.insert(*v);
            }
            StmtKind::Let(_, Op::Get(v)) => pure &= set.contains(v),
            _ => {}
        });
        pure
    }

    fn widening(&self, v: Value, op: &Op) -> bool {
        let Op::Map(map) = op else { return false };
        let [input] = map.inputs.as_slice() else {
            return false;
        };
        let wide = self.kernel.values[v.0 as usize].ty.dtype().bytes();
        let cast = matches!(map.region.body.as_slice(), [s] if matches!(s.kind, StmtKind::Let(_, Op::Cast(..))));
        cast && wide == 4
            && self.loaded.contains(&input.value)
            && self.kernel.values[input.value.0 as usize]
                .ty
                .dtype()
                .bytes()
                == 2
    }

    fn leaves_of(&self, op: &Op) -> BTreeSet<Value> {
        let mut out = BTreeSet::new();
        for v in operands(op) {
            match self.leaves.get(&v) {
                Some(inner) => out.extend(inner),
                None if self.kernel.values[v.0 as usize].ty.tensor().is_some() => {
                    out.insert(v);
                }
                None => {}
            }
        }
        out
    }

    /// Whether the statement holds `leaf` for its own sake, not through `except`.
    fn reads_later(&self, kind: &StmtKind, leaf: Value, except: Value) -> bool {
        let mut found = false;
        let mut look = |k: &StmtKind| {
            for v in reads(k) {
                let through = self.leaves.get(&v).is_some_and(|l| l.contains(&leaf));
                found |= v != except && (v == leaf || through);
            }
        };
        look(kind);
        for inner in crate::ir::visit::blocks(kind) {
            each(inner, &mut |s| look(&s.kind));
        }
        found
    }

    fn registers(&self, v: Value) -> u32 {
        match &self.kernel.values[v.0 as usize].ty {
            Type::Scalar(_) => 1,
            Type::Tensor(t) => {
                let n = t.dist.len() as u32;
                match t.dtype.bytes() {
                    8 => 2 * n,
                    1 | 2 if self.loaded.contains(&v) => (n * t.dtype.bytes()).div_ceil(4),
                    _ => n,
                }
            }
        }
    }
}

/// Users that go through the elements one after the other.
fn in_order(kind: &StmtKind, v: Value) -> bool {
    match kind {
        // A vector's element would be computed again for each element of the tensor.
        StmtKind::Let(_, Op::Map(map)) => map
            .inputs
            .iter()
            .all(|i| i.value != v || i.missing_axis.is_none()),
        StmtKind::Let(_, Op::Reduce(_)) | StmtKind::Set(..) => true,
        // Of two tensors, the second is read after the first.
        StmtKind::Let(_, Op::Scan(s)) => s.factor.is_none(),
        StmtKind::Store { .. } | StmtKind::StoreShared { .. } => true,
        _ => false,
    }
}

fn quiet(kind: &StmtKind) -> bool {
    match kind {
        StmtKind::Let(_, Op::Written(fragment, _)) => fragment.is_pure(),
        StmtKind::Let(_, op) => !matches!(op, Op::Reduce(_) | Op::Scan(_) | Op::Atom { .. }),
        StmtKind::Set(..) | StmtKind::Store { .. } | StmtKind::StoreShared { .. } => true,
        _ => false,
    }
}
