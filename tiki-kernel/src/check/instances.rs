//! Which instances a kernel is built in, and which a tuner may try.
//!
//! ```text
//! build((E = f16, N = 4096), (E = [f16, bf16], N = 1024..=4096, N % 1024 == 0))
//! tune(BM = [64, 128, 256], STAGES = 2..=4, BM * STAGES <= 512)
//! ```
//!
//! A parameter is given a value, a list or a range; lists and ranges are combined, the last one fastest.
//! An expression without `=` is a fact: combinations for which it does not hold are left out. `tune` is
//! one such tuple; parameters it does not name stay as they are.

mod facts;

use self::facts::Failed;
use super::value::{Num, Val};
use super::{Check, Push};
use crate::ast::{Expr, ExprKind, Generic, Program, Span};
use crate::compile::{Arg, Instance};
use crate::diag::{Diag, Sink, codes};
use crate::instance::{InstanceError, fits, takes};
use crate::near;

/// The entry's name: the kernel's, then the values.
pub(crate) fn entry(kernel: &str, instance: &Instance) -> String {
    let mut name = kernel.to_string();
    for (_, arg) in &instance.args {
        name.push_str("__");
        let text = arg.to_string();
        name.extend(
            text.chars()
                .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }),
        );
    }
    name
}

/// For people: `rms_norm<E = f16, N = 4096>`.
#[must_use]
pub fn title(kernel: &str, instance: &Instance) -> String {
    if instance.args.is_empty() {
        return kernel.to_string();
    }
    let args: Vec<String> = instance
        .args
        .iter()
        .map(|(n, a)| format!("{n} = {a}"))
        .collect();
    format!("{kernel}<{}>", args.join(", "))
}

/// The instances, errors in the sink.
pub fn run(program: &Program, sink: &mut Sink) -> Vec<Instance> {
    let kernel = &program.kernel;
    let build = kernel.options.iter().find(|o| o.name.text == "build");
    if kernel.generics.is_empty() {
        if let Some(build) = build {
            sink.push(
                Diag::error(
                    codes::INSTANCE,
                    build.name.span,
                    format!("`{}` has no parameters to build with", kernel.name.text),
                )
                .help("remove `build(..)`: the kernel is built once"),
            );
        }
        return vec![Instance { args: Vec::new() }];
    }
    let Some(build) = build else {
        return Vec::new();
    };
    let mut check = Check::new(program, sink, "");
    let mut instances: Vec<Instance> = Vec::new();
    for arg in &build.args {
        let parts = match &arg.kind {
            ExprKind::Tuple(parts) => parts.iter().collect(),
            _ => vec![arg],
        };
        for instance in check.combinations(arg.span, parts, None) {
            if instances.contains(&instance) {
                check
                    .error(codes::INSTANCE, arg.span, "this instance is listed twice")
                    .push(&mut check);
                continue;
            }
            instances.push(instance);
        }
    }
    instances
}

/// What `tune(..)` lets a tuner try in place of an instance: the instance itself first.
pub fn candidates(program: &Program, base: &Instance, sink: &mut Sink) -> Vec<Instance> {
    let mut instances = vec![base.clone()];
    let kernel = &program.kernel;
    if let Some(tune) = kernel.options.iter().find(|o| o.name.text == "tune") {
        let mut check = Check::new(program, sink, "");
        let parts = tune.args.iter().collect();
        for instance in check.combinations(tune.name.span, parts, Some(base)) {
            if !instances.contains(&instance) {
                instances.push(instance);
            }
        }
    }
    instances
}

/// Parameters, for people: `` `E` (an element type), `N` (a number) ``.
fn said<'g>(generics: impl Iterator<Item = &'g Generic>) -> String {
    let each = generics.map(|g| format!("`{}` ({})", g.name().text, takes(g)));
    each.collect::<Vec<_>>().join(", ")
}

/// Instances one tuple may stand for.
const COMBINATIONS: usize = 4096;

impl<'a> Check<'a> {
    /// The instances of one tuple; parameters it leaves out are those of `base`.
    fn combinations(
        &mut self,
        whole: Span,
        parts: Vec<&'a Expr>,
        base: Option<&Instance>,
    ) -> Vec<Instance> {
        let generics = &self.program.kernel.generics;
        let mut found: Vec<Option<Vec<Arg>>> = vec![None; generics.len()];
        let mut facts = Vec::new();
        let mut ok = true;
        for part in parts {
            let name = match &part.kind {
                ExprKind::Assign(place, _) => match &place.kind {
                    ExprKind::Path(path) if path.segments.len() == 1 => {
                        Some(&path.segments[0].name)
                    }
                    _ => None,
                },
                _ => None,
            };
            let (Some(name), ExprKind::Assign(_, value)) = (name, &part.kind) else {
                facts.push(part);
                continue;
            };
            let Some(at) = generics.iter().position(|g| g.name().text == name.text) else {
                let diag = self.error(
                    codes::INSTANCE,
                    name.span,
                    format!(
                        "`{}` has no parameter `{}`",
                        self.program.kernel.name.text, name.text
                    ),
                );
                let there = generics.iter().map(|g| g.name().text.as_str());
                diag.near(&name.text, there)
                    .note(format!("it has {}", said(generics.iter())))
                    .push(self);
                ok = false;
                continue;
            };
            if found[at].is_some() {
                self.error(
                    codes::INSTANCE,
                    name.span,
                    format!("`{}` is given twice", name.text),
                )
                .push(self);
                ok = false;
                continue;
            }
            found[at] = self.values(&generics[at], &name.text, value);
            ok &= found[at].is_some();
        }
        let of_base = |name: &str| {
            let args = base.map_or(&[][..], |b| &b.args);
            args.iter().find(|(n, _)| n == name).map(|(_, a)| vec![*a])
        };
        let all: Vec<Option<Vec<Arg>>> = generics
            .iter()
            .zip(found)
            .map(|(g, f)| f.or_else(|| of_base(&g.name().text)))
            .collect();
        let without = generics.iter().zip(&all).filter(|(_, f)| f.is_none());
        let missing: Vec<&Generic> = without.map(|(g, _)| g).collect();
        if !ok {
            return Vec::new();
        }
        let named = facts.first().filter(|_| missing.len() == generics.len());
        if let Some(part) = named {
            self.not_a_fact(part.span);
            return Vec::new();
        }
        if !missing.is_empty() {
            let text = format!(
                "the instance gives no value to {}",
                said(missing.iter().copied())
            );
            let given = generics.iter().zip(&all).map(|(g, f)| {
                let value = f.as_ref().map_or("..".into(), |all| match &all[..] {
                    [one] => one.to_string(),
                    several => {
                        let several: Vec<String> = several.iter().map(Arg::to_string).collect();
                        format!("[{}]", several.join(", "))
                    }
                });
                format!("{} = {value}", g.name().text)
            });
            let given: Vec<String> = given.collect();
            self.error(codes::INSTANCE, whole, text)
                .help(format!("write `({})`", given.join(", ")))
                .push(self);
            return Vec::new();
        }
        let lists: Vec<Vec<Arg>> = all.into_iter().flatten().collect();
        let count = lists.iter().try_fold(1usize, |n, l| n.checked_mul(l.len()));
        let Some(count) = count.filter(|n| *n <= COMBINATIONS) else {
            let text = format!("this stands for more than {COMBINATIONS} instances");
            self.error(codes::INSTANCE, whole, text).push(self);
            return Vec::new();
        };
        let mut out = Vec::new();
        let mut failed = vec![Failed::default(); facts.len()];
        for mut index in 0..count {
            let mut args = Vec::new();
            for (generic, list) in generics.iter().zip(&lists).rev() {
                args.push((generic.name().text.clone(), list[index % list.len()]));
                index /= list.len();
            }
            args.reverse();
            let instance = Instance { args };
            match self.holds(&instance, &facts) {
                Some(Ok(())) => out.push(instance),
                Some(Err(fact)) => {
                    let sides = self.sides(&instance, facts[fact]);
                    failed[fact].add(sides);
                }
                None => return Vec::new(),
            }
        }
        if out.is_empty() {
            self.holds_for_none(&facts, &failed, count);
        }
        out
    }

    /// The values a parameter is given: one, a list of them, or a range.
    fn values(&mut self, generic: &Generic, name: &str, value: &'a Expr) -> Option<Vec<Arg>> {
        match &value.kind {
            ExprKind::Array(parts) => {
                let values = parts.iter().map(|part| self.one_value(generic, name, part));
                let values: Vec<Option<Arg>> = values.collect();
                values.into_iter().collect()
            }
            ExprKind::Range {
                lo: Some(lo),
                hi: Some(hi),
                inclusive,
            } => {
                let ends = (
                    self.one_value(generic, name, lo)?,
                    self.one_value(generic, name, hi)?,
                );
                let (Arg::Int(lo), Arg::Int(hi)) = ends else {
                    return None;
                };
                let end = if *inclusive { hi.saturating_add(1) } else { hi };
                if end <= lo || end - lo > COMBINATIONS as i128 {
                    let text = format!("`{name}` is given a range of {} values", (end - lo).max(0));
                    self.error(codes::INSTANCE, value.span, text).push(self);
                    return None;
                }
                Some((lo..end).map(Arg::Int).collect())
            }
            _ => self.one_value(generic, name, value).map(|v| vec![v]),
        }
    }

    fn one_value(&mut self, generic: &Generic, name: &str, value: &'a Expr) -> Option<Arg> {
        let (_, val) = self.collect(|c| c.eval(value));
        let arg = match val {
            Val::Type(t) => Some(Arg::Type(t)),
            Val::Int(i, _) => Some(Arg::Int(i)),
            Val::Bool(b) => Some(Arg::Bool(b)),
            Val::Poison => return None,
            _ => None,
        };
        let error = match arg.map(|arg| (arg, fits(generic, arg))) {
            Some((arg, Ok(()))) => return Some(arg),
            Some((_, Err(error))) if !matches!(error, InstanceError::Kind { .. }) => Some(error),
            _ => None,
        };
        let wants = takes(generic);
        let text = match &error {
            Some(InstanceError::Bound { bound, given, .. }) => {
                format!(
                    "`{name}` is bounded by `{}`; `{given}` is not {}",
                    bound.name, bound.what
                )
            }
            Some(InstanceError::Range { ty, given, .. }) => {
                format!("`{name}` is a `{ty}`: it cannot be {given}")
            }
            _ => format!("`{name}` is {wants}, not {}", val.kind()),
        };
        let mut diag = self.error(codes::INSTANCE, value.span, text);
        if let Some(InstanceError::Bound { bound, .. }) = error {
            diag = diag.help(format!("it can be {}", near::quoted(bound.types())));
        }
        diag.push(self);
        None
    }
}

impl Arg {
    /// What the parameter is in the body.
    pub(crate) fn value<'a>(&self) -> Val<'a> {
        match self {
            Arg::Type(t) => Val::Type(*t),
            Arg::Int(i) => Val::Int(*i, Num::Usize),
            Arg::Bool(b) => Val::Bool(*b),
        }
    }
}
