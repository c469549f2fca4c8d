//! Elements that several threads write: of global memory, and of shared memory by single elements.
//!
//! Within a block this is decided by enumeration of a tile's map, and of the coordinates of single
//! elements where they can be followed. Between blocks it is proven where each block's tile begins a
//! whole tile after its neighbour's along some axis.

use super::Unproven;
use super::evaluate::{Evaluator, Symbol};
use super::first_holder;
use crate::ast::Span;
use crate::diag::{Diag, Sink, codes};
use crate::ir::{
    Block, Coordinates, GlobalView, Kernel, MemoryOrder, Steps, StmtKind, Touched, Uniform, Value,
    visit,
};
use std::collections::HashMap;

/// Checks every plain global store.
pub fn run(kernel: &Kernel, sink: &mut Sink, unproven: &mut Unproven) {
    let mut walk = Walk {
        kernel,
        sink,
        unproven,
        eval: Evaluator::new(kernel),
    };
    let all = vec![true; kernel.threads as usize];
    walk.block(&kernel.body, &all, true);
}

struct Walk<'a, 'b> {
    kernel: &'a Kernel,
    sink: &'b mut Sink,
    unproven: &'b mut Unproven,
    eval: Evaluator<'a>,
}

impl<'a> Walk<'a, '_> {
    fn block(&mut self, stmts: &'a Block, here: &[bool], exact: bool) {
        for stmt in stmts {
            for touch in visit::written(&stmt.kind).iter().flat_map(|w| &w.touches) {
                if let (Touched::Global(param), true) = (touch.tensor, touch.writes) {
                    let name = &self.kernel.params[param].name;
                    let text = format!(
                        "whether these instructions of several threads write one element of `{name}`"
                    );
                    self.unproven.add(stmt.span, text);
                }
            }
            match &stmt.kind {
                StmtKind::Store { view, value, .. } => {
                    self.tile(view, *value, stmt.span);
                    self.blocks(view, stmt.span);
                }
                StmtKind::StoreElement { view, value, order }
                    if order.order == MemoryOrder::Weak =>
                {
                    let name = &self.kernel.params[view.param].name;
                    let values = view
                        .fixed
                        .iter()
                        .map(|f| f.1)
                        .chain(view.axes.iter().map(|a| a.origin))
                        .collect();
                    self.element(name, values, *value, stmt.span, here, exact);
                    self.blocks(view, stmt.span);
                }
                StmtKind::StoreSharedElement { view, value } => {
                    let name = &self.kernel.shared[view.alloc].name;
                    let steps = view.dynamic.iter().map(|(v, _)| *v).collect();
                    self.element(name, steps, *value, stmt.span, here, exact);
                }
                StmtKind::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    let sides = self.eval.sides(*cond, here);
                    for (side, on) in [then, otherwise].into_iter().zip(&sides.on) {
                        self.block(side, on, exact && sides.exact);
                    }
                }
                StmtKind::Once(body) => self.block(body, here, exact && !visit::leaves(body, 0)),
                kind => {
                    for inner in visit::blocks(kind) {
                        self.block(inner, here, exact);
                    }
                }
            }
        }
    }

    fn tile(&mut self, view: &GlobalView, value: Value, span: Span) {
        let Some(t) = self.kernel.values[value.0 as usize].ty.tensor() else {
            return;
        };
        let all = Coordinates::new(&t.dist, t.shape.len());
        let count = t.shape.iter().map(|n| *n as usize).product();
        let stride = |axis: usize| t.shape[axis + 1..].iter().map(|n| i64::from(*n));
        let steps = Steps::new(&t.shape, |axis, c| {
            i64::from(c) * stride(axis).product::<i64>()
        });
        // By an element's place in the order of rows.
        let mut owner: Vec<Option<u32>> = vec![None; count];
        let mut sums = Vec::new();
        for thread in (0..t.dist.thread_count()).filter(|i| first_holder(&t.dist, *i)) {
            all.sums(&steps, thread as usize, &mut sums);
            for (v, place) in sums.iter().enumerate() {
                let Some(place) = *place else { continue };
                if let Some(other) = owner[place as usize].replace(thread) {
                    let name = &self.kernel.params[view.param].name;
                    let at = all.at(thread as usize, v);
                    self.sink.push(
                        Diag::error(codes::DUPLICATE_WRITE, span, format!("threads {other} and {thread} both write element {at:?} of the tile of `{name}`"))
                            .note(format!("the value's map is {}", t.dist)),
                    );
                    return;
                }
            }
        }
    }

    /// One element by each thread that is here, at coordinates made of `at`.
    fn element(
        &mut self,
        name: &str,
        at: Vec<Value>,
        value: Value,
        span: Span,
        here: &[bool],
        exact: bool,
    ) {
        let sums: Option<Vec<_>> = at.iter().map(|v| self.eval.value(*v)).collect();
        let Some(sums) = sums else {
            self.unproven.add(
                span,
                format!("whether two threads write one element of `{name}` here"),
            );
            return;
        };
        let mut owner: HashMap<Vec<i64>, usize> = HashMap::new();
        for thread in (0..here.len()).filter(|t| here[*t]) {
            let at: Vec<i64> = sums.iter().map(|s| s.table[thread]).collect();
            if let Some(other) = owner.insert(at, thread) {
                if self.kernel.values[value.0 as usize].uniform == Uniform::Block {
                    return;
                }
                if exact {
                    self.sink.push(
                        Diag::error(
                            codes::DUPLICATE_WRITE,
                            span,
                            format!(
                                "threads {other} and {thread} both write one element of `{name}`"
                            ),
                        )
                        .help("let one thread write it: `if thread_idx() == 0 { .. }`"),
                    );
                } else {
                    self.unproven.add(
                        span,
                        format!("whether two threads write one element of `{name}` here"),
                    );
                }
                return;
            }
        }
    }

    /// Whether blocks write different elements.
    fn blocks(&mut self, view: &GlobalView, span: Span) {
        let mut apart = [false; 3];
        // Where a window lies is a run-time value.
        let mut followed = view.window.is_none();
        let axes = view
            .fixed
            .iter()
            .map(|f| (f.1, 1))
            .chain(view.axes.iter().map(|a| (a.origin, a.extent)));
        for (origin, extent) in axes {
            let Some(sum) = self.eval.value(origin) else {
                followed = false;
                continue;
            };
            let blocks: Vec<(u8, i64)> = sum
                .symbols
                .iter()
                .filter_map(|(s, n)| {
                    if let Symbol::Block(d) = s {
                        Some((*d, *n))
                    } else {
                        None
                    }
                })
                .collect();
            followed &= blocks.len() == sum.symbols.len();
            if let [(d, n)] = blocks[..]
                && n.unsigned_abs() >= u64::from(extent)
            {
                apart[d as usize % 3] = true;
            }
        }
        let name = &self.kernel.params[view.param].name;
        if !followed {
            self.unproven.add(
                span,
                format!("whether two blocks write one element of `{name}` here"),
            );
        } else if !apart[0] {
            self.unproven.add(span, format!("whether two blocks write one element of `{name}` here: they do if the grid has several along x"));
        }
    }
}
