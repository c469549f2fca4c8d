//! The order of the stages, and nothing else.

use crate::artifact::{Hidden, ParamKind, Usage};
use crate::ast::Program;
use crate::check;
use crate::diag::Sink;
use crate::dtype::DType;
use crate::target::Target;

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
}

/// A stage's own text, given to whoever asked for it: stage name, instance, text.
pub type Dump<'a> = &'a mut dyn FnMut(&str, &str, &str);

/// Compiles every instance the kernel's `build(..)` names (or the one of a kernel without
/// parameters). An instance with errors yields no output; the errors are in the sink.
pub fn compile(program: &Program, sink: &mut Sink, dump: Dump<'_>) -> Vec<Output> {
    dump("ast", "", &crate::ast::print(program));
    for instance in check::instances::run(program, sink) {
        let title = check::instances::title(&program.kernel.name.text, &instance);
        let Some(kernel) = check::run(program, &instance, &title, sink) else {
            continue;
        };
        dump("ir", &title, &crate::ir::print(&kernel));
    }
    Vec::new()
}
