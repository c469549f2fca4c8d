//! Asynchronous copies of a tile by all threads.
//!
//! Each thread copies the vectors that the distribution deals to it. If no part of the tile can be
//! missing, a vector is one instruction. Otherwise one test, the same for all threads of a block, asks
//! whether this tile lies inside the tensor as a whole:
//!
//! 1. inside, it is the plain sequence;
//! 2. at the edge, each vector says how many of its bytes exist, and the rest becomes zero. A vector of
//!    which nothing exists names the tensor's first element, so that its address is one that may be read.
//!
//! Elements past the tile's own shape are copied by nobody.

use super::Lower;
use super::guards::guard;
use super::lanes::Lanes;
use super::pointers::Address;
use crate::artifact::ParamKind;
use crate::ir::{Cache, Dist, GlobalView, SharedView, TensorType, Uniform};
use crate::isa::{self, Cmp, Ty};
use crate::ptx::Operand;
use crate::schedule::narrow_global::contiguous_axis;

impl Lower<'_> {
    /// Copies a tile in vectors.
    pub(super) fn copy_tile(
        &mut self,
        view: &GlobalView,
        into: &SharedView,
        dist: &Dist,
        vector: u32,
        cache: Cache,
    ) {
        let ParamKind::Tensor { dtype, .. } = self.kernel.params[view.param].kind else {
            unreachable!("bug: a tile is copied out of a scalar");
        };
        let t = TensorType {
            dtype,
            shape: view.shape(),
            dist: dist.clone(),
        };
        let address = self.address(view, Some(dist));
        let lanes = self.lanes_of(into, t.clone());
        let policy = self.policy(cache);
        let copy = Copy {
            view,
            lanes,
            vector,
            policy,
            t,
        };
        let (whole, left) = self.whole_tile(view);
        let Some(whole) = whole else {
            return self.copy_vectors(&copy, address, None);
        };
        let uniform = view.axes.iter().map(|a| self.uniform(a.origin)).max();
        let bra = if uniform.is_none_or(|u| u < Uniform::Thread) {
            isa::bra().set("uni", "uni")
        } else {
            isa::bra()
        };
        let (inside, end) = (self.b.label("inside"), self.b.label("copied"));
        self.ins(guard(Some(whole)), bra, vec![inside.into()]);
        self.unpacked = None;
        self.copy_vectors(&copy, address.clone(), Some(&left));
        self.ins(None, bra, vec![end.into()]);
        self.b.place(inside);
        self.copy_vectors(&copy, address, None);
        self.b.place(end);
    }

    /// The register of a second-level cache policy, if one is wanted.
    pub(super) fn policy(&mut self, cache: Cache) -> Option<Operand> {
        let keep = match cache {
            Cache::EvictLast => true,
            Cache::EvictFirst | Cache::Stream => false,
            Cache::Default | Cache::NoAllocate | Cache::ReadOnly => return None,
        };
        let name = if keep { "keeps" } else { "streams" };
        Some(self.once(super::emit::Once::Special(name), |l| {
            l.holding("cache policy", |l| l.def(Ty::B64, isa::policy(keep), []))
        }))
    }

    /// Whether the whole tile exists (`None`: it always does), and what is left of it along each axis
    /// that may be partial.
    fn whole_tile(&mut self, view: &GlobalView) -> (Option<Operand>, Left) {
        self.holding("predicates", |l| {
            let mut all: Option<Operand> = None;
            let mut fixed: Option<Operand> = None;
            for (axis, index, proven) in &view.fixed {
                if !proven {
                    let extent = l.extent_in(view, *axis);
                    let (x, wide) = l.coordinate(*index, Operand::int(0));
                    let p = l.below(x, extent, wide);
                    fixed = Some(l.both(fixed.take(), p));
                }
            }
            all = all.or_else(|| fixed.clone());
            let mut axes = Vec::new();
            for axis in &view.axes {
                if axis.whole {
                    axes.push(None);
                    continue;
                }
                let left = l.left(view, axis);
                let p = l.def(
                    Ty::Pred,
                    isa::setp(Cmp::Eq, Ty::U32),
                    [left.clone(), Operand::int(axis.extent)],
                );
                all = Some(l.both(all.take(), p));
                axes.push(Some(left));
            }
            (all, Left { fixed, axes })
        })
    }

    fn copy_vectors(&mut self, copy: &Copy<'_>, mut address: Address, left: Option<&Left>) {
        let Copy {
            view,
            lanes,
            vector,
            policy,
            t,
        } = copy;
        let rank = t.shape.len();
        let bytes = vector * t.dtype.bytes();
        let op = isa::copy_async(bytes, policy.is_some());
        let limits = vec![None; rank];
        let mut absent = self.guards_of(t, &limits, true);
        let rooms = left.map(|left| self.rooms(left, &t.dist));
        for i in (0..t.dist.len()).step_by(*vector as usize) {
            let offsets = t.dist.value_offset(i, rank);
            let to = self.lane_address(lanes, i);
            let mut from = self.at(view, &mut address, &offsets);
            let mut size = Operand::int(bytes);
            if let (Some(left), Some(rooms)) = (left, &rooms) {
                size = self.existing(copy, &offsets, left, rooms);
                from = self.readable(view.param, from, &size);
            }
            let mut operands = vec![to, from, Operand::int(bytes)];
            if left.is_some() || policy.is_some() {
                operands.push(size);
            }
            operands.extend(policy.clone());
            let p = self.present(&mut absent, &offsets);
            self.ins(guard(p), op, operands);
        }
    }

    /// What is left for this thread, per axis.
    fn rooms(&mut self, left: &Left, dist: &Dist) -> Vec<Option<Operand>> {
        let mut out = Vec::new();
        for (a, left) in left.axes.iter().enumerate() {
            out.push(left.clone().map(|left| {
                let offset = self.thread_offset(dist, a);
                if offset == Operand::int(0) {
                    left
                } else {
                    self.def(Ty::B32, isa::sub(Ty::S32), [left, offset])
                }
            }));
        }
        out
    }

    /// How many bytes of a vector exist.
    fn existing(
        &mut self,
        copy: &Copy<'_>,
        offsets: &[u32],
        left: &Left,
        rooms: &[Option<Operand>],
    ) -> Operand {
        let each = copy.t.dtype.bytes();
        let inner = contiguous_axis(self.kernel, copy.view);
        let mut size = Operand::int(copy.vector * each);
        if let Some(a) = inner
            && let Some(room) = &rooms[a]
        {
            let rest = self.def(
                Ty::B32,
                isa::sub(Ty::S32),
                [room.clone(), Operand::int(offsets[a])],
            );
            let rest = self.def(Ty::B32, isa::max(Ty::S32), [rest, Operand::int(0)]);
            let rest = self.def(
                Ty::B32,
                isa::min(Ty::S32),
                [rest, Operand::int(copy.vector)],
            );
            size = self.def(Ty::B32, isa::mul(Ty::U32), [rest, Operand::int(each)]);
        }
        let mut there = left.fixed.clone();
        for (a, room) in rooms.iter().enumerate() {
            let (false, Some(room)) = (Some(a) == inner, room) else {
                continue;
            };
            let sides = [room.clone(), Operand::int(offsets[a])];
            let p = self.def(Ty::Pred, isa::setp(Cmp::Gt, Ty::S32), sides);
            there = Some(self.both(there.take(), p));
        }
        match there {
            Some(p) => {
                let size = Operand::Reg(self.register(&size, Ty::B32));
                self.def(Ty::B32, isa::selp(Ty::B32), [size, Operand::int(0), p])
            }
            None => size,
        }
    }

    /// The address, or the tensor's own if nothing is read.
    fn readable(&mut self, param: usize, from: Operand, size: &Operand) -> Operand {
        let Operand::Addr {
            base: crate::ptx::Base::Reg(base),
            offset,
            ..
        } = from
        else {
            return from;
        };
        let some = self.def(
            Ty::Pred,
            isa::setp(Cmp::Ne, Ty::U32),
            [size.clone(), Operand::int(0)],
        );
        let there = if offset == 0 {
            base.into()
        } else {
            self.def(
                Ty::B64,
                isa::add(Ty::U64),
                [base.into(), Operand::int(offset)],
            )
        };
        let tensor = self.pointer(param);
        let chosen = self.def(Ty::B64, isa::selp(Ty::B64), [there, tensor, some]);
        let chosen = self.register(&chosen, Ty::B64);
        Operand::addr(chosen, 0)
    }
}

/// A tile's copy, as both ways need it.
struct Copy<'v> {
    view: &'v GlobalView,
    lanes: Lanes<'v>,
    vector: u32,
    policy: Option<Operand>,
    t: TensorType,
}

/// What may be missing of a tile.
struct Left {
    /// A predicate of the coordinates that are fixed.
    fixed: Option<Operand>,
    /// Elements that exist from the origin on.
    axes: Vec<Option<Operand>>,
}
