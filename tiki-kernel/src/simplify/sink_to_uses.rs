//! Order for pressure: a pure value that is computed long before its first use moves down to it, if
//! that does not keep its operands alive for longer than it lets the result die.
//!
//! Loads of global memory stay where they are: they are early on purpose. A load of shared memory moves past
//! pure values only: nothing writes, waits or meets between. What a warpgroup's product reads in registers stays
//! before the product's fence, which orders it.

use super::flow::{Defs, blocks};
use crate::isa::effects::Where;
use crate::isa::rows::{memory, wgmma};
use crate::isa::{Space, Ty};
use crate::ptx::liveness::{reads_and_writes, words};
use crate::ptx::{Function, Inst, Regs, Stmt};

/// Sinks; whether anything changed.
pub fn run(f: &mut Function) -> bool {
    let defs = Defs::of(f);
    let mut changed = false;
    for (first, last) in blocks(f).ranges {
        let Some(body) = f.body.as_mut() else {
            return changed;
        };
        let mut facts: Vec<Fact> = body[first..last].iter().map(Fact::of).collect();
        // Of several, the later first: what it needs can then follow it.
        for at in (0..last - first).rev() {
            let Some(to) = goal(&facts, &f.regs, &defs, &body[first + at], at) else {
                continue;
            };
            body[first + at..first + to].rotate_left(1);
            facts[at..to].rotate_left(1);
            changed = true;
        }
    }
    changed
}

struct Fact {
    reads: Regs,
    writes: Regs,
    /// It reads memory at most.
    still: bool,
    /// It orders registers before the products that follow.
    orders: bool,
}

impl Fact {
    fn of(s: &Stmt) -> Fact {
        let (reads, writes) = match s {
            Stmt::Inst(i) => reads_and_writes(i),
            _ => Default::default(),
        };
        let still = match s {
            Stmt::Inst(i) => i.op.row.effects.reads(Where::Nothing).is_pure(),
            Stmt::Label(_) => false,
            _ => true,
        };
        Fact {
            reads,
            writes,
            still,
            orders: matches!(s, Stmt::Inst(i) if *i.op.row == wgmma::FENCE),
        }
    }
}

/// Before which place of its block a statement is better.
fn goal(facts: &[Fact], tys: &[Ty], defs: &Defs, s: &Stmt, at: usize) -> Option<usize> {
    let Stmt::Inst(i) = s else { return None };
    let Fact { reads, writes, .. } = &facts[at];
    let load = loads_shared(i);
    let value = i.guard.is_none()
        && (i.is_pure() || load)
        && !writes.is_empty()
        && writes
            .iter()
            .chain(reads)
            .all(|r| defs.single(*r).is_some());
    if !value {
        return None;
    }
    let to = (at + 1..facts.len()).find(|j| facts[*j].reads.iter().any(|r| writes.contains(r)))?;
    // Descriptors are no registers of the product.
    let single = writes.iter().all(|r| words(tys[r.0 as usize]) == 1);
    let fence = (at + 1..to).rev().find(|j| single && facts[*j].orders);
    let to = fence.unwrap_or(to);
    if to <= at + 1 || (load && !facts[at..to].iter().all(|f| f.still)) {
        return None;
    }
    // Operands that nothing from the use on reads would have to live on until then.
    let longer = reads
        .iter()
        .filter(|r| !facts[to..].iter().any(|f| f.reads.contains(r)));
    let kept: u32 = longer.map(|r| words(tys[r.0 as usize])).sum();
    let saved: u32 = writes.iter().map(|r| words(tys[r.0 as usize])).sum();
    let predicate = writes.iter().any(|r| tys[r.0 as usize] == Ty::Pred);
    (kept < saved || (predicate && kept == 0)).then_some(to)
}

/// An ordinary load of shared memory.
fn loads_shared(i: &Inst) -> bool {
    *i.op.row == memory::LD
        && matches!(i.op.space(), Space::Shared | Space::SharedCta)
        && !i.op.has("order")
}
