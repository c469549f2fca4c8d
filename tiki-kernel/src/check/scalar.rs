//! Operations on scalars: math functions, minimum and maximum, bits.

use super::call::Call;
use super::rules::Takes;
use super::value::{Num, Scalar, Val};
use super::{Check, Push};
use crate::ast::{BinOp, Span};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{Binary, Compare, Op, Round, Unary};

impl Takes {
    pub(crate) fn takes(self, num: Num) -> bool {
        let dtype = match num {
            Num::D(t) => t,
            Num::Usize => return matches!(self, Takes::Number | Takes::Int),
            Num::Lit | Num::Infer(_) => return true,
        };
        match self {
            Takes::F32 => dtype == DType::F32,
            Takes::Float => dtype.is_float(),
            Takes::Number => dtype != DType::BOOL,
            Takes::Int => dtype.is_int(),
            Takes::Int32 => dtype.is_int() && dtype.bytes() == 4,
            Takes::U32 => dtype == DType::U32,
        }
    }
    fn words(self) -> &'static str {
        match self {
            Takes::F32 => "`f32`",
            Takes::Float => "floats",
            Takes::Number => "numbers",
            Takes::Int => "integers",
            Takes::Int32 => "`i32` and `u32`",
            Takes::U32 => "`u32`",
        }
    }
    /// The type a literal takes here.
    fn literal(self) -> Num {
        match self {
            Takes::F32 => Num::D(DType::F32),
            Takes::U32 => Num::D(DType::U32),
            _ => Num::Lit,
        }
    }
}

impl<'a> Check<'a> {
    /// A number that an operation takes, as a run-time value.
    pub(crate) fn taken(
        &mut self,
        val: &Val<'a>,
        takes: Takes,
        name: &str,
        span: Span,
    ) -> Option<Scalar> {
        let lit = takes.literal();
        let float_lit = matches!(val, Val::Float(_, Num::Lit)) && lit.is_float();
        let int_lit = matches!(val, Val::Int(_, Num::Lit)) && lit == Num::D(DType::U32);
        let s = if float_lit || int_lit {
            self.scalar_as(val, lit, span)?
        } else {
            self.scalar(val, span)?
        };
        let num = self.resolve(s.num);
        if let Num::Infer(_) = num
            && lit != Num::Lit
        {
            return self.scalar_as(&Val::Scalar(s), lit, span);
        }
        if !takes.takes(num) {
            let mut diag = self.error(
                codes::TYPE,
                span,
                format!("`{name}` takes {}, not `{}`", takes.words(), num.name()),
            );
            if takes == Takes::F32 && num.is_float() {
                diag = diag.help("convert it: `.cast::<f32>()`");
            }
            diag.push(self);
            return None;
        }
        Some(s)
    }

    pub(crate) fn scalar_unary(&mut self, f: Unary, takes: Takes, call: &Call<'a>) -> Val<'a> {
        let method = !matches!(call.recv, Val::Unit);
        let val = if method {
            call.recv.clone()
        } else {
            call.arg(0)
        };
        let span = if method { call.span } else { call.at(0) };
        if let Val::Register(r) = &val {
            let name = call.row.name;
            let diag = self
                .error(
                    codes::TYPE,
                    span,
                    format!(
                        "`{name}` takes a number, not a register tensor of shape {:?}",
                        r.shape
                    ),
                )
                .help(format!("apply it to every element: `.map({name})`"));
            return self.refuse(diag);
        }
        let Some(s) = self.taken(&val, takes, call.row.name, span) else {
            return Val::Poison;
        };
        let uniform = self.uniform(s.value);
        let counts = matches!(f, Unary::Popcount | Unary::LeadingZeros);
        let num = self.resolve(s.num);
        let dtype = if counts {
            DType::U32
        } else {
            self.dtype(s.value)
        };
        let value = self.emit(Op::Unary(f, s.value), dtype, uniform, call.span);
        let num = if counts { Num::D(DType::U32) } else { num };
        self.wait_for_type(value, num);
        Val::Scalar(self.scalar_of(value, num))
    }

    pub(crate) fn scalar_binary(&mut self, f: Binary, takes: Takes, call: &Call<'a>) -> Val<'a> {
        let method = !matches!(call.recv, Val::Unit);
        let (a, b) = if method {
            (call.recv.clone(), call.arg(0))
        } else {
            (call.arg(0), call.arg(1))
        };
        let (at, bt) = if method {
            (call.span, call.at(0))
        } else {
            (call.at(0), call.at(1))
        };
        if let (Val::Int(x, n), Val::Int(y, m)) = (&a, &b)
            && matches!(f, Binary::Min | Binary::Max)
            && let Some(num) = self.unify(*n, *m)
        {
            return Val::Int(
                if f == Binary::Min {
                    *x.min(y)
                } else {
                    *x.max(y)
                },
                num,
            );
        }
        // A literal takes the other's type.
        let lit = |v: &Val<'a>| matches!(v, Val::Int(_, Num::Lit) | Val::Float(_, Num::Lit));
        let (x, y) = if lit(&a) && !lit(&b) {
            let Some(y) = self.taken(&b, takes, call.row.name, bt) else {
                return Val::Poison;
            };
            (self.scalar_as(&a, y.num, at), Some(y))
        } else {
            let Some(x) = self.taken(&a, takes, call.row.name, at) else {
                return Val::Poison;
            };
            let num = x.num;
            (Some(x), self.scalar_as(&b, num, bt))
        };
        let (Some(x), Some(y)) = (x, y) else {
            return Val::Poison;
        };
        Val::Scalar(self.arith(f, &x, &y, call.span))
    }

    pub(crate) fn fma(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(x) = self.taken(&call.arg(0), Takes::Number, "fma", call.at(0)) else {
            return Val::Poison;
        };
        let y = self.scalar_as(&call.arg(1), x.num, call.at(1));
        let z = self.scalar_as(&call.arg(2), x.num, call.at(2));
        let (Some(y), Some(z)) = (y, z) else {
            return Val::Poison;
        };
        let num = self.resolve(x.num);
        if num == Num::Usize {
            let product = self.arith(Binary::Mul, &x, &y, call.span);
            return Val::Scalar(self.arith(Binary::Add, &product, &z, call.span));
        }
        let uniform = self
            .uniform(x.value)
            .max(self.uniform(y.value))
            .max(self.uniform(z.value));
        let dtype = self.dtype(x.value);
        let value = self.emit(
            Op::Fma(x.value, y.value, z.value),
            dtype,
            uniform,
            call.span,
        );
        self.wait_for_type(value, num);
        Val::Scalar(self.scalar_of(value, num))
    }

    pub(crate) fn cast(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(crate::ast::GenericArg::Type(ty)) = call.generics.first() else {
            let diag = self
                .error(codes::ARGUMENTS, call.span, "`cast` needs the type")
                .help("write `.cast::<f32>()`");
            return self.refuse(diag);
        };
        let Some(to) = self.num_of(ty) else {
            return Val::Poison;
        };
        match &call.recv {
            Val::Register(r) => {
                let r = r.clone();
                match to {
                    Num::D(t) => self.register_cast(&r, t, call.span),
                    _ => {
                        let diag = self
                            .error(
                                codes::TYPE,
                                ty.span,
                                "a register tensor's elements have a fixed width",
                            )
                            .help("cast to `u32`");
                        self.refuse(diag)
                    }
                }
            }
            val => {
                let val = val.clone();
                self.convert(&val, to, Round::Default, call.span)
            }
        }
    }

    pub(crate) fn div_ceil(&mut self, call: &Call<'a>) -> Val<'a> {
        let one = Val::Int(1, Num::Lit);
        if let (Val::Int(x, n), Val::Int(y, m)) = (&call.recv, &call.arg(0))
            && *y > 0
            && let Some(num) = self.unify(*n, *m)
        {
            return Val::Int((x + y - 1) / y, num);
        }
        let (a, b) = (call.recv.clone(), call.arg(0));
        let Some(x) = self.taken(&a, Takes::Int, "div_ceil", call.span) else {
            return Val::Poison;
        };
        let Some(y) = self.scalar_as(&b, x.num, call.at(0)) else {
            return Val::Poison;
        };
        let (lo, hi, expr) = (x.lo, x.hi, x.expr.clone());
        let usize_like = self.resolve(x.num) == Num::Usize;
        let fits = x.hi + y.hi <= i128::from(u32::MAX);
        let result = if fits || !usize_like {
            // One less than the sum cannot be below zero.
            let less = self.binary(BinOp::Sub, b, one, call.span);
            let sum = self.binary(BinOp::Add, Val::Scalar(x), less, call.span);
            self.binary(BinOp::Div, sum, Val::Scalar(y.clone()), call.span)
        } else {
            // The sum would need 64 bits; quotient and remainder do not.
            let (x, d) = (Val::Scalar(x), Val::Scalar(y.clone()));
            let rest = self.binary(BinOp::Rem, x.clone(), d.clone(), call.span);
            let zero = Val::Int(0, Num::Lit);
            let more = self.binary(BinOp::Ne, rest, zero, call.span);
            let more = self.convert(&more, Num::Usize, Round::Default, call.span);
            let quotient = self.binary(BinOp::Div, x, d, call.span);
            self.binary(BinOp::Add, quotient, more, call.span)
        };
        match result {
            Val::Scalar(mut s) if usize_like && y.lo > 0 => {
                s.lo = (lo + y.hi - 1) / y.hi;
                s.hi = (hi + y.lo - 1) / y.lo;
                s.expr = match (expr, y.expr) {
                    (Some(a), Some(b)) => Some(a.ceil_div(b)),
                    _ => None,
                };
                Val::Scalar(s)
            }
            val => val,
        }
    }

    pub(crate) fn is_multiple_of(&mut self, call: &Call<'a>) -> Val<'a> {
        let rem = self.binary(BinOp::Rem, call.recv.clone(), call.arg(0), call.span);
        self.binary(BinOp::Eq, rem, Val::Int(0, Num::Lit), call.span)
    }

    pub(crate) fn is_nan(&mut self, call: &Call<'a>) -> Val<'a> {
        if let Val::Float(f, _) = call.recv {
            return Val::Bool(f.is_nan());
        }
        let Some(s) = self.taken(&call.recv.clone(), Takes::Float, "is_nan", call.span) else {
            return Val::Poison;
        };
        let uniform = self.uniform(s.value);
        let value = self.emit(
            Op::Compare(Compare::Ne, s.value, s.value),
            DType::BOOL,
            uniform,
            call.span,
        );
        self.bool_scalar(value)
    }

    pub(crate) fn bits_of(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(s) = self.taken(&call.recv.clone(), Takes::F32, "to_bits", call.span) else {
            return Val::Poison;
        };
        let uniform = self.uniform(s.value);
        let value = self.emit(Op::Bits(s.value), DType::U32, uniform, call.span);
        Val::Scalar(self.scalar_of(value, Num::D(DType::U32)))
    }

    pub(crate) fn float_of(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(s) = self.taken(&call.arg(0), Takes::U32, "from_bits", call.at(0)) else {
            return Val::Poison;
        };
        let uniform = self.uniform(s.value);
        let value = self.emit(Op::Bits(s.value), DType::F32, uniform, call.span);
        Val::Scalar(self.scalar_of(value, Num::D(DType::F32)))
    }
}
