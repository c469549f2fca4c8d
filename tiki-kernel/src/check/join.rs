//! Variables under run-time control.
//!
//! A `let mut` stays a build-time value (or a value of its own) until run-time control could assign it:
//! before a run-time branch or loop, every name its body may assign is moved into a variable of the
//! typed program. [`super::select`] joins what the branches give.

use super::arith::number_type;
use super::assigned::assigned;
use super::layout::told::told;
use super::select::same_build_time;
use super::value::{Cell, Home, Num, PlaceRef, Reg, Val};
use super::{Check, Push};
use crate::ast::{Block, Expr, ExprKind, Span};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{Op, Stmt, StmtKind, TensorType, Type, Uniform, Var};

/// Whether statements only compute: running them for threads that need not changes nothing.
pub(crate) fn pure(stmts: &[Stmt]) -> bool {
    stmts.iter().all(|s| match &s.kind {
        StmtKind::Let(_, op) => !matches!(
            op,
            Op::Load { .. }
                | Op::LoadShared { .. }
                | Op::LoadElement { .. }
                | Op::Atom { .. }
                | Op::Shuffle { .. }
                | Op::Vote(..)
                | Op::Match(_)
                | Op::Redux(..)
                | Op::Written(..)
                | Op::Exchange(_)
                | Op::Reduce(_)
                | Op::Scan(_)
                | Op::Map(_)
        ),
        _ => false,
    })
}

impl<'a> Check<'a> {
    // ---- places

    /// The place an expression names, if it is one.
    pub(crate) fn place(&mut self, expr: &'a Expr) -> Option<PlaceRef> {
        match &expr.kind {
            ExprKind::Path(path) if path.segments.len() == 1 => {
                let binding = self.scope.find(&path.segments[0].name.text)?;
                match &self.bindings[binding].val {
                    Val::RefMut(place) => Some(place.clone()),
                    _ => Some(PlaceRef {
                        binding,
                        path: Vec::new(),
                    }),
                }
            }
            ExprKind::Unary(crate::ast::UnOp::Deref, inner) => self.place(inner),
            ExprKind::Field(base, name) => {
                let mut place = self.place(base)?;
                let field = match (name.text.parse(), self.peek(&place)) {
                    (Ok(i), _) => i,
                    (_, Val::Record(_, fields, _)) => {
                        fields.iter().position(|(f, _)| f.text == name.text)?
                    }
                    _ => return None,
                };
                place.path.push(field);
                Some(place)
            }
            ExprKind::Index(base, index) => {
                let mut place = self.place(base)?;
                let val = self.eval(index);
                let Val::Int(i, _) = val else { return None };
                place.path.push(usize::try_from(i).ok()?);
                Some(place)
            }
            _ => None,
        }
    }

    /// What lies at a place, cells unread.
    pub(crate) fn peek(&self, place: &PlaceRef) -> Val<'a> {
        let mut val = &self.bindings[place.binding].val;
        for &i in &place.path {
            match val {
                Val::Tuple(parts) | Val::Array(parts) | Val::Record(_, _, parts)
                    if i < parts.len() =>
                {
                    val = &parts[i];
                }
                _ => return Val::Poison,
            }
        }
        val.clone()
    }

    pub(crate) fn read_place(&mut self, place: &PlaceRef, span: Span) -> Val<'a> {
        let val = self.peek(place);
        self.read(val, span)
    }

    pub(crate) fn read_binding(&mut self, binding: usize, span: Span) -> Val<'a> {
        let val = self.bindings[binding].val.clone();
        self.read(val, span)
    }

    /// With cells read.
    pub(super) fn read(&mut self, val: Val<'a>, span: Span) -> Val<'a> {
        match val {
            Val::Cell(var, Cell::Scalar(num)) => {
                let num = self.resolve(num);
                let dtype = self.kernel.vars[var.0 as usize].ty.dtype();
                let value = self.emit(Op::Get(var), dtype, Uniform::Thread, span);
                self.wait_for_type(value, num);
                let mut s = self.scalar_of(value, num);
                if num == Num::Usize && dtype == DType::U32 {
                    s.hi = u32::MAX.into();
                }
                Val::Scalar(s)
            }
            Val::Cell(
                var,
                Cell::Tensor {
                    dtype,
                    shape,
                    dist,
                    bounds,
                },
            ) => {
                let ty = Type::Tensor(TensorType {
                    dtype,
                    shape: shape.clone(),
                    dist: dist.clone(),
                });
                let value = self.emit_typed(Op::Get(var), ty, Uniform::Thread, span);
                let bounds = bounds
                    .into_iter()
                    .map(|b| Some(self.emit(Op::Get(b?), DType::U32, Uniform::Block, span)))
                    .collect();
                Val::Register(Reg {
                    value,
                    dtype,
                    shape,
                    dist,
                    bounds,
                    home: Home::Var(var),
                })
            }
            Val::Tuple(parts) => {
                Val::Tuple(parts.into_iter().map(|p| self.read(p, span)).collect())
            }
            Val::Array(parts) => {
                Val::Array(parts.into_iter().map(|p| self.read(p, span)).collect())
            }
            Val::Record(name, fields, parts) => {
                let parts = parts.into_iter().map(|p| self.read(p, span));
                Val::Record(name, fields, parts.collect())
            }
            val => val,
        }
    }

    /// `place = value`
    pub(crate) fn assign(&mut self, target: &'a Expr, value: Val<'a>, span: Span) {
        if let ExprKind::Tuple(parts) = &target.kind {
            if let Val::Tuple(vals) = value
                && vals.len() == parts.len()
            {
                for (part, val) in parts.iter().zip(vals) {
                    self.assign(part, val, span);
                }
            }
            return;
        }
        if matches!(&target.kind, ExprKind::Path(p) if p.segments.len() == 1 && p.segments[0].name.text == "_")
        {
            return;
        }
        let Some(place) = self.place(target) else {
            self.error(codes::MUTABILITY, span, "this cannot be assigned")
                .note("elements of tensors are written by `store` and `set`")
                .push(self);
            return;
        };
        self.assign_place(&place, value, span);
    }

    pub(crate) fn assign_place(&mut self, place: &PlaceRef, value: Val<'a>, span: Span) {
        if value.is_poison() || matches!(value, Val::Never) {
            return;
        }
        let binding = &self.bindings[place.binding];
        // `let x;` takes its one value later.
        if !binding.mutable && !matches!(binding.val, Val::Unit) {
            let (name, at) = (binding.name.clone(), binding.span);
            self.error(
                codes::MUTABILITY,
                span,
                format!("`{name}` is assigned but not declared `let mut`"),
            )
            .also(at, format!("`{name}` is declared here"))
            .push(self);
            return;
        }
        if self.region > 0 && place.binding < self.region_base {
            let name = binding.name.clone();
            self.error(codes::MUTABILITY, span, format!("`{name}` is assigned within an elementwise closure"))
                .note("the closure is evaluated once for all elements; the order of elements has no meaning")
                .help("use a reduction, or `.raw()` and a loop")
                .push(self);
            return;
        }
        let old = self.peek(place);
        if let Val::Pending(new) = &value {
            // The registers stay; what moved on is how many groups were started.
            match &old {
                Val::Pending(p) if p.acc != new.acc => {
                    self.error(
                        codes::MUTABILITY,
                        span,
                        "an accumulator is one fixed set of registers",
                    )
                    .note("what is assigned lives in others")
                    .push(self);
                }
                _ => self.replace(place, value),
            }
            return;
        }
        let control = binding.control;
        let name = binding.name.clone();
        if matches!(old, Val::Unit) || (!has_cell(&old) && control == self.control) {
            self.check_same_type(&old, &value, &name, span);
            self.replace(place, value);
            return;
        }
        self.set_cells(&old, value, &name, span);
    }

    pub(super) fn replace(&mut self, place: &PlaceRef, value: Val<'a>) {
        let mut slot = &mut self.bindings[place.binding].val;
        for &i in &place.path {
            match slot {
                Val::Tuple(parts) | Val::Array(parts) | Val::Record(_, _, parts) => {
                    slot = &mut parts[i];
                }
                _ => return,
            }
        }
        *slot = value;
    }

    /// A `let mut` keeps its type and layout.
    pub(super) fn check_same_type(&mut self, old: &Val<'a>, new: &Val<'a>, name: &str, span: Span) {
        if let (Some(a), Some(b)) = (number_type(old), number_type(new))
            && self.unify(a, b).is_none()
        {
            self.error(
                codes::MUTABILITY,
                span,
                format!("`{name}` is {}; assigned is {}", old.kind(), new.kind()),
            )
            .push(self);
        }
        if let (Val::Register(a), Val::Register(b)) = (old, new)
            && (a.dtype != b.dtype || a.shape != b.shape || a.dist != b.dist)
        {
            self.error(
                codes::MUTABILITY,
                span,
                format!("`{name}` keeps its type and layout"),
            )
            .note(format!(
                "it is {} {:?}, {}",
                a.dtype,
                a.shape,
                told(&a.dist, a.shape.len())
            ))
            .note(format!(
                "assigned is {} {:?}, {}",
                b.dtype,
                b.shape,
                told(&b.dist, b.shape.len())
            ))
            .push(self);
        }
    }

    pub(super) fn set_cells(&mut self, old: &Val<'a>, new: Val<'a>, name: &str, span: Span) {
        match (old, new) {
            (Val::Cell(var, Cell::Scalar(num)), new) => {
                if let Some(s) = self.scalar_as(&new, *num, span) {
                    let dtype = self.kernel.vars[var.0 as usize].ty.dtype();
                    if self.resolve(*num) == Num::Usize
                        && dtype == DType::U32
                        && s.hi > i128::from(u32::MAX)
                        && !self.wide.contains(&var.0)
                    {
                        self.wide.push(var.0);
                    }
                    let value = if self.resolve(*num) == Num::Usize {
                        self.widen(&s, dtype, span)
                    } else {
                        s.value
                    };
                    self.push(StmtKind::Set(*var, value), span);
                }
            }
            (
                Val::Cell(
                    var,
                    Cell::Tensor {
                        dtype,
                        shape,
                        dist,
                        bounds,
                    },
                ),
                Val::Register(r),
            ) => {
                if r.dtype != *dtype || r.shape != *shape || r.dist != *dist {
                    self.error(
                        codes::MUTABILITY,
                        span,
                        format!("`{name}` keeps its type and layout"),
                    )
                    .note(format!(
                        "it is {dtype} {shape:?}, {}",
                        told(dist, shape.len())
                    ))
                    .note(format!(
                        "assigned is {} {:?}, {}",
                        r.dtype,
                        r.shape,
                        told(&r.dist, r.shape.len())
                    ))
                    .push(self);
                    return;
                }
                self.push(StmtKind::Set(*var, r.value), span);
                for (axis, bound) in bounds.iter().enumerate() {
                    match (bound, r.bounds[axis]) {
                        (Some(bound), Some(v)) => self.push(StmtKind::Set(*bound, v), span),
                        (Some(bound), None) => {
                            let all = self.index_const(shape[axis], span).value;
                            self.push(StmtKind::Set(*bound, all), span);
                        }
                        (None, Some(_)) => {
                            // Nothing was missing of what it held first: once more, with a bound.
                            let info = &self.kernel.vars[var.0 as usize];
                            let key = (info.name.clone(), info.span, axis as u8);
                            if !self.partial.contains(&key) {
                                self.partial.push(key);
                            }
                        }
                        (None, None) => {}
                    }
                }
            }
            (
                Val::Tuple(olds) | Val::Array(olds) | Val::Record(_, _, olds),
                Val::Tuple(news) | Val::Array(news) | Val::Record(_, _, news),
            ) if olds.len() == news.len() => {
                for (old, new) in olds.iter().zip(news) {
                    self.set_cells(old, new, name, span);
                }
            }
            (old, new) if same_build_time(old, &new) => {}
            (old, new) => {
                self.error(
                    codes::BRANCH_TYPES,
                    span,
                    format!(
                        "`{name}` is {} and is assigned {} under run-time control",
                        old.kind(),
                        new.kind()
                    ),
                )
                .note("only numbers and register tensors can differ at run time")
                .push(self);
            }
        }
    }

    // ---- promotion

    /// Moves every binding that `bodies` may assign into variables.
    pub(crate) fn promote(&mut self, exprs: &[&'a Expr], blocks: &[&'a Block], span: Span) {
        let found = assigned(self, exprs, blocks);
        for binding in found {
            let val = self.bindings[binding].val.clone();
            if !self.bindings[binding].mutable {
                continue;
            }
            let name = self.bindings[binding].name.clone();
            let val = self.celled(val, &name, span);
            self.bindings[binding].val = val;
        }
    }

    /// Moves what lies at a place into a variable.
    pub(crate) fn cell_at(&mut self, place: &PlaceRef, span: Span) {
        let name = self.bindings[place.binding].name.clone();
        let val = self.peek(place);
        let val = self.celled(val, &name, span);
        self.replace(place, val);
    }

    pub(super) fn celled(&mut self, val: Val<'a>, name: &str, span: Span) -> Val<'a> {
        match val {
            Val::Bool(_) | Val::Int(..) | Val::Float(..) | Val::Scalar(_) => {
                let Some(s) = self.scalar(&val, span) else {
                    return Val::Poison;
                };
                let num = self.resolve(s.num);
                let next = self.kernel.vars.len() as u32;
                let narrow = !self.wide.contains(&next) && s.hi <= i128::from(u32::MAX);
                let dtype = match num {
                    Num::Usize if narrow => DType::U32,
                    Num::Usize => DType::U64,
                    _ => self.dtype(s.value),
                };
                let value = if num == Num::Usize {
                    self.widen(&s, dtype, span)
                } else {
                    s.value
                };
                let var = self.var(Type::Scalar(dtype), name, span);
                if let Num::Infer(i) = num {
                    self.infer[i as usize].vars.push(var);
                }
                self.push(StmtKind::Set(var, value), span);
                Val::Cell(var, Cell::Scalar(num))
            }
            Val::Register(r) => {
                let ty = TensorType {
                    dtype: r.dtype,
                    shape: r.shape.clone(),
                    dist: r.dist.clone(),
                };
                let var = match r.home {
                    // Made for whoever takes it first: no second one, and no copy.
                    Home::Var(var) if self.unheld.contains(&var) => {
                        self.unheld.retain(|v| *v != var);
                        var
                    }
                    _ => {
                        let var = self.var(Type::Tensor(ty), name, span);
                        self.push(StmtKind::Set(var, r.value), span);
                        var
                    }
                };
                let partial = |a: usize| r.bounds[a].is_some();
                let bounds = self.bound_vars(partial, &r.shape, name, span);
                let cell = Cell::Tensor {
                    dtype: r.dtype,
                    shape: r.shape.clone(),
                    dist: r.dist.clone(),
                    bounds: bounds.clone(),
                };
                for (axis, bound) in bounds.into_iter().enumerate() {
                    if let Some(bound) = bound {
                        let all = r.bounds[axis];
                        let all =
                            all.unwrap_or_else(|| self.index_const(r.shape[axis], span).value);
                        self.push(StmtKind::Set(bound, all), span);
                    }
                }
                Val::Cell(var, cell)
            }
            Val::Tuple(parts) => Val::Tuple(
                parts
                    .into_iter()
                    .map(|p| self.celled(p, name, span))
                    .collect(),
            ),
            Val::Array(parts) => Val::Array(
                parts
                    .into_iter()
                    .map(|p| self.celled(p, name, span))
                    .collect(),
            ),
            Val::Record(record, fields, parts) => {
                let parts = parts.into_iter().map(|p| self.celled(p, name, span));
                Val::Record(record, fields, parts.collect())
            }
            val => val,
        }
    }
}

impl Check<'_> {
    /// Variables for the bounds of a tensor's variable, along the axes of which something may be missing: now, or of
    /// what is assigned later.
    pub(super) fn bound_vars(
        &mut self,
        partial: impl Fn(usize) -> bool,
        shape: &[u32],
        name: &str,
        span: Span,
    ) -> Vec<Option<Var>> {
        (0..shape.len())
            .map(|a| {
                let later = (name.to_string(), span, a as u8);
                (partial(a) || self.partial.contains(&later))
                    .then(|| self.var(Type::Scalar(DType::U32), name, span))
            })
            .collect()
    }
}

fn has_cell(val: &Val<'_>) -> bool {
    match val {
        Val::Cell(..) => true,
        Val::Tuple(parts) | Val::Array(parts) | Val::Record(_, _, parts) => {
            parts.iter().any(has_cell)
        }
        _ => false,
    }
}
