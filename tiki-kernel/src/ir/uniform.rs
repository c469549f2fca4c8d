//! How far each scalar is the same among threads.
//!
//! A least fixpoint: every value and variable starts as the same in the whole block and is raised until
//! nothing changes.
//!
//! - An operation is as uniform as its operands; special registers say what they are.
//! - A variable is as uniform as the worst value it is set to, and as the conditions around that
//!   assignment: threads that did not come there keep the old value.
//! - A loop or stretch that some threads may leave earlier (`break`, `continue`, `return` under a condition)
//!   is, for all that it assigns, under that condition too; so are those around it, up to the one that is left.
//! - An element of memory read at one address by all is the same for all (a program without races).

use super::{
    Block, Kernel, Op, Place, SharedView, Shuffle, Special, StmtKind, Type, Uniform, Value,
};
use super::{MemoryOrder, visit};

/// Recomputes [`super::ValueInfo::uniform`] of every value.
pub fn run(kernel: &mut Kernel) {
    for info in &mut kernel.values {
        info.uniform = Uniform::Block;
    }
    let body = std::mem::take(&mut kernel.body);
    let mut find = Find {
        vars: vec![Uniform::Block; kernel.vars.len()],
        kernel,
        changed: true,
        open: Vec::new(),
    };
    while find.changed {
        find.changed = false;
        find.open = vec![Uniform::Block];
        find.block(&body, Uniform::Block);
    }
    kernel.body = body;
}

struct Find<'a> {
    kernel: &'a mut Kernel,
    vars: Vec<Uniform>,
    changed: bool,
    /// Of the body and each loop and stretch around here: the conditions under which it is left.
    open: Vec<Uniform>,
}

impl Find<'_> {
    fn of(&self, v: Value) -> Uniform {
        self.kernel.values[v.0 as usize].uniform
    }

    fn raise(&mut self, v: Value, to: Uniform) {
        let own = &mut self.kernel.values[v.0 as usize].uniform;
        if to > *own {
            *own = to;
            self.changed = true;
        }
    }

    /// Walks a block under control as uniform as `here`.
    fn block(&mut self, block: &Block, here: Uniform) {
        for stmt in block {
            let here = self.open.iter().copied().fold(here, Uniform::max);
            match &stmt.kind {
                StmtKind::Let(v, op) => {
                    let uniform = self.op(*v, op);
                    self.raise(*v, uniform);
                }
                StmtKind::Set(var, v) => {
                    let to = self.of(*v).max(here);
                    let own = &mut self.vars[var.0 as usize];
                    if to > *own {
                        *own = to;
                        self.changed = true;
                    }
                }
                StmtKind::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    let inner = here.max(self.of(*cond));
                    self.block(then, inner);
                    self.block(otherwise, inner);
                }
                StmtKind::For {
                    index,
                    lo,
                    hi,
                    body,
                    ..
                } => {
                    let bounds = self.of(*lo).max(self.of(*hi));
                    self.raise(*index, bounds);
                    self.repeated(&[body], here.max(bounds));
                }
                StmtKind::While { head, cond, body } => {
                    let inner = here.max(self.of(*cond));
                    self.repeated(&[head, body], inner);
                }
                StmtKind::Once(body) => {
                    self.open.push(Uniform::Block);
                    self.block(body, here);
                    self.open.pop();
                }
                StmtKind::Break(up) | StmtKind::Continue(up) => {
                    let levels = self.open.len();
                    let from = levels.saturating_sub(1 + *up as usize);
                    self.open[from..].iter_mut().for_each(|o| *o = here.max(*o));
                }
                StmtKind::Return => self.open.iter_mut().for_each(|o| *o = here.max(*o)),
                _ => {}
            }
        }
    }

    fn repeated(&mut self, bodies: &[&Block], here: Uniform) {
        // Twice: a way out late in the body is around what comes early in the next round.
        self.open.push(Uniform::Block);
        for _ in 0..2 {
            for body in bodies {
                self.block(body, here);
            }
        }
        self.open.pop();
    }

    fn op(&self, v: Value, op: &Op) -> Uniform {
        let operands = || {
            visit::operands(op)
                .iter()
                .map(|v| self.of(*v))
                .max()
                .unwrap_or(Uniform::Block)
        };
        match op {
            Op::Get(var) => match self.kernel.vars[var.0 as usize].ty {
                Type::Scalar(_) => self.vars[var.0 as usize],
                Type::Tensor(_) => Uniform::Thread,
            },
            Op::Special(s) => match s {
                Special::Thread | Special::Lane | Special::ActiveMask => Uniform::Thread,
                Special::Warp | Special::Warpgroup => Uniform::Warp,
                Special::Block(_) | Special::Grid(_) | Special::ClusterRank => Uniform::Block,
            },
            Op::Shuffle {
                mode: Shuffle::Index,
                lane,
                value,
            } if self.of(*lane) < Uniform::Thread => {
                self.of(*lane).max(self.of(*value).min(Uniform::Warp))
            }
            Op::Shuffle { .. } => operands(),
            Op::Vote(_, p) => self.of(*p).min(Uniform::Warp),
            Op::Redux(_, x) => self.of(*x).min(Uniform::Warp),
            Op::Match(_) | Op::Elect | Op::Atom { .. } => Uniform::Thread,
            Op::LoadElement { place, order } => match place {
                Place::Shared(view) => self.shared(view),
                Place::Global(_) if order.order == MemoryOrder::Weak => operands(),
                Place::Global(_) => Uniform::Thread,
            },
            Op::Written(fragment, _) if !fragment.follows_from_inputs() => Uniform::Thread,
            Op::Raw(tensor, _) => self.held(*tensor),
            _ => match self.kernel.values[v.0 as usize].ty {
                Type::Tensor(_) => Uniform::Thread,
                Type::Scalar(_) => operands(),
            },
        }
    }

    fn shared(&self, view: &SharedView) -> Uniform {
        view.dynamic
            .iter()
            .map(|(v, _)| self.of(*v))
            .chain(view.block.map(|v| self.of(v)))
            .max()
            .unwrap_or(Uniform::Block)
    }

    /// How far the threads hold the same elements of a register tensor that all threads agree on.
    fn held(&self, tensor: Value) -> Uniform {
        let Some(ty) = self.kernel.values[tensor.0 as usize].ty.tensor() else {
            return Uniform::Thread;
        };
        let mut stride = 1;
        let mut uniform = if ty.dist.thread_count() == self.kernel.threads {
            Uniform::Block
        } else {
            Uniform::Warp
        };
        for mode in &ty.dist.threads {
            if mode.axis.is_some() {
                uniform = uniform.max(if stride >= 32 {
                    Uniform::Warp
                } else {
                    Uniform::Thread
                });
            }
            stride *= mode.extent;
        }
        uniform
    }
}
