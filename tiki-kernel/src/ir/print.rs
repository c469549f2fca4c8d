//! The typed program as text: one statement a line, for people, goldens and cache keys.

use super::{
    Async, Barrier, Block, Const, GlobalView, Kernel, Map, Op, Operand, Order, Place, Reduce, Scan,
    SharedView, Stmt, StmtKind, Touched, Transaction, Type, Value, Var, Written,
};
use std::fmt::Write;

/// Prints a kernel.
#[must_use]
pub fn print(kernel: &Kernel) -> String {
    let mut p = Printer {
        kernel,
        out: String::new(),
        depth: 0,
    };
    p.kernel();
    p.out
}

struct Printer<'a> {
    kernel: &'a Kernel,
    out: String,
    depth: usize,
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn kernel(&mut self) {
        let k = self.kernel;
        self.line(&format!("kernel {} // {}", k.entry, k.title));
        self.line(&format!("target {} threads {}", k.target, k.threads));
        for p in &k.params {
            self.line(&format!("param {}: {:?}", p.name, p.kind));
        }
        for s in &k.shared {
            self.line(&format!(
                "shared {}: {} {} bytes align {} // {}",
                s.name, s.dtype, s.bytes, s.align, s.detail
            ));
        }
        for (i, v) in k.vars.iter().enumerate() {
            self.line(&format!("var {}: {}", var(k, Var(i as u32)), ty(&v.ty)));
        }
        self.line("{");
        self.block(&k.body);
        self.line("}");
    }

    fn block(&mut self, block: &Block) {
        self.depth += 1;
        for stmt in block {
            self.stmt(stmt);
        }
        self.depth -= 1;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let k = self.kernel;
        match &stmt.kind {
            StmtKind::Let(value, op) => self.define(*value, op),
            StmtKind::Set(v, value) => {
                let text = format!("{} = {}", var(k, *v), name(k, *value));
                self.line(&text);
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => {
                self.line(&format!("if {} {{", name(k, *cond)));
                self.block(then);
                if !otherwise.is_empty() {
                    self.line("} else {");
                    self.block(otherwise);
                }
                self.line("}");
            }
            StmtKind::For {
                index,
                lo,
                hi,
                step,
                unroll,
                body,
            } => {
                let (index, lo, hi) = (name(k, *index), name(k, *lo), name(k, *hi));
                let unroll = unroll.map_or(String::new(), |n| format!(" unroll {n}"));
                self.line(&format!("for {index} in {lo}..{hi} step {step}{unroll} {{"));
                self.block(body);
                self.line("}");
            }
            StmtKind::While { head, cond, body } => {
                self.line("while {");
                self.block(head);
                self.line(&format!("}} {} {{", name(k, *cond)));
                self.block(body);
                self.line("}");
            }
            StmtKind::Async(a) => {
                let text = asynchronous(k, a);
                self.line(&text);
            }
            StmtKind::Once(body) => {
                self.line("once {");
                self.block(body);
                self.line("}");
            }
            StmtKind::Break(level) => self.line(&format!("break {level}")),
            StmtKind::Continue(level) => self.line(&format!("continue {level}")),
            StmtKind::Return => self.line("return"),
            StmtKind::Trap => self.line("trap"),
            StmtKind::Written(fragment, inputs) => {
                let text = written(self.kernel, fragment, inputs);
                self.line(&text);
            }
            StmtKind::Store {
                view,
                value,
                access,
            } => {
                let text = format!(
                    "store {} <- {} {access:?}",
                    global(k, view),
                    name(k, *value)
                );
                self.line(&text);
            }
            StmtKind::StoreShared {
                view,
                value,
                vector,
            } => {
                let text = format!(
                    "store {} <- {} vector {vector}",
                    shared(k, view),
                    name(k, *value)
                );
                self.line(&text);
            }
            StmtKind::StoreElement { view, value, order } => {
                let text = format!(
                    "store {} <- {}{}",
                    global(k, view),
                    name(k, *value),
                    ordered(order)
                );
                self.line(&text);
            }
            StmtKind::StoreSharedElement { view, value } => {
                let text = format!("store {} <- {}", shared(k, view), name(k, *value));
                self.line(&text);
            }
            StmtKind::Red {
                op,
                place: at,
                value,
                order,
            } => {
                let text = format!(
                    "red {op:?} {} <- {}{}",
                    place(k, at),
                    name(k, *value),
                    ordered(order)
                );
                self.line(&text);
            }
            StmtKind::Barrier(Barrier::Block) => self.line("barrier"),
            StmtKind::Barrier(Barrier::Warp) => self.line("barrier warp"),
            StmtKind::Barrier(Barrier::Named {
                id,
                threads,
                arrive,
            }) => {
                let verb = if *arrive { "arrive" } else { "sync" };
                self.line(&format!("barrier {verb} {id} of {threads}"));
            }
            StmtKind::Fence(order) => self.line(&format!("fence{}", ordered(order))),
        }
    }

    fn define(&mut self, value: Value, op: &Op) {
        let k = self.kernel;
        let head = format!(
            "{}: {} =",
            name(k, value),
            ty(&k.values[value.0 as usize].ty)
        );
        let n = |v: &Value| name(k, *v);
        let list = |vs: &[Value]| vs.iter().map(n).collect::<Vec<_>>().join(", ");
        match op {
            Op::Map(map) => return self.map(&head, map),
            Op::Reduce(reduce) => return self.reduce(&head, reduce),
            Op::Scan(scan) => return self.scan(&head, scan),
            _ => {}
        }
        let text = match op {
            Op::Const(Const::Int(i)) => format!("{i}"),
            Op::Const(Const::Float(f)) => format!("{f:?}"),
            Op::Const(Const::Bool(b)) => format!("{b}"),
            Op::Param(i) => format!("param {}", k.params[*i].name),
            Op::Extent(i, axis) => format!("extent {}.{axis}", k.params[*i].name),
            Op::Stride(i, axis) => format!("stride {}.{axis}", k.params[*i].name),
            Op::Get(v) => format!("get {}", var(k, *v)),
            Op::Special(s) => format!("{s:?}"),
            Op::Unary(f, a) => format!("{f:?} {}", n(a)),
            Op::Binary(f, a, b) => format!("{f:?} {}, {}", n(a), n(b)),
            Op::Compare(f, a, b) => format!("{f:?} {}, {}", n(a), n(b)),
            Op::Fma(a, b, c) => format!("Fma {}", list(&[*a, *b, *c])),
            Op::Select(c, a, b) => format!("select {}", list(&[*c, *a, *b])),
            Op::Cast(a, round) => format!("cast {} {round:?}", n(a)),
            Op::Bits(a) => format!("bits {}", n(a)),
            Op::Shuffle { mode, value, lane } => {
                format!("shuffle {mode:?} {}, {}", n(value), n(lane))
            }
            Op::Vote(vote, a) => format!("vote {vote:?} {}", n(a)),
            Op::Match(a) => format!("match {}", n(a)),
            Op::Redux(f, a) => format!("redux {f:?} {}", n(a)),
            Op::Atom {
                op,
                place: at,
                operands,
                order,
            } => {
                format!(
                    "atom {op:?} {} <- {}{}",
                    place(k, at),
                    list(operands),
                    ordered(order)
                )
            }
            Op::LoadElement { place: at, order } => {
                format!("load {}{}", place(k, at), ordered(order))
            }
            Op::Load { view, fill, access } => {
                format!("load {} fill {} {access:?}", global(k, view), n(fill))
            }
            Op::LoadShared { view, vector } => format!("load {} vector {vector}", shared(k, view)),
            Op::Splat(a) => format!("splat {}", n(a)),
            Op::Elect => "elect".into(),
            Op::Written(fragment, inputs) => written(k, fragment, inputs),
            Op::Also(first, i) => format!("result {i} of {}", n(first)),
            Op::Exchange(a) => format!("exchange {}", n(a)),
            Op::Address(at) => format!("address of {}", place(k, at)),
            Op::Pick(a, places) => format!("pick {} {places:?}", n(a)),
            Op::Raw(a, i) => format!("raw {}[{i}]", n(a)),
            Op::Map(_) | Op::Reduce(_) | Op::Scan(_) => unreachable!("printed above"),
        };
        self.line(&format!("{head} {text}"));
    }

    fn map(&mut self, head: &str, map: &Map) {
        let k = self.kernel;
        let inputs = map
            .inputs
            .iter()
            .zip(&map.region.params)
            .map(|(input, param)| {
                let along = input
                    .missing_axis
                    .map_or(String::new(), |a| format!(" along {a}"));
                format!("{} <- {}{along}", name(k, *param), name(k, input.value))
            });
        let mut list: Vec<String> = inputs.collect();
        list.extend(
            map.region
                .coords
                .iter()
                .enumerate()
                .map(|(i, c)| format!("{} <- @{i}", name(k, *c))),
        );
        self.line(&format!("{head} map {} {{", list.join(", ")));
        self.block(&map.region.body);
        self.line(&format!("}} {}", name(k, map.region.result)));
    }

    fn reduce(&mut self, head: &str, reduce: &Reduce) {
        let k = self.kernel;
        let mut text = format!(
            "{head} reduce {:?} {} along {}",
            reduce.op,
            name(k, reduce.value),
            reduce.axis
        );
        self.meeting(
            &mut text,
            &reduce.bounds,
            reduce.scratch,
            reduce.barrier_before,
            &reduce.meet,
        );
        self.line(&text);
    }

    fn scan(&mut self, head: &str, scan: &Scan) {
        let k = self.kernel;
        let mut text = format!("{head} scan {:?} {}", scan.op, name(k, scan.value));
        if let Some(factor) = scan.factor {
            let _ = write!(text, " by {}", name(k, factor));
        }
        let _ = write!(text, " along {}", scan.axis);
        for (said, word) in [(scan.exclusive, " exclusive"), (scan.reverse, " reverse")] {
            if said {
                text.push_str(word);
            }
        }
        self.meeting(
            &mut text,
            &scan.bounds,
            scan.scratch,
            scan.barrier_before,
            &scan.meet,
        );
        self.line(&text);
    }

    /// What is missing, and how warps meet.
    fn meeting(
        &self,
        text: &mut String,
        bounds: &[Option<Value>],
        scratch: Option<usize>,
        barrier_before: bool,
        meet: &Barrier,
    ) {
        let k = self.kernel;
        for (axis, bound) in bounds.iter().enumerate() {
            if let Some(bound) = bound {
                let _ = write!(text, " bound @{axis} {}", name(k, *bound));
            }
        }
        if let Some(scratch) = scratch {
            let _ = write!(text, " through {}", k.shared[scratch].name);
        }
        if let Barrier::Named { id, threads, .. } = meet {
            let _ = write!(text, " at {id} of {threads}");
        }
        if barrier_before {
            text.push_str(" after barrier");
        }
    }
}

fn name(kernel: &Kernel, value: Value) -> String {
    let text = kernel
        .values
        .get(value.0 as usize)
        .map_or("", |v| v.name.as_str());
    format!(
        "%{}{}{text}",
        value.0,
        if text.is_empty() { "" } else { "." }
    )
}

fn var(kernel: &Kernel, var: Var) -> String {
    format!("${}.{}", var.0, kernel.vars[var.0 as usize].name)
}

fn ty(ty: &Type) -> String {
    match ty {
        Type::Scalar(t) => t.to_string(),
        Type::Tensor(t) => format!("{}{:?} {}", t.dtype, t.shape, t.dist),
    }
}

fn ordered(order: &Order) -> String {
    format!(" {:?}.{:?}", order.order, order.scope)
}

fn place(kernel: &Kernel, place: &Place) -> String {
    match place {
        Place::Global(view) => global(kernel, view),
        Place::Shared(view) => shared(kernel, view),
    }
}

fn asynchronous(k: &Kernel, a: &Async) -> String {
    match a {
        Async::CopyTile {
            view,
            into,
            dist,
            vector,
            cache,
        } => {
            let (from, to) = (global(k, view), shared(k, into));
            format!("copy {to} <- {from} {dist} vector {vector} {cache:?}")
        }
        Async::TensorCopy(copy) => {
            let (far, near) = (global(k, &copy.view), shared(k, &copy.shared));
            let mut text = format!("tensor {:?} {far} {near}", copy.kind);
            if let Some(barrier) = &copy.barrier {
                let _ = write!(text, " at {}", shared(k, barrier));
            }
            if let Some(mask) = copy.multicast {
                let _ = write!(text, " to {}", name(k, mask));
            }
            format!("{text} {:?}", copy.cache)
        }
        Async::Mma(mma) => {
            let a = match &mma.a {
                Operand::Shared(view) => shared(k, view),
                Operand::Register(value) => name(k, *value),
            };
            let (acc, b) = (var(k, mma.acc), shared(k, &mma.b));
            format!("{acc} += {a} @ {b}.T warps {:?} {:?}", mma.warps, mma.kind)
        }
        Async::Transaction { barrier, op } => {
            let op = match op {
                Transaction::Wait(v) => format!("wait {}", name(k, *v)),
                Transaction::ArriveAt(v) => format!("arrive at {}", name(k, *v)),
                op => format!("{op:?}"),
            };
            format!("transaction {} {op}", shared(k, barrier))
        }
        a => format!("{a:?}"),
    }
}

fn global(kernel: &Kernel, view: &GlobalView) -> String {
    let mut text = kernel.params[view.param].name.clone();
    if let Some(window) = &view.window {
        let all = |values: &[Value]| {
            let names: Vec<String> = values.iter().map(|v| name(kernel, *v)).collect();
            names.join(", ")
        };
        let (extents, strides) = (all(&window.extents), all(&window.strides));
        let first = name(kernel, window.first);
        let _ = write!(text, ".window({first}, [{extents}], [{strides}])");
    }
    for (axis, value, inside) in &view.fixed {
        let guard = if *inside { "" } else { "?" };
        let _ = write!(text, ".at(@{axis} {}{guard})", name(kernel, *value));
    }
    text.push('[');
    for (i, axis) in view.axes.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        let guard = if axis.whole { "" } else { "?" };
        let _ = write!(
            text,
            "{comma}@{} {}+{}{guard}",
            axis.axis,
            name(kernel, axis.origin),
            axis.extent
        );
    }
    text + "]"
}

fn shared(kernel: &Kernel, view: &SharedView) -> String {
    let mut text = kernel.shared[view.alloc].name.clone();
    text.push('[');
    for (i, digits) in view.axes.iter().enumerate() {
        text.push_str(if i == 0 { "" } else { ", " });
        let digits: Vec<String> = digits
            .iter()
            .map(|d| format!("{}:{}", d.extent, d.stride))
            .collect();
        text.push_str(&digits.join("x"));
    }
    let _ = write!(text, "] + {}", view.offset);
    for (value, step) in &view.dynamic {
        let _ = write!(text, " + {} * {step}", name(kernel, *value));
    }
    if let Some(x) = view.swizzle {
        let _ = write!(text, " swizzle <{},{},{}>", x.bits, x.base, x.shift);
    }
    if let Some(block) = view.block {
        let _ = write!(text, " of block {}", name(kernel, block));
    }
    text
}

/// `ptx "text" <- inputs, reads .., writes ..`
fn written(k: &Kernel, fragment: &Written, inputs: &[Value]) -> String {
    let mut text = format!("ptx {:?}", fragment.text);
    let inputs: Vec<String> = inputs.iter().map(|v| name(k, *v)).collect();
    if !inputs.is_empty() {
        let _ = write!(text, " <- {}", inputs.join(", "));
    }
    for touch in &fragment.touches {
        let tensor = match touch.tensor {
            Touched::Global(i) => &k.params[i].name,
            Touched::Shared(i) => &k.shared[i].name,
        };
        let verb = if touch.writes { "writes" } else { "reads" };
        let _ = write!(text, " {verb} {tensor}");
    }
    text
}
