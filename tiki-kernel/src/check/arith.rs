//! Operators.
//!
//! Build-time operands are computed; run-time ones become statements. `usize` arithmetic keeps a range
//! and, where it stays affine, a symbolic expression: the range decides whether 32 bits suffice.

use super::value::{Num, Scalar, Val};
use super::{Check, Push};
use crate::ast::{BinOp, Span, UnOp};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{Binary, Compare, Const, Op, Unary};

pub(crate) fn symbol(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "+",
        BinOp::Sub => "-",
        BinOp::Mul => "*",
        BinOp::Div => "/",
        BinOp::Rem => "%",
        BinOp::And => "&",
        BinOp::Or => "|",
        BinOp::Xor => "^",
        BinOp::Shl => "<<",
        BinOp::Shr => ">>",
        BinOp::AndAnd => "&&",
        BinOp::OrOr => "||",
        BinOp::Eq => "==",
        BinOp::Ne => "!=",
        BinOp::Lt => "<",
        BinOp::Le => "<=",
        BinOp::Gt => ">",
        BinOp::Ge => ">=",
    }
}

fn compare(op: BinOp) -> Option<Compare> {
    Some(match op {
        BinOp::Eq => Compare::Eq,
        BinOp::Ne => Compare::Ne,
        BinOp::Lt => Compare::Lt,
        BinOp::Le => Compare::Le,
        BinOp::Gt => Compare::Gt,
        BinOp::Ge => Compare::Ge,
        _ => return None,
    })
}

fn arithmetic(op: BinOp) -> Option<Binary> {
    Some(match op {
        BinOp::Add => Binary::Add,
        BinOp::Sub => Binary::Sub,
        BinOp::Mul => Binary::Mul,
        BinOp::Div => Binary::Div,
        BinOp::Rem => Binary::Rem,
        BinOp::And | BinOp::AndAnd => Binary::And,
        BinOp::Or | BinOp::OrOr => Binary::Or,
        BinOp::Xor => Binary::Xor,
        BinOp::Shl => Binary::Shl,
        BinOp::Shr => Binary::Shr,
        _ => return None,
    })
}

impl<'a> Check<'a> {
    /// `a op b`, both evaluated.
    pub(crate) fn binary(&mut self, op: BinOp, a: Val<'a>, b: Val<'a>, span: Span) -> Val<'a> {
        match (&a, &b) {
            (Val::Poison | Val::Never, _) => return a,
            (_, Val::Poison | Val::Never) => return b,
            (Val::Register(x), Val::Register(y)) => {
                let (x, y) = (x.clone(), y.clone());
                return self.register_binary(op, &x, &y, span);
            }
            (Val::Register(_), other) | (other, Val::Register(_)) => {
                let diag = self
                    .error(
                        codes::TYPE,
                        span,
                        format!(
                            "`{}` takes two register tensors, not one and {}",
                            symbol(op),
                            other.kind()
                        ),
                    )
                    .help(format!(
                        "nothing is broadcast silently: use `.map(|x| x {} ..)`",
                        symbol(op)
                    ));
                return self.refuse(diag);
            }
            _ => {}
        }
        if matches!(op, BinOp::AndAnd | BinOp::OrOr) {
            return self.logic(op == BinOp::AndAnd, a, b, span);
        }
        match (&a, &b) {
            (Val::Bool(x), Val::Bool(y)) => match op {
                BinOp::And => return Val::Bool(x & y),
                BinOp::Or => return Val::Bool(x | y),
                BinOp::Xor | BinOp::Ne => return Val::Bool(x != y),
                BinOp::Eq => return Val::Bool(x == y),
                _ => {}
            },
            (Val::Int(x, n), Val::Int(y, m)) => {
                if let Some(num) = self.operand_type(op, *n, *m, span) {
                    return self.fold_int(op, *x, *y, num, span);
                }
                return Val::Poison;
            }
            (Val::Float(x, n), Val::Float(y, m)) => {
                let Some(num) = self.operand_type(op, *n, *m, span) else {
                    return Val::Poison;
                };
                if let Some(val) = fold_float(op, *x, *y, num) {
                    return val;
                }
            }
            (Val::Tuple(x) | Val::Array(x), Val::Tuple(y) | Val::Array(y))
                if matches!(op, BinOp::Eq | BinOp::Ne) && x.len() == y.len() =>
            {
                let mut all = Val::Bool(true);
                for (x, y) in x.clone().into_iter().zip(y.clone()) {
                    let one = self.binary(BinOp::Eq, x, y, span);
                    all = self.logic(true, all, one, span);
                }
                return if op == BinOp::Eq {
                    all
                } else {
                    self.not(all, span)
                };
            }
            (Val::Type(x), Val::Type(y)) if op == BinOp::Eq => return Val::Bool(x == y),
            _ => {}
        }
        self.binary_scalar(op, &a, &b, span)
    }

    fn operand_type(&mut self, op: BinOp, a: Num, b: Num, span: Span) -> Option<Num> {
        if matches!(op, BinOp::Shl | BinOp::Shr) {
            return Some(self.resolve(a));
        }
        let found = self.unify(a, b);
        if found.is_none() {
            let (a, b) = (self.resolve(a), self.resolve(b));
            self.error(
                codes::TYPE,
                span,
                format!(
                    "`{}` takes two numbers of one type, not `{}` and `{}`",
                    symbol(op),
                    a.name(),
                    b.name()
                ),
            )
            .help(format!(
                "convert one of them: `as {}` or `.cast::<{}>()`",
                a.name(),
                a.name()
            ))
            .push(self);
        }
        found
    }

    fn fold_int(&mut self, op: BinOp, x: i128, y: i128, num: Num, span: Span) -> Val<'a> {
        if let Some(c) = compare(op) {
            return Val::Bool(match c {
                Compare::Eq => x == y,
                Compare::Ne => x != y,
                Compare::Lt => x < y,
                Compare::Le => x <= y,
                Compare::Gt => x > y,
                Compare::Ge => x >= y,
            });
        }
        let result = match op {
            BinOp::Add => x.checked_add(y),
            BinOp::Sub => x.checked_sub(y),
            BinOp::Mul => x.checked_mul(y),
            BinOp::Div => x.checked_div(y),
            BinOp::Rem => x.checked_rem(y),
            BinOp::And => Some(x & y),
            BinOp::Or => Some(x | y),
            BinOp::Xor => Some(x ^ y),
            BinOp::Shl if (0..64).contains(&y) => x.checked_mul(1 << y),
            BinOp::Shr if (0..64).contains(&y) => Some(x >> y),
            _ => None,
        };
        let (lo, hi) = num.range();
        match result {
            Some(r) if r >= lo && r <= hi => Val::Int(r, num),
            _ => {
                let what = if matches!(op, BinOp::Div | BinOp::Rem) && y == 0 {
                    "a division by zero".to_string()
                } else {
                    format!("an overflow of `{}`", num.name())
                };
                let diag = self
                    .error(
                        codes::CONST_EVAL,
                        span,
                        format!("{x} {} {y} is {what}", symbol(op)),
                    )
                    .note("it is computed at build time");
                self.refuse(diag)
            }
        }
    }

    fn binary_scalar(&mut self, op: BinOp, a: &Val<'a>, b: &Val<'a>, span: Span) -> Val<'a> {
        let (na, nb) = match (number_type(a), number_type(b)) {
            (Some(na), Some(nb)) => (na, nb),
            (first, _) => {
                let odd = if first.is_none() { a } else { b };
                let diag = self.error(
                    codes::TYPE,
                    span,
                    format!("`{}` does not take {}", symbol(op), odd.kind()),
                );
                return self.refuse(diag);
            }
        };
        if matches!(op, BinOp::Shl | BinOp::Shr) {
            return self.shift(op, a, b, span);
        }
        let Some(num) = self.operand_type(op, na, nb, span) else {
            return Val::Poison;
        };
        let (Some(x), Some(y)) = (self.scalar_as(a, num, span), self.scalar_as(b, num, span))
        else {
            return Val::Poison;
        };
        let num = self.resolve(num);
        if let Some(c) = compare(op) {
            return self.compare(c, &x, &y, span);
        }
        let Some(f) = arithmetic(op) else {
            return self.bug(span, "an operator without a meaning");
        };
        let bits = matches!(f, Binary::And | Binary::Or | Binary::Xor);
        let is_bool = num == Num::D(DType::BOOL);
        if (is_bool && !bits) || (bits && num.is_float()) {
            let diag = self.error(
                codes::TYPE,
                span,
                format!("`{}` does not take `{}`", symbol(op), num.name()),
            );
            return self.refuse(diag);
        }
        if matches!(f, Binary::Div | Binary::Rem) && !num.is_float() && matches!(b, Val::Int(0, _))
        {
            let diag = self.error(codes::CONST_EVAL, span, "a division by zero");
            return self.refuse(diag);
        }
        Val::Scalar(self.arith(f, &x, &y, span))
    }

    /// An operation on two run-time numbers of one type.
    pub(crate) fn arith(&mut self, f: Binary, x: &Scalar, y: &Scalar, span: Span) -> Scalar {
        let num = self.resolve(x.num);
        let uniform = self.uniform(x.value).max(self.uniform(y.value));
        if num != Num::Usize {
            let dtype = self.dtype(x.value);
            let value = self.emit(Op::Binary(f, x.value, y.value), dtype, uniform, span);
            self.wait_for_type(value, num);
            return self.scalar_of(value, num);
        }
        let (lo, hi) = range(f, x, y);
        let (lo, hi) = if hi > i128::from(u64::MAX) {
            num.range()
        } else {
            (lo.max(0), hi)
        };
        let small = i128::from(u32::MAX);
        let narrow = x.hi <= small && y.hi <= small && hi <= small;
        let dtype = if narrow { DType::U32 } else { DType::U64 };
        let (a, b) = (self.widen(x, dtype, span), self.widen(y, dtype, span));
        let value = self.emit(Op::Binary(f, a, b), dtype, uniform, span);
        // Of whatever times a constant it is known that the constant divides it.
        let unknown = |s: &Scalar| s.expr.is_none() && s.lo < s.hi;
        let constant = |s: &Scalar| s.lo == s.hi && s.lo > 1;
        let scaled =
            f == Binary::Mul && ((unknown(x) && constant(y)) || (constant(x) && unknown(y)));
        let (e, g) = if scaled {
            (Some(self.expr_of(x)), Some(self.expr_of(y)))
        } else {
            (x.expr.clone(), y.expr.clone())
        };
        let expr = match (&e, &g) {
            (Some(a), Some(b)) => {
                let (a, b) = (a.clone(), b.clone());
                let positive = y.lo > 0;
                match f {
                    Binary::Add => Some(a + b),
                    Binary::Sub if x.lo >= y.hi => Some(a - b),
                    Binary::Mul => Some(a * b),
                    Binary::Div if positive => Some(a.floor_div(b)),
                    Binary::Rem if positive => Some(a.modulo(b)),
                    Binary::Min => Some(a.min(b)),
                    Binary::Max => Some(a.max(b)),
                    _ => None,
                }
            }
            _ => None,
        };
        Scalar {
            value,
            num,
            lo,
            hi,
            expr,
        }
    }

    fn compare(&mut self, c: Compare, x: &Scalar, y: &Scalar, span: Span) -> Val<'a> {
        let num = self.resolve(x.num);
        let uniform = self.uniform(x.value).max(self.uniform(y.value));
        if num == Num::D(DType::BOOL) {
            let differ = self.emit(
                Op::Binary(Binary::Xor, x.value, y.value),
                DType::BOOL,
                uniform,
                span,
            );
            return match c {
                Compare::Ne => self.bool_scalar(differ),
                Compare::Eq => {
                    let same = self.emit(Op::Unary(Unary::Not, differ), DType::BOOL, uniform, span);
                    self.bool_scalar(same)
                }
                _ => {
                    let diag = self.error(codes::TYPE, span, "bools are not ordered");
                    self.refuse(diag)
                }
            };
        }
        if num == Num::Usize {
            let known = match c {
                Compare::Lt if x.hi < y.lo => Some(true),
                Compare::Lt if x.lo >= y.hi => Some(false),
                Compare::Le if x.hi <= y.lo => Some(true),
                Compare::Le if x.lo > y.hi => Some(false),
                Compare::Gt if x.lo > y.hi => Some(true),
                Compare::Gt if x.hi <= y.lo => Some(false),
                Compare::Ge if x.lo >= y.hi => Some(true),
                Compare::Ge if x.hi < y.lo => Some(false),
                _ => None,
            };
            if let Some(known) = known {
                return Val::Bool(known);
            }
        }
        let (a, b) = if num == Num::Usize && self.dtype(x.value) != self.dtype(y.value) {
            (
                self.widen(x, DType::U64, span),
                self.widen(y, DType::U64, span),
            )
        } else {
            (x.value, y.value)
        };
        let value = self.emit(Op::Compare(c, a, b), DType::BOOL, uniform, span);
        self.bool_scalar(value)
    }

    fn shift(&mut self, op: BinOp, a: &Val<'a>, b: &Val<'a>, span: Span) -> Val<'a> {
        let Some(x) = self.scalar(a, span) else {
            return Val::Poison;
        };
        if self.resolve(x.num).is_float() || self.resolve(x.num) == Num::D(DType::BOOL) {
            let diag = self.error(
                codes::TYPE,
                span,
                format!("`{}` does not take `{}`", symbol(op), x.num.name()),
            );
            return self.refuse(diag);
        }
        let by = self.convert(b, Num::D(DType::U32), crate::ir::Round::Default, span);
        let Some(y) = self.scalar(&by, span) else {
            return Val::Poison;
        };
        let f = if op == BinOp::Shl {
            Binary::Shl
        } else {
            Binary::Shr
        };
        let uniform = self.uniform(x.value).max(self.uniform(y.value));
        let num = self.resolve(x.num);
        if num != Num::Usize {
            let dtype = self.dtype(x.value);
            let value = self.emit(Op::Binary(f, x.value, y.value), dtype, uniform, span);
            self.wait_for_type(value, num);
            return Val::Scalar(self.scalar_of(value, num));
        }
        let (lo, hi) = match f {
            Binary::Shl if y.hi < 64 => (
                x.lo << y.lo,
                x.hi.checked_shl(y.hi as u32).unwrap_or(i128::MAX),
            ),
            Binary::Shr => (0, x.hi >> y.lo.clamp(0, 63)),
            _ => num.range(),
        };
        let (lo, hi) = if hi > i128::from(u64::MAX) {
            num.range()
        } else {
            (lo, hi)
        };
        let dtype = if x.hi.max(hi) <= i128::from(u32::MAX) {
            DType::U32
        } else {
            DType::U64
        };
        let wide = self.widen(&x, dtype, span);
        let value = self.emit(Op::Binary(f, wide, y.value), dtype, uniform, span);
        let scale = if y.lo == y.hi && y.hi < 32 {
            Some(1_i64 << y.lo)
        } else {
            None
        };
        let expr = match (scale, x.expr, f) {
            (Some(k), Some(e), Binary::Shl) => Some(e * k),
            (Some(k), Some(e), _) => Some(e.floor_div(k)),
            _ => None,
        };
        Val::Scalar(Scalar {
            value,
            num,
            lo,
            hi,
            expr,
        })
    }

    /// `a && b` (or `a || b`) of evaluated operands.
    pub(crate) fn logic(&mut self, and: bool, a: Val<'a>, b: Val<'a>, span: Span) -> Val<'a> {
        match (&a, &b) {
            (Val::Bool(x), _) => return if *x == and { b } else { a },
            (_, Val::Bool(y)) => return if *y == and { a } else { b },
            (Val::Poison | Val::Never, _) => return a,
            (_, Val::Poison | Val::Never) => return b,
            _ => {}
        }
        let num = Num::D(DType::BOOL);
        let (Some(x), Some(y)) = (self.scalar_as(&a, num, span), self.scalar_as(&b, num, span))
        else {
            return Val::Poison;
        };
        let f = if and { Binary::And } else { Binary::Or };
        Val::Scalar(self.arith(f, &x, &y, span))
    }

    pub(crate) fn not(&mut self, a: Val<'a>, span: Span) -> Val<'a> {
        self.unary(UnOp::Not, a, span)
    }

    /// `-a`, `!a`, `*a`.
    pub(crate) fn unary(&mut self, op: UnOp, a: Val<'a>, span: Span) -> Val<'a> {
        match (op, &a) {
            (_, Val::Poison | Val::Never) => return a,
            (UnOp::Deref, Val::RefMut(place)) => {
                let place = place.clone();
                return self.read_place(&place, span);
            }
            (UnOp::Deref, _) => return a,
            (UnOp::Not, Val::Bool(b)) => return Val::Bool(!b),
            (UnOp::Neg, Val::Int(i, n)) if *n != Num::Usize => {
                return self.int_or_refuse(-*i, *n, span);
            }
            (UnOp::Neg, Val::Float(f, n)) => return Val::Float(-f, *n),
            (UnOp::Not, Val::Int(i, n)) if *n != Num::Lit => {
                let (_, hi) = n.range();
                let signed = n.range().0 < 0;
                return Val::Int(if signed { -1 - i } else { hi - i }, *n);
            }
            (UnOp::Neg | UnOp::Not, Val::Register(r)) => {
                let r = r.clone();
                let f = if op == UnOp::Neg {
                    Unary::Neg
                } else {
                    Unary::Not
                };
                return self.register_unary(f, &r, span);
            }
            _ => {}
        }
        let Some(x) = self.scalar(&a, span) else {
            return Val::Poison;
        };
        let num = self.resolve(x.num);
        let ok = match op {
            UnOp::Neg => num.is_float() || num.range().0 < 0,
            _ => !num.is_float(),
        };
        if !ok {
            let sign = if op == UnOp::Neg { "-" } else { "!" };
            let diag = self.error(
                codes::TYPE,
                span,
                format!("`{sign}` does not take `{}`", num.name()),
            );
            return self.refuse(diag);
        }
        let f = if op == UnOp::Neg {
            Unary::Neg
        } else {
            Unary::Not
        };
        let (dtype, uniform) = (self.dtype(x.value), self.uniform(x.value));
        let wide = if num == Num::Usize {
            self.widen(&x, DType::U64, span)
        } else {
            x.value
        };
        let dtype = if num == Num::Usize { DType::U64 } else { dtype };
        let value = self.emit(Op::Unary(f, wide), dtype, uniform, span);
        self.wait_for_type(value, num);
        Val::Scalar(self.scalar_of(value, num))
    }

    fn int_or_refuse(&mut self, i: i128, num: Num, span: Span) -> Val<'a> {
        if num == Num::Lit {
            Val::Int(i, num)
        } else {
            self.int_in_range(i, num, span)
        }
    }

    /// A constant of an index type.
    pub(crate) fn index_const(&mut self, i: u32, span: Span) -> Scalar {
        self.constant(Const::Int(i.into()), Num::Usize, span)
    }
}

pub(crate) fn number_type(val: &Val<'_>) -> Option<Num> {
    match val {
        Val::Int(_, n) | Val::Float(_, n) => Some(*n),
        Val::Scalar(s) => Some(s.num),
        Val::Bool(_) => Some(Num::D(DType::BOOL)),
        _ => None,
    }
}

fn fold_float<'a>(op: BinOp, x: f64, y: f64, num: Num) -> Option<Val<'a>> {
    if let Some(c) = compare(op) {
        return Some(Val::Bool(match c {
            Compare::Eq => x == y,
            Compare::Ne => x != y,
            Compare::Lt => x < y,
            Compare::Le => x <= y,
            Compare::Gt => x > y,
            Compare::Ge => x >= y,
        }));
    }
    // Rounding the f64 result again to f32 gives the f32 result (53 >= 2 * 24 + 2); the 16-bit types
    // are left to run time.
    let single = match num {
        Num::Lit | Num::D(DType::F64) => false,
        Num::D(DType::F32) => true,
        _ => return None,
    };
    let r = match op {
        BinOp::Add => x + y,
        BinOp::Sub => x - y,
        BinOp::Mul => x * y,
        BinOp::Div => x / y,
        _ => return None,
    };
    Some(Val::Float(
        if single { f64::from(r as f32) } else { r },
        num,
    ))
}

/// The range of an unsigned operation that stays in range.
fn range(f: Binary, x: &Scalar, y: &Scalar) -> (i128, i128) {
    let all_ones = |n: i128| (1_i128 << (128 - n.max(0).leading_zeros())) - 1;
    match f {
        Binary::Add => (x.lo + y.lo, x.hi + y.hi),
        Binary::Sub if x.lo >= y.hi => (x.lo - y.hi, x.hi - y.lo),
        // Below zero would be the author's defect, as in Rust.
        Binary::Sub => (0, x.hi),
        Binary::Mul => (x.lo.saturating_mul(y.lo), x.hi.saturating_mul(y.hi)),
        Binary::Div => (x.lo / y.hi.max(1), x.hi / y.lo.max(1)),
        Binary::Rem => (0, x.hi.min((y.hi - 1).max(0))),
        Binary::Min | Binary::MinNan => (x.lo.min(y.lo), x.hi.min(y.hi)),
        Binary::Max | Binary::MaxNan => (x.lo.max(y.lo), x.hi.max(y.hi)),
        Binary::And => (0, x.hi.min(y.hi)),
        Binary::Or | Binary::Xor => (0, all_ones(x.hi | y.hi)),
        Binary::DivFast | Binary::Shl | Binary::Shr => (0, u64::MAX.into()),
    }
}
