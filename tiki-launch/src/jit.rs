//! Compiling an instance at run time: any one, from the kernel's own text, with nothing installed.
//!
//! A kernel carries its canonical text (`TEXT`). It is read by the compiler's own parser, and compiled by the
//! same compiler that ran while the crate was built, so an instance has the same checks and the same messages,
//! as typed errors with file and line. A text of another version is refused.
//!
//! What was compiled stays for the life of the process, once for each kernel and instance: devices know
//! artefacts by their address, and a graph may hold one. A service that takes shapes as parameters grows by one
//! instance a shape: let it round them to a few, or take them as arguments; [`kept`] says how many there are.

mod error;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use tiki_kernel::artifact::{Artifact, Param};
use tiki_kernel::ast::{self, Program};
use tiki_kernel::check::instances::title;
use tiki_kernel::compile::{Arg, Instance, Output, compile_instance};
use tiki_kernel::diag::{Diag, Severity, Sink};
use tiki_kernel::instance;

pub use error::{JitError, Problem};

use crate::error::LaunchError;
use crate::fact::FactError;

/// An instance compiled at run time.
#[derive(Debug, Clone, Copy)]
pub struct Compiled(&'static Kept);

#[derive(Debug)]
struct Kept {
    artifact: &'static Artifact,
    instance: Instance,
    report_json: String,
}

impl Compiled {
    /// What a launch needs of it.
    #[must_use]
    pub fn artifact(&self) -> &'static Artifact {
        self.0.artifact
    }
    /// Its parameters.
    #[must_use]
    pub fn instance(&self) -> &Instance {
        &self.0.instance
    }
    /// What the compiler chose and why, as JSON: an array of objects with the numbers named.
    #[must_use]
    pub fn report_json(&self) -> &str {
        &self.0.report_json
    }
}

impl AsRef<Compiled> for Compiled {
    fn as_ref(&self) -> &Compiled {
        self
    }
}

/// Compiles the instance of a kernel's text with these values; `with` goes before `base`, and may not name
/// what is `of_the_type`.
#[doc(hidden)]
pub fn compile(
    text: &'static str,
    base: &[(&str, Arg)],
    with: &[(&str, Arg)],
    of_the_type: &[&str],
) -> Result<Compiled, JitError> {
    let program = program(text)?;
    let kernel = || program.kernel.name.text.clone();
    if let Some((name, _)) = with.iter().find(|(n, _)| of_the_type.contains(n)) {
        return Err(JitError::OfTheType {
            kernel: kernel(),
            name: (*name).to_owned(),
        });
    }
    let values: Vec<(&str, Arg)> = base.iter().chain(with).copied().collect();
    let instance = instance::of(&program, &values).map_err(|reason| JitError::Instance {
        kernel: kernel(),
        reason,
    })?;
    instance_of(&program, &instance)
}

/// Compiles an instance of a program, unless it was compiled before.
pub fn instance_of(program: &Arc<Program>, instance: &Instance) -> Result<Compiled, JitError> {
    let key = (Arc::as_ptr(program).addr(), instance.clone());
    if let Some((_, compiled)) = done().get(&key) {
        return Ok(*compiled);
    }
    let output = build(program, instance)?;
    // Another thread may have compiled it meanwhile: the first one stays.
    let mut done = done();
    let compiled = || Compiled(Box::leak(Box::new(keep(program, output))));
    let entry = done.entry(key);
    let (_, compiled) = entry.or_insert_with(|| (Arc::clone(program), compiled()));
    Ok(*compiled)
}

/// What was compiled, by the program's address and the instance; the program is held, so that its address
/// stays its own.
type Done = HashMap<(usize, Instance), (Arc<Program>, Compiled)>;

fn done() -> MutexGuard<'static, Done> {
    static DONE: LazyLock<Mutex<Done>> = LazyLock::new(Mutex::default);
    DONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Instances that this process has compiled and keeps.
#[must_use]
pub fn kept() -> usize {
    done().len()
}

/// Reads a kernel's text, once.
pub fn program(text: &'static str) -> Result<Arc<Program>, JitError> {
    type Read = HashMap<(usize, usize), Arc<Program>>;
    static READ: Mutex<Option<Read>> = Mutex::new(None);
    let key = (text.as_ptr().addr(), text.len());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let read = read.get_or_insert_default();
    if let Some(program) = read.get(&key) {
        return Ok(Arc::clone(program));
    }
    let program = Arc::new(ast::parse(text).map_err(JitError::Text)?);
    read.insert(key, Arc::clone(&program));
    Ok(program)
}

/// The compiler's answer for one instance: its output, or its messages.
pub fn build(program: &Program, instance: &Instance) -> Result<Output, JitError> {
    let run = || {
        let mut sink = Sink::new();
        let output = compile_instance(program, instance, &mut sink, &mut |_, _, _| {});
        (output, sink.has_errors(), sink.take())
    };
    // It has no state but what it is given: what a defect leaves half done goes with it.
    let whole = || title(&program.kernel.name.text, instance);
    let (output, failed, diags) = guarded(whole, run)?;
    match output {
        Some(output) if !failed => Ok(output),
        _ => Err(refused(program, instance, &diags)),
    }
}

/// A panic of the compiler as an error.
fn guarded<T>(instance: impl FnOnce() -> String, run: impl FnOnce() -> T) -> Result<T, JitError> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let owned = panic.downcast_ref::<String>().cloned();
        let text = owned.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        JitError::Defect {
            instance: instance(),
            text: text.unwrap_or_default(),
        }
    })
}

/// The compiler's errors as one of ours.
pub(crate) fn refused(program: &Program, instance: &Instance, diags: &[Diag]) -> JitError {
    let errors = diags.iter().filter(|d| d.severity == Severity::Error);
    JitError::Refused {
        instance: title(&program.kernel.name.text, instance),
        problems: errors.map(|d| problem(program, d)).collect(),
    }
}

fn problem(program: &Program, diag: &Diag) -> Problem {
    let place = program.places.at(diag.span);
    let file = program.places.files.get(place.file as usize);
    Problem {
        code: diag.code.name(),
        file: file.cloned().unwrap_or_default(),
        line: place.line,
        column: place.column,
        text: diag.text(&program.places),
    }
}

fn leaked(text: impl Into<String>) -> &'static str {
    Box::leak(text.into().into_boxed_str())
}

/// An output as the constant that a build would have made of it.
fn keep(program: &Program, output: Output) -> Kept {
    let name = &program.kernel.name;
    let place = program.places.at(name.span);
    let file = program.places.files.get(place.file as usize);
    let report = output.report.text(&program.places);
    let report_json = output.report.json(&program.places);
    let params: Vec<Param> = output
        .params
        .iter()
        .map(|(name, kind)| Param {
            name: leaked(name.as_str()),
            kind: *kind,
        })
        .collect();
    let artifact = Artifact {
        kernel: leaked(name.text.as_str()),
        instance: leaked(output.title),
        entry: leaked(output.entry),
        target: output.target.name(),
        ptx: leaked(output.ptx),
        threads: output.threads,
        cluster: output.cluster,
        dynamic_shared: output.dynamic_shared,
        params: Vec::leak(params),
        hidden: Vec::leak(output.hidden),
        usage: output.usage,
        deny_spills: output.deny_spills,
        dependent_launch: output.dependent_launch,
        report: leaked(report),
        fingerprint: instance::fingerprint(program),
        source: (leaked(file.cloned().unwrap_or_default()), place.line),
    };
    Kept {
        artifact: Box::leak(Box::new(artifact)),
        instance: output.instance,
        report_json,
    }
}

/// Numbers and truths that a parameter can be.
pub trait Value: Sized {
    /// The value, if it is of this type.
    fn of(arg: Arg) -> Option<Self>;
}

macro_rules! values {
    ($($t:ty)*) => {$(
        impl Value for $t {
            fn of(arg: Arg) -> Option<$t> {
                match arg {
                    Arg::Int(value) => value.try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}

values!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

impl Value for bool {
    fn of(arg: Arg) -> Option<bool> {
        match arg {
            Arg::Bool(value) => Some(value),
            _ => None,
        }
    }
}

/// A parameter's value, for the launcher's facts.
#[doc(hidden)]
pub fn value<T: Value>(compiled: &Compiled, name: &'static str) -> Result<T, LaunchError> {
    let args = &compiled.0.instance.args;
    let arg = args.iter().find(|(n, _)| n == name).map(|(_, arg)| *arg);
    arg.and_then(T::of).ok_or_else(|| {
        let value = arg.map(|arg| arg.to_string());
        FactError {
            kernel: compiled.0.artifact.instance.into(),
            fact: format!("`{name}` is a value of its type"),
            values: value.map(|v| (name.into(), v)).into_iter().collect(),
        }
        .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_of_the_compiler_is_an_error() {
        let fails = || -> u32 { panic!("no row {}", 7) };
        let error = guarded(|| "copy".into(), fails).unwrap_err();
        let JitError::Defect { instance, text } = &error else {
            panic!("{error}");
        };
        assert_eq!((instance.as_str(), text.as_str()), ("copy", "no row 7"));
        assert!(error.to_string().contains("defect of Tiki"));
    }
}
