//! Shared memory: tiles and single elements.
//!
//! The element offset of (thread, value) is read as `F(thread) + K(value)`, checked for every pair that
//! is present. Without a swizzle the address is `F` in a register and `K` as an immediate.
//!
//! A swizzle is linear over bits and leaves those above its own as they are, so where `F` and `K` never have
//! one of its bits in common, `swizzle(F + K) = swizzle(F) ^ swizzle(K)` in these bits, and the rest is a sum. The bits of
//! `swizzle(K)` that no thread's `swizzle(F)` has are added, as an immediate; the others are XORed onto the base
//! once for each distinct value.
//!
//! ```text
//! address = ((swizzle(F) ^ low(K)) + high(K)) * bytes        one register a distinct low(K)
//! ```
//!
//! Where the pairs do collide, or a run-time offset moves bits that the swizzle reads, each access
//! computes its own offset and swizzles it.

use super::Lower;
use super::SHARED;
use super::address::{Form, read_form};
use super::emit::Once;
use super::global::{Shape, moved};
use super::guards::guard;
use super::tiles::Element;
use crate::ir::{Coordinates, SharedView, Steps, TensorType, Value, Xor};
use crate::isa::{self, Space, Ty};
use crate::ptx::{Base, Operand, Reg};
use std::collections::HashMap;

/// How the offsets of a tile are found.
pub(super) enum Plan {
    /// `F + K`.
    Sum { form: Form, k: Vec<i64> },
    /// `(swizzle(F) ^ low(K)) + high(K)`.
    Bits { form: Form, k: Vec<(i64, i64)> },
    /// One by one.
    Each,
}

/// The offset of a coordinate, without the swizzle; coordinates past the shape continue the last digit.
fn open_linear(view: &SharedView, at: &[u32]) -> i64 {
    let axes = at.iter().enumerate();
    view.offset + axes.map(|(axis, c)| open_step(view, axis, *c)).sum::<i64>()
}

/// What an index along an axis adds to that.
fn open_step(view: &SharedView, axis: usize, mut c: u32) -> i64 {
    let mut sum = 0;
    let digits = view.axes.get(axis).map_or(&[][..], Vec::as_slice);
    for (i, d) in digits.iter().enumerate() {
        let last = i + 1 == digits.len();
        let digit = if last { c } else { c % d.extent };
        sum += i64::from(digit) * d.stride;
        c /= d.extent;
    }
    sum
}

/// The part of the constant that no swizzle sees goes to the values: tiles that differ only there share a
/// base.
fn constant_last(view: &SharedView, mut form: Form, mut k: Vec<i64>) -> (Form, Vec<i64>) {
    let unit = 1_i64 << view.swizzle.filter(|x| x.bits > 0).map_or(0, top);
    let moved = form.constant - form.constant.rem_euclid(unit);
    if moved > 0 {
        form.constant -= moved;
        k.iter_mut().for_each(|k| *k += moved);
    }
    (form, k)
}

/// One past the highest bit a swizzle reads or writes.
pub(super) fn top(x: Xor) -> u32 {
    x.base + x.shift.unsigned_abs() + x.bits
}

pub(super) fn plan(view: &SharedView, t: &TensorType) -> Plan {
    let all = Coordinates::new(&t.dist, t.shape.len());
    let place = |thread: usize, v: usize| open_linear(view, &all.at(thread, v));
    let Some(form) = read_form(&t.dist, |thread| place(thread, 0)) else {
        return Plan::Each;
    };
    let k: Vec<i64> = (0..t.dist.len())
        .map(|v| place(0, v) - form.constant)
        .collect();
    let (form, k) = constant_last(view, form, k);
    let threads = t.dist.thread_count() as usize;
    let steps = Steps::new(&t.shape, |axis, c| open_step(view, axis, c));
    // Of all elements that are there, once: base of the thread, constant of the value.
    let mut parts = Vec::with_capacity(threads * t.dist.len());
    let mut sums = Vec::new();
    for thread in 0..threads {
        let base = form.at(thread as u32);
        all.sums(&steps, thread, &mut sums);
        for (sum, k) in sums.iter().zip(&k) {
            if let Some(sum) = sum {
                if view.offset + sum != base + k {
                    return Plan::Each;
                }
                parts.push((base, *k));
            }
        }
    }
    let Some(x) = view.swizzle.filter(|x| x.bits > 0) else {
        return Plan::Sum { form, k };
    };
    let unit = 1_i64 << top(x);
    let still = view.dynamic.iter().all(|(_, step)| step % unit == 0);
    let apart = |bits: i64| {
        let mut parts = parts.iter();
        parts.all(|(base, k)| *base >= 0 && *k >= 0 && base & k & bits == 0)
    };
    // Bits that are XORed: all, if none ever meet; else those that the swizzle reads or writes.
    let Some(bits) = [i64::MAX, unit - 1]
        .into_iter()
        .find(|b| still && apart(*b))
    else {
        return Plan::Each;
    };
    let used = (0..threads).fold(0, |u, thread| u | x.apply(form.at(thread as u32)));
    let used = used & bits;
    let k = k
        .iter()
        .map(|k| (x.apply(*k) & used, x.apply(*k) & !used))
        .collect();
    Plan::Bits { form, k }
}

impl Lower<'_> {
    /// The same addresses in the block that a view says, mapped once a register: what is added as an immediate stays.
    fn in_block(&mut self, view: &SharedView, addresses: Vec<Operand>) -> Vec<Operand> {
        let Some(block) = view.block else {
            return addresses;
        };
        let block = self.scalar(block);
        let mut there: Vec<(Option<Reg>, Operand)> = Vec::new();
        let mut map = |l: &mut Self, at: Operand| {
            let Operand::Addr { base, offset, .. } = &at else {
                return at;
            };
            let register = match base {
                Base::Reg(r) => Some(*r),
                _ => None,
            };
            let known = there.iter().find(|(r, _)| *r == register);
            let mapped = match known {
                Some((_, mapped)) => mapped.clone(),
                None => {
                    let here = register.map_or_else(|| l.shared_symbol(), Operand::from);
                    let mapped = l.def(Ty::B32, isa::mapa(), [here, block.clone()]);
                    there.push((register, mapped.clone()));
                    mapped
                }
            };
            address(&Some(mapped), *offset)
        };
        addresses.into_iter().map(|at| map(self, at)).collect()
    }

    /// The addresses of the accesses of `n` elements from each of these values on.
    fn shared_addresses(&mut self, view: &SharedView, t: &TensorType, n: u32) -> Vec<Operand> {
        let here = self.addresses_here(view, t, n);
        self.in_block(view, here)
    }

    fn addresses_here(&mut self, view: &SharedView, t: &TensorType, n: u32) -> Vec<Operand> {
        let firsts = (0..t.dist.len()).step_by(n as usize);
        if !view.dynamic.is_empty() {
            let lanes = self.lanes_of(view, t.clone());
            return firsts.map(|i| self.lane_address(&lanes, i)).collect();
        }
        let name = format!("address of {}", self.kernel.shared[view.alloc].name);
        self.holding(&name, |l| {
            let bytes = i64::from(t.dtype.bytes());
            let start = i64::from(l.shared_offsets[view.alloc]);
            match plan(view, t) {
                Plan::Sum { form, k } => {
                    let base = l.shared_base(&scaled(&form, bytes), None, 0);
                    let base = l.moving(view, base, bytes);
                    firsts
                        .map(|i| address(&base, start + k[i] * bytes))
                        .collect()
                }
                Plan::Bits { form, k } => {
                    let mut bases: HashMap<i64, Option<Operand>> = HashMap::new();
                    let mut out = Vec::new();
                    for i in firsts {
                        let (low, high) = k[i];
                        let base = match bases.get(&low) {
                            Some(b) => b.clone(),
                            None => {
                                let x = view.swizzle.map(|x| in_bytes(x, bytes));
                                let b = l.shared_base(&scaled(&form, bytes), x, low * bytes);
                                let b = l.moving(view, b, bytes);
                                bases.insert(low, b.clone());
                                b
                            }
                        };
                        out.push(address(&base, start + high * bytes));
                    }
                    out
                }
                Plan::Each => firsts.map(|i| l.shared_each(view, t, i, start)).collect(),
            }
        })
    }

    /// Address of shared memory plus a form (swizzled, XORed) of the thread number, once. `None`: the
    /// array's own address.
    pub(super) fn shared_base(&mut self, form: &Form, x: Option<Xor>, low: i64) -> Option<Operand> {
        if form.digits.is_empty() && form.constant == 0 && low == 0 {
            return None;
        }
        let (mask, shift) = x.map_or((0, 0), |x| (mask_of(x), x.shift));
        Some(self.once(
            Once::Shared(form.digits.clone(), form.constant, mask, shift, low),
            |l| {
                let mut o = l.form(form);
                if let Some(x) = x {
                    o = l.swizzled(o, x);
                }
                if low != 0 {
                    o = l.def(Ty::B32, isa::xor(Ty::B32), [o, Operand::int(low)]);
                }
                let base = l.shared_symbol();
                l.def(Ty::B32, isa::add(Ty::U32), [o, base])
            },
        ))
    }

    /// The address of shared memory.
    pub(super) fn shared_symbol(&mut self) -> Operand {
        self.once(Once::Special(SHARED), |l| {
            l.def(Ty::B32, isa::mov(Ty::U32), [Operand::var(SHARED)])
        })
    }

    fn swizzled(&mut self, o: Operand, x: Xor) -> Operand {
        let by = Operand::int(x.shift.unsigned_abs());
        let op = if x.shift >= 0 {
            isa::shr(Ty::U32)
        } else {
            isa::shl(Ty::B32)
        };
        let moved = self.def(Ty::B32, op, [o.clone(), by]);
        let bits = self.def(
            Ty::B32,
            isa::and(Ty::B32),
            [moved, Operand::int(mask_of(x))],
        );
        self.def(Ty::B32, isa::xor(Ty::B32), [o, bits])
    }

    /// Adds the run-time offsets.
    pub(super) fn moving(
        &mut self,
        view: &SharedView,
        base: Option<Operand>,
        bytes: i64,
    ) -> Option<Operand> {
        if view.dynamic.is_empty() {
            return base;
        }
        let mut sum = base.unwrap_or_else(|| self.shared_symbol());
        for (v, step) in &view.dynamic {
            sum = self.step(sum, *v, step * bytes);
        }
        Some(sum)
    }

    fn step(&mut self, sum: Operand, v: Value, bytes: i64) -> Operand {
        let wide = self.dtype(v).bytes() == 8;
        match self.scalar(v) {
            Operand::Imm(crate::ptx::Imm::Int(i)) => self.add_const(sum, i * bytes),
            o => {
                let o = if wide {
                    self.def(Ty::B32, isa::cvt(Ty::U32, Ty::U64), [o])
                } else {
                    o
                };
                self.def(Ty::B32, isa::mad(Ty::U32), [o, Operand::int(bytes), sum])
            }
        }
    }

    /// The address of one access, from its coordinate.
    pub(super) fn shared_each(
        &mut self,
        view: &SharedView,
        t: &TensorType,
        i: usize,
        start: i64,
    ) -> Operand {
        let bytes = i64::from(t.dtype.bytes());
        let rank = t.shape.len();
        let form = read_form(&t.dist, |thread| {
            open_linear(view, &t.dist.coordinate(thread, i, rank))
        });
        let mut offset = match form {
            Some(f) => self.form(&f),
            None => {
                let at = t.dist.value_offset(i, rank);
                let mut sum = Operand::int(view.offset);
                for (a, digits) in view.axes.iter().enumerate() {
                    let thread = self.thread_offset(&t.dist, a);
                    let mut c = self.add_const(thread, at[a].into());
                    for (j, d) in digits.iter().enumerate() {
                        let last = j + 1 == digits.len();
                        let digit = if last {
                            c.clone()
                        } else {
                            self.def(
                                Ty::B32,
                                isa::rem(Ty::U32),
                                [c.clone(), Operand::int(d.extent)],
                            )
                        };
                        sum = self.def(
                            Ty::B32,
                            isa::mad(Ty::U32),
                            [digit, Operand::int(d.stride), sum],
                        );
                        if !last {
                            c = self.def(Ty::B32, isa::div(Ty::U32), [c, Operand::int(d.extent)]);
                        }
                    }
                }
                sum
            }
        };
        for (v, step) in &view.dynamic {
            offset = self.step(offset, *v, *step);
        }
        if let Some(x) = view.swizzle.filter(|x| x.bits > 0) {
            offset = self.swizzled(offset, x);
        }
        let base = self.shared_symbol();
        let at = self.def(
            Ty::B32,
            isa::mad(Ty::U32),
            [offset, Operand::int(bytes), base],
        );
        address(&Some(at), start)
    }

    /// Loads a tile.
    pub(super) fn load_shared(&mut self, v: Value, view: &SharedView, vector: u32) -> Vec<Element> {
        let t = self.tensor(v);
        let n = vector.max(1);
        let shape = Shape::of(t.dtype, n);
        let addresses = self.shared_addresses(view, t, n);
        let limits = vec![None; t.shape.len()];
        let mut guards = self.guards_of(t, &limits, false);
        let name = self.kernel.values[v.0 as usize].name.clone();
        let mut regs = Vec::new();
        for (g, i) in (0..t.dist.len()).step_by(n as usize).enumerate() {
            let p = self.present(&mut guards, &t.dist.value_offset(i, t.shape.len()));
            let to: Vec<_> = self.holding(&name, |l| {
                (0..shape.count).map(|_| l.reg(shape.reg)).collect()
            });
            if p.is_some() {
                for r in &to {
                    let zero = if shape.reg == Ty::F32 {
                        Operand::f32(0.0)
                    } else {
                        Operand::int(0)
                    };
                    let zero = if shape.reg == Ty::F64 {
                        Operand::f64(0.0)
                    } else {
                        zero
                    };
                    self.copy(*r, zero);
                }
            }
            let list: Vec<Operand> = to.iter().map(|r| (*r).into()).collect();
            let op = shape.vectored(isa::ld(space_of(view), shape.ty));
            self.ins(
                guard(p),
                op,
                vec![shape.operand(&list), addresses[g].clone()],
            );
            regs.extend(to);
        }
        self.elements_of(t.dtype, &regs, &shape)
    }

    /// Stores a tile.
    pub(super) fn store_shared(&mut self, view: &SharedView, v: Value, vector: u32) {
        if self.store_matrices(view, v) {
            return;
        }
        let t = self.tensor(v);
        let n = vector.max(1);
        let shape = Shape::of(t.dtype, n);
        let addresses = self.shared_addresses(view, t, n);
        let limits = vec![None; t.shape.len()];
        let mut guards = self.guards_of(t, &limits, true);
        for (g, i) in (0..t.dist.len()).step_by(n as usize).enumerate() {
            let from = self.gather(v, i, n);
            let p = self.present(&mut guards, &t.dist.value_offset(i, t.shape.len()));
            let op = shape.vectored(isa::st(Space::Shared, shape.ty));
            self.ins(
                guard(p),
                op,
                vec![addresses[g].clone(), shape.operand(&from)],
            );
        }
    }

    /// The address of one element (a view of rank 0).
    pub(super) fn shared_place(&mut self, view: &SharedView) -> Operand {
        let here = self.place_here(view);
        self.in_block(view, vec![here]).remove(0)
    }

    fn place_here(&mut self, view: &SharedView) -> Operand {
        let bytes = i64::from(self.kernel.shared[view.alloc].dtype.bytes());
        let start = i64::from(self.shared_offsets[view.alloc]);
        let name = format!("address of {}", self.kernel.shared[view.alloc].name);
        self.holding(&name, |l| {
            let x = view.swizzle.filter(|x| x.bits > 0);
            if view.dynamic.is_empty() {
                let offset = x.map_or(view.offset, |x| x.apply(view.offset));
                return address(&None, start + offset * bytes);
            }
            let Some(x) = x else {
                let base = l.moving(view, None, bytes);
                return moved(&address(&base, start), view.offset * bytes);
            };
            let mut offset = Operand::int(view.offset);
            for (v, step) in &view.dynamic {
                offset = l.step(offset, *v, *step);
            }
            let offset = l.swizzled(offset, x);
            let base = l.shared_symbol();
            let at = l.def(
                Ty::B32,
                isa::mad(Ty::U32),
                [offset, Operand::int(bytes), base],
            );
            address(&Some(at), start)
        })
    }
}

/// Whose shared memory it is.
pub(super) fn space_of(view: &SharedView) -> Space {
    match view.block {
        Some(_) => Space::SharedCluster,
        None => Space::Shared,
    }
}

/// `[register + bytes]`, or `[array + bytes]`.
pub(super) fn address(base: &Option<Operand>, bytes: i64) -> Operand {
    match base {
        Some(Operand::Reg(r)) => Operand::addr(*r, bytes),
        _ => Operand::addr_of(SHARED, bytes),
    }
}

/// The bits a swizzle writes.
fn mask_of(x: Xor) -> u32 {
    let low = if x.shift >= 0 {
        x.base
    } else {
        x.base + x.shift.unsigned_abs()
    };
    ((1_u32 << x.bits) - 1) << low
}

pub(super) fn in_bytes(x: Xor, bytes: i64) -> Xor {
    Xor {
        base: x.base + bytes.ilog2(),
        ..x
    }
}

pub(super) fn scaled(form: &Form, by: i64) -> Form {
    Form {
        digits: form
            .digits
            .iter()
            .map(|(s, e, w)| (*s, *e, w * by))
            .collect(),
        constant: form.constant * by,
    }
}
