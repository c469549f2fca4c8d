//! Branches, loops and ways out of them.
//!
//! A condition known at build time chooses at build time. A loop is a run-time loop unless it carries
//! `#[unroll]` (or goes over a build-time array, or its condition is known to be false).

use super::pattern::Matched;
use super::scope::Scope;
use super::unroll::Loop;
use super::value::{Num, RangeVal, Rev, Scalar, Val};
use super::{Check, Flow, Push};
use crate::ast::{Arm, BinOp, Block, Expr, ExprKind, Name, Pattern, PatternKind, Span, Unroll};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{Binary, Const, Op, Stmt, StmtKind, Type, Uniform, Value};

impl<'a> Check<'a> {
    /// A condition: known, or a run-time bool.
    fn condition(&mut self, cond: &'a Expr) -> Option<Result<bool, Value>> {
        let val = self.eval(cond);
        match val {
            Val::Bool(b) => Some(Ok(b)),
            Val::Scalar(s) if self.dtype(s.value) == DType::BOOL => Some(Err(s.value)),
            Val::Poison | Val::Never => None,
            val => {
                self.error(
                    codes::CONDITION,
                    cond.span,
                    format!("a condition is a bool, not {}", val.kind()),
                )
                .push(self);
                None
            }
        }
    }

    /// Evaluates a part under run-time control.
    pub(super) fn controlled(
        &mut self,
        f: impl FnOnce(&mut Self) -> Val<'a>,
    ) -> (Vec<Stmt>, Val<'a>) {
        self.control += 1;
        let (stmts, val) = self.collect(f);
        self.control -= 1;
        let val = match self.flow.take() {
            None => val,
            Some(Flow::Dead) => Val::Never,
            Some(other) => {
                // A build-time way out under a run-time condition.
                if let (Flow::Return, Some((_, span))) = (other, &self.returned) {
                    self.error(
                        codes::UNSUPPORTED,
                        *span,
                        "`return` under a run-time condition, within an elementwise closure",
                    )
                    .help(
                        "let every branch end in its value: the closure computes all of them, for every element",
                    )
                    .push(self);
                }
                Val::Poison
            }
        };
        (stmts, val)
    }

    pub(crate) fn if_expr(
        &mut self,
        cond: &'a Expr,
        then: &'a Block,
        otherwise: Option<&'a Expr>,
        span: Span,
    ) -> Val<'a> {
        match &cond.kind {
            ExprKind::Let(pattern, value) => {
                return self.if_let((pattern, value), None, then, otherwise, span);
            }
            ExprKind::Binary(BinOp::AndAnd, first, rest) => {
                if let ExprKind::Let(pattern, value) = &first.kind {
                    return self.if_let((pattern, value), Some(rest), then, otherwise, span);
                }
            }
            _ => {}
        }
        match self.condition(cond) {
            None => Val::Poison,
            Some(Ok(true)) => self.block_value(then),
            Some(Ok(false)) => otherwise.map_or(Val::Unit, |e| self.eval(e)),
            Some(Err(cond)) => {
                let others: Vec<&Expr> = otherwise.into_iter().collect();
                self.promote(&others, &[then], span);
                let here = self.warps_here();
                let mask = self.warps_where(cond);
                let ahead = self.pipes_ahead();
                let then = self.in_role(mask.map(|m| here & m), |c| {
                    c.controlled(|c| c.block_value(then))
                });
                let after = self.pipes_ahead();
                self.set_pipes_ahead(&ahead);
                let otherwise = self.in_role(mask.map(|m| here & !m), |c| {
                    c.controlled(|c| otherwise.map_or(Val::Unit, |e| c.eval(e)))
                });
                self.pipes_after_branches(&after);
                let val = self.join(cond, then, otherwise, span);
                if matches!(val, Val::Never) {
                    self.flow = Some(Flow::Dead);
                }
                val
            }
        }
    }

    /// `if let pattern = value { .. }`, and `&& rest` behind it: decided at build time.
    fn if_let(
        &mut self,
        (pattern, value): (&'a Pattern, &'a Expr),
        rest: Option<&'a Expr>,
        then: &'a Block,
        otherwise: Option<&'a Expr>,
        span: Span,
    ) -> Val<'a> {
        let val = self.eval(value);
        if val.is_poison() {
            return Val::Poison;
        }
        let scope = Scope::child(&self.scope);
        let taken = self.in_scope(scope, |c| match c.test(pattern, &val) {
            Matched::Yes => Some(match rest {
                Some(rest) => c.if_expr(rest, then, otherwise, span),
                None => c.block_value(then),
            }),
            Matched::No => None,
            Matched::Maybe(_) => {
                let diag = c
                    .error(
                        codes::UNSUPPORTED,
                        pattern.span,
                        "whether this pattern matches is known at run time only",
                    )
                    .help("use `if` with a comparison, or `match`");
                Some(c.refuse(diag))
            }
        });
        match (taken, otherwise) {
            (Some(val), _) => val,
            (None, Some(otherwise)) => self.eval(otherwise),
            (None, None) => Val::Unit,
        }
    }

    pub(crate) fn match_expr(&mut self, value: &'a Expr, arms: &'a [Arm], span: Span) -> Val<'a> {
        let val = self.eval(value);
        if val.is_poison() {
            return Val::Poison;
        }
        let bodies: Vec<&Expr> = arms
            .iter()
            .flat_map(|a| a.guard.iter().chain([&a.body]))
            .collect();
        self.match_arms(&val, arms, &bodies, false, span)
    }

    fn match_arms(
        &mut self,
        val: &Val<'a>,
        arms: &'a [Arm],
        bodies: &[&'a Expr],
        promoted: bool,
        span: Span,
    ) -> Val<'a> {
        let Some((arm, rest)) = arms.split_first() else {
            let diag = self.error(
                codes::UNSUPPORTED,
                span,
                "no arm of this `match` takes the value",
            );
            return self.refuse(diag);
        };
        let scope = Scope::child(&self.scope);
        let (scope, matched) = self.in_scope(scope, |c| {
            let m = c.test(&arm.pattern, val);
            let m = match (&arm.guard, m) {
                (None, m) | (_, m @ Matched::No) => m,
                (Some(guard), m) => {
                    let g = c.eval(guard);
                    let all = match m {
                        Matched::Maybe(v) => c.logic(true, v, g, guard.span),
                        _ => g,
                    };
                    match all {
                        Val::Bool(true) => Matched::Yes,
                        Val::Bool(false) | Val::Poison => Matched::No,
                        v => Matched::Maybe(v),
                    }
                }
            };
            (std::rc::Rc::clone(&c.scope), m)
        });
        match matched {
            Matched::Yes => self.in_scope(scope, |c| c.eval(&arm.body)),
            Matched::No => self.match_arms(val, rest, bodies, promoted, span),
            Matched::Maybe(_) if rest.is_empty() => {
                // rustc has checked that the arms cover every value: the last one takes the rest.
                self.in_scope(scope, |c| c.eval(&arm.body))
            }
            Matched::Maybe(cond) => {
                let Some(cond) = self.scalar(&cond, arm.pattern.span) else {
                    return Val::Poison;
                };
                if !promoted {
                    self.promote(bodies, &[], span);
                }
                let then = self.controlled(|c| c.in_scope(scope, |c| c.eval(&arm.body)));
                let otherwise = self.controlled(|c| c.match_arms(val, rest, bodies, true, span));
                let val = self.join(cond.value, then, otherwise, span);
                if matches!(val, Val::Never) {
                    self.flow = Some(Flow::Dead);
                }
                val
            }
        }
    }

    pub(crate) fn for_loop(
        &mut self,
        pattern: &'a Pattern,
        iter: &'a Expr,
        body: &'a Block,
        unroll: Option<&'a Unroll>,
        label: Option<&'a Name>,
        span: Span,
    ) -> Val<'a> {
        let iter_val = self.eval(iter);
        let factor = match unroll {
            Some(Unroll {
                factor: Some(n),
                span,
            }) => {
                let val = self.eval(n);
                self.const_in(&val, "an unroll factor", 1, 1024, *span)
                    .map(|n| n as u32)
            }
            _ => None,
        };
        let whole = unroll.is_some_and(|u| u.factor.is_none());
        match iter_val {
            Val::Poison | Val::Never => Val::Poison,
            Val::Array(parts) => self.unrolled(parts.into_iter(), pattern, body, label),
            Val::Range(range) if whole => {
                let lo = self.const_int(&range.lo, "the start of an unrolled loop", iter.span);
                let hi = self.const_int(&range.hi, "the end of an unrolled loop", iter.span);
                let (Some(lo), Some(hi)) = (lo, hi) else {
                    return Val::Poison;
                };
                let num = match (&range.lo, &range.hi) {
                    (Val::Int(_, Num::Lit), Val::Int(_, Num::Lit)) => Num::Usize,
                    (Val::Int(_, Num::Lit), Val::Int(_, n)) | (Val::Int(_, n), _) => *n,
                    _ => Num::Usize,
                };
                let step = i128::from(range.step);
                let count = ((hi - lo).max(0) + step - 1) / step;
                if count > 65536 {
                    let at = unroll.map_or(span, |u| u.span);
                    let diag = self
                        .error(
                            codes::UNROLL_LIMIT,
                            at,
                            format!("this loop would be repeated {count} times"),
                        )
                        .help("leave it to run time, or use `#[unroll(4)]`");
                    return self.refuse(diag);
                }
                let value = move |i: i128| match range.rev {
                    Rev::No => lo + i * step,
                    Rev::End => hi - 1 - i * step,
                    Rev::Last => lo + (count - 1 - i) * step,
                };
                let values = (0..count).map(move |i| Val::Int(value(i), num));
                self.unrolled(values, pattern, body, label)
            }
            Val::Tiles(tiles) => self.tiles_loop(&tiles, pattern, body, label, span),
            Val::Range(range) => self.counted(&range, factor, pattern, body, label, iter.span),
            val => {
                let diag = self.error(
                    codes::TYPE,
                    iter.span,
                    format!(
                        "a `for` goes over a range or a build-time array, not {}",
                        val.kind()
                    ),
                );
                self.refuse(diag)
            }
        }
    }

    fn counted(
        &mut self,
        range: &RangeVal<'a>,
        factor: Option<u32>,
        pattern: &'a Pattern,
        body: &'a Block,
        label: Option<&'a Name>,
        span: Span,
    ) -> Val<'a> {
        if let (Val::Int(lo, _), Val::Int(hi, _)) = (&range.lo, &range.hi)
            && lo >= hi
        {
            return Val::Unit;
        }
        self.promote(&[], &[body], span);
        let num = match (&range.lo, &range.hi) {
            (Val::Int(_, Num::Lit), Val::Int(_, Num::Lit)) => Num::Usize,
            (Val::Int(_, Num::Lit), v) | (v, _) => match v {
                Val::Int(_, n) => *n,
                Val::Scalar(s) => s.num,
                _ => Num::Usize,
            },
        };
        let (Some(lo), Some(hi)) = (
            self.scalar_as(&range.lo, num, span),
            self.scalar_as(&range.hi, num, span),
        ) else {
            return Val::Poison;
        };
        let num = self.resolve(num);
        if num.is_float() || num == Num::D(DType::BOOL) {
            let diag = self.error(
                codes::TYPE,
                span,
                format!("a range of `{}` cannot be counted", num.name()),
            );
            return self.refuse(diag);
        }
        // The counter stops at most a step past the end.
        let top = hi.hi.saturating_add(i128::from(range.step));
        let dtype = self.num_dtype(num, top);
        let (from, to) = if num == Num::Usize {
            (self.widen(&lo, dtype, span), self.widen(&hi, dtype, span))
        } else {
            (lo.value, hi.value)
        };
        let uniform = self.uniform(from).max(self.uniform(to));
        let index = self.value(Type::Scalar(dtype), uniform, span);
        let mut counter = Scalar {
            value: index,
            num,
            lo: lo.lo,
            hi: (hi.hi - 1).max(lo.lo),
            expr: None,
        };
        if num == Num::Usize {
            let symbol = self.facts.symbol(match &pattern.kind {
                PatternKind::Bind { name, .. } => &name.text,
                _ => "index",
            });
            let symbol: tiki_layout::sym::Expr = symbol.into();
            let (low, high) = (self.expr_of(&lo), self.expr_of(&hi));
            let _ = self.facts.assume_le(low, symbol.clone());
            let _ = self.facts.assume_lt(symbol.clone(), high);
            counter.expr = Some(symbol);
        }
        let rounds = (lo.lo == lo.hi && hi.lo == hi.hi)
            .then(|| (hi.hi - lo.hi + i128::from(range.step) - 1) / i128::from(range.step));
        let ahead = self.pipes_ahead();
        let Some(stmts) = self.looped(label, |c| {
            let counter = c.counted_from_the_end(range, counter, &lo, &hi, span);
            c.bind(pattern, Val::Scalar(counter));
            c.block_value(body)
        }) else {
            return Val::Poison;
        };
        self.pipes_after_loop(&ahead, rounds);
        self.push(
            StmtKind::For {
                index,
                lo: from,
                hi: to,
                step: range.step,
                unroll: factor,
                body: stmts,
            },
            span,
        );
        Val::Unit
    }

    /// The number that a loop over a reversed range gives where its counter, which goes upwards, is `counter`.
    fn counted_from_the_end(
        &mut self,
        range: &RangeVal<'a>,
        counter: Scalar,
        lo: &Scalar,
        hi: &Scalar,
        span: Span,
    ) -> Scalar {
        let one = self.number_like(1, &counter, span);
        let first = match range.rev {
            Rev::No => return counter,
            Rev::End => self.arith(Binary::Sub, hi, &one, span),
            Rev::Last => {
                // The last number of the range that is a whole number of steps from its start.
                let step = self.number_like(range.step.into(), &counter, span);
                let last = self.arith(Binary::Sub, hi, &one, span);
                let whole = self.arith(Binary::Sub, &last, lo, span);
                let whole = self.arith(Binary::Div, &whole, &step, span);
                let whole = self.arith(Binary::Mul, &whole, &step, span);
                self.arith(Binary::Add, lo, &whole, span)
            }
        };
        let left = self.arith(Binary::Sub, &first, &counter, span);
        let found = self.arith(Binary::Add, &left, lo, span);
        // It runs through the same numbers as the counter would: what is known of that holds for it.
        let mut expr = None;
        if counter.num == Num::Usize {
            let symbol: tiki_layout::sym::Expr = self.facts.symbol("index").into();
            let (low, high) = (self.expr_of(lo), self.expr_of(hi));
            let _ = self.facts.assume_le(low, symbol.clone());
            let _ = self.facts.assume_lt(symbol.clone(), high);
            expr = Some(symbol);
        }
        let dtype = self.dtype(counter.value);
        let value = if counter.num == Num::Usize {
            self.widen(&found, dtype, span)
        } else {
            found.value
        };
        Scalar {
            value,
            num: counter.num,
            lo: counter.lo,
            hi: counter.hi,
            expr,
        }
    }

    /// A number of the type of another.
    fn number_like(&mut self, n: i128, like: &Scalar, span: Span) -> Scalar {
        let dtype = self.dtype(like.value);
        let value = self.emit(Op::Const(Const::Int(n)), dtype, Uniform::Block, span);
        Scalar {
            lo: n,
            hi: n,
            ..self.scalar_of(value, like.num)
        }
    }

    /// The statements of a run-time loop's body.
    pub(crate) fn looped(
        &mut self,
        label: Option<&Name>,
        f: impl FnOnce(&mut Self) -> Val<'a>,
    ) -> Option<Vec<Stmt>> {
        let depth = self.loops.len();
        self.loops
            .push(Loop::new(label, true, self.control, Span::default()));
        let (stmts, val) = self.controlled(|c| {
            let scope = Scope::child(&c.scope);
            c.in_scope(scope, f)
        });
        self.loops.truncate(depth);
        (!val.is_poison()).then_some(stmts)
    }

    /// Evaluates a part that only some warps reach.
    fn in_role<R>(&mut self, warps: Option<u64>, f: impl FnOnce(&mut Self) -> R) -> R {
        let Some(warps) = warps else { return f(self) };
        let saved = self.warps.replace(warps);
        let result = f(self);
        self.warps = saved;
        result
    }

    pub(crate) fn while_loop(
        &mut self,
        cond: Option<&'a Expr>,
        body: &'a Block,
        label: Option<&'a Name>,
        span: Span,
    ) -> Val<'a> {
        let conds: Vec<&Expr> = cond.into_iter().collect();
        self.promote(&conds, &[body], span);
        let depth = self.loops.len();
        self.loops.push(Loop::new(label, true, self.control, span));
        self.control += 1;
        let (mut head, test) = self.collect(|c| cond.map_or(Some(Ok(true)), |e| c.condition(e)));
        self.control -= 1;
        let test = match test {
            None => {
                self.loops.truncate(depth);
                return Val::Poison;
            }
            Some(Ok(false)) => {
                self.loops.truncate(depth);
                return Val::Unit;
            }
            Some(Ok(true)) => {
                let (stmts, s) = self.collect(|c| c.scalar(&Val::Bool(true), span));
                head.extend(stmts);
                match s {
                    Some(s) => s.value,
                    None => return Val::Poison,
                }
            }
            Some(Err(value)) => value,
        };
        let ahead = self.pipes_ahead();
        let (stmts, _) = self.controlled(|c| c.block_value(body));
        self.loops.truncate(depth);
        self.pipes_after_loop(&ahead, None);
        self.push(
            StmtKind::While {
                head,
                cond: test,
                body: stmts,
            },
            span,
        );
        Val::Unit
    }

    /// A statement that all threads of the block must reach.
    pub(crate) fn block_wide(&mut self, what: &str, span: Span) {
        if let Some(left) = self.left {
            self.error(
                codes::RETURN,
                left,
                format!("a thread may leave here before {what}"),
            )
            .also(span, "all threads of the block must come here")
            .help("put what follows under the opposite condition instead of returning")
            .push(self);
            self.left = None;
        }
    }
}
