//! From the syntax tree to the typed program: evaluates one instance of a kernel.
//!
//! The body is run as a program of two times. What is known at build time (literals, const generics,
//! shapes, layouts, thread maps, closures, extents fixed by `require!`) is computed here and is gone
//! afterwards; the rest becomes statements of [`crate::ir`]. The order is the author's:
//!
//! 1. options of the attribute ([`options`]) and the instance's parameters;
//! 2. facts of `require!` and of the grid ([`facts`]): they hold for the whole body;
//! 3. the body, statement by statement ([`block`], [`expr`], [`control`]); operations go through the
//!    rule of their row in [`crate::ops`] ([`call`] finds it).
//!
//! An erroneous expression gives [`Val::Poison`], about which nothing more is said; one run reports several errors.

mod access;
mod arith;
mod arrival;
mod assigned;
mod block;
mod bounds;
pub(crate) mod call;
mod control;
mod convert;
mod device;
mod expr;
mod facts;
mod gemm;
mod global;
mod hold_written;
pub mod instances;
mod join;
mod layout;
mod leave;
mod lift_returns;
pub(crate) mod map;
mod movement;
mod names;
mod optional;
mod options;
mod pattern;
mod peer;
mod pending;
mod pipeline;
mod rearrange;
mod redistribute;
mod reduce;
mod register;
mod role;
pub(crate) mod rules;
mod scalar;
mod scope;
mod select;
mod shared;
mod shared_access;
mod thread;
mod unroll;
pub(crate) mod value;
mod window;
mod written;

use crate::artifact::ParamKind;
use crate::ast::{self, Program, Span, TypeKind};
use crate::compile::Instance;
use crate::diag::{Code, Diag, Sink, codes};
use crate::dtype::DType;
use crate::ir::{self, Kernel, Op, Stmt, StmtKind, Type, Uniform, Value, ValueInfo, Var, VarInfo};
use scope::{Binding, Scope};
use std::collections::HashMap;
use std::rc::Rc;
use tiki_layout::sym;
use value::{GlobalVal, Num, Scalar, Val};

/// Steps after which an evaluation is given up: unrolling has a limit.
const STEP_LIMIT: u64 = 4_000_000;

/// Evaluates one instance; `None` if it has errors.
pub fn run(program: &Program, instance: &Instance, title: &str, sink: &mut Sink) -> Option<Kernel> {
    let lifted = lift_returns::run(program);
    let program = &*lifted;
    let (mut wide, mut partial, mut early) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let mut own = Sink::new();
        let mut check = Check::new(program, &mut own, title);
        let known = (wide.len(), partial.len(), early.len());
        check.wide = wide;
        check.partial = partial;
        check.early = early;
        check.instance(instance);
        wide = std::mem::take(&mut check.wide);
        partial = std::mem::take(&mut check.partial);
        early = std::mem::take(&mut check.early);
        let kernel = check.finish();
        let ok = !own.has_errors();
        let diags = own.take();
        if partial.len() > known.1 || early.len() > known.2 {
            // Bounds, and what is assigned in a stretch, are variables too: the others have other numbers then.
            wide.clear();
            continue;
        }
        if wide.len() > known.0 {
            // A variable taken for 32 bits needs 64: once more, with that known.
            continue;
        }
        for mut diag in diags {
            if !instance.args.is_empty() {
                diag.instance = Some(title.to_string());
            }
            sink.push(diag);
        }
        return ok.then_some(kernel);
    }
}

/// The state of an evaluation.
pub(crate) struct Check<'a> {
    program: &'a Program,
    sink: &'a mut Sink,
    kernel: Kernel,
    /// Where statements go.
    block: Vec<Stmt>,
    bindings: Vec<Binding<'a>>,
    scope: Rc<Scope>,
    /// How many run-time branches and loops are around the current point.
    control: usize,
    loops: Vec<unroll::Loop>,
    flow: Option<Flow>,
    /// Closures of elementwise operations being evaluated: no statements with effects there.
    region: u32,
    /// Bindings that existed before the outermost of them.
    region_base: usize,
    /// Where a thread may have left the kernel.
    left: Option<Span>,
    /// What a function or closure has returned, and where.
    returned: Option<(Val<'a>, Span)>,
    infer: Vec<Infer>,
    facts: sym::Facts,
    dims: HashMap<(usize, usize), facts::Dim>,
    /// Symbols of the strides of strided tensors.
    strides: HashMap<(usize, usize), sym::Expr>,
    block_symbols: [Option<(sym::Expr, i128)>; 3],
    calls: Vec<&'a str>,
    /// Of each call being evaluated, how it may be left.
    frames: Vec<leave::Frame<'a>>,
    /// Unrolled loops (by their bodies) and functions (by their names) that run-time conditions leave early.
    early: Vec<Span>,
    steps: u64,
    /// The warps that come here, one bit each; `None`: all.
    warps: Option<u64>,
    /// Operations of scalars that a role's condition can be made of.
    defs: HashMap<Value, Op>,
    /// Registers set by roles: warps, registers, where.
    roles: Vec<(u64, u32, Span)>,
    /// Named barriers given out.
    barriers: role::Numbers,
    /// Groups of warpgroup products started, and proven done.
    issued: u64,
    /// Accumulators that no variable of the author holds yet: one that comes to hold it takes its registers.
    unheld: Vec<Var>,
    waited: pending::Waited,
    pipes: Vec<pipeline::Pipe>,
    /// Tells blocks being collected apart.
    block_serial: u64,
    serials: u64,
    /// `usize` variables that turned out to need 64 bits, by number.
    wide: Vec<u32>,
    /// Axes of tensor variables (name, where) of which something may be missing only after an assignment.
    partial: Vec<(String, Span, u8)>,
}

/// A number type to be found, and what waits for it.
#[derive(Debug, Default)]
struct Infer {
    found: Option<Num>,
    float: bool,
    values: Vec<Value>,
    vars: Vec<Var>,
}

/// Why the statements that follow are not evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// A run-time `return`, `break` or `continue` was emitted.
    Dead,
    /// `break` of the build-time loop at this index of [`Check::loops`].
    Break(usize),
    Continue(usize),
    /// A `return` of a device function, at build time.
    Return,
}

impl<'a> Check<'a> {
    fn new(program: &'a Program, sink: &'a mut Sink, title: &str) -> Check<'a> {
        let kernel = Kernel {
            entry: String::new(),
            title: title.to_string(),
            target: crate::target::Target::default_target(),
            threads: 0,
            cluster: 1,
            registers: None,
            shared_budget: None,
            roles: Vec::new(),
            blocks_per_sm: None,
            params: Vec::new(),
            shared: Vec::new(),
            values: Vec::new(),
            vars: Vec::new(),
            body: Vec::new(),
            contract: false,
            deny: Vec::new(),
            decisions: Vec::new(),
            span: program.kernel.name.span,
        };
        Check {
            program,
            sink,
            kernel,
            block: Vec::new(),
            bindings: Vec::new(),
            scope: Scope::root(),
            control: 0,
            loops: Vec::new(),
            flow: None,
            region: 0,
            region_base: 0,
            left: None,
            returned: None,
            infer: Vec::new(),
            facts: sym::Facts::new(),
            dims: HashMap::new(),
            block_symbols: [None, None, None],
            calls: Vec::new(),
            frames: Vec::new(),
            early: Vec::new(),
            steps: 0,
            warps: None,
            defs: HashMap::new(),
            roles: Vec::new(),
            barriers: role::Numbers::default(),
            issued: 0,
            unheld: Vec::new(),
            waited: pending::Waited::default(),
            pipes: Vec::new(),
            block_serial: 0,
            serials: 0,
            wide: Vec::new(),
            partial: Vec::new(),
            strides: HashMap::new(),
        }
    }

    fn instance(&mut self, instance: &Instance) {
        for (name, arg) in &instance.args {
            self.declare(name, arg.value(), false, self.kernel.span);
        }
        self.kernel.entry = instances::entry(&self.program.kernel.name.text, instance);
        self.params();
        self.options();
        self.facts();
        let program = self.program;
        let value = self.block_value(&program.kernel.body);
        if !matches!(value, Val::Unit | Val::Poison | Val::Never) {
            let span = program
                .kernel
                .body
                .value
                .as_ref()
                .map_or(self.kernel.span, |e| e.span);
            self.error(codes::SIGNATURE, span, "a kernel returns nothing")
                .label(format!("this is {}", value.kind()))
                .push(self);
        }
    }

    fn finish(mut self) -> Kernel {
        self.settle_types();
        for param in 0..self.kernel.params.len() {
            let (_, rank, _) = self.tensor_kind(param);
            let known = |axis| match self.known_extent(param, axis) {
                Some(i) => u32::try_from(i).ok(),
                None => None,
            };
            self.kernel.params[param].extents = (0..rank).map(known).collect();
        }
        self.kernel.body = std::mem::take(&mut self.block);
        ir::uniform::run(&mut self.kernel);
        self.kernel
    }

    /// Arguments of the kernel.
    fn params(&mut self) {
        let program = self.program;
        for param in &program.kernel.params {
            let ast::PatternKind::Bind { name, .. } = &param.pattern.kind else {
                self.error(
                    codes::SIGNATURE,
                    param.pattern.span,
                    "a kernel's arguments are plain names",
                )
                .push(self);
                continue;
            };
            let index = self.kernel.params.len();
            let own = |kind| ir::Param {
                name: name.text.clone(),
                kind,
                extents: Vec::new(),
                span: name.span,
            };
            if let Some(ty) = optional::inner(&param.ty) {
                let (val, kind) = self.optional_param(index, name, ty);
                self.kernel.params.extend(kind.map(own));
                self.declare(&name.text, val, false, name.span);
                continue;
            }
            let Some((kind, val)) = self.param_kind(index, &name.text, &param.ty) else {
                self.declare(&name.text, Val::Poison, false, name.span);
                continue;
            };
            self.kernel.params.push(own(kind));
            let val = match val {
                Some(global) => Val::Global(global),
                None => {
                    let ParamKind::Scalar(dtype) = kind else {
                        unreachable!("a scalar")
                    };
                    let usize_like = matches!(&param.ty.kind, TypeKind::Path(p) if p.segments.last().is_some_and(|s| s.name.text == "usize"));
                    let num = if usize_like {
                        Num::Usize
                    } else {
                        Num::D(dtype)
                    };
                    let value = self.emit(Op::Param(index), dtype, Uniform::Block, name.span);
                    let mut scalar = self.scalar_of(value, num);
                    if num == Num::Usize {
                        let symbol = self.facts.extent(&name.text);
                        scalar.expr = Some(symbol.into());
                    }
                    Val::Scalar(scalar)
                }
            };
            self.declare(&name.text, val, false, name.span);
        }
    }

    fn param_kind(
        &mut self,
        index: usize,
        name: &str,
        ty: &'a ast::Type,
    ) -> Option<(ParamKind, Option<GlobalVal>)> {
        let (mutable, inner) = match &ty.kind {
            TypeKind::Ref { mutable, inner } => (*mutable, Some(&**inner)),
            _ => (false, None),
        };
        if let Some(inner) = inner
            && let TypeKind::Path(path) = &inner.kind
            && let Some(last) = path.segments.last()
            && last.name.text == "Global"
        {
            let dtype = match last.generics.first() {
                Some(ast::GenericArg::Type(t)) => self.dtype_of(t)?,
                _ => {
                    self.error(
                        codes::SIGNATURE,
                        last.name.span,
                        "`Global` needs an element type",
                    )
                    .help("write `&Global<f32>`, or `&Global<f32, 1>` for one axis")
                    .push(self);
                    return None;
                }
            };
            let rank = match last.generics.get(1) {
                None => 2,
                Some(arg) => self.generic_int(arg)?,
            };
            if !(1..=8).contains(&rank) {
                self.error(
                    codes::RANK,
                    last.name.span,
                    format!("a tensor has 1 to 8 axes, not {rank}"),
                )
                .push(self);
                return None;
            }
            let strided = last.generics.get(2).is_some_and(|g| matches!(g, ast::GenericArg::Type(t) if matches!(&t.kind, TypeKind::Path(p) if p.segments.last().is_some_and(|s| s.name.text == "Strided"))));
            let kind = ParamKind::Tensor {
                dtype,
                rank: rank as u32,
                writes: mutable,
                strided,
                align: dtype.bytes(),
            };
            for axis in 0..rank as usize {
                let symbol = self.facts.extent(&format!("{name}.dim({axis})"));
                let _ = self.facts.assume_range(symbol, 0, i64::from(u32::MAX));
                self.dims
                    .insert((index, axis), facts::Dim::Own(symbol.into()));
            }
            return Some((kind, Some(GlobalVal::argument(index, mutable))));
        }
        if inner.is_none()
            && let TypeKind::Path(path) = &ty.kind
        {
            match path.segments.last().map(|s| s.name.text.as_str()) {
                Some("usize") => return Some((ParamKind::Scalar(DType::U64), None)),
                Some("Global") => {}
                _ => return Some((ParamKind::Scalar(self.dtype_of(ty)?), None)),
            }
        }
        let text = "a kernel takes tensors by `&Global` or `&mut Global` and scalars by value";
        let diag = self.error(codes::SIGNATURE, ty.span, text);
        let mut diag = diag.label("this type has no meaning as a kernel's argument");
        if let TypeKind::Path(path) = &ty.kind
            && path
                .segments
                .last()
                .is_some_and(|s| s.name.text == "Global")
        {
            diag = diag.help("put `&` before it, or `&mut` if the kernel writes it");
        }
        diag.push(self);
        None
    }

    // ---- diagnostics

    fn error(&self, code: Code, span: Span, message: impl Into<String>) -> Diag {
        Diag::error(code, span, message)
    }

    /// Pushes an error and gives the poisoned value.
    fn refuse(&mut self, diag: Diag) -> Val<'a> {
        self.sink.push(diag);
        Val::Poison
    }

    fn bug(&mut self, span: Span, what: &str) -> Val<'a> {
        let diag = Diag::error(
            codes::INTERNAL,
            span,
            format!("defect of the compiler: {what}"),
        )
        .note("please report it, with the kernel");
        self.refuse(diag)
    }

    // ---- names

    fn declare(&mut self, name: &str, val: Val<'a>, mutable: bool, span: Span) -> usize {
        let binding = self.bindings.len();
        let control = self.control;
        self.name_value(&val, name);
        self.bindings.push(Binding {
            name: name.to_string(),
            val,
            mutable,
            span,
            control,
        });
        self.scope.declare(name, binding);
        binding
    }

    /// Gives the author's name to a value that has none yet, for texts and reports.
    fn name_value(&mut self, val: &Val<'a>, name: &str) {
        let value = match val {
            Val::Scalar(s) => s.value,
            Val::Register(r) => r.value,
            Val::Shared(s) => return self.name_shared(s.alloc, name),
            Val::Stages(s) => return self.name_shared(s.first.alloc, name),
            _ => return,
        };
        let info = &mut self.kernel.values[value.0 as usize];
        if info.name.is_empty() {
            info.name = name.to_string();
        }
    }

    fn name_shared(&mut self, alloc: usize, name: &str) {
        let shared = &mut self.kernel.shared[alloc];
        if shared.name == shared::unnamed(alloc) {
            shared.name = name.to_string();
        }
    }

    fn in_scope<R>(&mut self, scope: Rc<Scope>, f: impl FnOnce(&mut Self) -> R) -> R {
        let saved = std::mem::replace(&mut self.scope, scope);
        let result = f(self);
        self.scope = saved;
        result
    }

    // ---- emission

    fn value(&mut self, ty: Type, uniform: Uniform, span: Span) -> Value {
        let value = Value(self.kernel.values.len() as u32);
        self.kernel.values.push(ValueInfo {
            ty,
            uniform,
            name: String::new(),
            span,
        });
        value
    }

    fn emit(&mut self, op: Op, dtype: DType, uniform: Uniform, span: Span) -> Value {
        self.emit_typed(op, Type::Scalar(dtype), uniform, span)
    }

    fn emit_typed(&mut self, op: Op, ty: Type, uniform: Uniform, span: Span) -> Value {
        let value = self.value(ty, uniform, span);
        if matches!(
            op,
            Op::Const(_)
                | Op::Special(_)
                | Op::Cast(..)
                | Op::Unary(..)
                | Op::Binary(..)
                | Op::Compare(..)
        ) {
            self.defs.insert(value, op.clone());
        }
        self.block.push(Stmt {
            kind: StmtKind::Let(value, op),
            span,
        });
        value
    }

    fn push(&mut self, kind: StmtKind, span: Span) {
        self.block.push(Stmt { kind, span });
    }

    fn var(&mut self, ty: Type, name: &str, span: Span) -> Var {
        let var = Var(self.kernel.vars.len() as u32);
        self.kernel.vars.push(VarInfo {
            ty,
            name: name.to_string(),
            span,
        });
        var
    }

    /// Collects what `f` emits instead of emitting it.
    fn collect<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> (Vec<Stmt>, R) {
        let saved = std::mem::take(&mut self.block);
        self.serials += 1;
        let serial = std::mem::replace(&mut self.block_serial, self.serials);
        let result = f(self);
        self.block_serial = serial;
        (std::mem::replace(&mut self.block, saved), result)
    }

    fn dtype(&self, value: Value) -> DType {
        self.kernel.values[value.0 as usize].ty.dtype()
    }

    fn uniform(&self, value: Value) -> Uniform {
        self.kernel.values[value.0 as usize].uniform
    }

    fn scalar_of(&self, value: Value, num: Num) -> Scalar {
        let (lo, hi) = num.range();
        Scalar {
            value,
            num,
            lo,
            hi,
            expr: None,
        }
    }

    /// Counts a step; false, with an error once, when there were too many.
    fn step(&mut self, span: Span) -> bool {
        self.steps += 1;
        if self.steps == STEP_LIMIT {
            let diag = Diag::error(
                codes::UNROLL_LIMIT,
                span,
                format!("the kernel takes more than {STEP_LIMIT} steps to evaluate at build time"),
            )
            .help("leave the loop to run time (without `#[unroll]`), or unroll less of it");
            self.sink.push(diag);
        }
        self.steps < STEP_LIMIT
    }
}

/// `diag.push(self)`: ends a chain of notes.
trait Push {
    fn push(self, check: &mut Check<'_>);
}

impl Push for Diag {
    fn push(self, check: &mut Check<'_>) {
        check.sink.push(self);
    }
}
