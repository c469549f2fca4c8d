//! The order of the stages, and nothing else.

pub use crate::instance::{Arg, Instance};

use crate::artifact::{Hidden, ParamKind, Usage};
use crate::ast::{Places, Program};
use crate::diag::Sink;
use crate::report::Report;
use crate::target::Target;
use crate::{budget, check, hazard, ir, lower, schedule, simplify};

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
    /// The author forbade spills.
    pub deny_spills: bool,
    /// It waits for its predecessor itself.
    pub dependent_launch: bool,
    /// What was chosen and why; its places are the program's.
    pub report: Report,
}

/// Told of each stage: its name, the instance, and what makes its text, which costs as much as a pass: only who wants
/// it calls that.
pub type Dump<'a> = &'a mut dyn FnMut(&str, &str, &dyn Fn() -> String);

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
    for d in &kernel.decisions {
        let name = d.value.map(|v| kernel.values[v.0 as usize].name.as_str());
        report.add(d.kind, d.span, name.unwrap_or(""), d.text.clone());
    }
    dump("ir", &title, &|| ir::print(&kernel));
    let plan = schedule::run(&mut kernel, &mut report);
    dump("schedule", &title, &|| ir::print(&kernel));
    hazard::run(&kernel, sink, &mut report);
    let mut lowered = lower::run(&kernel, &plan, places, sink);
    dump("lower", &title, &|| lowered.module.to_string());
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
    let waits = lowered.module.waits_for_predecessor();
    let ptx = lowered.module.to_string();
    dump("ptx", &title, &|| ptx.clone());
    dump("budget", &title, &|| format!("{usage}\n"));
    dump("report", &title, &|| report.text(places));
    dump("report.json", &title, &|| report.json(places));
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
        deny_spills: kernel.deny.contains(&ir::Deny::Spills),
        dependent_launch: waits,
        report,
    })
}

/// Compiles one instance, whoever asks for it. `None` if it has errors; they are in the sink, and an
/// instance's errors stop that instance alone.
pub fn compile_instance(
    program: &Program,
    instance: &Instance,
    sink: &mut Sink,
    dump: Dump<'_>,
) -> Option<Output> {
    let title = check::instances::title(&program.kernel.name.text, instance);
    let kernel = check::run(program, instance, &title, sink)?;
    let mut own = Sink::new();
    let output = emit(kernel, instance, &program.places, &mut own, dump);
    for diag in own.take() {
        sink.push(diag);
    }
    output
}

/// Compiles every instance the kernel's `build(..)` names (or the one of a kernel without
/// parameters). An instance with errors yields no output; the errors are in the sink.
pub fn compile(program: &Program, sink: &mut Sink, dump: Dump<'_>) -> Vec<Output> {
    dump("ast", "", &|| crate::ast::print(program));
    let instances = check::instances::run(program, sink);
    let outputs = instances.iter();
    outputs
        .filter_map(|instance| compile_instance(program, instance, sink, dump))
        .collect()
}
