//! Expressions.

use super::value::{Closure, Num, RangeVal, Val};
use super::{Check, Push};
use crate::ast::{BinOp, Expr, ExprKind, GenericArg, Item, Name, Path, Span, Type, TypeKind, UnOp};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::Round;
use std::rc::Rc;

impl<'a> Check<'a> {
    /// Evaluates an expression.
    pub(crate) fn eval(&mut self, expr: &'a Expr) -> Val<'a> {
        if self.flow.is_some() {
            return Val::Never;
        }
        if !self.step(expr.span) {
            return Val::Poison;
        }
        let span = expr.span;
        match &expr.kind {
            ExprKind::Lit(lit) => self.lit(lit, span),
            ExprKind::Path(path) => self.path(path, span),
            ExprKind::Unary(UnOp::Neg, inner)
                if matches!(inner.kind, ExprKind::Lit(crate::ast::Lit::Int(..))) =>
            {
                // A negative literal is one literal: `-2147483648i32` is in range.
                if let ExprKind::Lit(crate::ast::Lit::Int(i, suffix)) = &inner.kind
                    && let Some(t) = DType::by_name(suffix).filter(|t| t.is_int())
                {
                    return self.int_in_range(-*i, Num::D(t), span);
                }
                let val = self.eval(inner);
                self.unary(UnOp::Neg, val, span)
            }
            ExprKind::Unary(op, inner) => {
                let val = self.eval(inner);
                self.unary(*op, val, span)
            }
            ExprKind::Binary(op @ (BinOp::AndAnd | BinOp::OrOr), a, b) => {
                self.short_circuit(*op, a, b, span)
            }
            ExprKind::Binary(op, a, b) => {
                let a = self.eval(a);
                let b = self.eval(b);
                self.binary(*op, a, b, span)
            }
            ExprKind::Assign(place, value) => {
                let value = self.eval(value);
                self.assign(place, value, span);
                Val::Unit
            }
            ExprKind::AssignOp(op, place, value) => {
                let value = self.eval(value);
                let old = self.eval(place);
                let new = self.binary(*op, old, value, span);
                self.assign(place, new, span);
                Val::Unit
            }
            ExprKind::Call(callee, args) => self.call(callee, args, span),
            ExprKind::Method {
                recv,
                name,
                generics,
                args,
            } => self.method(recv, name, generics, args),
            ExprKind::Field(base, name) => {
                let base = self.eval(base);
                self.field(base, &name.text, name.span)
            }
            ExprKind::Index(base, index) => {
                let base = self.eval(base);
                let index = self.eval(index);
                self.index(base, &index, span)
            }
            ExprKind::Tuple(parts) if parts.is_empty() => Val::Unit,
            ExprKind::Tuple(parts) => Val::Tuple(parts.iter().map(|p| self.eval(p)).collect()),
            ExprKind::Array(parts) => Val::Array(parts.iter().map(|p| self.eval(p)).collect()),
            ExprKind::Repeat(value, count) => {
                let value = self.eval(value);
                let count_val = self.eval(count);
                match self.const_in(&count_val, "an array's length", 0, 1024, count.span) {
                    Some(n) => Val::Array(vec![value; n as usize]),
                    None => Val::Poison,
                }
            }
            ExprKind::Block(block) => self.block_value(block),
            ExprKind::If {
                cond,
                then,
                otherwise,
            } => self.if_expr(cond, then, otherwise.as_deref(), span),
            ExprKind::Let(..) => {
                let diag = self
                    .error(codes::UNSUPPORTED, span, "`let` stands here as a condition only in `if let .. {}` and at its beginning")
                    .help("use `if` with a comparison, or `match`");
                self.refuse(diag)
            }
            ExprKind::Match(value, arms) => self.match_expr(value, arms, span),
            ExprKind::For {
                pattern,
                iter,
                body,
                unroll,
                label,
            } => self.for_loop(pattern, iter, body, unroll.as_ref(), label.as_ref(), span),
            ExprKind::While { cond, body, label } => {
                self.while_loop(Some(cond), body, label.as_ref(), span)
            }
            ExprKind::Loop { body, label } => self.while_loop(None, body, label.as_ref(), span),
            ExprKind::Break(label, value) => {
                self.leave_loop(label.as_ref(), value.as_deref(), false, span)
            }
            ExprKind::Continue(label) => self.leave_loop(label.as_ref(), None, true, span),
            ExprKind::Return(value) => self.return_expr(value.as_deref(), span),
            ExprKind::Closure { params, body } => Val::Closure(Rc::new(Closure {
                params,
                body,
                scope: Rc::clone(&self.scope),
                within: self.calls.clone(),
                span,
            })),
            ExprKind::Range { lo, hi, inclusive } => {
                self.range(lo.as_deref(), hi.as_deref(), *inclusive, span)
            }
            ExprKind::Cast(value, ty) => {
                let val = self.eval(value);
                let Some(to) = self.num_of(ty) else {
                    return Val::Poison;
                };
                if let Val::Register(_) = val {
                    let diag =
                        self.error(codes::TYPE, span, "`as` converts scalars")
                            .help(format!(
                                "a register tensor is converted by `.cast::<{}>()`",
                                to.name()
                            ));
                    return self.refuse(diag);
                }
                self.convert(&val, to, Round::Default, span)
            }
            ExprKind::Ref(true, value) => match self.place(value) {
                Some(place) if !matches!(self.peek(&place), Val::Global(_) | Val::View(_)) => {
                    Val::RefMut(place)
                }
                _ => self.eval(value),
            },
            ExprKind::Ref(false, value) => self.eval(value),
            ExprKind::Require(_) => {
                let diag = self
                    .error(
                        codes::UNSUPPORTED,
                        span,
                        "`require!` stands at the top of a kernel's body",
                    )
                    .note("it is checked once per launch, on the host, whatever the body does");
                self.refuse(diag)
            }
            ExprKind::Layout(text) => self.layout_text(text, span),
            ExprKind::Ptx {
                text,
                place,
                operands,
                effects,
            } => {
                let place = *place;
                let source = super::written::Text {
                    text,
                    place,
                    operands,
                    effects,
                };
                self.written(&source, span)
            }
            ExprKind::Struct(path, fields) => self.record(path, fields, span),
            ExprKind::Unsupported(what) => {
                let diag = self.error(codes::UNSUPPORTED, span, format!("kernels have no {what}"));
                self.refuse(diag)
            }
        }
    }

    /// `Config { scale: 2.0, offset: x }`
    pub(super) fn record(
        &mut self,
        path: &'a Path,
        given: &'a [(Name, Expr)],
        span: Span,
    ) -> Val<'a> {
        let wanted = path.segments.last().map_or("", |s| s.name.text.as_str());
        let found = self.program.items.iter().find_map(|item| match item {
            Item::Struct { name, fields } if name.text == wanted => Some((name, fields)),
            _ => None,
        });
        let Some((name, fields)) = found else {
            let diag = self
                .error(
                    codes::UNSUPPORTED,
                    span,
                    format!("the struct `{wanted}` is not known to kernels"),
                )
                .help("put `#[tiki::device]` before it");
            return self.refuse(diag);
        };
        let mut values: Vec<Option<Val<'a>>> = vec![None; fields.len()];
        let mut unknown = false;
        for (field, value) in given {
            let val = self.eval(value);
            let Some(i) = fields.iter().position(|(f, _)| f.text == field.text) else {
                let message = format!("`{wanted}` has no field `{}`", field.text);
                self.error(codes::UNKNOWN_NAME, field.span, message)
                    .near(&field.text, fields.iter().map(|(f, _)| f.text.as_str()))
                    .push(self);
                unknown = true;
                continue;
            };
            values[i] = Some(self.typed(val, Some(&fields[i].1), value.span));
        }
        if unknown {
            // The one that is missing is likely this one.
            return Val::Poison;
        }
        let missing = values.iter().position(Option::is_none);
        if let Some(i) = missing {
            let message = format!("`{wanted}` needs its field `{}`", fields[i].0.text);
            let diag = self.error(codes::ARGUMENTS, span, message);
            return self.refuse(diag);
        }
        Val::Record(name, fields, values.into_iter().flatten().collect())
    }

    pub(super) fn short_circuit(
        &mut self,
        op: BinOp,
        a: &'a Expr,
        b: &'a Expr,
        span: Span,
    ) -> Val<'a> {
        let and = op == BinOp::AndAnd;
        let first = self.eval(a);
        if let Val::Bool(x) = first
            && x != and
        {
            return first;
        }
        if matches!(first, Val::Bool(_)) {
            let second = self.eval(b);
            return self.logic(and, first, second, span);
        }
        self.promote(&[b], &[], span);
        let (stmts, second) = self.controlled(|c| c.eval(b));
        // A second operand that only computes may run for all threads: that changes nothing.
        if super::join::pure(&stmts) {
            self.block.extend(stmts);
            return self.logic(and, first, second, span);
        }
        if first.is_poison() || matches!(first, Val::Never) {
            return first;
        }
        let Some(cond) = self.scalar_as(&first, Num::D(DType::BOOL), span) else {
            return Val::Poison;
        };
        // `a && b` is `if a { b } else { false }`.
        let (rest, decided) = ((stmts, second), (Vec::new(), Val::Bool(!and)));
        let (then, otherwise) = if and {
            (rest, decided)
        } else {
            (decided, rest)
        };
        self.join(cond.value, then, otherwise, span)
    }

    pub(super) fn range(
        &mut self,
        lo: Option<&'a Expr>,
        hi: Option<&'a Expr>,
        inclusive: bool,
        span: Span,
    ) -> Val<'a> {
        let lo = lo.map_or(Val::Int(0, Num::Lit), |e| self.eval(e));
        let Some(hi) = hi else {
            let diag = self.error(
                codes::UNSUPPORTED,
                span,
                "a range without an end never ends",
            );
            return self.refuse(diag);
        };
        let mut hi = self.eval(hi);
        if inclusive {
            hi = self.binary(BinOp::Add, hi, Val::Int(1, Num::Lit), span);
        }
        Val::Range(Box::new(RangeVal {
            lo,
            hi,
            step: 1,
            rev: super::value::Rev::No,
        }))
    }

    /// `base.name`
    pub(super) fn field(&mut self, base: Val<'a>, name: &str, span: Span) -> Val<'a> {
        match (&base, name) {
            (Val::Poison | Val::Never, _) => base,
            (Val::Tuple(parts), _) => match name.parse::<usize>().ok().and_then(|i| parts.get(i)) {
                Some(part) => part.clone(),
                None => {
                    let last = parts.len().saturating_sub(1);
                    let diag = self
                        .error(
                            codes::UNKNOWN_NAME,
                            span,
                            format!("a tuple of {} has no `.{name}`", parts.len()),
                        )
                        .help(format!("its parts are `.0` to `.{last}`"));
                    self.refuse(diag)
                }
            },
            (Val::Record(_, fields, parts), _) if fields.iter().any(|(f, _)| f.text == name) => {
                let i = fields.iter().position(|(f, _)| f.text == name);
                i.map_or(Val::Poison, |i| parts[i].clone())
            }
            (Val::Dim3(grid), "x" | "y" | "z") => {
                let axis = u8::from(name == "y") + 2 * u8::from(name == "z");
                self.block_coordinate(*grid, axis, span)
            }
            (val, _) => {
                let mut diag = self.error(
                    codes::UNKNOWN_NAME,
                    span,
                    format!("{} has no field `{name}`", val.kind()),
                );
                if let Val::Record(_, fields, _) = val {
                    diag = diag.near(name, fields.iter().map(|(f, _)| f.text.as_str()));
                }
                if matches!(val, Val::Dim3(_)) {
                    diag = diag.near(name, ["x", "y", "z"]);
                }
                let number = matches!(val, Val::Scalar(s) if s.num.name() == "usize");
                if number && matches!(name, "x" | "y" | "z") {
                    diag = diag.help("`thread_idx()` is one number, the thread's in its block; blocks have axes: `block_idx().x`");
                }
                self.refuse(diag)
            }
        }
    }

    /// `base[index]`
    pub(super) fn index(&mut self, base: Val<'a>, index: &Val<'a>, span: Span) -> Val<'a> {
        match &base {
            Val::Poison | Val::Never => base,
            Val::Array(parts) => {
                let parts = parts.clone();
                let last = parts.len() as i128 - 1;
                match self.const_in(index, "the index", 0, last, span) {
                    Some(i) => parts[i as usize].clone(),
                    None => Val::Poison,
                }
            }
            Val::Raw(r) => {
                let r = r.clone();
                match self.const_in(index, "the index", 0, r.dist.len() as i128 - 1, span) {
                    Some(i) => self.raw_element(&r, i as u32, span),
                    None => Val::Poison,
                }
            }
            val => {
                let mut diag = self.error(
                    codes::TYPE,
                    span,
                    format!("{} cannot be indexed", val.kind()),
                );
                if matches!(val, Val::Global(_) | Val::Shared(_) | Val::Peer(_)) {
                    diag = diag.help("one element is `.get([i, j])`, a tile `.tile(shape, at)`");
                }
                if matches!(val, Val::Register(_)) {
                    diag = diag.help("the thread's own values are `.raw()[i]`");
                }
                self.refuse(diag)
            }
        }
    }

    /// A type that names an element type.
    pub(crate) fn dtype_of(&mut self, ty: &Type) -> Option<DType> {
        if let TypeKind::Path(path) = &ty.kind
            && let Some(last) = path.segments.last()
            && let Some(t) = self.type_named(&last.name.text)
        {
            return Some(t);
        }
        let written = match &ty.kind {
            TypeKind::Path(path) => path.segments.last().map_or("", |s| s.name.text.as_str()),
            _ => "",
        };
        self.error(codes::TYPE, ty.span, "expected an element type")
            .near(written, DType::arithmetic())
            .push(self);
        None
    }

    pub(crate) fn type_named(&self, name: &str) -> Option<DType> {
        if let Some(binding) = self.scope.find(name)
            && let Val::Type(t) = self.bindings[binding].val
        {
            return Some(t);
        }
        DType::by_name(name)
    }

    /// A type that names a number.
    pub(crate) fn num_of(&mut self, ty: &Type) -> Option<Num> {
        if let TypeKind::Path(path) = &ty.kind
            && path.segments.last().is_some_and(|s| s.name.text == "usize")
        {
            return Some(Num::Usize);
        }
        self.dtype_of(ty).map(Num::D)
    }

    /// A generic argument of a const parameter, as the parameter's type.
    pub(crate) fn generic_const(&mut self, arg: &'a GenericArg, ty: &'a Type) -> Option<Val<'a>> {
        let (val, span) = match arg {
            GenericArg::Const(expr) => (self.eval(expr), expr.span),
            GenericArg::Type(named) => match &named.kind {
                TypeKind::Path(path) => (self.path(path, named.span), named.span),
                _ => (Val::Unit, named.span),
            },
        };
        match self.typed(val, Some(ty), span) {
            val @ (Val::Int(..) | Val::Bool(_)) => Some(val),
            val => {
                let found = self.const_int(&val, "a const argument", span)?;
                Some(Val::Int(found, Num::Usize))
            }
        }
    }

    /// A generic argument that is a build-time integer.
    pub(crate) fn generic_int(&mut self, arg: &'a GenericArg) -> Option<i128> {
        match arg {
            GenericArg::Const(expr) => {
                let val = self.eval(expr);
                self.const_int(&val, "a const argument", expr.span)
            }
            GenericArg::Type(ty) => {
                if let TypeKind::Path(path) = &ty.kind {
                    let val = self.path(path, ty.span);
                    return self.const_int(&val, "a const argument", ty.span);
                }
                self.error(codes::TYPE, ty.span, "expected an integer")
                    .push(self);
                None
            }
        }
    }
}
