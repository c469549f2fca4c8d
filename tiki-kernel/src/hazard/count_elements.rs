//! Wavefronts of single elements of shared memory (`get`, `set`), where their coordinates can be followed.
//!
//! A part of the address that all threads share only turns the banks, and changes no count, if it is a multiple of
//! a bank's word and of the span in which the swizzle mixes. Elsewhere, and where a coordinate comes from memory or
//! a condition that cannot be followed decides who is here, a request with conflicts is not counted.

use super::count_traffic::{Cost, Count, priced};
use super::evaluate::Evaluator;
use crate::ast::Span;
use crate::ir::{Block, Op, Place, SharedView, StmtKind};
use tiki_layout::banks::{SharedAccess, WORD_BYTES};

/// Counts every element's access.
pub(super) fn run(count: &mut Count<'_, '_>) {
    let kernel = count.kernel;
    let mut walk = Walk {
        eval: Evaluator::new(kernel),
        count,
    };
    let all = vec![true; kernel.threads as usize];
    walk.block(&kernel.body, &all, true);
}

struct Walk<'a, 'b, 'c> {
    count: &'b mut Count<'a, 'c>,
    eval: Evaluator<'a>,
}

impl<'a> Walk<'a, '_, '_> {
    fn block(&mut self, stmts: &'a Block, here: &[bool], exact: bool) {
        for stmt in stmts {
            match &stmt.kind {
                StmtKind::Let(
                    _,
                    Op::LoadElement {
                        place: Place::Shared(view),
                        ..
                    },
                ) => self.element(view, "load", stmt.span, here, exact),
                StmtKind::StoreSharedElement { view, .. } => {
                    self.element(view, "store", stmt.span, here, exact);
                }
                StmtKind::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    let sides = self.eval.sides(*cond, here);
                    for (side, on) in [then, otherwise].into_iter().zip(&sides.on) {
                        self.block(side, on, exact && sides.exact);
                    }
                }
                kind => {
                    for inner in crate::ir::visit::blocks(kind) {
                        self.block(inner, here, exact);
                    }
                }
            }
        }
    }

    fn element(&mut self, view: &SharedView, verb: &str, span: Span, here: &[bool], exact: bool) {
        let cost = self.cost(view, verb, here);
        // Fewer lanes never have more conflicts.
        let cost = cost.filter(|c| exact || c.taken <= c.least);
        let note = match cost {
            Some(_) => "one element a lane",
            None => "what the elements' coordinates are, or who comes here, is known when it runs",
        };
        self.count.tell(view, verb, span, cost, note.to_owned());
    }

    /// The most expensive warp; `None` if an address cannot be followed.
    fn cost(&mut self, view: &SharedView, verb: &str, here: &[bool]) -> Option<Cost> {
        let bytes = i64::from(self.count.kernel.shared[view.alloc].dtype.bytes());
        let mixed = view.swizzle.filter(|x| x.bits > 0);
        let span = mixed.map_or(1, |x| 1_i64 << (x.bits + x.base + x.shift.unsigned_abs()));
        let unit = (span * bytes).max(WORD_BYTES);
        let mut at = vec![view.linear(&[]); here.len()];
        for (value, step) in &view.dynamic {
            let sum = self.eval.value(*value)?;
            let turns = |n: &i64| n * step * bytes % unit == 0;
            if !sum.symbols.values().all(turns) {
                return None;
            }
            for (at, own) in at.iter_mut().zip(&sum.table) {
                *at += own * step;
            }
        }
        // What the symbols add makes every address positive: a multiple of the unit stands for it.
        let below = at.iter().map(|at| -at * bytes).max().unwrap_or(0).max(0);
        let up = (below + unit - 1) / unit * unit / bytes;
        let address = |at: i64| mixed.map_or(at + up, |x| x.apply(at + up)) * bytes;
        let lanes: Vec<Option<i64>> = at
            .iter()
            .zip(here)
            .map(|(at, on)| on.then(|| address(*at)))
            .collect();
        let mut worst = Cost::default();
        for warp in lanes.chunks(32) {
            let warp = warp.iter().copied();
            let c = priced(match verb {
                "store" => SharedAccess::store(bytes, warp),
                _ => SharedAccess::load(bytes, warp),
            })?;
            if c.taken.saturating_sub(c.least) >= worst.taken.saturating_sub(worst.least) {
                worst = c;
            }
        }
        Some(worst)
    }
}
