//! What threads do together: shuffles, votes, atomics, fences, barriers.

use super::Lower;
use super::control::ALL_LANES;
use super::global::{ordered, scope};
use super::guards::guard;
use super::shared::space_of;
use crate::dtype::{Class, DType};
use crate::ir::{AtomOp, Barrier, MemoryOrder, Order, Place, Shuffle, Value, Vote};
use crate::isa::{self, Shfl, Space, Ty};
use crate::ptx::Operand;

impl Lower<'_> {
    /// Another lane's value, of any register type.
    pub(super) fn shuffle(&mut self, mode: Shfl, ty: Ty, x: Operand, lane: Operand) -> Operand {
        if ty.bits() == 64 {
            let x: Operand = self.register(&x, ty).into();
            let (low, high) = self.halves(x);
            let low = self.shuffle(mode, Ty::B32, low, lane.clone());
            let high = self.shuffle(mode, Ty::B32, high, lane);
            return self.def(ty, isa::pack(Ty::B64, 2), [Operand::vec([low, high])]);
        }
        if ty == Ty::Pred {
            let bit = self.def(
                Ty::B32,
                isa::selp(Ty::B32),
                [Operand::int(1), Operand::int(0), x],
            );
            let bit = self.shuffle(mode, Ty::B32, bit, lane);
            return self.def(
                Ty::Pred,
                isa::setp(isa::Cmp::Ne, Ty::U32),
                [bit, Operand::int(0)],
            );
        }
        if ty.bits() == 16 {
            let x = self.def(Ty::B32, isa::cvt(Ty::U32, Ty::U16), [x]);
            let x = self.shuffle(mode, Ty::B32, x, lane);
            return self.def(Ty::B16, isa::cvt(Ty::U16, Ty::U32), [x]);
        }
        let x = self.register(&x, ty);
        let clamp = if mode == Shfl::Up { 0 } else { 31 };
        self.def(
            ty,
            isa::shfl(mode),
            [x.into(), lane, Operand::int(clamp), Operand::int(ALL_LANES)],
        )
    }

    pub(super) fn shuffled(&mut self, mode: Shuffle, t: DType, x: Operand, lane: Value) -> Operand {
        let mode = match mode {
            Shuffle::Index => Shfl::Idx,
            Shuffle::Up => Shfl::Up,
            Shuffle::Down => Shfl::Down,
            Shuffle::Xor => Shfl::Bfly,
        };
        let wide = self.dtype(lane).bytes() == 8;
        let lane = match self.scalar(lane) {
            o @ Operand::Imm(_) => o,
            o if wide => self.def(Ty::B32, isa::cvt(Ty::U32, Ty::U64), [o]),
            o => o,
        };
        self.shuffle(mode, Ty::of_register(t), x, lane)
    }

    pub(super) fn vote(&mut self, vote: Vote, p: Operand) -> Operand {
        let mask = Operand::int(ALL_LANES);
        match vote {
            Vote::All => self.def(Ty::Pred, isa::vote(isa::Vote::All), [p, mask]),
            Vote::Any => self.def(Ty::Pred, isa::vote(isa::Vote::Any), [p, mask]),
            Vote::Ballot => self.def(Ty::B32, isa::ballot(), [p, mask]),
        }
    }

    pub(super) fn matched(&mut self, t: DType, x: Operand) -> Operand {
        let (t, x) = if t.bytes() < 4 {
            let to = if t == DType::BOOL { DType::U32 } else { t };
            let x = if t == DType::BOOL {
                self.cast(t, to, crate::ir::Round::Default, x)
            } else {
                self.def(Ty::B32, isa::cvt(Ty::U32, Ty::U16), [x])
            };
            (DType::U32, x)
        } else {
            (t, x)
        };
        let ty = Ty::of_register(t);
        let x = self.register(&x, ty);
        self.def(
            Ty::B32,
            isa::match_lanes(isa::Match::Any, ty),
            [x.into(), Operand::int(ALL_LANES)],
        )
    }

    pub(super) fn redux(&mut self, op: AtomOp, t: DType, x: Operand) -> Operand {
        let ty = match op {
            AtomOp::And | AtomOp::Or | AtomOp::Xor => Ty::B32,
            _ => Ty::of_arithmetic(t),
        };
        let x = self.register(&x, Ty::B32);
        self.def(
            Ty::B32,
            isa::redux(name(op), ty),
            [x.into(), Operand::int(ALL_LANES)],
        )
    }

    /// Address, predicate, space and element type of a place.
    fn locate(&mut self, place: &Place) -> (Operand, Option<Operand>, Space, DType) {
        match place {
            Place::Global(view) => {
                let (at, p) = self.element_place(view);
                let t = match self.kernel.params[view.param].kind {
                    crate::artifact::ParamKind::Tensor { dtype, .. } => dtype,
                    crate::artifact::ParamKind::Scalar(t) => t,
                };
                (at, p, Space::Global, t)
            }
            Place::Shared(view) => (
                self.shared_place(view),
                None,
                space_of(view),
                self.kernel.shared[view.alloc].dtype,
            ),
        }
    }

    /// An atomic; with a result if wanted.
    pub(super) fn atomic(
        &mut self,
        op: AtomOp,
        place: &Place,
        operands: &[Value],
        order: &Order,
        result: bool,
    ) -> Option<Operand> {
        let (at, p, space, t) = self.locate(place);
        let ty = atom_type(op, t);
        let reg = Ty::of_register(t);
        let mut sources = vec![at];
        for v in operands {
            let o = self.scalar(*v);
            sources.push(self.register(&o, reg).into());
        }
        let red = !result && !matches!(op, AtomOp::Exchange | AtomOp::CompareExchange);
        let acquires = matches!(order.order, MemoryOrder::Acquire | MemoryOrder::AcqRel);
        if red && !acquires {
            let ins = ordered(isa::red(space, name(op), ty), order);
            self.ins(guard(p), ins, sources);
            return None;
        }
        let d = self.reg(reg);
        if p.is_some() {
            let zero = match reg {
                Ty::F32 => Operand::f32(0.0),
                Ty::F64 => Operand::f64(0.0),
                _ => Operand::int(0),
            };
            self.copy(d, zero);
        }
        sources.insert(0, d.into());
        let ins = ordered(isa::atom(space, name(op), ty), order);
        self.ins(guard(p), ins, sources);
        Some(d.into())
    }

    /// One element from memory; 0 outside the tensor.
    pub(super) fn load_element(&mut self, place: &Place, order: &Order) -> Operand {
        let (at, p, space, t) = self.locate(place);
        let shape = super::global::Shape::of(t, 1);
        let d = self.reg(shape.reg);
        if p.is_some() {
            let zero = match shape.reg {
                Ty::F32 => Operand::f32(0.0),
                Ty::F64 => Operand::f64(0.0),
                _ => Operand::int(0),
            };
            self.copy(d, zero);
        }
        let op = ordered(isa::ld(space, shape.ty), order);
        self.ins(guard(p), op, vec![d.into(), at]);
        if t == DType::BOOL {
            return self.def(
                Ty::Pred,
                isa::setp(isa::Cmp::Ne, Ty::U16),
                [d.into(), Operand::int(0)],
            );
        }
        d.into()
    }

    /// Where an element lies, whether it is there or not.
    pub(super) fn address_of(&mut self, place: &Place) -> Operand {
        let (at, _, space, _) = self.locate(place);
        let ty = if space == Space::Shared {
            Ty::B32
        } else {
            Ty::B64
        };
        let Operand::Addr { base, offset, .. } = at else {
            unreachable!("bug: a place is an address");
        };
        let base = match base {
            crate::ptx::Base::Reg(r) => r.into(),
            _ => self.shared_symbol(),
        };
        match offset {
            0 => base,
            n => self.def(
                ty,
                isa::add(if ty == Ty::B32 { Ty::U32 } else { Ty::U64 }),
                [base, Operand::int(n)],
            ),
        }
    }

    /// Stores one element.
    pub(super) fn store_element(&mut self, place: &Place, value: Value, order: &Order) {
        let (at, p, space, t) = self.locate(place);
        let shape = super::global::Shape::of(t, 1);
        let o = self.scalar(value);
        let o = self.stored(t, o);
        let op = ordered(isa::st(space, shape.ty), order);
        self.ins(guard(p), op, vec![at, o]);
    }

    pub(super) fn fence(&mut self, order: &Order) {
        if order.order != MemoryOrder::Weak {
            self.ins(None, isa::fence(isa::Order::AcqRel, scope(order)), vec![]);
        }
    }

    pub(super) fn barrier(&mut self, b: &Barrier) {
        match b {
            Barrier::Block => self.ins(None, isa::bar_sync(), vec![Operand::int(0)]),
            Barrier::Warp => self.ins(None, isa::bar_warp(), vec![Operand::int(ALL_LANES)]),
            Barrier::Named {
                id,
                threads,
                arrive,
            } => {
                let op = if *arrive {
                    isa::bar_arrive()
                } else {
                    isa::bar_sync()
                };
                self.ins(None, op, vec![Operand::int(*id), Operand::int(*threads)]);
            }
        }
    }
}

fn name(op: AtomOp) -> isa::Atom {
    match op {
        AtomOp::Add => isa::Atom::Add,
        AtomOp::Min => isa::Atom::Min,
        AtomOp::Max => isa::Atom::Max,
        AtomOp::And => isa::Atom::And,
        AtomOp::Or => isa::Atom::Or,
        AtomOp::Xor => isa::Atom::Xor,
        AtomOp::Exchange => isa::Atom::Exch,
        AtomOp::CompareExchange => isa::Atom::Cas,
    }
}

/// Sums wrap alike for both signs (only the unsigned 64-bit form exists); bits have no sign.
fn atom_type(op: AtomOp, t: DType) -> Ty {
    let ty = Ty::of_arithmetic(t);
    match op {
        AtomOp::Add if ty == Ty::S64 => Ty::U64,
        AtomOp::Add | AtomOp::Min | AtomOp::Max => ty,
        _ if t.row().class == Class::Float || t.is_int() => ty.untyped(),
        _ => ty,
    }
}
