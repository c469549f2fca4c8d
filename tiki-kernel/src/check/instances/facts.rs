//! Facts of `build(..)` and `tune(..)`: which combinations of values they leave, and why none.

use crate::ast::{BinOp, Expr, ExprKind, Span};
use crate::check::value::Val;
use crate::check::{Check, Push};
use crate::compile::{Arg, Instance};
use crate::diag::codes;

/// Combinations for which a fact did not hold, and the range of both its sides there.
#[derive(Debug, Clone, Default)]
pub(super) struct Failed {
    count: usize,
    sides: Option<[(i128, i128); 2]>,
}

impl Failed {
    pub(super) fn add(&mut self, sides: Option<[i128; 2]>) {
        self.count += 1;
        let Some(now) = sides else { return };
        let before = self.sides.get_or_insert(now.map(|x| (x, x)));
        for (range, x) in before.iter_mut().zip(now) {
            *range = (range.0.min(x), range.1.max(x));
        }
    }
}

impl<'a> Check<'a> {
    /// The first fact that does not hold for an instance; `None` if one is no fact.
    pub(super) fn holds(
        &mut self,
        instance: &Instance,
        facts: &[&'a Expr],
    ) -> Option<Result<(), usize>> {
        for (i, fact) in facts.iter().enumerate() {
            match self.of_instance(instance, fact)? {
                Some(Arg::Bool(true)) => {}
                Some(Arg::Bool(false)) => return Some(Err(i)),
                _ => {
                    self.not_a_fact(fact.span);
                    return None;
                }
            }
        }
        Some(Ok(()))
    }

    /// An expression's value for an instance, if it is one that a parameter can have; `None` if it is wrong.
    fn of_instance(&mut self, instance: &Instance, expr: &'a Expr) -> Option<Option<Arg>> {
        let mut check = Check::new(self.program, self.sink, "");
        for (name, arg) in &instance.args {
            check.declare(name, arg.value(), false, expr.span);
        }
        match check.collect(|c| c.eval(expr)).1 {
            Val::Bool(b) => Some(Some(Arg::Bool(b))),
            Val::Int(i, _) => Some(Some(Arg::Int(i))),
            Val::Poison => None,
            _ => Some(None),
        }
    }

    /// Both sides of a comparison, as numbers.
    pub(super) fn sides(&mut self, instance: &Instance, fact: &'a Expr) -> Option<[i128; 2]> {
        let ExprKind::Binary(op, left, right) = &fact.kind else {
            return None;
        };
        if matches!(op, BinOp::AndAnd | BinOp::OrOr) {
            return None;
        }
        let mut side = |e| match self.of_instance(instance, e) {
            Some(Some(Arg::Int(i))) => Some(i),
            _ => None,
        };
        Some([side(left)?, side(right)?])
    }

    /// None of so many combinations is left.
    pub(super) fn holds_for_none(&mut self, facts: &[&'a Expr], failed: &[Failed], count: usize) {
        // All that came to the last fact that failed failed there.
        let Some(last) = failed.iter().rposition(|f| f.count > 0) else {
            return;
        };
        let (fact, failed) = (facts[last], &failed[last]);
        let text = if failed.count == count {
            format!("this holds for none of the {count} combinations of these values")
        } else {
            format!(
                "of {count} combinations of these values, {} satisfy the facts before this one, and none this one",
                failed.count
            )
        };
        let mut diag = self.error(codes::INSTANCE, fact.span, text);
        if let Some([left, right]) = failed.sides {
            let side = |(lo, hi): (i128, i128)| match lo == hi {
                true => lo.to_string(),
                false => format!("{lo} to {hi}"),
            };
            let (left, right) = (side(left), side(right));
            diag = diag.note(format!(
                "its left side is {left}, its right side is {right}"
            ));
        }
        diag.push(self);
    }

    pub(super) fn not_a_fact(&mut self, span: Span) {
        self.error(
            codes::INSTANCE,
            span,
            "an instance gives parameters by name: `(E = f16, N = 4096)`",
        )
        .push(self);
    }
}
