//! Which instances of a kernel a command looks at, and what the compiler makes of them.
//!
//! Without `--set` they are those of the kernel's `build(..)`; `--set N=4096` (several, with commas or again)
//! keeps those that have these values, and where none has, builds the instance with them: the first of
//! `build(..)` gives what is not named.

use crate::kernels::{Folder, Kernel};
use crate::outcome::{Kind, Result};
use tiki_kernel::check::instances::title;
use tiki_kernel::compile::{Arg, Instance, Output, compile_instance};
use tiki_kernel::diag::{Diag, Sink};
use tiki_kernel::instance;

/// Some instances of one kernel.
#[derive(Debug, clap::Args)]
pub struct Pick {
    /// A kernel, `name` or `crate::name`
    pub kernel: String,
    /// Only the instance with these parameters, built or not: `--set E=f16,N=4096`
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',')]
    pub set: Vec<String>,
    #[command(flatten)]
    pub folder: Folder,
}

impl Pick {
    /// The kernel, and its instances that were asked for.
    pub fn find(&self) -> Result<(Kernel, Vec<Instance>)> {
        let kernel = self.folder.kernel(&self.kernel)?;
        let instances = self.of(&kernel)?;
        Ok((kernel, instances))
    }

    /// The instances of this kernel that were asked for.
    pub fn of(&self, kernel: &Kernel) -> Result<Vec<Instance>> {
        select(kernel, &values(&self.set)?)
    }
}

/// `N=4096` as a value.
pub fn values(texts: &[String]) -> Result<Vec<(String, Arg)>> {
    let parse = |text: &String| {
        let (name, value) = text.split_once('=')?;
        Some((name.trim().to_owned(), Arg::by_text(value.trim())?))
    };
    let wrong = |text: &String| {
        Kind::Usage.because(format!(
            "`{text}` is no parameter: `E=f16`, `N=4096` or `CAUSAL=true`"
        ))
    };
    let mut values: Vec<(String, Arg)> = Vec::new();
    for text in texts {
        let (name, value) = parse(text).ok_or_else(|| wrong(text))?;
        if let Some((_, other)) = values.iter().find(|(n, _)| *n == name) {
            let text = format!("`{name}` is given twice: {other} and {value}");
            return Err(Kind::Usage.because(text));
        }
        values.push((name, value));
    }
    Ok(values)
}

/// The built instances that have these values, or the one that has them.
pub fn select(kernel: &Kernel, values: &[(String, Arg)]) -> Result<Vec<Instance>> {
    let built = kernel.instances().map_err(|diags| wrong(kernel, &diags))?;
    let has = |i: &&Instance| values.iter().all(|v| i.args.contains(v));
    let fitting: Vec<Instance> = built.iter().filter(has).cloned().collect();
    if !fitting.is_empty() {
        return Ok(fitting);
    }
    let base = built.first().map_or(&[][..], |b| &b.args);
    let all: Vec<(&str, Arg)> = base
        .iter()
        .chain(values)
        .map(|(n, a)| (n.as_str(), *a))
        .collect();
    let instance = instance::of(&kernel.program, &all);
    let instance =
        instance.map_err(|e| Kind::Usage.because(format!("`{}`: {e}", kernel.path())))?;
    Ok(vec![instance])
}

/// Compiles an instance; each stage goes to `dump`.
pub fn compiled(
    kernel: &Kernel,
    instance: &Instance,
    dump: &mut dyn FnMut(&str, &dyn Fn() -> String),
) -> Result<Output> {
    let mut sink = Sink::new();
    let mut each = |stage: &str, _: &str, text: &dyn Fn() -> String| dump(stage, text);
    let output = compile_instance(&kernel.program, instance, &mut sink, &mut each);
    let (failed, diags) = (sink.has_errors(), sink.take());
    match output {
        Some(output) if !failed => Ok(output),
        _ => Err(wrong(kernel, &diags)),
    }
}

/// The compiler's words, as a build shows them, with file and line.
pub fn wrong(kernel: &Kernel, diags: &[Diag]) -> crate::outcome::Failure {
    let places = &kernel.program.places;
    let texts: Vec<String> = diags
        .iter()
        .map(|diag| {
            let place = places.at(diag.span);
            let file = places
                .files
                .get(place.file as usize)
                .map_or("", String::as_str);
            let text = diag.text(places);
            format!("{text}\n  --> {file}:{}:{}", place.line, place.column)
        })
        .collect();
    Kind::Wrong.because(texts.join("\n"))
}

/// For people: `gemm<E = f16, BM = 128>`.
pub fn name(kernel: &Kernel, instance: &Instance) -> String {
    title(kernel.name(), instance)
}
