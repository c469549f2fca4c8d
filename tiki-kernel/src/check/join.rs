//! Variables and branches: where run-time control meets build-time evaluation.
//!
//! A `let mut` stays a build-time value (or a value of its own) until run-time control could assign it:
//! before a run-time branch or loop, every name its body may assign is moved into a variable of the
//! typed program. What a run-time branch gives is selected, or goes through a variable.

use super::arith::number_type;
use super::value::{Cell, Home, Num, PlaceRef, Reg, Scalar, Val};
use super::{Check, Push};
use crate::ast::{Block, Expr, ExprKind, Span, Stmt as AstStmt};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{Op, Stmt, StmtKind, TensorType, Type, Uniform, Value};

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
                | Op::Reduce(_)
                | Op::Map(_)
                | Op::Get(_)
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
                place.path.push(name.text.parse().ok()?);
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
                Val::Tuple(parts) | Val::Array(parts) if i < parts.len() => val = &parts[i],
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
    fn read(&mut self, val: Val<'a>, span: Span) -> Val<'a> {
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

    fn replace(&mut self, place: &PlaceRef, value: Val<'a>) {
        let mut slot = &mut self.bindings[place.binding].val;
        for &i in &place.path {
            match slot {
                Val::Tuple(parts) | Val::Array(parts) => slot = &mut parts[i],
                _ => return,
            }
        }
        *slot = value;
    }

    /// A `let mut` keeps its type and layout.
    fn check_same_type(&mut self, old: &Val<'a>, new: &Val<'a>, name: &str, span: Span) {
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
            .note(format!("it is {} {:?} {}", a.dtype, a.shape, a.dist))
            .note(format!("assigned is {} {:?} {}", b.dtype, b.shape, b.dist))
            .push(self);
        }
    }

    fn set_cells(&mut self, old: &Val<'a>, new: Val<'a>, name: &str, span: Span) {
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
                        dtype, shape, dist, ..
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
                    .note(format!("it is {dtype} {shape:?} {dist}"))
                    .note(format!("assigned is {} {:?} {}", r.dtype, r.shape, r.dist))
                    .push(self);
                    return;
                }
                self.push(StmtKind::Set(*var, r.value), span);
            }
            (Val::Tuple(olds) | Val::Array(olds), Val::Tuple(news) | Val::Array(news))
                if olds.len() == news.len() =>
            {
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
        let mut names = Assigned {
            check: self,
            names: Vec::new(),
            seen: Vec::new(),
        };
        for expr in exprs {
            names.expr(expr);
        }
        for block in blocks {
            names.block(block);
        }
        let found = names.names;
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

    fn celled(&mut self, val: Val<'a>, name: &str, span: Span) -> Val<'a> {
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
                let var = self.var(Type::Tensor(ty), name, span);
                self.push(StmtKind::Set(var, r.value), span);
                Val::Cell(
                    var,
                    Cell::Tensor {
                        dtype: r.dtype,
                        shape: r.shape,
                        dist: r.dist,
                        bounds: r.bounds,
                    },
                )
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
            val => val,
        }
    }

    // ---- joining

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
    fn join_cells(&mut self, a: &Val<'a>, b: &Val<'a>, span: Span) -> Option<Val<'a>> {
        match (a, b) {
            (Val::Tuple(x), Val::Tuple(y)) | (Val::Array(x), Val::Array(y))
                if x.len() == y.len() =>
            {
                let parts: Option<Vec<_>> = x
                    .iter()
                    .zip(y)
                    .map(|(x, y)| self.join_cells(x, y, span))
                    .collect();
                parts.map(Val::Tuple)
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
                let bounds = if x.bounds == y.bounds {
                    x.bounds.clone()
                } else {
                    vec![None; x.shape.len()]
                };
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

    fn common_num(&mut self, a: &Val<'a>, b: &Val<'a>, span: Span) -> Option<Num> {
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

fn has_cell(val: &Val<'_>) -> bool {
    match val {
        Val::Cell(..) => true,
        Val::Tuple(parts) | Val::Array(parts) => parts.iter().any(has_cell),
        _ => false,
    }
}

/// Build-time values that are the same (numbers of one type included).
fn same_build_time(a: &Val<'_>, b: &Val<'_>) -> bool {
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

/// Finds the bindings a body may assign, through the closures it calls too.
struct Assigned<'c, 'a> {
    check: &'c mut Check<'a>,
    names: Vec<usize>,
    seen: Vec<*const Expr>,
}

impl<'a> Assigned<'_, 'a> {
    fn target(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Path(path) if path.segments.len() == 1 => {
                if let Some(binding) = self.check.scope.find(&path.segments[0].name.text) {
                    let binding = match &self.check.bindings[binding].val {
                        Val::RefMut(place) => place.binding,
                        _ => binding,
                    };
                    if !self.names.contains(&binding) {
                        self.names.push(binding);
                    }
                }
            }
            ExprKind::Field(base, _) | ExprKind::Index(base, _) | ExprKind::Unary(_, base) => {
                self.target(base)
            }
            ExprKind::Tuple(parts) => parts.iter().for_each(|p| self.target(p)),
            _ => {}
        }
    }

    fn block(&mut self, block: &'a Block) {
        for stmt in &block.stmts {
            match stmt {
                AstStmt::Let { init, .. } => init.iter().for_each(|e| self.expr(e)),
                AstStmt::Expr(e) => self.expr(e),
                AstStmt::Const { .. } => {}
            }
        }
        block.value.iter().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Assign(place, value) | ExprKind::AssignOp(_, place, value) => {
                self.target(place);
                self.expr(value);
            }
            ExprKind::Ref(mutable, inner) => {
                if *mutable {
                    self.target(inner);
                }
                self.expr(inner);
            }
            ExprKind::Path(path) if path.segments.len() == 1 => {
                // A closure that is called, or handed on, assigns what its body assigns.
                let found = self.check.scope.find(&path.segments[0].name.text);
                if let Some(Val::Closure(closure)) =
                    found.map(|b| self.check.bindings[b].val.clone())
                {
                    let at = std::ptr::from_ref(closure.body);
                    if !self.seen.contains(&at) {
                        self.seen.push(at);
                        let saved = std::mem::replace(&mut self.check.scope, closure.scope.clone());
                        self.expr(closure.body);
                        self.check.scope = saved;
                    }
                }
            }
            _ => crate::ast::visit::children(expr, &mut |part| match part {
                crate::ast::visit::Part::Expr(e) => self.expr(e),
                crate::ast::visit::Part::Block(b) => self.block(b),
            }),
        }
    }
}
