//! What is computed early and used late moves down to the blocks that use it: a value of the prologue that
//! only the stores at the end want does not live through the loops between.
//!
//! A pure value goes to the end of the lowest block that dominates all its uses and lies in no loop that
//! the value was not in; where that block uses it itself, before the first use. It goes only if it does not
//! keep more registers of operands alive than it frees.

use super::flow::{Blocks, Defs, blocks};
use crate::isa::effects::Flow;
use crate::ptx::liveness::{self, each_read, reads_and_writes, words};
use crate::ptx::{Function, Operand, Stmt};
use std::collections::HashMap;

/// Sinks; whether anything changed.
pub fn run(f: &mut Function) -> bool {
    let (defs, shape) = (Defs::of(f), blocks(f));
    let depth = depths(f, &shape);
    let block_of = |at: usize| {
        shape
            .ranges
            .partition_point(|(first, _)| *first <= at)
            .saturating_sub(1)
    };
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); f.regs.len()];
    for (at, inst) in f.insts() {
        each_read(inst, |r| users[r.0 as usize].push(at));
    }
    let live = liveness::run(f);
    let body = f.body.take().unwrap_or_default();
    // Where each statement goes: before this place.
    let mut goal: HashMap<usize, usize> = HashMap::new();
    let place = |at: usize, goal: &HashMap<usize, usize>| goal.get(&at).copied().unwrap_or(at);
    for at in (0..body.len()).rev() {
        let Stmt::Inst(inst) = &body[at] else {
            continue;
        };
        let (reads, writes) = reads_and_writes(inst);
        let value = inst.guard.is_none()
            && inst.is_pure()
            && !writes.is_empty()
            && writes
                .iter()
                .chain(&reads)
                .all(|r| defs.single(*r).is_some());
        if !value {
            continue;
        }
        let mut sites = (writes.iter())
            .flat_map(|r| &users[r.0 as usize])
            .map(|use_at| place(*use_at, &goal));
        let Some(first) = sites.next() else { continue };
        let mut to = block_of(first);
        let mut earliest = first;
        for site in sites {
            to = meet(&shape.above, to, block_of(site));
            earliest = earliest.min(site);
        }
        let here = block_of(at);
        while to != here && depth[to].iter().any(|l| !depth[here].contains(l)) {
            to = shape.above[to];
        }
        // Without a loop between, an early value is early on purpose.
        let past = depth[here..to].iter().flatten().any(|l| *l > here);
        if to == here || !past || !dominates(&shape.above, here, to) {
            continue;
        }
        let (start, end) = shape.ranges[to];
        let target = if (start..end).contains(&earliest) {
            earliest
        } else {
            // Before the branch that ends the block.
            let branches = matches!(&body[end - 1], Stmt::Inst(i)
                if !matches!(i.op.row.effects.flow, Flow::Next | Flow::Call));
            end - usize::from(branches)
        };
        let longer = reads.iter().filter(|r| {
            let wanted = target < body.len() && live.wanted_before(target, **r);
            !wanted
        });
        let kept: u32 = longer.map(|r| words(f.regs[r.0 as usize])).sum();
        let saved: u32 = writes.iter().map(|r| words(f.regs[r.0 as usize])).sum();
        // What an operand's own move will free again counts for nothing: it comes after this one.
        let movable = reads.iter().all(|r| {
            let only = users[r.0 as usize].iter().all(|u| *u == at);
            let pure = defs.single(*r).is_some_and(|d| match &body[d] {
                Stmt::Inst(i) => i.is_pure(),
                _ => false,
            });
            only && pure
        });
        let leaf = reads.is_empty() || special(inst.operands.get(1));
        if kept <= saved || movable || leaf {
            goal.insert(at, target);
        }
    }
    if goal.is_empty() {
        f.body = Some(body);
        return false;
    }
    let mut arriving: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, to) in &goal {
        arriving.entry(*to).or_default().push(*at);
    }
    let mut old: Vec<Option<Stmt>> = body.into_iter().map(Some).collect();
    let mut new = Vec::with_capacity(old.len());
    for at in 0..=old.len() {
        if let Some(list) = arriving.get_mut(&at) {
            list.sort_unstable();
            for from in list {
                new.extend(old[*from].take());
            }
        }
        if at < old.len() && !goal.contains_key(&at) {
            new.extend(old[at].take());
        }
    }
    f.body = Some(new);
    true
}

fn special(o: Option<&Operand>) -> bool {
    matches!(o, Some(Operand::Special(_) | Operand::Var(..)))
}

fn dominates(above: &[usize], a: usize, mut b: usize) -> bool {
    while a != b {
        if above[b] == b {
            return false;
        }
        b = above[b];
    }
    true
}

fn meet(above: &[usize], a: usize, mut b: usize) -> usize {
    while !dominates(above, b, a) {
        if above[b] == b {
            return 0;
        }
        b = above[b];
    }
    b
}

/// The loops around each block, by the block of their head: the text between a head and the last jump back
/// to it.
fn depths(f: &Function, shape: &Blocks) -> Vec<Vec<usize>> {
    let body: &[Stmt] = f.body.as_deref().unwrap_or(&[]);
    let mut heads: HashMap<u32, usize> = HashMap::new();
    for (b, (first, last)) in shape.ranges.iter().enumerate() {
        for s in &body[*first..*last] {
            if let Stmt::Label(l) = s {
                heads.insert(l.0, b);
            }
        }
    }
    let mut around = vec![Vec::new(); shape.ranges.len()];
    for (b, (first, last)) in shape.ranges.iter().enumerate() {
        for s in &body[*first..*last] {
            let Stmt::Inst(inst) = s else { continue };
            for o in &inst.operands {
                if let Operand::Label(l) = o
                    && let Some(head) = heads.get(&l.0)
                    && *head <= b
                {
                    for block in &mut around[*head..=b] {
                        block.push(*head);
                    }
                }
            }
        }
    }
    around
}
