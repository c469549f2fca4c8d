//! Which instances a kernel is built in: `build((E = f16, N = 4096), ..)`.

use super::names::nearest;
use super::value::Val;
use super::{Check, Push};
use crate::ast::{Expr, ExprKind, Generic, Program};
use crate::compile::{Arg, Instance};
use crate::diag::{Diag, Sink, codes};

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
        if let Some(instance) = check.one_instance(arg) {
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

impl<'a> Check<'a> {
    fn one_instance(&mut self, arg: &'a Expr) -> Option<Instance> {
        let parts: Vec<&'a Expr> = match &arg.kind {
            ExprKind::Tuple(parts) => parts.iter().collect(),
            _ => vec![arg],
        };
        let generics = &self.program.kernel.generics;
        let mut found: Vec<Option<Arg>> = vec![None; generics.len()];
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
                self.error(
                    codes::INSTANCE,
                    part.span,
                    "an instance gives parameters by name: `(E = f16, N = 4096)`",
                )
                .push(self);
                ok = false;
                continue;
            };
            let Some(at) = generics.iter().position(|g| g.name().text == name.text) else {
                let mut diag = self.error(
                    codes::INSTANCE,
                    name.span,
                    format!(
                        "`{}` has no parameter `{}`",
                        self.program.kernel.name.text, name.text
                    ),
                );
                if let Some(near) =
                    nearest(&name.text, generics.iter().map(|g| g.name().text.as_str()))
                {
                    diag = diag.help(format!("did you mean `{near}`?"));
                }
                diag.push(self);
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
            let (_, val) = self.collect(|c| c.eval(value));
            let value_of = match (&generics[at], val) {
                (Generic::Type { .. }, Val::Type(t)) => Some(Arg::Type(t)),
                (Generic::Const { .. }, Val::Int(i, _)) => Some(Arg::Int(i)),
                (Generic::Const { .. }, Val::Bool(b)) => Some(Arg::Bool(b)),
                (_, Val::Poison) => None,
                (generic, val) => {
                    let wants = if matches!(generic, Generic::Type { .. }) {
                        "an element type"
                    } else {
                        "a number"
                    };
                    self.error(
                        codes::INSTANCE,
                        value.span,
                        format!("`{}` is {wants}, not {}", name.text, val.kind()),
                    )
                    .push(self);
                    None
                }
            };
            ok &= value_of.is_some();
            found[at] = value_of;
        }
        let missing: Vec<String> = generics
            .iter()
            .zip(&found)
            .filter(|(_, f)| f.is_none())
            .map(|(g, _)| format!("`{}`", g.name().text))
            .collect();
        if ok && !missing.is_empty() {
            self.error(
                codes::INSTANCE,
                arg.span,
                format!("the instance gives no value to {}", missing.join(", ")),
            )
            .push(self);
            ok = false;
        }
        if !ok {
            return None;
        }
        let args = generics
            .iter()
            .zip(found)
            .filter_map(|(g, f)| f.map(|f| (g.name().text.clone(), f)))
            .collect();
        Some(Instance { args })
    }
}
