//! Reductions along an axis, in the order that [`crate::ir::Reduce`] promises.
//!
//! A partial value is one register, or for the place of an extreme a *key* and an index. Keys are
//! unsigned integers that order as the values do, NaN above all and -0 as +0; key and negated index
//! packed into 64 bits make a combination one maximum (of several equals the smallest index wins, and
//! nothing at all is 0). For 64-bit elements they stay two registers. Among a thread's own floats of up to
//! 32 bits the place is found without keys ([`super::place`]).

use super::Lower;
use super::address::{Form, read_form};
use super::emit::Once;
use super::guards::guard;
use super::shared::address;
use super::tiles::Element;
use crate::dtype::{Class, DType};
use crate::ir::reduction::{Steps, ThreadDigit, entry_bytes};
use crate::ir::{Binary, Dist, Reduce, ReduceOp, Value};
use crate::isa::{self, Cmp, Shfl, Space, Ty};
use crate::ptx::Operand;

/// A partial value.
pub(super) type Partial = Vec<Operand>;

/// Partial values of a balanced tree that is fed in order: at most one for each level.
#[derive(Default)]
pub(super) struct Tree(Vec<(u32, Partial)>);

fn arg(op: ReduceOp) -> bool {
    matches!(op, ReduceOp::ArgMax | ReduceOp::ArgMin)
}

impl Lower<'_> {
    /// Reduces.
    pub(super) fn reduce(&mut self, v: Value, r: &Reduce) -> Vec<Element> {
        let t = self.tensor(r.value);
        let axis = r.axis as usize;
        let steps = Steps::of(t, axis);
        let name = match self.kernel.values[v.0 as usize].name.as_str() {
            "" => "partial values of a reduction".to_string(),
            name => name.to_string(),
        };
        self.holding(&name, |l| {
            let results = l.own(r, &steps);
            let results: Vec<Partial> = results
                .into_iter()
                .map(|p| l.lanes(r.op, t.dtype, p, &steps))
                .collect();
            let results = match r.scratch {
                Some(scratch) if steps.needs_scratch() => {
                    l.warps(r, t.dtype, results, &steps, scratch)
                }
                _ => results,
            };
            results
                .into_iter()
                .map(|p| Element::Whole(l.finished(r.op, p)))
                .collect()
        })
    }

    /// The thread's own values.
    fn own(&mut self, r: &Reduce, steps: &Steps) -> Vec<Partial> {
        let t = self.tensor(r.value);
        let (axis, rank) = (r.axis as usize, t.shape.len());
        let limits: Vec<Option<Operand>> = (0..rank)
            .map(|a| {
                let bound = r.bounds.get(a).copied().flatten()?;
                Some(self.limit(bound, t.shape[a]))
            })
            .collect();
        let mut guards = self.guards_of(t, &limits, false);
        if arg(r.op) && Self::places_own(t.dtype) {
            return (0..steps.results as usize)
                .map(|which| {
                    let own = (0..t.dist.len()).filter(|&i| t.dist.reduced_index(axis, i) == which);
                    self.own_place(r.value, r.op, axis, &own.collect::<Vec<_>>(), &mut guards)
                })
                .collect();
        }
        let neutral = self.neutral(r.op, t.dtype);
        let mut trees: Vec<Tree> = (0..steps.results).map(|_| Tree::default()).collect();
        for i in 0..t.dist.len() {
            let offsets = t.dist.value_offset(i, rank);
            let x = self.whole(r.value, i);
            let mut p = if arg(r.op) {
                let base = self.thread_offset(&t.dist, axis);
                let at = self.add_const(base, offsets[axis].into());
                self.keyed(r.op, t.dtype, x, at)
            } else {
                vec![x]
            };
            if let Some(there) = self.present(&mut guards, &offsets) {
                for (x, n) in p.iter_mut().zip(&neutral) {
                    let ty = match x {
                        Operand::Reg(reg) => self.b.ty(*reg),
                        _ => Ty::of_register(t.dtype),
                    };
                    *x = self.def(ty, isa::selp(ty), [x.clone(), n.clone(), there.clone()]);
                }
            }
            let which = t.dist.reduced_index(axis, i);
            self.feed(&mut trees[which], r.op, t.dtype, p);
        }
        trees
            .into_iter()
            .map(|tree| {
                self.harvest(tree, r.op, t.dtype)
                    .unwrap_or_else(|| neutral.clone())
            })
            .collect()
    }

    /// A bound as a `u32` that a signed comparison can take.
    pub(super) fn limit(&mut self, bound: Value, extent: u32) -> Operand {
        let wide = self.dtype(bound).bytes() == 8;
        match self.scalar(bound) {
            Operand::Imm(crate::ptx::Imm::Int(i)) => Operand::int(i.clamp(0, extent.into())),
            o if wide => {
                let o = self.def(Ty::B64, isa::min(Ty::U64), [o, Operand::int(extent)]);
                self.def(Ty::B32, isa::cvt(Ty::U32, Ty::U64), [o])
            }
            o => self.def(Ty::B32, isa::min(Ty::U32), [o, Operand::int(extent)]),
        }
    }

    pub(super) fn feed(&mut self, tree: &mut Tree, op: ReduceOp, t: DType, p: Partial) {
        let (mut level, mut p) = (0, p);
        while tree.0.last().is_some_and(|(l, _)| *l == level) {
            let (_, left) = tree.0.pop().expect("bug: looked at above");
            p = self.combine(op, t, left, p);
            level += 1;
        }
        tree.0.push((level, p));
    }

    pub(super) fn harvest(&mut self, mut tree: Tree, op: ReduceOp, t: DType) -> Option<Partial> {
        let (_, mut p) = tree.0.pop()?;
        while let Some((_, left)) = tree.0.pop() {
            p = self.combine(op, t, left, p);
        }
        Some(p)
    }

    fn combine(&mut self, op: ReduceOp, t: DType, a: Partial, b: Partial) -> Partial {
        let f = match op {
            ReduceOp::Sum => Binary::Add,
            ReduceOp::Max { nan: false } => Binary::Max,
            ReduceOp::Max { nan: true } => Binary::MaxNan,
            ReduceOp::Min { nan: false } => Binary::Min,
            ReduceOp::Min { nan: true } => Binary::MinNan,
            ReduceOp::ArgMax | ReduceOp::ArgMin => match (a.as_slice(), b.as_slice()) {
                ([ka, ia], [kb, ib]) => {
                    let above = self.def(
                        Ty::Pred,
                        isa::setp(Cmp::Gt, Ty::U64),
                        [kb.clone(), ka.clone()],
                    );
                    let before = self.def(
                        Ty::Pred,
                        isa::setp(Cmp::Gt, Ty::U32),
                        [ib.clone(), ia.clone()],
                    );
                    let tie = isa::setp_bool(Cmp::Eq, isa::Bool::And, Ty::U64);
                    let tie = self.def(Ty::Pred, tie, [kb.clone(), ka.clone(), before]);
                    let better = self.def(Ty::Pred, isa::or(Ty::Pred), [above, tie]);
                    let k = self.def(
                        Ty::B64,
                        isa::selp(Ty::B64),
                        [kb.clone(), ka.clone(), better.clone()],
                    );
                    let i = self.def(
                        Ty::B32,
                        isa::selp(Ty::B32),
                        [ib.clone(), ia.clone(), better],
                    );
                    return vec![k, i];
                }
                _ => {
                    return vec![self.def(
                        Ty::B64,
                        isa::max(Ty::U64),
                        [a[0].clone(), b[0].clone()],
                    )];
                }
            },
        };
        vec![self.binary(f, t, a[0].clone(), b[0].clone())]
    }

    /// What does not count: zero, the extreme of the other end, no index.
    fn neutral(&mut self, op: ReduceOp, t: DType) -> Partial {
        match op {
            ReduceOp::Sum if t.is_float() => vec![self.float(t, 0.0)],
            ReduceOp::Sum => vec![Operand::int(0)],
            ReduceOp::Max { .. } => vec![self.extreme(t, false)],
            ReduceOp::Min { .. } => vec![self.extreme(t, true)],
            _ if t.bytes() == 8 => vec![Operand::int(0), Operand::int(0)],
            _ => vec![Operand::int(0)],
        }
    }

    /// The greatest or least value of a type.
    pub(super) fn extreme(&mut self, t: DType, high: bool) -> Operand {
        match t.row().class {
            Class::Float => self.float(
                t,
                if high {
                    f64::INFINITY
                } else {
                    f64::NEG_INFINITY
                },
            ),
            Class::Signed => {
                let bits = 8 * t.bytes() - 1;
                Operand::int(if high {
                    (1_i128 << bits) - 1
                } else {
                    -(1_i128 << bits)
                })
            }
            _ => Operand::int(if high { super::emit::wrap(t, -1) } else { 0 }),
        }
    }

    /// Key and negated index of a value.
    pub(super) fn keyed(&mut self, op: ReduceOp, t: DType, x: Operand, at: Operand) -> Partial {
        let (mut t, mut x) = (t, x);
        if t.is_float() && t.bytes() == 2 {
            x = self.widen(t, x);
            t = DType::F32;
        }
        if t.bytes() < 4 {
            let to = if t.row().class == Class::Signed {
                DType::I32
            } else {
                DType::U32
            };
            x = self.cast(t, to, crate::ir::Round::Default, x);
            t = to;
        }
        let wide = t.bytes() == 8;
        let (bits, signed, ty) = if wide {
            (Ty::B64, Ty::S64, Ty::B64)
        } else {
            (Ty::B32, Ty::S32, Ty::B32)
        };
        let top = if wide {
            Operand::int(i64::MIN)
        } else {
            Operand::int(0x8000_0000_u32)
        };
        let key = match t.row().class {
            Class::Float => {
                let f = Ty::of_arithmetic(t);
                let zero = self.float(t, 0.0);
                // x + 0 makes -0 into +0 and changes nothing else.
                let x = self.def(f, isa::add(f), [x, zero]);
                let last = Operand::int(8 * t.bytes() - 1);
                let word = self.def(ty, isa::mov(bits), [x.clone()]);
                let sign = self.def(ty, isa::shr(signed), [word.clone(), last]);
                let flip = self.def(ty, isa::or(bits), [sign, top]);
                let key = self.def(ty, isa::xor(bits), [word, flip]);
                let key = if op == ReduceOp::ArgMin {
                    self.def(ty, isa::not(bits), [key])
                } else {
                    key
                };
                let nan = self.def(Ty::Pred, isa::setp(Cmp::Nan, f), [x.clone(), x]);
                self.def(ty, isa::selp(bits), [Operand::int(-1), key, nan])
            }
            class => {
                let key = if class == Class::Signed {
                    self.def(ty, isa::xor(bits), [x, top])
                } else {
                    x
                };
                if op == ReduceOp::ArgMin {
                    self.def(ty, isa::not(bits), [key])
                } else {
                    key
                }
            }
        };
        let not = match at {
            Operand::Imm(crate::ptx::Imm::Int(i)) => Operand::int(!(i as u32)),
            at => self.def(Ty::B32, isa::not(Ty::B32), [at]),
        };
        if wide {
            return vec![key, not];
        }
        let low = self.register(&not, Ty::B32);
        let high = self.register(&key, Ty::B32);
        vec![self.def(Ty::B64, isa::pack(Ty::B64, 2), [Operand::vec([low, high])])]
    }

    /// The result of a partial value.
    fn finished(&mut self, op: ReduceOp, p: Partial) -> Operand {
        if !arg(op) {
            return p[0].clone();
        }
        let low = match p.as_slice() {
            [_, not] => not.clone(),
            _ => self.halves(p[0].clone()).0,
        };
        self.def(Ty::B32, isa::not(Ty::B32), [low])
    }

    pub(super) fn halves(&mut self, x: Operand) -> (Operand, Operand) {
        let (low, high) = (self.reg(Ty::B32), self.reg(Ty::B32));
        self.ins(
            None,
            isa::unpack(Ty::B64, 2),
            vec![Operand::vec([low, high]), x],
        );
        (low.into(), high.into())
    }

    /// Butterflies, nearest lane first.
    fn lanes(&mut self, op: ReduceOp, t: DType, mut p: Partial, steps: &Steps) -> Partial {
        for mask in &steps.butterflies {
            let other: Partial = p
                .iter()
                .enumerate()
                .map(|(i, x)| {
                    let ty = partial_type(op, t, i);
                    self.shuffle(Shfl::Bfly, ty, x.clone(), Operand::int(*mask))
                })
                .collect();
            p = self.combine(op, t, p, other);
        }
        p
    }

    /// Through scratch: write, meet, read.
    fn warps(
        &mut self,
        r: &Reduce,
        t: DType,
        results: Vec<Partial>,
        steps: &Steps,
        scratch: usize,
    ) -> Vec<Partial> {
        let entry = entry_bytes(r.op, t);
        let (combine, groups) = (steps.combine(), steps.groups());
        let start = i64::from(self.shared_offsets[scratch]);
        let dist = self.tensor(r.value).dist.clone();
        let (to, from) = self.scratch_places(&dist, &steps.combined, &steps.kept, combine, entry);
        if r.barrier_before {
            self.barrier(&r.meet);
        }
        let writes = (steps.lane_mask != 0).then(|| {
            let t = self.thread();
            let lane = self.def(
                Ty::B32,
                isa::and(Ty::B32),
                [t, Operand::int(steps.lane_mask)],
            );
            self.def(
                Ty::Pred,
                isa::setp(Cmp::Eq, Ty::U32),
                [lane, Operand::int(0)],
            )
        });
        let row = i64::from(groups * combine * entry);
        for (n, p) in results.iter().enumerate() {
            for (i, x) in p.iter().enumerate() {
                let ty = partial_type(r.op, t, i);
                let x = self.word(ty, x.clone());
                let at = address(&to, start + n as i64 * row + 8 * i as i64);
                let op = isa::st(
                    Space::Shared,
                    if ty.bits() == 64 { Ty::B64 } else { Ty::B32 },
                );
                self.ins(guard(writes.clone()), op, vec![at, x]);
            }
        }
        self.barrier(&r.meet);
        self.unpacked = None;
        let parts = results.first().map_or(0, Vec::len);
        (0..results.len())
            .map(|n| {
                let base = start + n as i64 * row;
                let mut tree = Tree::default();
                let mut c = 0;
                while c < combine {
                    let got = self.read_entries(r.op, t, &from, base, c, combine, entry, parts);
                    c += got.len() as u32;
                    for p in got {
                        self.feed(&mut tree, r.op, t, p);
                    }
                }
                self.harvest(tree, r.op, t).expect("bug: there is an entry")
            })
            .collect()
    }

    /// Entries from `c` on: as many as one instruction reads.
    #[allow(clippy::too_many_arguments)]
    fn read_entries(
        &mut self,
        op: ReduceOp,
        t: DType,
        from: &Option<Operand>,
        base: i64,
        c: u32,
        combine: u32,
        entry: u32,
        parts: usize,
    ) -> Vec<Partial> {
        let at = base + i64::from(c * entry);
        if parts == 2 {
            let k = self.def(
                Ty::B64,
                isa::ld(Space::Shared, Ty::B64),
                [address(from, at)],
            );
            let i = self.def(
                Ty::B32,
                isa::ld(Space::Shared, Ty::B32),
                [address(from, at + 8)],
            );
            return vec![vec![k, i]];
        }
        let mut n = 16 / entry;
        // The base of each group is a multiple of `combine` entries.
        while n > 1
            && (!(combine * entry).is_multiple_of(n * entry)
                || at % i64::from(n * entry) != 0
                || c + n > combine)
        {
            n /= 2;
        }
        let ty = partial_type(op, t, 0);
        let (word, reg) = match entry {
            8 => (Ty::B64, if ty == Ty::F64 { Ty::F64 } else { Ty::B64 }),
            _ => (Ty::B32, if ty == Ty::F32 { Ty::F32 } else { Ty::B32 }),
        };
        let regs: Vec<Operand> = (0..n).map(|_| self.reg(reg).into()).collect();
        let load = isa::ld(Space::Shared, word);
        let (load, to) = match n {
            4 => (load.with(isa::Vec::V4), Operand::vec(regs.clone())),
            2 => (load.with(isa::Vec::V2), Operand::vec(regs.clone())),
            _ => (load, regs[0].clone()),
        };
        self.ins(None, load, vec![to, address(from, at)]);
        regs.into_iter()
            .map(|r| {
                let x = if ty.bits() == 16 {
                    self.def(Ty::B16, isa::cvt(Ty::U16, Ty::U32), [r])
                } else {
                    r
                };
                vec![x]
            })
            .collect()
    }

    /// A value as a scratch word.
    pub(super) fn word(&mut self, ty: Ty, x: Operand) -> Operand {
        if ty.bits() == 16 {
            return self.def(Ty::B32, isa::cvt(Ty::U32, Ty::U16), [x]);
        }
        self.register(&x, ty).into()
    }

    /// Where in scratch, from the beginning of a result on, a thread writes its own entry and reads its group's.
    pub(super) fn scratch_places(
        &mut self,
        dist: &Dist,
        combined: &[ThreadDigit],
        kept: &[ThreadDigit],
        combine: u32,
        entry: u32,
    ) -> (Option<Operand>, Option<Operand>) {
        let of = |thread: usize, own: u32| {
            i64::from((mixed(kept, thread as u32) * combine + own) * entry)
        };
        let write = read_form(dist, |thread| of(thread, mixed(combined, thread as u32)))
            .expect("bug: digits of the thread number are a form");
        let read = read_form(dist, |thread| of(thread, 0))
            .expect("bug: digits of the thread number are a form");
        (self.scratch_base(&write), self.scratch_base(&read))
    }

    fn scratch_base(&mut self, form: &Form) -> Option<Operand> {
        if form.digits.is_empty() && form.constant == 0 {
            return None;
        }
        Some(self.once(
            Once::Shared(form.digits.clone(), form.constant, 0, 0, 0),
            |l| {
                l.holding("address of scratch", |l| {
                    let o = l.form(form);
                    let base = l.shared_symbol();
                    l.def(Ty::B32, isa::add(Ty::U32), [o, base])
                })
            },
        ))
    }
}

/// Register type of a part of a partial value.
fn partial_type(op: ReduceOp, t: DType, part: usize) -> Ty {
    match (arg(op), part) {
        (true, 0) => Ty::B64,
        (true, _) => Ty::B32,
        _ => Ty::of_register(t),
    }
}

/// The digits of a thread as one number, the first fastest.
fn mixed(digits: &[ThreadDigit], thread: u32) -> u32 {
    let (mut sum, mut weight) = (0, 1);
    for d in digits {
        sum += thread / d.stride % d.extent * weight;
        weight *= d.extent;
    }
    sum
}
