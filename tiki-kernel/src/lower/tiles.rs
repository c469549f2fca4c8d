//! Register tensors: the elements a thread holds, and how one is obtained.

use super::Lower;
use crate::dtype::DType;
use crate::ir::{Block, Map, Op, StmtKind, TensorType, Value, Var};
use crate::isa::{self, Ty};
use crate::ptx::{Operand, Reg};

/// The thread's elements, by value index.
#[derive(Debug, Clone)]
pub(super) struct Tile {
    pub elements: Vec<Element>,
}

/// One element.
#[derive(Debug, Clone)]
pub(super) enum Element {
    /// In a register, or known at build time.
    Whole(Operand),
    /// Half of a 32-bit register.
    Half {
        /// The register.
        word: Reg,
        /// The upper half.
        high: bool,
    },
}

impl<'a> Lower<'a> {
    /// Type of a register tensor.
    pub(super) fn tensor(&self, v: Value) -> &'a TensorType {
        self.kernel.values[v.0 as usize]
            .ty
            .tensor()
            .expect("bug: a register tensor is asked for")
    }

    /// An element as it lies.
    fn element(&mut self, v: Value, i: usize) -> Element {
        if self.plan.deferred.contains(&v) {
            return Element::Whole(match self.defs[&v] {
                Op::Map(map) => self.map_element(v, map, i),
                Op::Splat(s) => self.scalar(*s),
                _ => unreachable!("bug: only maps and splats are deferred"),
            });
        }
        self.tiles[&v].elements[i].clone()
    }

    /// An element in a register (or as an immediate).
    pub(super) fn whole(&mut self, v: Value, i: usize) -> Operand {
        let e = self.element(v, i);
        self.unpack(e)
    }

    /// The whole of an element.
    pub(super) fn unpack(&mut self, e: Element) -> Operand {
        match e {
            Element::Whole(o) => o,
            Element::Half { word, high } => {
                let (low, up) = match self.unpacked {
                    Some((w, low, up)) if w == word => (low, up),
                    _ => {
                        let (low, up) = (self.reg(Ty::B16), self.reg(Ty::B16));
                        self.ins(
                            None,
                            isa::unpack(Ty::B32, 2),
                            vec![Operand::vec([low, up]), word.into()],
                        );
                        self.unpacked = Some((word, low, up));
                        (low, up)
                    }
                };
                Operand::Reg(if high { up } else { low })
            }
        }
    }

    /// Evaluates a map for one of the thread's elements.
    pub(super) fn map_element(&mut self, result: Value, map: &'a Map, i: usize) -> Operand {
        let ty = self.tensor(result);
        let region = &map.region;
        let mut halves = Vec::new();
        for (input, param) in map.inputs.iter().zip(&region.params) {
            let at = match input.missing_axis {
                Some(axis) => ty.dist.reduced_index(axis as usize, i),
                None => i,
            };
            let e = self.element(input.value, at);
            match e {
                Element::Half { word, high } if self.dtype(input.value) == DType::BF16 => {
                    halves.push((*param, word, high));
                    self.scalars.remove(param);
                }
                e => {
                    let o = self.unpack(e);
                    self.scalars.insert(*param, o);
                }
            }
        }
        if !region.coords.is_empty() {
            let rank = ty.shape.len();
            let offset = ty.dist.value_offset(i, rank);
            for (axis, c) in region.coords.iter().enumerate() {
                let base = self.thread_offset(&ty.dist, axis);
                let o = self.add_const(base, offset[axis].into());
                self.scalars.insert(*c, o);
            }
        }
        self.region(&region.body, None, &halves);
        if let Some((_, word, high)) = halves.iter().find(|(p, ..)| *p == region.result) {
            let e = Element::Half {
                word: *word,
                high: *high,
            };
            return self.unpack(e);
        }
        self.scalar(region.result)
    }

    /// The pure statements of a region. Under a condition everything is computed and assignments select,
    /// so that a region is straight code. `halves` are parameters still packed in words.
    fn region(&mut self, body: &'a Block, cond: Option<Operand>, halves: &[(Value, Reg, bool)]) {
        for stmt in body {
            self.place(stmt.span);
            match &stmt.kind {
                StmtKind::Let(v, Op::Get(var)) => {
                    let o = match self.region_vars.get(var) {
                        Some(o) => o.clone(),
                        None => Operand::Reg(self.variable(*var)[0]),
                    };
                    self.scalars.insert(*v, o);
                }
                StmtKind::Let(v, op) => {
                    let o = match op {
                        Op::Cast(p, _) if self.dtype(*v) == DType::F32 => {
                            self.widen_half(*p, halves)
                        }
                        _ => None,
                    };
                    let o = match o {
                        Some(o) => o,
                        None => {
                            for p in crate::ir::visit::operands(op) {
                                self.settle(p, halves);
                            }
                            self.scalar_op(*v, op)
                        }
                    };
                    self.scalars.insert(*v, o);
                }
                StmtKind::Set(var, v) => {
                    self.settle(*v, halves);
                    let new = self.scalar(*v);
                    let t = self.dtype(*v);
                    let new = match (&cond, self.region_vars.get(var).cloned()) {
                        (Some(c), Some(old)) => self.select(t, c.clone(), new, old),
                        _ => new,
                    };
                    self.region_vars.insert(*var, new);
                }
                StmtKind::If {
                    cond: c,
                    then,
                    otherwise,
                } => {
                    let c = self.scalar(*c);
                    let both = |l: &mut Self, c: Operand| match &cond {
                        Some(outer) => l.def(Ty::Pred, isa::and(Ty::Pred), [outer.clone(), c]),
                        None => c,
                    };
                    let yes = both(self, c.clone());
                    self.region(then, Some(yes), halves);
                    if !otherwise.is_empty() {
                        let not = self.def(Ty::Pred, isa::not(Ty::Pred), [c]);
                        let no = both(self, not);
                        self.region(otherwise, Some(no), halves);
                    }
                }
                _ => unreachable!("bug: a region holds pure statements"),
            }
        }
    }

    /// The upper 16 bits of an f32 are a bfloat: one instruction widens half of a word.
    fn widen_half(&mut self, p: Value, halves: &[(Value, Reg, bool)]) -> Option<Operand> {
        let (_, word, high) = *halves.iter().find(|(v, ..)| *v == p)?;
        Some(if high {
            self.def(
                Ty::F32,
                isa::and(Ty::B32),
                [word.into(), Operand::int(0xffff_0000_u32)],
            )
        } else {
            self.def(Ty::F32, isa::shl(Ty::B32), [word.into(), Operand::int(16)])
        })
    }

    fn settle(&mut self, p: Value, halves: &[(Value, Reg, bool)]) {
        if !self.scalars.contains_key(&p)
            && let Some((_, word, high)) = halves.iter().find(|(v, ..)| *v == p)
        {
            let e = Element::Half {
                word: *word,
                high: *high,
            };
            let o = self.unpack(e);
            self.scalars.insert(p, o);
        }
    }

    /// Defines a register tensor.
    pub(super) fn define_tile(&mut self, v: Value, op: &'a Op) {
        if self.plan.deferred.contains(&v) {
            return;
        }
        let n = self.tensor(v).dist.len();
        let elements = match op {
            Op::Load { view, fill, access } => self.load(v, view, *fill, access),
            Op::LoadShared { view, vector } => self.load_shared(v, view, *vector),
            Op::Reduce(r) => self.reduce(v, r),
            Op::Scan(s) => self.scan(v, s),
            Op::Splat(s) => {
                let o = self.scalar(*s);
                vec![Element::Whole(o); n]
            }
            Op::Exchange(from) => self.exchange(v, *from),
            Op::Pick(a, places) => places
                .iter()
                .map(|&i| self.element(*a, i as usize))
                .collect(),
            Op::Map(map) if self.narrows(v, map) => self.map_pairs(v, map),
            Op::Map(map) => (0..n)
                .map(|i| Element::Whole(self.map_element(v, map, i)))
                .collect(),
            Op::Get(var) => {
                let mut regs = self.variable(*var);
                let ty = self.variable_type(*var);
                if !self.plan.views.contains(&v) {
                    for r in &mut regs {
                        let copy = self.reg(ty);
                        self.copy(copy, (*r).into());
                        *r = copy;
                    }
                }
                if self.packs(*var) {
                    let half = |word: Reg, high| Element::Half { word, high };
                    regs.into_iter()
                        .flat_map(|r| [half(r, false), half(r, true)])
                        .collect()
                } else {
                    regs.into_iter().map(|r| Element::Whole(r.into())).collect()
                }
            }
            Op::Select(c, a, b) => {
                let t = self.dtype(v);
                (0..n)
                    .map(|i| {
                        let (c, a, b) = (self.scalar(*c), self.whole(*a, i), self.whole(*b, i));
                        Element::Whole(self.select(t, c, a, b))
                    })
                    .collect()
            }
            _ => unreachable!("bug: {op:?} gives no register tensor"),
        };
        self.tiles.insert(v, Tile { elements });
    }

    /// Whether a map ends in a conversion to 16 bits of values that lie in pairs.
    fn narrows(&self, v: Value, map: &Map) -> bool {
        let t = self.tensor(v);
        let even = (t.dist.values.first()).is_some_and(|m| m.extent.is_multiple_of(2));
        let converts = map.region.body.iter().any(|s| {
            matches!(&s.kind, StmtKind::Let(x, Op::Cast(a, _))
                if *x == map.region.result && self.dtype(*a) == DType::F32)
        });
        even && converts && t.dtype.is_float() && t.dtype.bytes() == 2
    }

    /// Evaluates such a map into words of two elements.
    fn map_pairs(&mut self, v: Value, map: &'a Map) -> Vec<Element> {
        let mut out = Vec::new();
        for i in (0..self.tensor(v).dist.len()).step_by(2) {
            let parts = [i, i + 1].map(|i| self.map_element(v, map, i));
            let word = self.def(Ty::B32, isa::pack(Ty::B32, 2), [Operand::vec(parts)]);
            let word = self.register(&word, Ty::B32);
            out.extend([false, true].map(|high| Element::Half { word, high }));
        }
        out
    }

    /// All elements of a tile in two registers a word, for 16-bit types: `None` where it is not packed.
    pub(super) fn packed_word(&mut self, v: Value, i: usize) -> Option<Reg> {
        if self.plan.deferred.contains(&v) {
            return None;
        }
        let elements = &self.tiles[&v].elements;
        match (&elements[i], elements.get(i + 1)) {
            (
                Element::Half { word, high: false },
                Some(Element::Half {
                    word: next,
                    high: true,
                }),
            ) if word == next => Some(*word),
            _ => None,
        }
    }

    /// Whether a variable's elements lie two in a register: 16-bit tensors of an even number.
    pub(super) fn packs(&self, var: Var) -> bool {
        let ty = &self.kernel.vars[var.0 as usize].ty;
        let even = ty.tensor().is_some_and(|t| t.dist.len().is_multiple_of(2));
        even && ty.dtype().bytes() == 2
    }

    /// The type of a variable's registers.
    fn variable_type(&self, var: Var) -> Ty {
        if self.packs(var) {
            return Ty::B32;
        }
        Ty::of_register(self.kernel.vars[var.0 as usize].ty.dtype())
    }

    /// Assigns a register tensor to its variable.
    pub(super) fn set_variable(&mut self, var: Var, v: Value) {
        let regs = self.variable(var);
        let packs = self.packs(var);
        for (i, r) in regs.into_iter().enumerate() {
            let o = if packs {
                match self.packed_word(v, 2 * i) {
                    Some(word) => word.into(),
                    None => {
                        let halves = [self.whole(v, 2 * i), self.whole(v, 2 * i + 1)];
                        self.def(Ty::B32, isa::pack(Ty::B32, 2), [Operand::vec(halves)])
                    }
                }
            } else {
                self.whole(v, i)
            };
            self.copy(r, o);
        }
    }

    /// Registers of a variable.
    pub(super) fn variable(&mut self, var: Var) -> Vec<Reg> {
        if let Some(r) = self.vars.get(&var) {
            return r.clone();
        }
        let info = &self.kernel.vars[var.0 as usize];
        let elements = info.ty.tensor().map_or(1, |t| t.dist.len());
        let n = if self.packs(var) {
            elements / 2
        } else {
            elements
        };
        let ty = self.variable_type(var);
        let regs: Vec<Reg> = self.holding(&info.name, |l| (0..n).map(|_| l.reg(ty)).collect());
        self.vars.insert(var, regs.clone());
        regs
    }

    /// `a + n` in `u32`.
    pub(super) fn add_const(&mut self, a: Operand, n: i64) -> Operand {
        match a {
            Operand::Imm(crate::ptx::Imm::Int(i)) => Operand::int(i + n),
            a if n == 0 => a,
            a => self.def(Ty::B32, isa::add(Ty::U32), [a, Operand::int(n)]),
        }
    }
}
