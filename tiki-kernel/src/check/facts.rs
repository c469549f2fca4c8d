//! Facts that hold for the whole body: `require!` and the grid.
//!
//! Every conjunct of `require!` is checked by the launcher; here it teaches: an extent equal to a
//! build-time number *is* that number from then on, an extent equal to another tensor's is that one,
//! anything else becomes a fact of the symbolic store. The grid bounds the block's coordinates.

use super::value::{Num, Scalar, Val};
use super::{Check, Push};
use crate::artifact::ParamKind;
use crate::ast::{BinOp, Expr, ExprKind, Span, Stmt};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{Op, Uniform};
use tiki_layout::sym;

/// What is known of a tensor's extent.
#[derive(Debug, Clone)]
pub(crate) enum Dim {
    /// A symbol of its own.
    Own(sym::Expr),
    /// A build-time number.
    Known(i128),
    /// That of another.
    Same(usize, usize),
}

impl<'a> Check<'a> {
    /// Takes the facts of the body's top-level `require!`s, then the grid's.
    pub(crate) fn facts(&mut self) {
        let program = self.program;
        let body = &program.kernel.body;
        let tail = body.value.as_deref();
        let exprs = body.stmts.iter().filter_map(|s| match s {
            Stmt::Expr(e) => Some(e),
            _ => None,
        });
        for expr in exprs.chain(tail) {
            if let ExprKind::Require(facts) = &expr.kind {
                for fact in facts {
                    self.fact(&fact.expr);
                }
            }
        }
        self.grid();
    }

    fn false_fact(&mut self, span: Span) {
        let text = "this fact is false for the instance";
        self.error(codes::CONST_EVAL, span, text).push(self);
    }

    pub(crate) fn fact(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Binary(BinOp::AndAnd, a, b) => {
                self.fact(a);
                self.fact(b);
            }
            ExprKind::Binary(op, a, b) => {
                let (_, (x, y)) = self.collect(|c| (c.eval(a), c.eval(b)));
                if x.is_poison() || y.is_poison() {
                    return;
                }
                if let (Val::Bool(p), Val::Bool(q), BinOp::Eq) = (&x, &y, op) {
                    if p != q {
                        self.false_fact(expr.span);
                    }
                    return;
                }
                if let (Val::Shape(p), Val::Shape(q)) = (&x, &y) {
                    self.same_shape(*p, *q, *op, expr.span);
                    return;
                }
                if *op == BinOp::Eq {
                    if let (Some(at), Val::Int(i, _)) = (self.dim_named(a), &y) {
                        self.know(at, *i, expr.span);
                        return;
                    }
                    if let (Val::Int(i, _), Some(at)) = (&x, self.dim_named(b)) {
                        self.know(at, *i, expr.span);
                        return;
                    }
                    if let (Some(p), Some(q)) = (self.dim_named(a), self.dim_named(b)) {
                        self.same(p, q, expr.span);
                        return;
                    }
                }
                let (_, pair) =
                    self.collect(|c| Some((c.scalar(&x, a.span)?, c.scalar(&y, b.span)?)));
                let Some((x, y)) = pair else { return };
                if self.unify(x.num, y.num).is_none() {
                    self.error(
                        codes::TYPE,
                        expr.span,
                        format!("the sides are `{}` and `{}`", x.num.name(), y.num.name()),
                    )
                    .push(self);
                    return;
                }
                let (ex, ey) = (self.expr_of(&x), self.expr_of(&y));
                let told = match op {
                    BinOp::Eq => match (&a.kind, y.lo == 0 && y.hi == 0) {
                        (ExprKind::Binary(BinOp::Rem, n, d), true) => self.divides_fact(n, d),
                        _ => self.facts.assume_eq(ex, ey),
                    },
                    BinOp::Le => self.facts.assume_le(ex, ey),
                    BinOp::Lt => self.facts.assume_lt(ex, ey),
                    BinOp::Ge => self.facts.assume_le(ey, ex),
                    BinOp::Gt => self.facts.assume_lt(ey, ex),
                    // Checked at launch; nothing is learnt.
                    _ => Ok(()),
                };
                if told.is_err() {
                    self.error(
                        codes::CONST_EVAL,
                        expr.span,
                        "this fact contradicts the others, or overflows",
                    )
                    .push(self);
                }
            }
            ExprKind::Method {
                recv, name, args, ..
            } if name.text == "is_none_or" && args.len() == 1 => {
                self.fact_if_given(recv, &args[0]);
            }
            ExprKind::Method {
                recv, name, args, ..
            } if name.text == "is_multiple_of" && args.len() == 1 => {
                let _ = self.divides_fact(recv, &args[0]);
            }
            _ => {
                let (_, val) = self.collect(|c| c.eval(expr));
                match val {
                    Val::Bool(false) => self.false_fact(expr.span),
                    Val::Bool(true) | Val::Poison => {}
                    Val::Scalar(s) if self.dtype(s.value) == DType::BOOL => {}
                    val => {
                        self.error(
                            codes::CONDITION,
                            expr.span,
                            format!("`require!` takes conditions, not {}", val.kind()),
                        )
                        .push(self);
                    }
                }
            }
        }
    }

    fn divides_fact(&mut self, n: &'a Expr, d: &'a Expr) -> Result<(), sym::SymError> {
        let (_, (n_val, d_val)) = self.collect(|c| (c.eval(n), c.eval(d)));
        let Val::Int(divisor, _) = d_val else {
            return Ok(());
        };
        let (_, s) = self.collect(|c| c.scalar(&n_val, n.span));
        match (s, u64::try_from(divisor)) {
            (Some(s), Ok(divisor)) if divisor > 0 => {
                let e = self.expr_of(&s);
                self.facts.assume_divides(e, divisor)
            }
            _ => Ok(()),
        }
    }

    /// The extent an expression like `x.dim(1)` names.
    fn dim_named(&mut self, expr: &'a Expr) -> Option<(usize, usize)> {
        let ExprKind::Method {
            recv, name, args, ..
        } = &expr.kind
        else {
            return None;
        };
        if name.text != "dim" || args.len() != 1 {
            return None;
        }
        let (_, (recv, axis)) = self.collect(|c| (c.eval(recv), c.eval(&args[0])));
        match (recv, axis) {
            (Val::Global(g), Val::Int(axis, _)) if g.window.is_none() => {
                let at = (g.param, axis as usize + g.fixed.len());
                self.dims.contains_key(&at).then_some(at)
            }
            _ => None,
        }
    }

    /// The representative of an extent.
    fn root(&self, mut at: (usize, usize)) -> (usize, usize) {
        while let Some(Dim::Same(p, a)) = self.dims.get(&at) {
            at = (*p, *a);
        }
        at
    }

    fn know(&mut self, at: (usize, usize), i: i128, span: Span) {
        let root = self.root(at);
        match self.dims.get(&root) {
            Some(Dim::Known(j)) if *j != i => {
                self.error(
                    codes::CONST_EVAL,
                    span,
                    format!("the extent is {j} by an earlier fact and {i} by this one"),
                )
                .push(self);
            }
            Some(Dim::Own(symbol)) => {
                let symbol = symbol.clone();
                if let Ok(i) = i64::try_from(i) {
                    let _ = self.facts.assume_eq(symbol, i);
                }
                self.dims.insert(root, Dim::Known(i));
            }
            _ => {}
        }
    }

    fn same(&mut self, p: (usize, usize), q: (usize, usize), span: Span) {
        let (p, q) = (self.root(p), self.root(q));
        if p == q {
            return;
        }
        match (self.dims.get(&p).cloned(), self.dims.get(&q).cloned()) {
            (Some(Dim::Known(i)), _) => self.know(q, i, span),
            (_, Some(Dim::Known(i))) => self.know(p, i, span),
            (Some(Dim::Own(a)), Some(Dim::Own(b))) => {
                let _ = self.facts.assume_eq(a, b);
                self.dims.insert(q, Dim::Same(p.0, p.1));
            }
            _ => {}
        }
    }

    fn same_shape(&mut self, p: usize, q: usize, op: BinOp, span: Span) {
        let rank = |k: &crate::ir::Param| match k.kind {
            ParamKind::Tensor { rank, .. } => rank,
            ParamKind::Scalar(_) => 0,
        };
        let (rp, rq) = (rank(&self.kernel.params[p]), rank(&self.kernel.params[q]));
        if rp != rq {
            self.error(
                codes::RANK,
                span,
                format!("the shapes have {rp} and {rq} axes and are never equal"),
            )
            .push(self);
            return;
        }
        if op == BinOp::Eq {
            for axis in 0..rp as usize {
                self.same((p, axis), (q, axis), span);
            }
        }
    }

    /// The extent of a tensor's axis.
    pub(crate) fn extent(&mut self, param: usize, axis: usize, span: Span) -> Val<'a> {
        let root = self.root((param, axis));
        match self.dims.get(&root).cloned() {
            Some(Dim::Known(i)) => Val::Int(i, Num::Usize),
            Some(Dim::Own(symbol)) => {
                let value = self.emit(Op::Extent(root.0, root.1), DType::U32, Uniform::Block, span);
                let hi = self
                    .facts
                    .interval(symbol.clone())
                    .high
                    .map_or(i128::from(u32::MAX), |h| h.min(u32::MAX.into()));
                let lo = self
                    .facts
                    .interval(symbol.clone())
                    .low
                    .map_or(0, |l| l.max(0));
                Val::Scalar(Scalar {
                    value,
                    num: Num::Usize,
                    lo,
                    hi,
                    expr: Some(symbol),
                })
            }
            _ => Val::Poison,
        }
    }

    /// The extent as a symbolic expression.
    pub(crate) fn extent_expr(&self, param: usize, axis: usize) -> sym::Expr {
        match self.dims.get(&self.root((param, axis))) {
            Some(Dim::Known(i)) => i64::try_from(*i).unwrap_or(i64::MAX).into(),
            Some(Dim::Own(e)) => e.clone(),
            _ => 0_i64.into(),
        }
    }

    /// The extent, where facts fix it.
    pub(crate) fn known_extent(&self, param: usize, axis: usize) -> Option<i128> {
        match self.dims.get(&self.root((param, axis))) {
            Some(Dim::Known(i)) => Some(*i),
            _ => None,
        }
    }

    /// What is known of a number, as an expression; a new symbol with its range if nothing is.
    pub(crate) fn expr_of(&mut self, s: &Scalar) -> sym::Expr {
        if let Some(e) = &s.expr {
            return e.clone();
        }
        if s.lo == s.hi
            && let Ok(i) = i64::try_from(s.lo)
        {
            return i.into();
        }
        let name = self.kernel.values[s.value.0 as usize].name.clone();
        let symbol = self
            .facts
            .symbol(if name.is_empty() { "value" } else { &name });
        if let Ok(lo) = i64::try_from(s.lo) {
            let _ = self.facts.assume_le(lo, symbol);
        }
        if let Ok(hi) = i64::try_from(s.hi) {
            let _ = self.facts.assume_le(symbol, hi);
        }
        symbol.into()
    }

    /// Blocks along an axis bound the block's coordinate there.
    fn grid(&mut self) {
        let program = self.program;
        let Some(option) = program
            .kernel
            .options
            .iter()
            .find(|o| o.name.text == "grid")
        else {
            self.error(codes::MISSING_OPTION, program.kernel.name.span, "the kernel does not say its grid")
                .help("add `grid = [x.dim(0)]`, the number of blocks along x (and y, z), computed from the arguments")
                .push(self);
            return;
        };
        let Some(value) = &option.value else {
            self.error(
                codes::BAD_OPTION,
                option.name.span,
                "`grid` takes a list of block counts: `grid = [x.dim(0)]`",
            )
            .push(self);
            return;
        };
        if matches!(&value.kind, ExprKind::Path(p) if p.segments.len() == 1 && p.segments[0].name.text == "persistent")
        {
            return;
        }
        let ExprKind::Array(parts) = &value.kind else {
            self.error(
                codes::BAD_OPTION,
                value.span,
                "`grid` is a list of one to three block counts, or `persistent`",
            )
            .push(self);
            return;
        };
        if parts.is_empty() || parts.len() > 3 {
            self.error(
                codes::BAD_OPTION,
                value.span,
                format!("a grid has one to three axes, not {}", parts.len()),
            )
            .push(self);
            return;
        }
        for (axis, part) in parts.iter().enumerate() {
            let (_, found) = self.collect(|c| {
                let val = c.eval(part);
                match val {
                    Val::Int(..) | Val::Scalar(_) => c.scalar_as(&val, Num::Usize, part.span),
                    Val::Poison => None,
                    val => {
                        c.error(
                            codes::BAD_OPTION,
                            part.span,
                            format!("a block count is a `usize`, not {}", val.kind()),
                        )
                        .push(c);
                        None
                    }
                }
            });
            let Some(s) = found else { continue };
            let blocks = self.expr_of(&s);
            let name = ["block_idx().x", "block_idx().y", "block_idx().z"][axis];
            let symbol = self.facts.extent(name);
            let _ = self.facts.assume_lt(symbol, blocks);
            self.block_symbols[axis] = Some((symbol.into(), (s.hi - 1).max(0)));
        }
        for axis in parts.len()..3 {
            self.block_symbols[axis] = Some((0_i64.into(), 0));
        }
    }
}
