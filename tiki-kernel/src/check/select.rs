//! What a run-time branch gives: selected, or through a variable.

use super::join::pure;
use super::value::{Cell, Num, Scalar, Val};
use super::{Check, Push};
use crate::ast::Span;
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{Op, Stmt, StmtKind, TensorType, Type, Value};

impl<'a> Check<'a> {
    /// One value from two branches, given as statements and value; emits the branch.
    pub(crate) fn join(
        &mut self,
        cond: Value,
        mut then: (Vec<Stmt>, Val<'a>),
        mut otherwise: (Vec<Stmt>, Val<'a>),
        span: Span,
    ) -> Val<'a> {
        let small = then.0.len() + otherwise.0.len() <= if self.region > 0 { 64 } else { 12 };
        if then.1.is_poison() || otherwise.1.is_poison() {
            return Val::Poison;
        }
        match (&then.1, &otherwise.1) {
            (Val::Never, Val::Never) => {
                self.branch(cond, then.0, otherwise.0, span);
                return Val::Never;
            }
            // One side leaves: what follows belongs to the other side alone.
            (Val::Never, _) => {
                self.branch(cond, then.0, Vec::new(), span);
                self.block.extend(otherwise.0);
                return otherwise.1;
            }
            (_, Val::Never) => {
                let not = self.emit(
                    Op::Unary(crate::ir::Unary::Not, cond),
                    DType::BOOL,
                    self.uniform(cond),
                    span,
                );
                self.branch(not, otherwise.0, Vec::new(), span);
                self.block.extend(then.0);
                return then.1;
            }
            (Val::Unit, _) | (_, Val::Unit) => {
                if matches!((&then.1, &otherwise.1), (Val::Unit, Val::Unit)) {
                    self.branch(cond, then.0, otherwise.0, span);
                    return Val::Unit;
                }
            }
            _ => {}
        }
        let pure_both = pure(&then.0) && pure(&otherwise.0);
        if pure_both && small {
            self.block.append(&mut then.0);
            self.block.append(&mut otherwise.0);
            return self.select(cond, then.1, otherwise.1, span);
        }
        if self.region > 0 && !pure_both {
            let diag = self
                .error(
                    codes::UNSUPPORTED,
                    span,
                    "a branch within an elementwise closure only computes",
                )
                .note("it is evaluated for every element: no loads, stores or barriers in it");
            return self.refuse(diag);
        }
        // The value goes through variables, set at the end of each branch.
        let cells = {
            let (stmts, cells) = self.collect(|c| c.join_cells(&then.1, &otherwise.1, span));
            debug_assert!(stmts.is_empty());
            cells
        };
        let Some(cells) = cells else {
            return Val::Poison;
        };
        for side in [&mut then, &mut otherwise] {
            let val = side.1.clone();
            let (sets, ()) = self.collect(|c| c.set_cells(&cells, val, "the value", span));
            side.0.extend(sets);
        }
        self.branch(cond, then.0, otherwise.0, span);
        self.read(cells, span)
    }

    pub(crate) fn branch(
        &mut self,
        cond: Value,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
        span: Span,
    ) {
        if then.is_empty() && otherwise.is_empty() {
            return;
        }
        self.push(
            StmtKind::If {
                cond,
                then,
                otherwise,
            },
            span,
        );
    }

    /// Variables that can hold either of two values.
    pub(super) fn join_cells(&mut self, a: &Val<'a>, b: &Val<'a>, span: Span) -> Option<Val<'a>> {
        match (a, b) {
            (Val::Tuple(x), Val::Tuple(y)) | (Val::Array(x), Val::Array(y))
                if x.len() == y.len() =>
            {
                let parts: Option<Vec<_>> = x
                    .iter()
                    .zip(y)
                    .map(|(x, y)| self.join_cells(x, y, span))
                    .collect();
                parts.map(if matches!(a, Val::Array(_)) {
                    Val::Array
                } else {
                    Val::Tuple
                })
            }
            (Val::Record(name, fields, x), Val::Record(other, _, y)) if name.text == other.text => {
                let parts: Option<Vec<_>> = x
                    .iter()
                    .zip(y)
                    .map(|(x, y)| self.join_cells(x, y, span))
                    .collect();
                Some(Val::Record(name, fields, parts?))
            }
            (Val::Register(x), Val::Register(y))
                if x.dtype == y.dtype && x.shape == y.shape && x.dist == y.dist =>
            {
                let ty = TensorType {
                    dtype: x.dtype,
                    shape: x.shape.clone(),
                    dist: x.dist.clone(),
                };
                let var = self.var(Type::Tensor(ty), "branch", span);
                let partial = |a: usize| x.bounds[a].is_some() || y.bounds[a].is_some();
                let bounds = self.bound_vars(partial, &x.shape, "branch", span);
                Some(Val::Cell(
                    var,
                    Cell::Tensor {
                        dtype: x.dtype,
                        shape: x.shape.clone(),
                        dist: x.dist.clone(),
                        bounds,
                    },
                ))
            }
            (a, b) if same_build_time(a, b) => Some(a.clone()),
            (a, b) => {
                let num = self.common_num(a, b, span)?;
                let dtype = match num {
                    Num::Usize => DType::U64,
                    n => self.num_dtype(n, 0),
                };
                let var = self.var(Type::Scalar(dtype), "branch", span);
                if let Num::Infer(i) = num {
                    self.infer[i as usize].vars.push(var);
                }
                Some(Val::Cell(var, Cell::Scalar(num)))
            }
        }
    }

    pub(super) fn common_num(&mut self, a: &Val<'a>, b: &Val<'a>, span: Span) -> Option<Num> {
        let num = |v: &Val<'a>| match v {
            Val::Int(_, n) | Val::Float(_, n) => Some(*n),
            Val::Scalar(s) => Some(s.num),
            Val::Bool(_) => Some(Num::D(DType::BOOL)),
            _ => None,
        };
        let unified = match (num(a), num(b)) {
            (Some(x), Some(y)) => self.unify(x, y),
            _ => None,
        };
        let Some(found) = unified else {
            self.error(
                codes::BRANCH_TYPES,
                span,
                format!("the branches give {} and {}", a.kind(), b.kind()),
            )
            .push(self);
            return None;
        };
        if found != Num::Lit {
            return Some(found);
        }
        let float = matches!(a, Val::Float(..)) || matches!(b, Val::Float(..));
        let s = if float {
            Val::Float(0.0, Num::Lit)
        } else {
            Val::Int(0, Num::Lit)
        };
        let (_, s) = self.collect(|c| c.scalar(&s, span));
        s.map(|s| s.num)
    }

    /// `if cond { a } else { b }` of values that are both at hand.
    pub(crate) fn select(&mut self, cond: Value, a: Val<'a>, b: Val<'a>, span: Span) -> Val<'a> {
        match (&a, &b) {
            (Val::Tuple(x), Val::Tuple(y)) | (Val::Array(x), Val::Array(y))
                if x.len() == y.len() =>
            {
                let parts = x
                    .clone()
                    .into_iter()
                    .zip(y.clone())
                    .map(|(x, y)| self.select(cond, x, y, span))
                    .collect();
                return if matches!(a, Val::Array(_)) {
                    Val::Array(parts)
                } else {
                    Val::Tuple(parts)
                };
            }
            (Val::Record(name, fields, x), Val::Record(other, _, y)) if name.text == other.text => {
                let (name, fields) = (*name, *fields);
                let parts = x
                    .clone()
                    .into_iter()
                    .zip(y.clone())
                    .map(|(x, y)| self.select(cond, x, y, span));
                return Val::Record(name, fields, parts.collect());
            }
            (a, b) if same_build_time(a, b) => return a.clone(),
            (Val::Register(_), Val::Register(_)) => {
                let Some(cells) = self.join_cells(&a, &b, span) else {
                    return Val::Poison;
                };
                let (then, ()) = self.collect(|c| c.set_cells(&cells, a, "the value", span));
                let (otherwise, ()) = self.collect(|c| c.set_cells(&cells, b, "the value", span));
                self.branch(cond, then, otherwise, span);
                return self.read(cells, span);
            }
            _ => {}
        }
        let Some(num) = self.common_num(&a, &b, span) else {
            return Val::Poison;
        };
        let (Some(x), Some(y)) = (self.scalar_as(&a, num, span), self.scalar_as(&b, num, span))
        else {
            return Val::Poison;
        };
        let num = self.resolve(num);
        let uniform = self
            .uniform(cond)
            .max(self.uniform(x.value))
            .max(self.uniform(y.value));
        let (dx, dy) = (self.dtype(x.value), self.dtype(y.value));
        let dtype = if dx.bytes() >= dy.bytes() { dx } else { dy };
        let (vx, vy) = (self.widen(&x, dtype, span), self.widen(&y, dtype, span));
        let value = self.emit(Op::Select(cond, vx, vy), dtype, uniform, span);
        self.wait_for_type(value, num);
        Val::Scalar(Scalar {
            value,
            num,
            lo: x.lo.min(y.lo),
            hi: x.hi.max(y.hi),
            expr: None,
        })
    }
}

/// Build-time values that are the same (numbers of one type included).
pub(super) fn same_build_time(a: &Val<'_>, b: &Val<'_>) -> bool {
    match (a, b) {
        (Val::Bool(x), Val::Bool(y)) => x == y,
        (Val::Int(x, n), Val::Int(y, m)) => x == y && n == m,
        (Val::Float(x, n), Val::Float(y, m)) => x.to_bits() == y.to_bits() && n == m,
        (Val::Layout(x), Val::Layout(y)) => x == y,
        (Val::Swizzle(x), Val::Swizzle(y)) => x == y,
        (Val::ThreadMap(x), Val::ThreadMap(y)) => x == y,
        (Val::Type(x), Val::Type(y)) => x == y,
        (Val::Unit, Val::Unit) => true,
        (Val::Pending(x), Val::Pending(y)) => x.acc == y.acc,
        _ => false,
    }
}
