//! Calls: names to operations, closures and device functions inlined.

use super::Check;
use super::rules::Rule;
use super::scope::Scope;
use super::value::{Num, Rev, Val};
use crate::ast::{DeviceFn, Expr, ExprKind, GenericArg, Name, Path, Span};
use crate::diag::codes;
use crate::near;
use crate::ops::{self, Receiver, Row};
use std::collections::BTreeSet;
use std::rc::Rc;

/// An operation to carry out.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub row: &'static Row,
    /// The receiver's value.
    pub recv: Val<'a>,
    /// Between the angle brackets.
    pub generics: &'a [GenericArg],
    pub args: Vec<Val<'a>>,
    pub arg_spans: Vec<Span>,
    /// The operation's name.
    pub span: Span,
}

impl<'a> Call<'a> {
    pub fn arg(&self, i: usize) -> Val<'a> {
        self.args.get(i).cloned().unwrap_or(Val::Poison)
    }
    pub fn at(&self, i: usize) -> Span {
        self.arg_spans.get(i).copied().unwrap_or(self.span)
    }
}

/// What a value is as a receiver.
fn receiver(val: &Val<'_>) -> Option<Receiver> {
    Some(match val {
        Val::Bool(_) | Val::Int(..) | Val::Float(..) | Val::Scalar(_) => Receiver::Scalar,
        Val::Global(_) => Receiver::Global,
        Val::View(_) => Receiver::View,
        Val::Shared(_) => Receiver::Shared,
        Val::Peer(_) => Receiver::Peer,
        Val::Stages(_) => Receiver::Stages,
        Val::Register(_) => Receiver::Register,
        Val::Raw(_) => Receiver::Raw,
        Val::ThreadMap(_) => Receiver::ThreadMap,
        Val::Layout(_) => Receiver::Layout,
        Val::Swizzle(_) => Receiver::Swizzle,
        Val::Range(_) => Receiver::Range,
        Val::Array(_) => Receiver::Array,
        Val::Gemm(_) => Receiver::Gemm,
        Val::Pending(_) => Receiver::Pending,
        Val::Load(_) => Receiver::Load,
        Val::Store => Receiver::Store,
        Val::Pipeline(_) => Receiver::Pipeline,
        Val::Barrier { .. } => Receiver::Barrier,
        Val::Tiles(_) => Receiver::Tiles,
        _ => return None,
    })
}

impl<'a> Check<'a> {
    pub(crate) fn call(&mut self, callee: &'a Expr, args: &'a [Expr], span: Span) -> Val<'a> {
        if let ExprKind::Path(path) = &callee.kind {
            if let Some((row, generics)) = self.associated_function(path) {
                return self.operate(row, Val::Unit, generics, args, callee.span);
            }
            let known =
                path.segments.len() == 1 && self.scope.find(&path.segments[0].name.text).is_some();
            if !known
                && let [segment] = &path.segments[..]
                && self.device_fn(&segment.name.text).is_none()
                && let Some(row) = ops::find(Receiver::Free, &segment.name.text)
            {
                return self.operate(row, Val::Unit, &segment.generics, args, callee.span);
            }
        }
        let f = self.eval(callee);
        let vals: Vec<Val<'a>> = args.iter().map(|a| self.eval(a)).collect();
        if self.flow.is_some() {
            return Val::Never;
        }
        if let (Val::DeviceFn(f, generics), ExprKind::Path(_)) = (&f, &callee.kind) {
            let spans: Vec<Span> = args.iter().map(|a| a.span).collect();
            return self.call_device(f, generics, vals, &spans, callee.span);
        }
        self.apply(&f, vals, span)
    }

    fn device_fn(&self, name: &str) -> Option<&'a DeviceFn> {
        self.program.items.iter().find_map(|item| match item {
            crate::ast::Item::Fn(f) if f.name.text == name => Some(f),
            _ => None,
        })
    }

    /// `Shared::<E>::new`, `ThreadMap::linear`.
    fn associated_function(&mut self, path: &'a Path) -> Option<(&'static Row, &'a [GenericArg])> {
        let [.., ty, name] = &path.segments[..] else {
            return None;
        };
        let (_, receiver) = *ops::TYPES.iter().find(|(n, _)| *n == ty.name.text)?;
        let generics = if name.generics.is_empty() {
            &ty.generics
        } else {
            &name.generics
        };
        ops::find(receiver, &name.name.text).map(|row| (row, &generics[..]))
    }

    pub(crate) fn method(
        &mut self,
        recv: &'a Expr,
        name: &'a Name,
        generics: &'a [GenericArg],
        args: &'a [Expr],
    ) -> Val<'a> {
        let val = self.eval(recv);
        match &val {
            Val::Poison | Val::Never => {
                // The arguments are looked at all the same: their errors are the author's too.
                args.iter().for_each(|a| {
                    self.eval(a);
                });
                return val;
            }
            // Values are values: these change nothing.
            _ if matches!(name.text.as_str(), "clone" | "into" | "as_ref") && args.is_empty() => {
                return val;
            }
            Val::Optional(inner) => return self.optional_method(inner.clone(), recv, name, args),
            Val::RefMut(place) => {
                let place = place.clone();
                let inner = self.read_place(&place, name.span);
                return self.method_of(inner, name, generics, args);
            }
            _ => {}
        }
        self.method_of(val, name, generics, args)
    }

    fn method_of(
        &mut self,
        val: Val<'a>,
        name: &'a Name,
        generics: &'a [GenericArg],
        args: &'a [Expr],
    ) -> Val<'a> {
        let row = receiver(&val).and_then(|r| ops::find(r, &name.text));
        let Some(row) = row else {
            let mut diag = self.error(
                codes::UNKNOWN_NAME,
                name.span,
                format!("{} has no operation `{}`", val.kind(), name.text),
            );
            if let Some(r) = receiver(&val) {
                let own: Vec<&str> = ops::of(r).map(|row| row.name).collect();
                let others = ops::ROWS.iter().filter(|row| row.name == name.text);
                let others = others
                    .map(|row| row.receiver.what())
                    .collect::<BTreeSet<_>>();
                diag = match near::question(&name.text, own.iter().copied()) {
                    Some(question) => diag.help(question),
                    None if !others.is_empty() => {
                        let others: Vec<String> = others.into_iter().collect();
                        diag.help(format!(
                            "`{}` is an operation of {}",
                            name.text,
                            others.join(", ")
                        ))
                    }
                    None => diag.help(format!("it has {}", near::quoted(own))),
                };
            }
            return self.refuse(diag);
        };
        self.operate(row, val, generics, args, name.span)
    }

    fn operate(
        &mut self,
        row: &'static Row,
        recv: Val<'a>,
        generics: &'a [GenericArg],
        args: &'a [Expr],
        span: Span,
    ) -> Val<'a> {
        let vals: Vec<Val<'a>> = args.iter().map(|a| self.eval(a)).collect();
        if self.flow.is_some() {
            return Val::Never;
        }
        let arg_spans = args.iter().map(|a| a.span).collect();
        self.carry_out(Call {
            row,
            recv,
            generics,
            args: vals,
            arg_spans,
            span,
        })
    }

    fn carry_out(&mut self, call: Call<'a>) -> Val<'a> {
        let wanted = call.row.arity();
        if call.args.len() != wanted {
            let diag = self
                .error(
                    codes::ARGUMENTS,
                    call.span,
                    format!(
                        "`{}` takes {}, not {}",
                        call.row.name,
                        count(wanted),
                        call.args.len()
                    ),
                )
                .note(format!(
                    "its signature is `{}{}`",
                    call.row.name,
                    call.row.signature.trim_start_matches("fn")
                ));
            return self.refuse(diag);
        }
        if call
            .args
            .iter()
            .any(|a| a.is_poison() || matches!(a, Val::Never))
        {
            return Val::Poison;
        }
        if self.region > 0 && call.row.rule.has_effects() {
            let diag = self
                .error(
                    codes::UNSUPPORTED,
                    call.span,
                    format!("`{}` within an elementwise closure", call.row.name),
                )
                .note("the closure is evaluated once for every element and only computes");
            return self.refuse(diag);
        }
        self.rule(call)
    }

    /// Calls a closure, an operation by name, or a device function.
    pub(crate) fn apply(&mut self, f: &Val<'a>, args: Vec<Val<'a>>, span: Span) -> Val<'a> {
        match f {
            Val::Poison | Val::Never => f.clone(),
            Val::Closure(closure) => {
                let closure = Rc::clone(closure);
                if closure.params.len() != args.len() {
                    let diag = self
                        .error(
                            codes::ARGUMENTS,
                            span,
                            format!(
                                "the closure takes {}, not {}",
                                count(closure.params.len()),
                                args.len()
                            ),
                        )
                        .also(closure.span, "the closure is here");
                    return self.refuse(diag);
                }
                if self.frames.len() > 64 {
                    let diag = self.error(
                        codes::RECURSION,
                        span,
                        "closures call each other without end",
                    );
                    return self.refuse(diag);
                }
                // Its body stands where it was written, not in the function that calls it.
                let calls = std::mem::replace(&mut self.calls, closure.within.clone());
                let scope = Scope::child(&closure.scope);
                let val = self.in_scope(scope, |c| {
                    for (param, arg) in closure.params.iter().zip(args) {
                        c.bind(param, arg);
                    }
                    c.leavable((closure.span, span), None, &[], &[closure.body], |c| {
                        c.eval(closure.body)
                    })
                });
                self.calls = calls;
                val
            }
            Val::Func(row, num) => {
                // `f32::max` as a function: literals take its type.
                let args = match num {
                    Num::Lit => args,
                    num => args
                        .into_iter()
                        .map(|a| {
                            if matches!(a, Val::Int(_, Num::Lit) | Val::Float(_, Num::Lit)) {
                                self.typed_number(a, *num, span)
                            } else {
                                a
                            }
                        })
                        .collect(),
                };
                let spans = vec![span; args.len()];
                self.carry_out(Call {
                    row,
                    recv: Val::Unit,
                    generics: &[],
                    args,
                    arg_spans: spans,
                    span,
                })
            }
            Val::DeviceFn(f, generics) => {
                let spans = vec![span; args.len()];
                self.call_device(f, generics, args, &spans, span)
            }
            val => {
                let diag = self.error(
                    codes::TYPE,
                    span,
                    format!("{} cannot be called", val.kind()),
                );
                self.refuse(diag)
            }
        }
    }
}

pub(super) fn count(n: usize) -> String {
    match n {
        0 => "no arguments".into(),
        1 => "one argument".into(),
        n => format!("{n} arguments"),
    }
}

impl Rule {
    /// Whether it does more than compute one thread's value.
    pub(crate) fn has_effects(&self) -> bool {
        !matches!(
            self,
            Rule::Unary(..) | Rule::Binary(..) | Rule::Special(..) | Rule::Pure(_)
        )
    }
}

impl<'a> Check<'a> {
    pub(crate) fn step_by(&mut self, call: &Call<'a>) -> Val<'a> {
        let Val::Range(range) = &call.recv else {
            return Val::Poison;
        };
        let mut range = (**range).clone();
        match self.const_in(&call.arg(0), "the step", 1, 1 << 30, call.at(0)) {
            // From the last of some steps: the first that stays is the last.
            Some(n) if range.rev != Rev::Last || n == 1 => {
                range.step *= n as u32;
                Val::Range(Box::new(range))
            }
            Some(_) => {
                let diag = self
                    .error(
                        codes::UNSUPPORTED,
                        call.span,
                        "`step_by` behind `.step_by(..).rev()`",
                    )
                    .help("multiply the steps in one `step_by`, before or behind the `.rev()`");
                self.refuse(diag)
            }
            None => Val::Poison,
        }
    }

    pub(crate) fn range_rev(&mut self, call: &Call<'a>) -> Val<'a> {
        let Val::Range(range) = &call.recv else {
            return Val::Poison;
        };
        let mut range = (**range).clone();
        range.rev = match (range.rev, range.step) {
            (Rev::No, 1) => Rev::End,
            (Rev::No, _) => Rev::Last,
            (Rev::Last, _) | (Rev::End, 1) => Rev::No,
            (Rev::End, _) => {
                let diag = self
                    .error(
                        codes::UNSUPPORTED,
                        call.span,
                        "`rev` behind `.rev().step_by(..)`",
                    )
                    .help("write the range that you mean upwards, or downwards with one `.rev()`");
                return self.refuse(diag);
            }
        };
        Val::Range(Box::new(range))
    }

    pub(crate) fn array_len(&mut self, call: &Call<'a>) -> Val<'a> {
        match &call.recv {
            Val::Array(parts) => Val::Int(parts.len() as i128, Num::Usize),
            Val::Raw(r) => Val::Int(r.dist.len() as i128, Num::Usize),
            _ => Val::Poison,
        }
    }
}
