//! Number types: literals take the type they meet, constants become values, conversions.

use super::value::{Num, Scalar, Val};
use super::{Check, Infer, Push};
use crate::artifact::ParamKind;
use crate::ast::Span;
use crate::diag::codes;
use crate::dtype::{Class, DType};
use crate::ir::{Const, Op, Round, Type, Uniform, Value};

impl<'a> Check<'a> {
    /// The type of a number once found.
    pub(crate) fn resolve(&self, num: Num) -> Num {
        match num {
            Num::Infer(i) => self.infer[i as usize].found.unwrap_or(num),
            _ => num,
        }
    }

    fn fresh(&mut self, float: bool) -> Num {
        self.infer.push(Infer {
            float,
            ..Infer::default()
        });
        Num::Infer(self.infer.len() as u32 - 1)
    }

    /// Fixes a type to be found.
    fn settle(&mut self, slot: u32, num: Num) {
        let slot = slot as usize;
        if self.infer[slot].found.is_some() {
            return;
        }
        self.infer[slot].found = Some(num);
        let dtype = match num {
            Num::Usize => DType::U64,
            Num::D(t) => t,
            Num::Lit | Num::Infer(_) => return,
        };
        for value in std::mem::take(&mut self.infer[slot].values) {
            self.kernel.values[value.0 as usize].ty = Type::Scalar(dtype);
        }
        for var in std::mem::take(&mut self.infer[slot].vars) {
            self.kernel.vars[var.0 as usize].ty = Type::Scalar(dtype);
        }
    }

    /// At the end: what met nothing is `i32` or `f64`, as in Rust.
    pub(crate) fn settle_types(&mut self) {
        for slot in 0..self.infer.len() {
            let num = if self.infer[slot].float {
                DType::F64
            } else {
                DType::I32
            };
            self.settle(slot as u32, Num::D(num));
        }
    }

    /// The one type of two numbers, if there is one.
    pub(crate) fn unify(&mut self, a: Num, b: Num) -> Option<Num> {
        let (a, b) = (self.resolve(a), self.resolve(b));
        let fits = |c: &Self, slot: u32, n: Num| match n {
            Num::Infer(other) => c.infer[slot as usize].float == c.infer[other as usize].float,
            n => c.infer[slot as usize].float == n.is_float(),
        };
        match (a, b) {
            (a, b) if a == b => Some(a),
            (Num::Lit, n) | (n, Num::Lit) => Some(n),
            (Num::Infer(i), Num::Infer(j)) if fits(self, i, b) => {
                // Two to be found: what settles one settles the other.
                let values = std::mem::take(&mut self.infer[i as usize].values);
                let vars = std::mem::take(&mut self.infer[i as usize].vars);
                self.infer[j as usize].values.extend(values);
                self.infer[j as usize].vars.extend(vars);
                self.infer[i as usize].found = Some(Num::Infer(j));
                Some(b)
            }
            (Num::Infer(i), n) | (n, Num::Infer(i)) if fits(self, i, n) => {
                self.settle(i, n);
                Some(n)
            }
            _ => None,
        }
    }

    /// The element type a number of this type has in the typed program.
    pub(crate) fn num_dtype(&self, num: Num, hi: i128) -> DType {
        match self.resolve(num) {
            Num::Usize if hi <= i128::from(u32::MAX) => DType::U32,
            Num::Usize => DType::U64,
            Num::D(t) => t,
            Num::Infer(i) if self.infer[i as usize].float => DType::F64,
            Num::Lit | Num::Infer(_) => DType::I32,
        }
    }

    /// A constant of a type as a run-time value.
    pub(crate) fn constant(&mut self, c: Const, num: Num, span: Span) -> Scalar {
        let (lo, hi) = match c {
            Const::Int(i) => (i, i),
            Const::Bool(b) => (b.into(), b.into()),
            Const::Float(_) => Num::D(DType::F32).range(),
        };
        let dtype = self.num_dtype(num, hi);
        let value = self.emit(Op::Const(c), dtype, Uniform::Block, span);
        self.wait_for_type(value, num);
        let expr = match (c, self.resolve(num)) {
            (Const::Int(i), Num::Usize) => i64::try_from(i).ok().map(Into::into),
            _ => None,
        };
        Scalar {
            value,
            num: self.resolve(num),
            lo,
            hi,
            expr,
        }
    }

    pub(crate) fn wait_for_type(&mut self, value: Value, num: Num) {
        if let Num::Infer(i) = self.resolve(num) {
            self.infer[i as usize].values.push(value);
        }
    }

    /// A number as a run-time value of its own type.
    pub(crate) fn scalar(&mut self, val: &Val<'a>, span: Span) -> Option<Scalar> {
        match val {
            Val::Scalar(s) => {
                let mut s = s.clone();
                s.num = self.resolve(s.num);
                Some(s)
            }
            Val::Bool(b) => Some(self.constant(Const::Bool(*b), Num::D(DType::BOOL), span)),
            Val::Int(i, Num::Lit) => {
                let num = self.fresh(false);
                Some(self.constant(Const::Int(*i), num, span))
            }
            Val::Int(i, num) => Some(self.constant(Const::Int(*i), *num, span)),
            Val::Float(f, Num::Lit) => {
                let num = self.fresh(true);
                Some(self.constant(Const::Float(*f), num, span))
            }
            Val::Float(f, num) => Some(self.constant(Const::Float(*f), *num, span)),
            Val::Poison | Val::Never => None,
            val => {
                self.error(
                    codes::TYPE,
                    span,
                    format!("expected a number, found {}", val.kind()),
                )
                .push(self);
                None
            }
        }
    }

    /// A number as a run-time value of a given type; an error if it has another.
    pub(crate) fn scalar_as(&mut self, val: &Val<'a>, num: Num, span: Span) -> Option<Scalar> {
        let num = self.resolve(num);
        match (val, num) {
            (Val::Int(i, Num::Lit), Num::D(t)) if t.is_float() => {
                self.error(
                    codes::TYPE,
                    span,
                    format!("expected `{t}`, found the integer {i}"),
                )
                .help(format!("write `{i}.0`"))
                .push(self);
                None
            }
            (Val::Int(i, Num::Lit), num) => match self.int_in_range(*i, num, span) {
                Val::Int(i, _) => Some(self.constant(Const::Int(i), num, span)),
                _ => None,
            },
            (Val::Float(f, Num::Lit), num) if num.is_float() => {
                Some(self.constant(Const::Float(*f), num, span))
            }
            _ => {
                let s = self.scalar(val, span)?;
                if self.unify(s.num, num).is_some() {
                    return Some(Scalar {
                        num: self.resolve(s.num),
                        ..s
                    });
                }
                self.error(
                    codes::TYPE,
                    span,
                    format!("expected `{}`, found `{}`", num.name(), s.num.name()),
                )
                .help(format!(
                    "convert it: `.cast::<{}>()` or `as {}`",
                    num.name(),
                    num.name()
                ))
                .push(self);
                None
            }
        }
    }

    /// A literal of a type, if it fits.
    pub(crate) fn int_in_range(&mut self, i: i128, num: Num, span: Span) -> Val<'a> {
        let (lo, hi) = num.range();
        if i < lo || i > hi {
            let diag = self
                .error(
                    codes::LITERAL,
                    span,
                    format!("{i} does not fit `{}`", num.name()),
                )
                .note(format!("`{}` holds {lo} to {hi}", num.name()));
            return self.refuse(diag);
        }
        Val::Int(i, num)
    }

    /// A `usize` value in at least the width asked for.
    pub(crate) fn widen(&mut self, s: &Scalar, to: DType, span: Span) -> Value {
        if self.dtype(s.value) == to {
            return s.value;
        }
        let uniform = self.uniform(s.value);
        self.emit(Op::Cast(s.value, Round::Default), to, uniform, span)
    }

    /// `value as ty` and `value.cast::<ty>()`.
    pub(crate) fn convert(&mut self, val: &Val<'a>, to: Num, round: Round, span: Span) -> Val<'a> {
        let wide;
        let val = match (val, to) {
            // Rounded where it runs, as any other number.
            (Val::Int(..) | Val::Float(..), Num::D(DType::E4M3 | DType::E5M2)) => {
                let f32 = self.convert(val, Num::D(DType::F32), Round::Default, span);
                let Some(s) = self.scalar(&f32, span) else {
                    return Val::Poison;
                };
                wide = Val::Scalar(s);
                &wide
            }
            _ => val,
        };
        match val {
            Val::Poison | Val::Never => return val.clone(),
            Val::Int(i, _) if to.is_float() => return Val::Float(*i as f64, to),
            Val::Int(i, _) => return Val::Int(wrap(*i, to), to),
            Val::Bool(b) if !to.is_float() => return Val::Int((*b).into(), to),
            Val::Float(f, Num::Lit | Num::D(DType::F32 | DType::F64))
                if round == Round::Default =>
            {
                if to.is_float() {
                    let f = if to == Num::D(DType::F64) {
                        *f
                    } else {
                        f64::from(*f as f32)
                    };
                    return Val::Float(f, to);
                }
                let (lo, hi) = to.range();
                let i = if f.is_nan() {
                    0
                } else {
                    (*f as i128).clamp(lo, hi)
                };
                return Val::Int(i, to);
            }
            _ => {}
        }
        let Some(s) = self.scalar(val, span) else {
            return Val::Poison;
        };
        let from = self.resolve(s.num);
        if from == to {
            return Val::Scalar(s);
        }
        let (lo, hi) = to.range();
        let fits = !from.is_float() && s.lo >= lo && s.hi <= hi;
        let (lo, hi) = if fits && !to.is_float() {
            (s.lo, s.hi)
        } else {
            (lo, hi)
        };
        let dtype = self.num_dtype(to, hi);
        let same = self.dtype(s.value);
        let alike = same.is_int() && dtype.is_int() && same.bytes() == dtype.bytes();
        let uniform = self.uniform(s.value);
        let value = if same == dtype {
            s.value
        } else if alike {
            self.emit(Op::Bits(s.value), dtype, uniform, span)
        } else {
            self.emit(Op::Cast(s.value, round), dtype, uniform, span)
        };
        let keeps = fits && to == Num::Usize;
        Val::Scalar(Scalar {
            value,
            num: to,
            lo,
            hi,
            expr: if keeps { s.expr } else { None },
        })
    }

    /// A bool that is known only at run time.
    pub(crate) fn bool_scalar(&self, value: Value) -> Val<'a> {
        Val::Scalar(Scalar {
            value,
            num: Num::D(DType::BOOL),
            lo: 0,
            hi: 1,
            expr: None,
        })
    }

    /// A build-time integer, or an error that says what is run-time.
    pub(crate) fn const_int(&mut self, val: &Val<'a>, what: &str, span: Span) -> Option<i128> {
        match val {
            Val::Int(i, _) => Some(*i),
            Val::Poison | Val::Never => None,
            Val::Scalar(s) => {
                let own = self.kernel.values[s.value.0 as usize].name.clone();
                let name = if own.is_empty() {
                    "this".to_string()
                } else {
                    format!("`{own}`")
                };
                let loop_index = self
                    .loops
                    .iter()
                    .any(|l| l.run_time && !l.hidden && !l.stretch);
                let mut diag = self
                    .error(
                        codes::NEED_CONST,
                        span,
                        format!("{what} must be known at build time"),
                    )
                    .label(format!("{name} is a run-time {}", s.num.name()));
                if loop_index {
                    diag = diag.help("if it counts a loop with build-time bounds, put `#[unroll]` before that `for`");
                } else {
                    diag = diag.help(self.instead_of(&own));
                }
                diag.push(self);
                None
            }
            val => {
                self.error(
                    codes::TYPE,
                    span,
                    format!("{what} is an integer, not {}", val.kind()),
                )
                .push(self);
                None
            }
        }
    }

    /// What to do about a run-time value of this name.
    fn instead_of(&self, name: &str) -> String {
        let mut params = self.kernel.params.iter();
        let scalar = params.any(|p| p.name == name && matches!(p.kind, ParamKind::Scalar(_)));
        if scalar {
            let upper = name.to_uppercase();
            return format!(
                "make it a parameter of the kernel: `const {upper}: usize` in place of the argument `{name}`"
            );
        }
        let mut params = self.kernel.params.iter();
        let tensor = params.find(|p| matches!(p.kind, ParamKind::Tensor { .. }));
        let fact = tensor.map_or(String::new(), |x| {
            format!(", or fix an extent: `require!({}.dim(0) == N)`", x.name)
        });
        format!("use a const generic{fact}")
    }

    /// A build-time integer within a range.
    pub(crate) fn const_in(
        &mut self,
        val: &Val<'a>,
        what: &str,
        lo: i128,
        hi: i128,
        span: Span,
    ) -> Option<i128> {
        let i = self.const_int(val, what, span)?;
        if i < lo || i > hi {
            let limit = if i < lo {
                format!("at least {lo}")
            } else {
                format!("at most {hi}")
            };
            let text = format!("{what} is {i}; it is {limit}");
            self.error(codes::CONST_EVAL, span, text).push(self);
            return None;
        }
        Some(i)
    }
}

/// An integer in another type, wrapping as Rust's `as` does.
fn wrap(i: i128, to: Num) -> i128 {
    let (lo, hi) = to.range();
    if to == Num::Lit || (i >= lo && i <= hi) {
        return i;
    }
    let span = hi - lo + 1;
    let signed = matches!(to, Num::D(t) if t.row().class == Class::Signed);
    let m = i.rem_euclid(span);
    if signed && m > hi { m - span } else { m }
}
