//! Basic blocks, who dominates whom, and who defines what.

use crate::isa::effects::Flow;
use crate::ptx::liveness::{each_read, each_write};
use crate::ptx::{Function, Inst, Operand, Reg, Stmt};
use std::collections::HashMap;

/// A function's basic blocks.
pub(super) struct Blocks {
    /// Statements of each: first, one past the last.
    pub ranges: Vec<(usize, usize)>,
    /// The block that dominates each most closely; the entry is its own.
    pub above: Vec<usize>,
}

/// Finds the blocks.
pub(super) fn blocks(f: &Function) -> Blocks {
    let body: &[Stmt] = f.body.as_deref().unwrap_or(&[]);
    let mut starts = vec![0];
    for (i, s) in body.iter().enumerate() {
        match s {
            Stmt::Label(_) => starts.push(i),
            Stmt::Inst(inst) if ends(inst) => starts.push(i + 1),
            _ => {}
        }
    }
    starts.retain(|s| *s < body.len());
    starts.dedup();
    let ranges: Vec<(usize, usize)> = starts
        .iter()
        .enumerate()
        .map(|(b, s)| (*s, starts.get(b + 1).copied().unwrap_or(body.len())))
        .collect();
    let mut at = HashMap::new();
    for (b, (first, last)) in ranges.iter().enumerate() {
        for s in &body[*first..*last] {
            if let Stmt::Label(l) = s {
                at.insert(*l, b);
            }
        }
    }
    let mut before = vec![Vec::new(); ranges.len()];
    for (b, (_, last)) in ranges.iter().enumerate() {
        let mut falls = true;
        if let Some(Stmt::Inst(inst)) = body.get(last - 1)
            && ends(inst)
        {
            falls = inst.guard.is_some() || inst.op.row.effects.flow == Flow::Call;
            for o in &inst.operands {
                let labels = match o {
                    Operand::Label(l) => vec![*l],
                    Operand::Table(t) => f.tables[*t as usize].1.clone(),
                    _ => vec![],
                };
                for l in labels {
                    if let Some(to) = at.get(&l) {
                        before[*to].push(b);
                    }
                }
            }
        }
        if falls && b + 1 < ranges.len() {
            before[b + 1].push(b);
        }
    }
    Blocks {
        above: dominators(&before),
        ranges,
    }
}

fn ends(inst: &Inst) -> bool {
    !matches!(inst.op.row.effects.flow, Flow::Next | Flow::Call)
}

/// Immediate dominators, blocks in the order of the text. Structured code needs one or two rounds.
fn dominators(before: &[Vec<usize>]) -> Vec<usize> {
    let n = before.len();
    let mut above: Vec<Option<usize>> = vec![None; n];
    if n > 0 {
        above[0] = Some(0);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for b in 1..n {
            let mut new: Option<usize> = None;
            for &p in before[b].iter().filter(|p| above[**p].is_some()) {
                new = Some(match new {
                    None => p,
                    Some(q) => meet(&above, p, q),
                });
            }
            if new.is_some() && new != above[b] {
                above[b] = new;
                changed = true;
            }
        }
    }
    above
        .into_iter()
        .enumerate()
        .map(|(b, a)| a.unwrap_or(b))
        .collect()
}

fn meet(above: &[Option<usize>], mut a: usize, mut b: usize) -> usize {
    while a != b {
        let later = if a > b { &mut a } else { &mut b };
        let up = above[*later].unwrap_or(0);
        if up == *later {
            return 0;
        }
        *later = up;
    }
    a
}

/// Per register: how many statements write it, and the one if it is one without a guard.
pub(super) struct Defs {
    count: Vec<u32>,
    only: Vec<Option<usize>>,
}

impl Defs {
    pub(super) fn of(f: &Function) -> Defs {
        let mut defs = Defs {
            count: vec![0; f.regs.len()],
            only: vec![None; f.regs.len()],
        };
        for (i, inst) in f.insts() {
            each_write(inst, |r| {
                defs.count[r.0 as usize] += 1;
                defs.only[r.0 as usize] = inst.guard.is_none().then_some(i);
            });
        }
        defs
    }
    /// The only definition, if the register is a value.
    pub(super) fn single(&self, r: Reg) -> Option<usize> {
        if self.count[r.0 as usize] == 1 {
            self.only[r.0 as usize]
        } else {
            None
        }
    }
}

/// How often each register is read.
pub(super) fn uses(f: &Function) -> Vec<u32> {
    let mut uses = vec![0; f.regs.len()];
    for (_, inst) in f.insts() {
        each_read(inst, |r| uses[r.0 as usize] += 1);
    }
    uses
}

/// The instruction at a place.
pub(super) fn inst(f: &Function, at: usize) -> Option<&Inst> {
    match f.body.as_ref()?.get(at)? {
        Stmt::Inst(inst) => Some(inst),
        _ => None,
    }
}

/// The instruction at a place, to be changed.
pub(super) fn inst_mut(f: &mut Function, at: usize) -> Option<&mut Inst> {
    match f.body.as_mut()?.get_mut(at)? {
        Stmt::Inst(inst) => Some(inst),
        _ => None,
    }
}

/// The source of a plain move of one register or immediate.
pub(super) fn copied(inst: &Inst) -> Option<(Reg, &Operand)> {
    if *inst.op.row != crate::isa::rows::moves::MOV || inst.guard.is_some() {
        return None;
    }
    match inst.operands.as_slice() {
        [Operand::Reg(d), s @ (Operand::Reg(_) | Operand::Imm(_))] => Some((*d, s)),
        _ => None,
    }
}
