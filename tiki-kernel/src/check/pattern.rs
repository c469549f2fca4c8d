//! Binding names by patterns, and testing refutable ones.

use super::value::{Num, Val};
use super::{Check, Push};
use crate::ast::{Lit, Pattern, PatternKind};
use crate::diag::codes;
use crate::dtype::DType;

/// Whether a pattern matches, as far as it is known.
pub(crate) enum Matched<'a> {
    Yes,
    No,
    /// Only at run time: a bool.
    Maybe(Val<'a>),
}

impl<'a> Check<'a> {
    /// Binds an irrefutable pattern.
    pub(crate) fn bind(&mut self, pattern: &'a Pattern, val: Val<'a>) {
        match &pattern.kind {
            PatternKind::Wild => {}
            PatternKind::Bind { name, mutable, sub } => {
                if let Some(sub) = sub {
                    self.bind(sub, val.clone());
                }
                self.declare(&name.text, val, *mutable, name.span);
            }
            PatternKind::Ref(inner) => self.bind(inner, val),
            PatternKind::Tuple(parts) | PatternKind::Array(parts) => match val {
                Val::Tuple(vals) | Val::Array(vals) if vals.len() == parts.len() => {
                    for (part, val) in parts.iter().zip(vals) {
                        self.bind(part, val);
                    }
                }
                val => {
                    if !val.is_poison() {
                        self.error(
                            codes::TYPE,
                            pattern.span,
                            format!(
                                "a pattern of {} parts cannot take {}",
                                parts.len(),
                                val.kind()
                            ),
                        )
                        .push(self);
                    }
                    for part in parts {
                        self.bind(part, Val::Poison);
                    }
                }
            },
            _ => {
                self.error(
                    codes::UNSUPPORTED,
                    pattern.span,
                    "this pattern can fail; use `match` or `if`",
                )
                .push(self);
            }
        }
    }

    /// Tests a pattern against a value; names are bound if it may match.
    pub(crate) fn test(&mut self, pattern: &'a Pattern, val: &Val<'a>) -> Matched<'a> {
        match &pattern.kind {
            PatternKind::Wild | PatternKind::Bind { sub: None, .. } | PatternKind::Ref(_) => {
                self.bind(pattern, val.clone());
                Matched::Yes
            }
            PatternKind::Bind {
                name,
                mutable,
                sub: Some(sub),
            } => {
                self.declare(&name.text, val.clone(), *mutable, name.span);
                self.test(sub, val)
            }
            PatternKind::Lit(lit) => {
                let lit = self.lit(lit, pattern.span);
                let same = self.binary(crate::ast::BinOp::Eq, val.clone(), lit, pattern.span);
                matched(same)
            }
            PatternKind::Path(path)
                if path.segments.last().is_some_and(|s| s.name.text == "None") =>
            {
                match self.optional_of(val, pattern.span) {
                    Some(None) => Matched::Yes,
                    _ => Matched::No,
                }
            }
            PatternKind::Path(path) => {
                let other = self.path(path, pattern.span);
                let same = self.binary(crate::ast::BinOp::Eq, val.clone(), other, pattern.span);
                matched(same)
            }
            PatternKind::Range { lo, hi, inclusive } => {
                let mut all = Val::Bool(true);
                let upper = if *inclusive {
                    crate::ast::BinOp::Le
                } else {
                    crate::ast::BinOp::Lt
                };
                for (bound, op) in [(lo, crate::ast::BinOp::Ge), (hi, upper)] {
                    if let Some(lit) = bound {
                        let lit = self.lit(lit, pattern.span);
                        let one = self.binary(op, val.clone(), lit, pattern.span);
                        all = self.logic(true, all, one, pattern.span);
                    }
                }
                matched(all)
            }
            PatternKind::Or(parts) => {
                let mut any = Val::Bool(false);
                for part in parts {
                    let one = match self.test(part, val) {
                        Matched::Yes => Val::Bool(true),
                        Matched::No => Val::Bool(false),
                        Matched::Maybe(v) => v,
                    };
                    any = self.logic(false, any, one, pattern.span);
                }
                matched(any)
            }
            PatternKind::Tuple(parts) | PatternKind::Array(parts) => {
                let (Val::Tuple(vals) | Val::Array(vals)) = val else {
                    if !val.is_poison() {
                        self.error(
                            codes::TYPE,
                            pattern.span,
                            format!("this pattern cannot take {}", val.kind()),
                        )
                        .push(self);
                    }
                    return Matched::No;
                };
                let mut all = Val::Bool(true);
                for (part, val) in parts.iter().zip(vals.clone()) {
                    let one = match self.test(part, &val) {
                        Matched::Yes => Val::Bool(true),
                        Matched::No => Val::Bool(false),
                        Matched::Maybe(v) => v,
                    };
                    all = self.logic(true, all, one, pattern.span);
                }
                matched(all)
            }
            PatternKind::TupleStruct(path, parts)
                if parts.len() == 1
                    && path.segments.last().is_some_and(|s| s.name.text == "Some") =>
            {
                match self.optional_of(val, pattern.span) {
                    Some(Some(global)) => self.test(&parts[0], &Val::Global(global)),
                    Some(None) => Matched::No,
                    None => {
                        self.bind(&parts[0], Val::Poison);
                        Matched::Yes
                    }
                }
            }
            PatternKind::TupleStruct(..) => {
                self.error(
                    codes::UNSUPPORTED,
                    pattern.span,
                    "the kernel language has no enums of its own",
                )
                .push(self);
                Matched::No
            }
        }
    }

    pub(crate) fn lit(&mut self, lit: &Lit, span: crate::ast::Span) -> Val<'a> {
        match lit {
            Lit::Bool(b) => Val::Bool(*b),
            Lit::Int(i, suffix) => match suffix.as_str() {
                "" => Val::Int(*i, Num::Lit),
                "usize" => Val::Int(*i, Num::Usize),
                s => match DType::by_name(s) {
                    Some(t) if t.is_float() => Val::Float(*i as f64, Num::D(t)),
                    Some(t) => self.int_in_range(*i, Num::D(t), span),
                    None => {
                        let d = self
                            .error(
                                codes::TYPE,
                                span,
                                format!("the kernel language has no type `{s}`"),
                            )
                            .near(s, DType::arithmetic());
                        self.refuse(d)
                    }
                },
            },
            Lit::Float(text, suffix) => {
                let value: f64 = text.replace('_', "").parse().unwrap_or(f64::NAN);
                match suffix.as_str() {
                    "" => Val::Float(value, Num::Lit),
                    s => match DType::by_name(s) {
                        Some(t) => Val::Float(value, Num::D(t)),
                        None => {
                            let d = self
                                .error(
                                    codes::TYPE,
                                    span,
                                    format!("the kernel language has no type `{s}`"),
                                )
                                .near(s, DType::arithmetic());
                            self.refuse(d)
                        }
                    },
                }
            }
            Lit::Str(_) => {
                let d = self.error(codes::UNSUPPORTED, span, "kernels have no strings");
                self.refuse(d)
            }
        }
    }
}

fn matched(val: Val<'_>) -> Matched<'_> {
    match val {
        Val::Bool(true) => Matched::Yes,
        Val::Bool(false) | Val::Poison => Matched::No,
        val => Matched::Maybe(val),
    }
}
