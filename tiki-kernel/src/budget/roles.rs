//! Which statements run under which register count: warpgroups that set their own go different ways.
//!
//! Forward from the entry: a statement is reached with the count of the last `setmaxnreg` before it on some
//! way, or with none. One that several ways reach belongs to all of them.

use crate::isa::effects::Flow;
use crate::isa::rows::sync;
use crate::ptx::{Function, Imm, Inst, Operand, Stmt, targets};
use std::collections::{BTreeSet, HashMap};

/// Register counts with which each statement is reached; `None` before any was set.
#[must_use]
pub fn run(f: &Function) -> Vec<BTreeSet<Option<u32>>> {
    let body: &[Stmt] = f.body.as_deref().unwrap_or(&[]);
    let places: HashMap<u32, usize> = (body.iter().enumerate())
        .filter_map(|(i, s)| match s {
            Stmt::Label(l) => Some((l.0, i)),
            _ => None,
        })
        .collect();
    let mut reached = vec![BTreeSet::new(); body.len()];
    let mut open = vec![(0, None)];
    while let Some((i, count)) = open.pop() {
        if i >= body.len() || !reached[i].insert(count) {
            continue;
        }
        let Stmt::Inst(inst) = &body[i] else {
            open.push((i + 1, count));
            continue;
        };
        let count = set(inst).or(count);
        if set(inst).is_some() {
            reached[i].insert(count);
        }
        let falls = matches!(inst.op.row.effects.flow, Flow::Next | Flow::Call);
        if falls || inst.guard.is_some() {
            open.push((i + 1, count));
        }
        let labels = targets(f, inst);
        open.extend(
            labels
                .iter()
                .filter_map(|l| Some((*places.get(&l.0)?, count))),
        );
    }
    reached
}

fn set(inst: &Inst) -> Option<u32> {
    match inst.operands.first() {
        Some(Operand::Imm(Imm::Int(n))) if *inst.op.row == sync::SETMAXNREG => {
            u32::try_from(*n).ok()
        }
        _ => None,
    }
}
