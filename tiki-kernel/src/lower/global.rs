//! Global memory: tiles and single elements.
//!
//! The base address of a tile is computed once: the origins' and the thread's coordinates times the
//! strides, in 64 bits. Offsets within the tile are immediates where strides are known; along an axis
//! whose stride is a run-time value, each distinct offset has a pointer, made from its neighbour's.
//!
//! Along each axis that may be partial, `room` is what is left of the tile for this thread: the smaller
//! of the view's extent and what the tensor has from the origin on, less the thread's offset, signed. A
//! value at offset `v` is there if `room > v`: one comparison with an immediate.
//!
//! Where vectors may straddle the edge, one test (of all threads of the block alike) chooses between
//! whole vectors and single elements for the whole tile.

use super::Lower;
use super::emit::register_type;
use super::tiles::Element;
use crate::artifact::ParamKind;
use crate::dtype::DType;
use crate::ir::{
    Access, Cache, Dist, Edge, GlobalView, MemoryOrder, Order, TensorType, Uniform, Value,
};
use crate::isa::{self, Cmp, Space, Ty};
use crate::ptx::{Guard, Operand, Reg};
use std::collections::{BTreeMap, HashMap};

/// The addresses of a tile.
struct Address {
    base: Operand,
    /// Bytes from one index to the next, per axis of the view.
    steps: Vec<Operand>,
    rows: BTreeMap<Vec<u32>, Operand>,
}

/// The predicates of a tile.
pub(super) struct Guards {
    rooms: Vec<Option<Operand>>,
    /// Elements left of the tile along each axis that may be partial, the same for all threads.
    left: Vec<Option<Operand>>,
    always: Option<Operand>,
    made: HashMap<Vec<(usize, u32)>, Operand>,
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
    fn bytes_of(&self, param: usize) -> u32 {
        match self.kernel.params[param].kind {
            ParamKind::Tensor { dtype, .. } | ParamKind::Scalar(dtype) => dtype.bytes(),
        }
    }

    /// Bytes from one index to the next.
    fn pitch(&mut self, param: usize, axis: usize) -> Operand {
        let bytes = self.bytes_of(param);
        match self.stride(param, axis) {
            Operand::Imm(crate::ptx::Imm::Int(n)) => Operand::int(n * i64::from(bytes)),
            stride if bytes == 1 => stride,
            stride => {
                let name = format!("pitch of {}", self.kernel.params[param].name);
                self.once(super::emit::Once::Param(format!("{name} {axis}")), |l| {
                    l.holding(&name, |l| {
                        l.def(
                            Ty::B64,
                            isa::shl(Ty::B64),
                            [stride, Operand::int(bytes.ilog2())],
                        )
                    })
                })
            }
        }
    }

    /// `sum + x * pitch`, in 64 bits.
    fn term(
        &mut self,
        sum: Option<Operand>,
        x: Operand,
        wide: bool,
        pitch: &Operand,
    ) -> Option<Operand> {
        let known = match pitch {
            Operand::Imm(crate::ptx::Imm::Int(n)) => Some(*n),
            _ => None,
        };
        if let (Operand::Imm(crate::ptx::Imm::Int(i)), Some(n)) = (&x, known) {
            if i * n == 0 {
                return sum;
            }
            let product = Operand::int(i * n);
            return Some(match sum {
                Some(s) => self.def(Ty::B64, isa::add(Ty::U64), [s, product]),
                None => self.def(Ty::B64, isa::mov(Ty::B64), [product]),
            });
        }
        let short = !wide && known.is_some_and(|n| (0..=i64::from(u32::MAX)).contains(&n));
        if short {
            return Some(match sum {
                Some(s) => self.def(Ty::B64, isa::mad_wide(Ty::U32), [x, pitch.clone(), s]),
                None => self.def(Ty::B64, isa::mul_wide(Ty::U32), [x, pitch.clone()]),
            });
        }
        let x = match x {
            x @ Operand::Imm(_) => x,
            x if wide => x,
            x => self.def(Ty::B64, isa::cvt(Ty::U64, Ty::U32), [x]),
        };
        Some(match sum {
            Some(s) => self.def(Ty::B64, isa::mad(Ty::U64), [x, pitch.clone(), s]),
            None => self.def(Ty::B64, isa::mul(Ty::U64), [x, pitch.clone()]),
        })
    }

    /// Origin plus the thread's offset, and whether it has 64 bits.
    fn coordinate(&mut self, origin: Value, offset: Operand) -> (Operand, bool) {
        let wide = self.dtype(origin).bytes() == 8;
        let o = self.scalar(origin);
        let zero = |x: &Operand| *x == Operand::int(0);
        let sum = match (zero(&o), zero(&offset)) {
            (true, _) => return (offset, false),
            (_, true) => o,
            _ if wide => {
                let offset = self.def(Ty::B64, isa::cvt(Ty::U64, Ty::U32), [offset]);
                self.def(Ty::B64, isa::add(Ty::U64), [o, offset])
            }
            _ => self.def(Ty::B32, isa::add(Ty::U32), [o, offset]),
        };
        (sum, wide)
    }

    fn address(&mut self, view: &GlobalView, dist: Option<&Dist>) -> Address {
        let name = format!("address of {}", self.kernel.params[view.param].name);
        self.holding(&name, |l| {
            let mut sum = None;
            for (axis, index, _) in &view.fixed {
                let pitch = l.pitch(view.param, *axis);
                let (x, wide) = l.coordinate(*index, Operand::int(0));
                sum = l.term(sum, x, wide, &pitch);
            }
            let mut steps = Vec::new();
            for (a, axis) in view.axes.iter().enumerate() {
                let pitch = l.pitch(view.param, axis.axis);
                let offset = match dist {
                    Some(dist) => l.thread_offset(dist, a),
                    None => Operand::int(0),
                };
                let (x, wide) = l.coordinate(axis.origin, offset);
                sum = l.term(sum, x, wide, &pitch);
                steps.push(pitch);
            }
            let pointer = l.pointer(view.param);
            let base = match sum {
                Some(s) => l.def(Ty::B64, isa::add(Ty::U64), [pointer, s]),
                None => pointer,
            };
            Address {
                base,
                steps,
                rows: BTreeMap::new(),
            }
        })
    }

    /// Register and immediate of the element at these offsets from the thread's first.
    fn at(&mut self, view: &GlobalView, address: &mut Address, offsets: &[u32]) -> Operand {
        let mut immediate = 0;
        let mut rows = vec![0; offsets.len()];
        for (a, &v) in offsets.iter().enumerate() {
            match &address.steps[a] {
                Operand::Imm(crate::ptx::Imm::Int(n)) => immediate += n * i64::from(v),
                _ => rows[a] = v,
            }
        }
        let name = format!("address of {}", self.kernel.params[view.param].name);
        let row = self.holding(&name, |l| l.row(address, &rows));
        let row = self.register(&row, Ty::B64);
        Operand::addr(row, immediate)
    }

    fn row(&mut self, address: &mut Address, at: &[u32]) -> Operand {
        if at.iter().all(|v| *v == 0) {
            return address.base.clone();
        }
        if let Some(o) = address.rows.get(at) {
            return o.clone();
        }
        // From the pointer that differs least, along one axis only; else from the base.
        let near = address
            .rows
            .iter()
            .filter_map(|(k, o)| {
                let mut moved = (0..at.len()).filter(|&a| k[a] != at[a]);
                let axis = moved.next()?;
                let step = at[axis].checked_sub(k[axis])?;
                moved.next().is_none().then(|| (step, axis, o.clone()))
            })
            .min_by_key(|(step, ..)| *step);
        let (mut from, moves): (Operand, Vec<(usize, u32)>) = match near {
            Some((step, axis, o)) => (o, vec![(axis, step)]),
            None => (
                address.base.clone(),
                at.iter().copied().enumerate().filter(|m| m.1 > 0).collect(),
            ),
        };
        for (axis, step) in moves {
            let pitch = address.steps[axis].clone();
            let bytes = if step == 1 {
                pitch
            } else if step.is_power_of_two() {
                self.def(
                    Ty::B64,
                    isa::shl(Ty::B64),
                    [pitch, Operand::int(step.ilog2())],
                )
            } else {
                self.def(Ty::B64, isa::mul(Ty::U64), [pitch, Operand::int(step)])
            };
            from = self.def(Ty::B64, isa::add(Ty::U64), [from, bytes]);
        }
        address.rows.insert(at.to_vec(), from.clone());
        from
    }

    /// What may be outside, of a tile (or of one element, without a distribution).
    fn guards(
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
                    let extent = l.extent(view.param, *axis);
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
                    _ => Some(l.left(view.param, axis)),
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
    fn left(&mut self, param: usize, axis: &crate::ir::ViewAxis) -> Operand {
        let extent = self.extent(param, axis.axis);
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

    fn below(&mut self, x: Operand, extent: Operand, wide: bool) -> Operand {
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
        let op = self.load_op(view.param, access.cache, &shape);
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
                    l.ins(
                        guard(p),
                        shape.vectored(op),
                        vec![shape.operand(&to), addresses[g].clone()],
                    );
                }
            },
            |l| {
                let one = Shape::of(t.dtype, 1);
                let op = l.load_op(view.param, access.cache, &one);
                for i in 0..t.dist.len() {
                    let p = l.present(&mut single, &t.dist.value_offset(i, rank));
                    let from = moved(
                        &addresses[i / n as usize],
                        (i as u32 % n * t.dtype.bytes()).into(),
                    );
                    let r = regs[i / shape.each as usize];
                    if shape.each == 1 {
                        l.ins(guard(p), op, vec![r.into(), from]);
                        continue;
                    }
                    let (low, high) = (l.reg(Ty::B16), l.reg(Ty::B16));
                    l.ins(
                        None,
                        isa::unpack(Ty::B32, 2),
                        vec![Operand::vec([low, high]), r.into()],
                    );
                    l.ins(
                        guard(p),
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

    fn load_op(&self, param: usize, cache: Cache, shape: &Shape) -> isa::Op {
        let _ = param;
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
                    l.ins(guard(p), shape.vectored(op), vec![to, shape.operand(&from)]);
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
                    l.ins(guard(p), op, vec![to, from[0].clone()]);
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
