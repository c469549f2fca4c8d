//! Global memory: tiles and single elements.
//!
//! Where vectors may straddle the edge, one test (of all threads of the block alike) chooses between
//! whole vectors and single elements for the whole tile.

use super::Lower;
use super::emit::register_type;
use super::guards::{Guards, guard};
use super::tiles::Element;
use crate::dtype::DType;
use crate::ir::{Access, Cache, Edge, GlobalView, MemoryOrder, Order, TensorType, Uniform, Value};
use crate::isa::{self, Cmp, Space, Ty};
use crate::ptx::{Operand, Reg};
use std::collections::HashMap;

/// How `n` elements of a type are moved by one instruction.
pub(super) struct Shape {
    /// Type of the instruction.
    pub ty: Ty,
    /// Type of the registers.
    pub reg: Ty,
    /// Registers.
    pub count: u32,
    /// Elements a register holds.
    pub each: u32,
}

impl Shape {
    pub(super) fn of(t: DType, n: u32) -> Shape {
        let (ty, reg, count, each) = match t.bytes() {
            1 => (Ty::U8, Ty::B16, n, 1),
            2 if n >= 2 => (Ty::B32, Ty::B32, n / 2, 2),
            2 => (Ty::B16, Ty::B16, 1, 1),
            8 => (Ty::B64, Ty::of_register(t), n, 1),
            _ => (Ty::B32, Ty::of_register(t), n, 1),
        };
        Shape {
            ty,
            reg,
            count,
            each,
        }
    }
    pub(super) fn vectored(&self, op: isa::Op) -> isa::Op {
        match self.count {
            2 => op.with(isa::Vec::V2),
            4 => op.with(isa::Vec::V4),
            _ => op,
        }
    }
    pub(super) fn operand(&self, regs: &[Operand]) -> Operand {
        if regs.len() == 1 {
            regs[0].clone()
        } else {
            Operand::vec(regs.to_vec())
        }
    }
}

impl Lower<'_> {
    /// Runs `single` where a vector of `n` may straddle the edge of this block's tile, else `vectors`.
    fn either(
        &mut self,
        left: Option<Operand>,
        n: u32,
        uniform: bool,
        vectors: impl FnOnce(&mut Self),
        single: impl FnOnce(&mut Self),
    ) {
        let Some(left) = left else {
            return vectors(self);
        };
        let rest = self.def(Ty::B32, isa::and(Ty::B32), [left, Operand::int(n - 1)]);
        let straddles = self.def(
            Ty::Pred,
            isa::setp(Cmp::Ne, Ty::U32),
            [rest, Operand::int(0)],
        );
        let (slow, end) = (self.b.label("single"), self.b.label("whole"));
        let bra = if uniform {
            isa::bra().set("uni", "uni")
        } else {
            isa::bra()
        };
        self.ins(guard(Some(straddles)), bra, vec![slow.into()]);
        self.unpacked = None;
        vectors(self);
        self.ins(None, bra, vec![end.into()]);
        self.b.place(slow);
        self.unpacked = None;
        single(self);
        self.b.place(end);
        self.unpacked = None;
    }

    /// What is known of vectors at the edge: the contiguous axis that needs no predicate, and whether
    /// vectors may straddle along it.
    fn edge(
        &self,
        view: &GlobalView,
        t: &TensorType,
        access: &Access,
    ) -> (Option<usize>, Option<usize>) {
        let Some(axis) = crate::schedule::narrow_global::contiguous_axis(self.kernel, view) else {
            return (None, None);
        };
        let n = access.vector;
        let torn = t.dist.reach(axis) > view.axes[axis].extent
            && !view.axes[axis].extent.is_multiple_of(n);
        let inside = (access.edge == Edge::Inside).then_some(axis);
        let straddles =
            n > 1 && (torn || (access.edge == Edge::Straddle && !view.axes[axis].whole));
        (inside, straddles.then_some(axis))
    }

    /// Loads a tile.
    pub(super) fn load(
        &mut self,
        v: Value,
        view: &GlobalView,
        fill: Value,
        access: &Access,
    ) -> Vec<Element> {
        let t = self.tensor(v);
        let (inside, straddles) = self.edge(view, t, access);
        let mut address = self.address(view, Some(&t.dist));
        let mut guards = self.guards(view, Some(&t.dist), inside, false);
        let fill = self.scalar(fill);
        let n = access.vector;
        let shape = Shape::of(t.dtype, n);
        let name = self.kernel.values[v.0 as usize].name.clone();
        let total = t.dist.len() / shape.each as usize;
        let regs: Vec<Reg> =
            self.holding(&name, |l| (0..total).map(|_| l.reg(shape.reg)).collect());
        let partial = guards.always.is_some() || guards.rooms.iter().any(Option::is_some);
        if partial {
            let fill = self.fill_word(t.dtype, fill, &shape);
            for r in &regs {
                self.copy(*r, fill.clone());
            }
        }
        let left = straddles.and_then(|a| guards.left[a].clone());
        let uniform = view
            .axes
            .iter()
            .all(|a| self.uniform(a.origin) < Uniform::Thread);
        let op = self.load_op(access.cache, &shape);
        let rank = t.shape.len();
        let mut addresses = Vec::new();
        for i in (0..t.dist.len()).step_by(n as usize) {
            addresses.push(self.at(view, &mut address, &t.dist.value_offset(i, rank)));
        }
        // Predicates made in one of two branches do not hold in the other.
        let made = guards.made.clone();
        let mut single = Guards {
            rooms: guards.rooms.clone(),
            left: guards.left.clone(),
            always: guards.always.clone(),
            made,
        };
        let words = shape.count as usize;
        self.either(
            left,
            n,
            uniform,
            |l| {
                for (g, i) in (0..t.dist.len()).step_by(n as usize).enumerate() {
                    let p = l.present(&mut guards, &t.dist.value_offset(i, rank));
                    let to: Vec<Operand> = regs[g * words..(g + 1) * words]
                        .iter()
                        .map(|r| (*r).into())
                        .collect();
                    l.access(
                        access.cache,
                        p,
                        shape.vectored(op),
                        vec![shape.operand(&to), addresses[g].clone()],
                    );
                }
            },
            |l| {
                let one = Shape::of(t.dtype, 1);
                let op = l.load_op(access.cache, &one);
                for i in 0..t.dist.len() {
                    let p = l.present(&mut single, &t.dist.value_offset(i, rank));
                    let from = moved(
                        &addresses[i / n as usize],
                        (i as u32 % n * t.dtype.bytes()).into(),
                    );
                    let r = regs[i / shape.each as usize];
                    if shape.each == 1 {
                        l.access(access.cache, p, op, vec![r.into(), from]);
                        continue;
                    }
                    let (low, high) = (l.reg(Ty::B16), l.reg(Ty::B16));
                    l.ins(
                        None,
                        isa::unpack(Ty::B32, 2),
                        vec![Operand::vec([low, high]), r.into()],
                    );
                    l.access(
                        access.cache,
                        p,
                        op,
                        vec![if i % 2 == 0 { low } else { high }.into(), from],
                    );
                    l.ins(
                        None,
                        isa::pack(Ty::B32, 2),
                        vec![r.into(), Operand::vec([low, high])],
                    );
                }
            },
        );
        self.elements_of(t.dtype, &regs, &shape)
    }

    /// The fill as a register holds it.
    fn fill_word(&mut self, t: DType, fill: Operand, shape: &Shape) -> Operand {
        match t {
            DType::BOOL => self.def(
                Ty::B16,
                isa::selp(Ty::B16),
                [Operand::int(1), Operand::int(0), fill],
            ),
            _ if shape.each == 2 => {
                let h = self.register(&fill, Ty::B16);
                self.def(Ty::B32, isa::pack(Ty::B32, 2), [Operand::vec([h, h])])
            }
            _ => fill,
        }
    }

    /// Elements in freshly loaded registers.
    pub(super) fn elements_of(&mut self, t: DType, regs: &[Reg], shape: &Shape) -> Vec<Element> {
        let mut out = Vec::new();
        for &r in regs {
            if t == DType::BOOL {
                let p = self.def(
                    Ty::Pred,
                    isa::setp(Cmp::Ne, Ty::U16),
                    [r.into(), Operand::int(0)],
                );
                out.push(Element::Whole(p));
            } else if shape.each == 2 {
                out.extend([false, true].map(|high| Element::Half { word: r, high }));
            } else {
                out.push(Element::Whole(r.into()));
            }
        }
        out
    }

    /// A load or store; where it names a place in the order of leaving the second-level cache, with the policy that
    /// says so (the words of the first level say nothing of the second).
    fn access(&mut self, cache: Cache, p: Option<Operand>, op: isa::Op, operands: Vec<Operand>) {
        let (mut op, mut operands) = (op, operands);
        if matches!(cache, Cache::EvictFirst | Cache::EvictLast)
            && let Some(policy) = self.policy(cache)
        {
            op = isa::hinted(op, true);
            operands.push(policy);
        }
        self.ins(guard(p), op, operands);
    }

    fn load_op(&self, cache: Cache, shape: &Shape) -> isa::Op {
        let op = isa::ld(Space::Global, shape.ty);
        match cache {
            Cache::Default => op,
            Cache::Stream => op.with(isa::Cache::Cs),
            Cache::NoAllocate => op.with(isa::L1::NoAllocate),
            Cache::EvictFirst => op.with(isa::L1::EvictFirst),
            Cache::EvictLast => op.with(isa::L1::EvictLast),
            Cache::ReadOnly => isa::ld_nc(shape.ty),
        }
    }

    fn store_op(&self, cache: Cache, shape: &Shape) -> isa::Op {
        let op = isa::st(Space::Global, shape.ty);
        match cache {
            Cache::Default | Cache::ReadOnly => op,
            Cache::Stream => op.with(isa::Cache::Cs),
            Cache::NoAllocate => op.with(isa::L1::NoAllocate),
            Cache::EvictFirst => op.with(isa::L1::EvictFirst),
            Cache::EvictLast => op.with(isa::L1::EvictLast),
        }
    }

    /// The registers of `n` elements from value `i` on, to be stored.
    pub(super) fn gather(&mut self, v: Value, i: usize, n: u32) -> Vec<Operand> {
        let t = self.dtype(v);
        let shape = Shape::of(t, n);
        let mut out = Vec::new();
        for j in (i..i + n as usize).step_by(shape.each as usize) {
            if shape.each == 2 {
                let word = match self.packed_word(v, j) {
                    Some(w) => w.into(),
                    None => {
                        let (low, high) = (self.whole(v, j), self.whole(v, j + 1));
                        self.def(Ty::B32, isa::pack(Ty::B32, 2), [Operand::vec([low, high])])
                    }
                };
                out.push(word);
            } else {
                let o = self.whole(v, j);
                out.push(self.stored(t, o));
            }
        }
        out
    }

    /// A value as memory holds it, in a register.
    pub(super) fn stored(&mut self, t: DType, o: Operand) -> Operand {
        if t == DType::BOOL {
            return self.def(
                Ty::B16,
                isa::selp(Ty::B16),
                [Operand::int(1), Operand::int(0), o],
            );
        }
        let reg = register_type(Ty::of_register(t));
        self.register(&o, reg).into()
    }

    /// Stores a tile.
    pub(super) fn store(&mut self, view: &GlobalView, v: Value, access: &Access) {
        let t = self.tensor(v);
        let (inside, straddles) = self.edge(view, t, access);
        let mut address = self.address(view, Some(&t.dist));
        let mut guards = self.guards(view, Some(&t.dist), inside, true);
        let n = access.vector;
        let shape = Shape::of(t.dtype, n);
        let rank = t.shape.len();
        let left = straddles.and_then(|a| guards.left[a].clone());
        let uniform = view
            .axes
            .iter()
            .all(|a| self.uniform(a.origin) < Uniform::Thread);
        let op = self.store_op(access.cache, &shape);
        let mut addresses = Vec::new();
        if left.is_some() {
            for i in (0..t.dist.len()).step_by(n as usize) {
                addresses.push(self.at(view, &mut address, &t.dist.value_offset(i, rank)));
            }
        }
        let early = addresses.clone();
        let mut single = Guards {
            rooms: guards.rooms.clone(),
            left: guards.left.clone(),
            always: guards.always.clone(),
            made: HashMap::new(),
        };
        self.either(
            left,
            n,
            uniform,
            |l| {
                for (g, i) in (0..t.dist.len()).step_by(n as usize).enumerate() {
                    let offsets = t.dist.value_offset(i, rank);
                    let to = match early.get(g) {
                        Some(a) => a.clone(),
                        None => l.at(view, &mut address, &offsets),
                    };
                    let from = l.gather(v, i, n);
                    let p = l.present(&mut guards, &offsets);
                    let operands = vec![to, shape.operand(&from)];
                    l.access(access.cache, p, shape.vectored(op), operands);
                }
            },
            |l| {
                let one = Shape::of(t.dtype, 1);
                let op = l.store_op(access.cache, &one);
                for i in 0..t.dist.len() {
                    let from = l.gather(v, i, 1);
                    let p = l.present(&mut single, &t.dist.value_offset(i, rank));
                    let to = moved(
                        &addresses[i / n as usize],
                        (i as u32 % n * t.dtype.bytes()).into(),
                    );
                    l.access(access.cache, p, op, vec![to, from[0].clone()]);
                }
            },
        );
    }

    pub(super) fn uniform(&self, v: Value) -> Uniform {
        self.kernel.values[v.0 as usize].uniform
    }

    /// Address and predicate of one element.
    pub(super) fn element_place(&mut self, view: &GlobalView) -> (Operand, Option<Operand>) {
        let mut address = self.address(view, None);
        let mut guards = self.guards(view, None, None, false);
        let zeros = vec![0; view.axes.len()];
        let at = self.at(view, &mut address, &zeros);
        (at, self.present(&mut guards, &zeros))
    }
}

/// An access with a memory order; `None` if the instruction has no such order.
pub(super) fn ordered(op: isa::Op, order: &Order) -> isa::Op {
    let o = match order.order {
        MemoryOrder::Weak => return op,
        MemoryOrder::Relaxed => isa::Order::Relaxed,
        MemoryOrder::Acquire => isa::Order::Acquire,
        MemoryOrder::Release => isa::Order::Release,
        MemoryOrder::AcqRel => isa::Order::AcqRel,
    };
    // A load cannot release and a store cannot acquire: of both, what there is.
    let op = [
        o,
        isa::Order::Acquire,
        isa::Order::Release,
        isa::Order::Relaxed,
    ]
    .into_iter()
    .filter(|x| *x == o || o == isa::Order::AcqRel || *x == isa::Order::Relaxed)
    .find_map(|x| op.try_with(x))
    .unwrap_or(op);
    op.try_with(scope(order)).unwrap_or(op)
}

pub(super) fn scope(order: &Order) -> isa::Scope {
    match order.scope {
        crate::ir::Scope::Block => isa::Scope::Cta,
        crate::ir::Scope::Cluster => isa::Scope::Cluster,
        crate::ir::Scope::Device => isa::Scope::Gpu,
        crate::ir::Scope::System => isa::Scope::Sys,
    }
}

/// The address some bytes on.
pub(super) fn moved(address: &Operand, bytes: i64) -> Operand {
    let mut out = address.clone();
    if let Operand::Addr { offset, .. } = &mut out {
        *offset += bytes;
    }
    out
}
