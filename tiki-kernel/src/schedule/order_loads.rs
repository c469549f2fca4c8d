//! Loads before uses: memory takes hundreds of cycles, and what is issued early overlaps.
//!
//! A *stretch* is a run of statements of one block without control flow, writes, barriers, atomics or
//! reductions. Within it, loads and whatever they need come first, in their own order; the rest follows
//! in its own order. Only pure statements change places, so no result changes.

use crate::ir::visit::{blocks_mut, operands};
use crate::ir::{Block, Kernel, Op, StmtKind, Value};
use std::collections::BTreeSet;

/// Reorders all blocks.
pub fn run(kernel: &mut Kernel) {
    let mut body = std::mem::take(&mut kernel.body);
    block(&mut body);
    kernel.body = body;
}

fn block(stmts: &mut Block) {
    for stmt in stmts.iter_mut() {
        for inner in blocks_mut(&mut stmt.kind) {
            block(inner);
        }
    }
    let mut start = 0;
    while start < stmts.len() {
        let len = stmts[start..]
            .iter()
            .take_while(|s| movable(&s.kind))
            .count();
        stretch(&mut stmts[start..start + len]);
        start += len + 1;
    }
}

fn movable(kind: &StmtKind) -> bool {
    match kind {
        StmtKind::Let(_, Op::Written(fragment, _)) => {
            fragment.is_pure() && !fragment.is_convergent()
        }
        StmtKind::Let(_, op) => !matches!(
            op,
            Op::Atom { .. }
                | Op::LoadElement { .. }
                | Op::Reduce(_)
                | Op::Scan(_)
                | Op::Shuffle { .. }
                | Op::Vote(..)
                | Op::Match(_)
                | Op::Redux(..)
                | Op::Exchange(_)
                | Op::Special(crate::ir::Special::ActiveMask)
        ),
        _ => false,
    }
}

fn stretch(stmts: &mut [crate::ir::Stmt]) {
    let mut needed: BTreeSet<Value> = BTreeSet::new();
    let mut first = vec![false; stmts.len()];
    for (i, stmt) in stmts.iter().enumerate().rev() {
        if let StmtKind::Let(v, op) = &stmt.kind {
            let load = matches!(op, Op::Load { .. } | Op::LoadShared { .. });
            if load || needed.contains(v) {
                first[i] = true;
                needed.extend(operands(op));
            }
        }
    }
    let order: Vec<usize> = (0..stmts.len())
        .filter(|&i| first[i])
        .chain((0..stmts.len()).filter(|&i| !first[i]))
        .collect();
    let sorted: Vec<_> = order.iter().map(|&i| stmts[i].clone()).collect();
    stmts.clone_from_slice(&sorted);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::ir::build::Builder;
    use crate::ir::{
        Access, Binary, Cache, Dist, Edge, GlobalView, Mode, Special, Unary, ViewAxis,
    };
    use crate::target::Target;

    #[test]
    fn both_loads_come_before_the_first_use() {
        let mut b = Builder::new("k", Target::default_target(), 32);
        let x = b.tensor("x", DType::F32, 1, false);
        let dist = Dist {
            threads: vec![Mode::along(0, 32, 1)],
            values: vec![],
        };
        let origin = b.special(Special::Block(0));
        let fill = b.float(DType::F32, 0.0);
        let load = |origin| Op::Load {
            view: GlobalView {
                window: None,
                param: x,
                fixed: vec![],
                axes: vec![ViewAxis {
                    axis: 0,
                    extent: 32,
                    origin,
                    whole: false,
                }],
            },
            fill,
            access: Access {
                vector: 1,
                edge: Edge::Whole,
                cache: Cache::Default,
            },
        };
        let first = b.tile(DType::F32, &[32], &dist, load(origin));
        let s = b.scalar(DType::F32, Op::Raw(first, 0));
        let use_ = b.unary(Unary::Neg, s);
        let one = b.int(DType::U32, 1);
        let next = b.binary(Binary::Add, origin, one);
        let second = b.tile(DType::F32, &[32], &dist, load(next));
        let mut k = b.finish();
        run(&mut k);
        let place = |v: Value| {
            k.body
                .iter()
                .position(|s| matches!(&s.kind, StmtKind::Let(w, _) if *w == v))
                .unwrap()
        };
        assert!(place(second) < place(s) && place(s) < place(use_));
        assert!(place(next) < place(second));
    }
}
