//! Emission: instructions into the body or the prologue, registers with the name of what they hold, and
//! values that are computed once.

use super::{Lower, extent_name, param_type, pointer_name, scalar_name, stride_name};
use crate::artifact::ParamKind;
use crate::dtype::{Class, DType};
use crate::ir::{Const, GlobalView};
use crate::isa::{self, Space, Special, Ty};
use crate::ptx::{Guard, Imm, Inst, Operand, Reg, Stmt};

/// What the prologue computes once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Once {
    /// A special register, by name.
    Special(&'static str),
    /// A parameter's value, by name.
    Param(String),
    /// A digit of the thread number: divisor, modulus.
    Digit(u32, u32),
    /// A sum of digits times weights, plus a constant.
    Form(Vec<(u32, u32, i64)>, i64),
    /// A pointer into global memory, by parameter.
    Pointer(usize),
    /// Elements from one index to the next along an axis of a parameter.
    Stride(usize, usize),
    /// A 16-bit constant.
    Half(u16),
    /// A 32-bit constant that is held in a register.
    Word(u32),
    /// The lower word of a descriptor: byte offset of its start, its other bits.
    Descriptor(i64, i64),
    /// A predicate that is always true or false.
    Truth(bool),
    /// Threads that are the first of those that hold the same elements.
    First(Vec<(u32, u32)>),
    /// A shared base of this form, swizzled: weights, constant, swizzle (mask, shift), XOR constant.
    Shared(Vec<(u32, u32, i64)>, i64, u32, i32, i64),
}

impl Lower<'_> {
    /// A new register for what is being computed.
    pub(super) fn reg(&mut self, ty: Ty) -> Reg {
        let r = self.b.reg(ty);
        self.holds.push(self.holding.clone());
        r
    }

    /// Names what the registers made within `f` hold.
    pub(super) fn holding<R>(&mut self, what: &str, f: impl FnOnce(&mut Self) -> R) -> R {
        if what.is_empty() {
            return f(self);
        }
        let old = std::mem::replace(&mut self.holding, what.to_string());
        let result = f(self);
        self.holding = old;
        result
    }

    /// An instruction.
    pub(super) fn ins(&mut self, guard: Option<Guard>, op: isa::Op, operands: Vec<Operand>) {
        if self.in_prologue {
            self.prologue.push(Stmt::Inst(Inst {
                guard,
                op,
                operands,
                loc: None,
                line: 0,
            }));
        } else {
            self.b.guarded(guard, op, operands);
        }
    }

    /// An instruction into a new register of this type.
    pub(super) fn def<const N: usize>(
        &mut self,
        ty: Ty,
        op: isa::Op,
        sources: [Operand; N],
    ) -> Operand {
        let d = self.reg(ty);
        let mut operands = vec![Operand::Reg(d)];
        operands.extend(sources);
        self.ins(None, op, operands);
        Operand::Reg(d)
    }

    /// Copies into a register.
    pub(super) fn copy(&mut self, to: Reg, from: Operand) {
        let ty = self.b.ty(to);
        self.ins(None, isa::mov(ty), vec![to.into(), from]);
    }

    /// Computes in the prologue, or gives what was computed there.
    pub(super) fn once(&mut self, key: Once, f: impl FnOnce(&mut Self) -> Operand) -> Operand {
        if let Some(o) = self.once.get(&key) {
            return o.clone();
        }
        let outer = std::mem::replace(&mut self.in_prologue, true);
        let result = f(self);
        self.in_prologue = outer;
        self.once.insert(key, result.clone());
        result
    }

    /// The operand in a register.
    pub(super) fn register(&mut self, o: &Operand, ty: Ty) -> Reg {
        match o {
            Operand::Reg(r) => *r,
            other => {
                let r = self.reg(ty);
                self.copy(r, other.clone());
                r
            }
        }
    }

    /// A special register.
    pub(super) fn special(&mut self, s: Special) -> Operand {
        self.once(Once::Special(s.row().name), |l| {
            l.holding("thread and block numbers", |l| {
                l.def(Ty::B32, isa::mov(Ty::U32), [s.into()])
            })
        })
    }

    fn param(&mut self, name: String, ty: Ty) -> Operand {
        self.once(Once::Param(name.clone()), |l| {
            l.holding(&format!("argument {name}"), |l| {
                let reg = if ty.bits() == 8 {
                    Ty::B16
                } else {
                    register_type(ty)
                };
                l.def(reg, isa::ld(Space::Param, ty), [Operand::addr_of(&name, 0)])
            })
        })
    }

    /// A scalar argument.
    pub(super) fn scalar_param(&mut self, index: usize) -> Operand {
        let p = &self.kernel.params[index];
        let ParamKind::Scalar(t) = p.kind else {
            return Operand::int(0);
        };
        let raw = self.param(scalar_name(&p.name), param_type(t));
        if t == DType::BOOL {
            self.once(Once::Param(p.name.clone()), |l| {
                l.def(
                    Ty::Pred,
                    isa::setp(isa::Cmp::Ne, Ty::U16),
                    [raw, Operand::int(0)],
                )
            })
        } else {
            raw
        }
    }

    /// An extent of a tensor argument (`u32`).
    pub(super) fn extent(&mut self, index: usize, axis: usize) -> Operand {
        if let Some(n) = self.known_extent(index, axis) {
            return Operand::int(n);
        }
        let name = extent_name(&self.kernel.params[index].name, axis);
        self.param(name, Ty::U32)
    }

    /// An extent of what a view is a piece of: an argument or a window of one (`u32`).
    pub(super) fn extent_in(&mut self, view: &GlobalView, axis: usize) -> Operand {
        match &view.window {
            Some(window) => self.scalar(window.extents[axis]),
            None => self.extent(view.param, axis),
        }
    }

    /// An extent that a fact fixes.
    pub(super) fn known_extent(&self, index: usize, axis: usize) -> Option<u32> {
        self.kernel.params[index]
            .extents
            .get(axis)
            .copied()
            .flatten()
    }

    /// Elements from one index to the next along an axis (`u64`).
    pub(super) fn stride(&mut self, index: usize, axis: usize) -> Operand {
        let ParamKind::Tensor { rank, strided, .. } = self.kernel.params[index].kind else {
            return Operand::int(0);
        };
        if strided {
            let name = stride_name(&self.kernel.params[index].name, axis);
            return self.param(name, Ty::U64);
        }
        let known: Option<u64> = (axis + 1..rank as usize)
            .map(|a| self.known_extent(index, a).map(u64::from))
            .product();
        if let Some(n) = known {
            return Operand::int(n);
        }
        self.once(Once::Stride(index, axis), |l| {
            let name = format!("pitch of {}", l.kernel.params[index].name);
            l.holding(&name, |l| {
                let e = l.extent(index, axis + 1);
                if axis + 2 == rank as usize {
                    l.def(Ty::B64, isa::cvt(Ty::U64, Ty::U32), [e])
                } else if axis + 3 == rank as usize {
                    let f = l.extent(index, axis + 2);
                    l.def(Ty::B64, isa::mul_wide(Ty::U32), [e, f])
                } else {
                    let inner = l.stride(index, axis + 1);
                    let e = l.def(Ty::B64, isa::cvt(Ty::U64, Ty::U32), [e]);
                    l.def(Ty::B64, isa::mul(Ty::U64), [inner, e])
                }
            })
        })
    }

    /// A tensor argument's address, in global space.
    pub(super) fn pointer(&mut self, index: usize) -> Operand {
        self.once(Once::Pointer(index), |l| {
            let name = l.kernel.params[index].name.clone();
            let raw = l.param(pointer_name(&name), Ty::U64);
            l.holding(&format!("address of {name}"), |l| {
                l.def(Ty::B64, isa::cvta_to(Space::Global), [raw])
            })
        })
    }

    /// A constant of a type.
    pub(super) fn constant(&mut self, t: DType, c: Const) -> Operand {
        match (t.row().class, c) {
            (Class::Bool, Const::Bool(b)) => self.truth(b),
            (Class::Bool, Const::Int(i)) => self.truth(i != 0),
            (Class::Float, Const::Float(f)) => self.float(t, f),
            (Class::Float, Const::Int(i)) => self.float(t, i as f64),
            (Class::Float, Const::Bool(b)) => self.float(t, f64::from(u8::from(b))),
            (_, Const::Int(i)) => Operand::Imm(Imm::Int(wrap(t, i))),
            (_, Const::Float(f)) => Operand::Imm(Imm::Int(wrap(t, f as i128))),
            (_, Const::Bool(b)) => Operand::int(u8::from(b)),
        }
    }

    /// A float constant, rounded once.
    pub(super) fn float(&mut self, t: DType, f: f64) -> Operand {
        match t {
            DType::F64 => Operand::f64(f),
            DType::F32 | DType::TF32 => Operand::f32(f as f32),
            _ => {
                let bits = half_bits(t, f);
                self.once(Once::Half(bits), |l| {
                    l.def(Ty::B16, isa::mov(Ty::B16), [Operand::int(bits)])
                })
            }
        }
    }

    /// A predicate known at build time.
    pub(super) fn truth(&mut self, b: bool) -> Operand {
        self.once(Once::Truth(b), |l| {
            l.def(
                Ty::Pred,
                isa::setp(if b { isa::Cmp::Eq } else { isa::Cmp::Ne }, Ty::U32),
                [Operand::int(0), Operand::int(0)],
            )
        })
    }
}

/// The type of a register for values of an instruction type.
pub(super) fn register_type(ty: Ty) -> Ty {
    match ty {
        Ty::Pred | Ty::F32 | Ty::F64 => ty,
        _ => ty.untyped(),
    }
}

/// The integer as the type holds it.
pub(super) fn wrap(t: DType, i: i128) -> i64 {
    match (t.row().class, t.bytes()) {
        (Class::Signed, 1) => i64::from(i as i8),
        (Class::Signed, 2) => i64::from(i as i16),
        (Class::Signed, 4) => i64::from(i as i32),
        (_, 1) => i64::from(i as u8),
        (_, 2) => i64::from(i as u16),
        (_, 4) => i64::from(i as u32),
        _ => i as i64,
    }
}

/// Bits of a 16-bit float, rounded to nearest even once, from an f64.
#[must_use]
pub(crate) fn half_bits(t: DType, f: f64) -> u16 {
    let (bias, mantissa) = if t == DType::F16 {
        (15_i32, 10_u32)
    } else {
        (127, 7)
    };
    let sign = if f.is_sign_negative() { 0x8000 } else { 0 };
    if f.is_nan() {
        return 0x7fff;
    }
    let a = f.abs();
    let infinity = ((2 * bias + 1) as u16) << mantissa;
    if a == 0.0 || a.is_infinite() {
        return sign | if a == 0.0 { 0 } else { infinity };
    }
    let exponent = ((a.to_bits() >> 52) as i32 - 1023).max(1 - bias);
    let unit = 2_f64.powi(exponent - mantissa as i32);
    let quotient = a / unit;
    let floor = quotient.floor();
    let rest = quotient - floor;
    let mut n = floor as u64;
    if rest > 0.5 || (rest == 0.5 && n % 2 == 1) {
        n += 1;
    }
    let bits = n + (((exponent + bias - 1) as u64) << mantissa);
    sign | if bits >= u64::from(infinity) {
        infinity
    } else {
        bits as u16
    }
}

#[cfg(test)]
mod tests {
    use super::half_bits;
    use crate::dtype::DType;

    #[test]
    fn halves_round_to_even_and_saturate_to_infinity() {
        let h = |f| half_bits(DType::F16, f);
        assert_eq!(
            [h(1.0), h(-2.0), h(65504.0), h(65520.0)],
            [0x3c00, 0xc000, 0x7bff, 0x7c00]
        );
        assert_eq!(
            [h(5.960464477539063e-8), h(2.98e-8), h(1.0 + 1.0 / 2048.0)],
            [1, 0, 0x3c00]
        );
        let b = |f| half_bits(DType::BF16, f);
        assert_eq!(
            [b(1.0), b(3.0e38), b(1.0 + 3.0 / 256.0)],
            [0x3f80, 0x7f62, 0x3f82]
        );
        assert_eq!(b(f64::from(f32::MAX)), 0x7f80);
    }
}
