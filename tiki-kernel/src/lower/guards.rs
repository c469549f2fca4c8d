//! Predicates of tiles: which of the thread's elements are there.
//!
//! Along each axis that may be partial, `room` is what is left of the tile for this thread: the smaller
//! of the view's extent and what the tensor has from the origin on, less the thread's offset, signed. A
//! value at offset `v` is there if `room > v`: one comparison with an immediate.

use super::Lower;
use crate::ir::{Dist, GlobalView, TensorType};
use crate::isa::{self, Cmp, Ty};
use crate::ptx::{Guard, Operand};
use std::collections::HashMap;

/// The predicates of a tile.
pub(super) struct Guards {
    pub(super) rooms: Vec<Option<Operand>>,
    /// Elements left of the tile along each axis that may be partial, the same for all threads.
    pub(super) left: Vec<Option<Operand>>,
    pub(super) always: Option<Operand>,
    pub(super) made: HashMap<Vec<(usize, u32)>, Operand>,
}

pub(super) fn guard(p: Option<Operand>) -> Option<Guard> {
    match p {
        Some(Operand::Reg(reg)) => Some(Guard {
            reg,
            negated: false,
        }),
        _ => None,
    }
}

impl Lower<'_> {
    /// What may be outside, of a tile (or of one element, without a distribution).
    pub(super) fn guards(
        &mut self,
        view: &GlobalView,
        dist: Option<&Dist>,
        inside: Option<usize>,
        first: bool,
    ) -> Guards {
        self.holding("predicates", |l| {
            let mut guards = Guards {
                rooms: Vec::new(),
                left: Vec::new(),
                always: None,
                made: HashMap::new(),
            };
            for (axis, index, proven) in &view.fixed {
                if !proven {
                    let extent = l.extent_in(view, *axis);
                    let (x, wide) = l.coordinate(*index, Operand::int(0));
                    let p = l.below(x, extent, wide);
                    guards.always = Some(l.both(guards.always.take(), p));
                }
            }
            for (a, axis) in view.axes.iter().enumerate() {
                let past = dist.is_some_and(|d| d.reach(a) > axis.extent);
                let whole = axis.whole || inside == Some(a);
                let left = match (whole, past) {
                    (true, false) => None,
                    (true, true) => Some(Operand::int(axis.extent)),
                    _ => Some(l.left(view, axis)),
                };
                let room = left.clone().map(|left| match dist {
                    Some(d) => {
                        let offset = l.thread_offset(d, a);
                        if offset == Operand::int(0) {
                            left
                        } else {
                            l.def(Ty::B32, isa::sub(Ty::S32), [left, offset])
                        }
                    }
                    None => left,
                });
                guards.rooms.push(room);
                guards.left.push(left);
            }
            if first
                && let Some(d) = dist
                && let Some(p) = l.first_holder(d)
            {
                guards.always = Some(l.both(guards.always.take(), p));
            }
            guards
        })
    }

    /// `min(extent of the view, extent of the tensor - origin)`, not below zero.
    pub(super) fn left(&mut self, view: &GlobalView, axis: &crate::ir::ViewAxis) -> Operand {
        let extent = self.extent_in(view, axis.axis);
        let (origin, wide) = self.coordinate(axis.origin, Operand::int(0));
        if origin == Operand::int(0) {
            return self.def(
                Ty::B32,
                isa::min(Ty::U32),
                [extent, Operand::int(axis.extent)],
            );
        }
        let (ty, reg) = if wide {
            (Ty::U64, Ty::B64)
        } else {
            (Ty::U32, Ty::B32)
        };
        let extent = match extent {
            e @ Operand::Imm(_) => e,
            e if wide => self.def(Ty::B64, isa::cvt(Ty::U64, Ty::U32), [e]),
            e => e,
        };
        let begun = self.def(reg, isa::min(ty), [origin, extent.clone()]);
        let rest = self.def(reg, isa::sub(ty), [extent, begun]);
        let left = self.def(reg, isa::min(ty), [rest, Operand::int(axis.extent)]);
        if wide {
            self.def(Ty::B32, isa::cvt(Ty::U32, Ty::U64), [left])
        } else {
            left
        }
    }

    pub(super) fn below(&mut self, x: Operand, extent: Operand, wide: bool) -> Operand {
        let ty = if wide { Ty::U64 } else { Ty::U32 };
        let extent = match extent {
            e @ Operand::Imm(_) => e,
            e if wide => self.def(Ty::B64, isa::cvt(Ty::U64, Ty::U32), [e]),
            e => e,
        };
        self.def(Ty::Pred, isa::setp(Cmp::Lt, ty), [x, extent])
    }

    /// Both predicates.
    pub(super) fn both(&mut self, a: Option<Operand>, b: Operand) -> Operand {
        match a {
            Some(a) => self.def(Ty::Pred, isa::and(Ty::Pred), [a, b]),
            None => b,
        }
    }

    /// Rooms of plain limits per axis: a reduction's bounds or a shared tile's shape.
    pub(super) fn guards_of(
        &mut self,
        t: &TensorType,
        limits: &[Option<Operand>],
        first: bool,
    ) -> Guards {
        self.holding("predicates", |l| {
            let mut rooms = Vec::new();
            for (a, limit) in limits.iter().enumerate() {
                let past = t.dist.reach(a) > t.shape[a];
                let limit = match limit {
                    Some(o) if past => Some(l.def(
                        Ty::B32,
                        isa::min(Ty::U32),
                        [o.clone(), Operand::int(t.shape[a])],
                    )),
                    Some(o) => Some(o.clone()),
                    None if past => Some(Operand::int(t.shape[a])),
                    None => None,
                };
                let room = limit.map(|limit| {
                    let offset = l.thread_offset(&t.dist, a);
                    if offset == Operand::int(0) {
                        limit
                    } else {
                        l.def(Ty::B32, isa::sub(Ty::S32), [limit, offset])
                    }
                });
                rooms.push(room);
            }
            let always = if first { l.first_holder(&t.dist) } else { None };
            Guards {
                left: rooms.clone(),
                rooms,
                always,
                made: HashMap::new(),
            }
        })
    }

    /// The predicate of the element at these offsets; `None` if it is always there.
    pub(super) fn present(&mut self, g: &mut Guards, offsets: &[u32]) -> Option<Operand> {
        let mut key = Vec::new();
        let mut sum = g.always.clone();
        for (a, &v) in offsets.iter().enumerate() {
            let Some(room) = g.rooms[a].clone() else {
                continue;
            };
            key.push((a, v));
            sum = Some(match g.made.get(&key) {
                Some(p) => p.clone(),
                None => {
                    let p = self.holding("predicates", |l| match sum {
                        None => l.def(
                            Ty::Pred,
                            isa::setp(Cmp::Gt, Ty::S32),
                            [room, Operand::int(v)],
                        ),
                        Some(q) => l.def(
                            Ty::Pred,
                            isa::setp_bool(Cmp::Gt, isa::Bool::And, Ty::S32),
                            [room, Operand::int(v), q],
                        ),
                    });
                    g.made.insert(key.clone(), p.clone());
                    p
                }
            });
        }
        sum
    }
}
