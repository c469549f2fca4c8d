//! A register tensor read from a variable is the variable itself as long as nobody writes it: an
//! accumulator of 128 registers is not copied to be stored.
//!
//! The read of a variable may stay a view of it if, up to the last statement that uses the read (itself, a
//! map of it that is computed where it is used, or a tile picked from it), nothing assigns the variable and
//! no product sums into it. The last statement may assign it if it goes element by element: then each
//! element is read before it is written.

use crate::ir::visit::{blocks, each, operands, reads};
use crate::ir::{Async, Block, Kernel, Op, Stmt, StmtKind, Value, Var};
use std::collections::BTreeSet;

/// The reads that are views.
pub fn run(kernel: &Kernel, deferred: &BTreeSet<Value>) -> BTreeSet<Value> {
    let mut found = BTreeSet::new();
    block(kernel, &kernel.body, deferred, &mut found);
    found
}

fn block(kernel: &Kernel, stmts: &Block, deferred: &BTreeSet<Value>, found: &mut BTreeSet<Value>) {
    for (i, stmt) in stmts.iter().enumerate() {
        for inner in blocks(&stmt.kind) {
            block(kernel, inner, deferred, found);
        }
        if let StmtKind::Let(v, Op::Get(var)) = &stmt.kind
            && kernel.values[v.0 as usize].ty.tensor().is_some()
            && stays(&stmts[i + 1..], *v, *var, deferred)
        {
            found.insert(*v);
        }
    }
}

fn stays(after: &[Stmt], v: Value, var: Var, deferred: &BTreeSet<Value>) -> bool {
    // What still reads the variable's registers; of these, what reads element i for its own element i.
    let (mut holders, mut in_place) = (BTreeSet::from([v]), BTreeSet::from([v]));
    let mut last = None;
    for (j, stmt) in after.iter().enumerate() {
        let mut uses = false;
        let mut look = |kind: &StmtKind| {
            uses |= reads(kind).iter().any(|r| holders.contains(r));
            let StmtKind::Let(x, op) = kind else { return };
            let here = operands(op).iter().any(|r| holders.contains(r));
            let later = matches!(op, Op::Pick(..) | Op::Exchange(_)) || deferred.contains(x);
            if here && later {
                holders.insert(*x);
                let own = |map: &crate::ir::Map| {
                    let held = map.inputs.iter().filter(|i| holders.contains(&i.value));
                    let mut held = held.peekable();
                    held.peek().is_some()
                        && held.all(|i| i.missing_axis.is_none() && in_place.contains(&i.value))
                };
                if matches!(op, Op::Map(map) if own(map)) {
                    in_place.insert(*x);
                }
            }
        };
        look(&stmt.kind);
        for inner in blocks(&stmt.kind) {
            each(inner, &mut |s| look(&s.kind));
        }
        if uses {
            last = Some(j);
        }
    }
    let Some(last) = last else { return true };
    let writes = |stmt: &Stmt| {
        let mut found = writes(&stmt.kind, var);
        for inner in blocks(&stmt.kind) {
            each(inner, &mut |s| found |= writes(&s.kind, var));
        }
        found
    };
    let updates =
        matches!(&after[last].kind, StmtKind::Set(to, x) if *to == var && in_place.contains(x));
    let end = last + usize::from(!updates);
    !after[..end].iter().any(writes)
}

fn writes(kind: &StmtKind, var: Var) -> bool {
    match kind {
        StmtKind::Set(to, _) => *to == var,
        StmtKind::Async(Async::Mma(mma)) => mma.acc == var,
        _ => false,
    }
}
