//! From the typed program to instructions.
//!
//! 1. A scalar becomes a register or an immediate; a register tensor becomes one element a value the
//!    thread holds: a register, half a register (16-bit elements come from memory in pairs and are
//!    unpacked where they are used), or, if the schedule deferred it, the computation itself.
//! 2. What depends on the thread number and the arguments alone (digits, pitches, pointers) is computed
//!    once, in the *prologue* before the body.
//! 3. An access computes one 64-bit (global) or 32-bit (shared) base; everything known at build time is
//!    an immediate of the instruction.
//! 4. Every floating-point instruction is rounded by name, so that the assembler fuses nothing.
//!
//! The text this gives is plain and repeats itself; [`crate::simplify`] removes the repetitions.

mod address;
mod asynchronous;
mod control;
mod convert;
mod copy_tile;
mod descriptors;
mod emit;
mod exchange;
mod fragments;
mod global;
mod guards;
mod lanes;
mod math;
mod matrix_store;
mod mma;
mod place;
mod pointers;
mod reduce;
mod scalars;
mod scan;
mod shared;
mod tensor_copy;
mod tiles;
mod transaction;
mod warp;
mod warpgroup;
mod written;

use crate::artifact::{Hidden, ParamKind};
use crate::ast::{Places, Span};
use crate::budget::shared_memory;
use crate::diag::{Diag, Sink, codes};
use crate::dtype::DType;
use crate::ir::{Async, Kernel, Op, StmtKind, Value, Var, visit};
use crate::isa::{Space, Special, Ty};
use crate::ptx::{self, Directive, FnBuilder, Module, Operand, Reg};
use crate::schedule::Plan;
use std::collections::{BTreeMap, HashMap};
use tiles::Tile;

/// Name of the block's shared memory in the text.
const SHARED: &str = "shared_memory";

/// The module and what the budget must know of it.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// The module: one entry.
    pub module: Module,
    /// Per register of the entry: what it holds, in the author's words.
    pub holds: Vec<String>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The launcher's own arguments, after the author's.
    pub hidden: Vec<Hidden>,
}

/// Lowers a kernel. What the target cannot do goes to the sink.
pub fn run(kernel: &Kernel, plan: &Plan, places: &Places, sink: &mut Sink) -> Lowered {
    let mut lower = Lower::new(kernel, plan, places, sink);
    lower.declare();
    lower.block(&kernel.body);
    lower.finish()
}

/// The state of a lowering.
struct Lower<'a> {
    kernel: &'a Kernel,
    plan: &'a Plan,
    places: &'a Places,
    sink: &'a mut Sink,
    span: Span,
    module: Module,
    b: FnBuilder,
    prologue: Vec<ptx::Stmt>,
    in_prologue: bool,
    holds: Vec<String>,
    holding: String,
    defs: HashMap<Value, &'a Op>,
    scalars: HashMap<Value, Operand>,
    /// All results of fragments, by the first.
    results: HashMap<Value, Vec<Operand>>,
    tiles: HashMap<Value, Tile>,
    vars: HashMap<Var, Vec<Reg>>,
    region_vars: HashMap<Var, Operand>,
    /// Things computed once in the prologue, by what they are.
    once: BTreeMap<emit::Once, Operand>,
    unpacked: Option<(Reg, Reg, Reg)>,
    loops: Vec<control::Loop>,
    hidden: Vec<Hidden>,
    shared_offsets: Vec<u32>,
}

impl<'a> Lower<'a> {
    fn new(
        kernel: &'a Kernel,
        plan: &'a Plan,
        places: &'a Places,
        sink: &'a mut Sink,
    ) -> Lower<'a> {
        let mut defs = HashMap::new();
        visit::each(&kernel.body, &mut |stmt| {
            if let StmtKind::Let(v, op) = &stmt.kind {
                defs.insert(*v, op);
            }
        });
        let memory = shared_memory::lay_out(kernel);
        Lower {
            kernel,
            plan,
            places,
            sink,
            span: kernel.span,
            module: Module::new(kernel.target),
            b: FnBuilder::entry(&kernel.entry),
            prologue: Vec::new(),
            in_prologue: false,
            holds: Vec::new(),
            holding: String::new(),
            defs,
            scalars: HashMap::new(),
            results: HashMap::new(),
            tiles: HashMap::new(),
            vars: HashMap::new(),
            region_vars: HashMap::new(),
            once: BTreeMap::new(),
            unpacked: None,
            loops: Vec::new(),
            hidden: Vec::new(),
            shared_offsets: memory.offsets,
        }
    }

    /// Parameters in the order of [`crate::artifact`], directives, shared memory.
    fn declare(&mut self) {
        let k = self.kernel;
        self.module.comments.push(ascii(&k.title));
        for p in &k.params {
            match p.kind {
                ParamKind::Tensor { rank, strided, .. } => {
                    self.b.param(&pointer_name(&p.name), Ty::U64);
                    for axis in 0..rank as usize {
                        self.b.param(&extent_name(&p.name, axis), Ty::U32);
                    }
                    for axis in 0..if strided { rank as usize } else { 0 } {
                        self.b.param(&stride_name(&p.name, axis), Ty::U64);
                    }
                }
                ParamKind::Scalar(t) => {
                    self.b.param(&scalar_name(&p.name), param_type(t));
                }
            }
        }
        self.b.directive(Directive::ReqNtid([k.threads, 1, 1]));
        // A cap beside `SetRegisters` costs speed (2% of a product at 8192); the assembler must know that one
        // block an SM is enough, or it ignores them.
        let mut roles = false;
        visit::each(&k.body, &mut |stmt| {
            roles |= matches!(stmt.kind, StmtKind::Async(Async::SetRegisters { .. }));
        });
        if roles {
            self.b
                .directive(Directive::MinNctaPerSm(k.blocks_per_sm.unwrap_or(1)));
        } else if let Some(n) = k.registers {
            self.b.directive(Directive::MaxNreg(n));
        } else if let Some(n) = k.blocks_per_sm {
            self.b.directive(Directive::MinNctaPerSm(n));
        }
        if k.cluster > 1 {
            self.b
                .directive(Directive::ReqNctaPerCluster([k.cluster, 1, 1]));
        }
        let memory = shared_memory::lay_out(k);
        for (s, offset) in k.shared.iter().zip(&memory.offsets) {
            let line = format!(
                "{SHARED}[{offset}..{}] {}: {}",
                offset + s.bytes,
                s.name,
                s.detail
            );
            self.module.comments.push(ascii(&line));
        }
        if memory.dynamic {
            self.module
                .vars
                .push(ptx::Var::dynamic_shared(SHARED, memory.align));
        } else if memory.bytes > 0 {
            let var = ptx::Var::new(Space::Shared, Ty::B8, SHARED, Some(memory.bytes.into()));
            self.b.var(var.aligned(memory.align));
        }
    }

    fn finish(mut self) -> Lowered {
        self.b.emit0(crate::isa::ret());
        let memory = shared_memory::lay_out(self.kernel);
        let mut function = self.b.build();
        let body = function.body.get_or_insert_with(Vec::new);
        let rest = std::mem::take(body);
        *body = self.prologue;
        body.extend(rest);
        self.module.functions.push(function);
        // What a launcher that is not ours must know of the maps.
        for (i, hidden) in self.hidden.iter().enumerate() {
            let Hidden::TensorMap {
                param,
                tile,
                swizzle,
            } = hidden;
            let p = &self.kernel.params[*param as usize];
            let ParamKind::Tensor { rank, .. } = p.kind else {
                continue;
            };
            let tile = &tile[..rank as usize];
            let name = ascii_name(&p.name);
            let line = format!("{name}_map{i}: box {tile:?}, swizzle {swizzle}");
            self.module.comments.push(ascii(&line));
        }
        Lowered {
            module: self.module,
            holds: self.holds,
            dynamic_shared: if memory.dynamic { memory.bytes } else { 0 },
            hidden: self.hidden,
        }
    }

    /// Tells that the target or the language has no such thing.
    fn refuse(&mut self, message: String) {
        self.sink
            .push(Diag::error(codes::TARGET, self.span, message));
    }

    fn dtype(&self, v: Value) -> DType {
        self.kernel.values[v.0 as usize].ty.dtype()
    }

    fn thread(&mut self) -> Operand {
        self.special(Special::TID_X)
    }
}

fn pointer_name(name: &str) -> String {
    format!("{}_ptr", ascii_name(name))
}
fn extent_name(name: &str, axis: usize) -> String {
    format!("{}_dim{axis}", ascii_name(name))
}
fn stride_name(name: &str, axis: usize) -> String {
    format!("{}_stride{axis}", ascii_name(name))
}
fn scalar_name(name: &str) -> String {
    format!("{}_value", ascii_name(name))
}

fn param_type(t: DType) -> Ty {
    match t.bytes() {
        1 => Ty::U8,
        2 => Ty::B16,
        _ => Ty::of_arithmetic(t),
    }
}

fn ascii(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii() && !c.is_ascii_control() {
                c
            } else {
                '?'
            }
        })
        .collect()
}

fn ascii_name(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect()
}
