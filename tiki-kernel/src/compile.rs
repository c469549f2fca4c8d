//! The order of the stages, and nothing else.

use crate::artifact::{Hidden, ParamKind, Usage};
use crate::ast::{Places, Program};
use crate::diag::Sink;
use crate::dtype::DType;
use crate::report::Report;
use crate::target::Target;
use crate::{budget, check, hazard, ir, lower, schedule, simplify};

/// A value of a kernel's parameter in one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arg {
    /// Of a type parameter.
    Type(DType),
    /// Of an integer const parameter.
    Int(i128),
    /// Of a bool const parameter.
    Bool(bool),
}

impl std::fmt::Display for Arg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Arg::Type(t) => write!(f, "{t}"),
            Arg::Int(i) => write!(f, "{i}"),
            Arg::Bool(b) => write!(f, "{b}"),
        }
    }
}

/// One instance to build: the kernel's parameters in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Instance {
    /// Name and value of each parameter.
    pub args: Vec<(String, Arg)>,
}

/// One compiled instance: what [`crate::artifact::Artifact`] holds, owned.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Its parameters.
    pub instance: Instance,
    /// `rms_norm<E = f16, N = 4096, T = 256>`
    pub title: String,
    /// The entry's name in the text.
    pub entry: String,
    /// Target.
    pub target: Target,
    /// The text.
    pub ptx: String,
    /// Threads of a block.
    pub threads: [u32; 3],
    /// Blocks of a cluster.
    pub cluster: u32,
    /// Dynamic shared bytes.
    pub dynamic_shared: u32,
    /// The kernel's arguments, named.
    pub params: Vec<(String, ParamKind)>,
    /// The launcher's own.
    pub hidden: Vec<Hidden>,
    /// Resources.
    pub usage: Usage,
    /// What was chosen and why.
    pub report: String,
    /// The same as JSON: an array of objects with the numbers named.
    pub report_json: String,
}

/// A stage's own text, given to whoever asked for it: stage name, instance, text.
pub type Dump<'a> = &'a mut dyn FnMut(&str, &str, &str);

/// From one checked instance to its output: the stages behind the checker. `None` if it has errors; they
/// are in the sink.
pub fn emit(
    mut kernel: ir::Kernel,
    instance: &Instance,
    places: &Places,
    sink: &mut Sink,
    dump: Dump<'_>,
) -> Option<Output> {
    let title = kernel.title.clone();
    let mut report = Report::default();
    dump("ir", &title, &ir::print(&kernel));
    let plan = schedule::run(&mut kernel, &mut report);
    dump("schedule", &title, &ir::print(&kernel));
    hazard::run(&kernel, sink, &mut report);
    let mut lowered = lower::run(&kernel, &plan, places, sink);
    dump("lower", &title, &lowered.module.to_string());
    let fused = simplify::run(&mut lowered.module, kernel.contract, &mut |_, _| {});
    if kernel.contract {
        report
            .add(
                "fused operations",
                kernel.span,
                &kernel.entry,
                format!("{fused} products fused with their sums"),
            )
            .number("fused", fused as i64);
    }
    let usage = budget::run(&kernel, &lowered, sink, &mut report);
    budget::residency::run(&kernel, &mut lowered, &usage);
    let ptx = lowered.module.to_string();
    dump("ptx", &title, &ptx);
    if sink.has_errors() {
        return None;
    }
    Some(Output {
        instance: instance.clone(),
        title,
        entry: kernel.entry.clone(),
        target: kernel.target,
        ptx,
        threads: [kernel.threads, 1, 1],
        cluster: kernel.cluster,
        dynamic_shared: lowered.dynamic_shared,
        params: kernel
            .params
            .iter()
            .map(|p| (p.name.clone(), p.kind))
            .collect(),
        hidden: lowered.hidden,
        usage,
        report: report.text(places),
        report_json: report.json(places),
    })
}

/// Compiles every instance the kernel's `build(..)` names (or the one of a kernel without
/// parameters). An instance with errors yields no output; the errors are in the sink.
pub fn compile(program: &Program, sink: &mut Sink, dump: Dump<'_>) -> Vec<Output> {
    dump("ast", "", &crate::ast::print(program));
    let mut out = Vec::new();
    for instance in check::instances::run(program, sink) {
        let title = check::instances::title(&program.kernel.name.text, &instance);
        let Some(kernel) = check::run(program, &instance, &title, sink) else {
            continue;
        };
        // An instance's errors stop that instance alone.
        let mut own = Sink::new();
        out.extend(emit(kernel, &instance, &program.places, &mut own, dump));
        for diag in own.take() {
            sink.push(diag);
        }
    }
    out
}
