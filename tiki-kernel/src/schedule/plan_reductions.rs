//! Scratch and barriers of reductions over several warps.
//!
//! A reduction writes its partial values to scratch, meets at one barrier, and reads them. So after it,
//! warps may still be reading that scratch, and its next writer needs a barrier first, unless another
//! barrier of the block lies between: a reduction's own barrier counts. Small scratch is given to each
//! reduction for itself; where that would be more than [`OWN`] bytes, two buffers alternate, each as
//! large as the largest.

use crate::ast::Span;
use crate::dtype::DType;
use crate::ir::reduction::{Steps, entry_bytes};
use crate::ir::visit::blocks_mut;
use crate::ir::{Barrier, Block, Kernel, Op, Shared, StmtKind};
use crate::report::Report;
use std::collections::BTreeSet;

/// Most bytes of scratch before buffers are shared.
pub const OWN: u32 = 4096;

/// Plans every reduction.
pub fn run(kernel: &mut Kernel, report: &mut Report) {
    let mut body = std::mem::take(&mut kernel.body);
    let mut needs = Vec::new();
    each_reduce(&mut body, &mut |r, span| {
        let Some(t) = kernel.values[r.value.0 as usize].ty.tensor() else {
            return;
        };
        let steps = Steps::of(t, r.axis as usize);
        if steps.needs_scratch() && r.scratch.is_none() {
            needs.push((steps.scratch_bytes(entry_bytes(r.op, t.dtype)), span));
        }
    });
    let own = needs.iter().map(|(bytes, _)| bytes).sum::<u32>() <= OWN;
    let largest = needs.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0);
    let mut buffers: Vec<usize> = Vec::new();
    let mut next = 0;
    each_reduce(&mut body, &mut |r, span| {
        let Some(t) = kernel.values[r.value.0 as usize].ty.tensor() else {
            return;
        };
        let steps = Steps::of(t, r.axis as usize);
        if !steps.needs_scratch() || r.scratch.is_some() {
            return;
        }
        let bytes = if own { needs[next].0 } else { largest };
        if buffers.len() < 2 || own {
            kernel
                .shared
                .push(scratch(buffers.len(), bytes, &steps, span));
            buffers.push(kernel.shared.len() - 1);
        }
        let buffer = buffers[if own { next } else { next % 2 }];
        r.scratch = Some(buffer);
        next += 1;
    });
    let mut busy = BTreeSet::new();
    block(&mut body, &mut busy, &mut Vec::new());
    each_reduce(&mut body, &mut |r, span| {
        let name = &kernel.values[r.value.0 as usize].name;
        let Some(t) = kernel.values[r.value.0 as usize].ty.tensor() else {
            return;
        };
        let steps = Steps::of(t, r.axis as usize);
        let barriers = u32::from(steps.needs_scratch()) + u32::from(r.barrier_before);
        let text = format!(
            "{:?} along axis {}: {} lane steps, {} partial values through {} bytes of scratch; barriers: {barriers}",
            r.op,
            r.axis,
            steps.butterflies.len(),
            if steps.needs_scratch() {
                steps.combine()
            } else {
                0
            },
            steps.scratch_bytes(entry_bytes(r.op, t.dtype)),
        );
        report
            .add("reduction", span, name, text)
            .number("lane_steps", steps.butterflies.len() as i64)
            .number(
                "scratch_bytes",
                steps.scratch_bytes(entry_bytes(r.op, t.dtype)).into(),
            )
            .number("barriers", barriers.into());
    });
    kernel.body = body;
}

fn scratch(number: usize, bytes: u32, steps: &Steps, span: Span) -> Shared {
    Shared {
        name: format!("scratch{number}"),
        dtype: DType::U32,
        bytes,
        align: 16,
        stages: 1,
        detail: format!("partial values of {} warps of a reduction", steps.combine()),
        span,
    }
}

fn each_reduce(stmts: &mut Block, f: &mut impl FnMut(&mut crate::ir::Reduce, Span)) {
    for stmt in stmts {
        let span = stmt.span;
        if let StmtKind::Let(_, Op::Reduce(r)) = &mut stmt.kind {
            f(r, span);
        }
        for inner in blocks_mut(&mut stmt.kind) {
            each_reduce(inner, f);
        }
    }
}

/// Walks with the set of scratch that may still be read; `loops` holds, per open loop, what its
/// breaks and continues carry out.
fn block(stmts: &mut Block, busy: &mut BTreeSet<usize>, loops: &mut Vec<BTreeSet<usize>>) {
    for stmt in stmts {
        match &mut stmt.kind {
            StmtKind::Let(_, Op::Reduce(r)) => {
                if let Some(s) = r.scratch {
                    r.barrier_before |= busy.contains(&s);
                    busy.clear();
                    busy.insert(s);
                }
            }
            StmtKind::Barrier(Barrier::Block) => busy.clear(),
            StmtKind::If {
                then, otherwise, ..
            } => {
                let mut other = busy.clone();
                block(then, busy, loops);
                block(otherwise, &mut other, loops);
                busy.extend(other);
            }
            StmtKind::For { body, .. } => around(&mut [body], busy, loops),
            StmtKind::While { head, body, .. } => around(&mut [head, body], busy, loops),
            StmtKind::Break(up) | StmtKind::Continue(up) => {
                let at = loops.len().checked_sub(1 + *up as usize);
                if let Some(out) = at.and_then(|i| loops.get_mut(i)) {
                    out.extend(busy.iter());
                }
            }
            _ => {}
        }
    }
}

fn around(bodies: &mut [&mut Block], busy: &mut BTreeSet<usize>, loops: &mut Vec<BTreeSet<usize>>) {
    loop {
        let before = busy.clone();
        loops.push(BTreeSet::new());
        for body in bodies.iter_mut() {
            block(body, busy, loops);
        }
        busy.extend(loops.pop().expect("pushed above"));
        busy.extend(&before);
        if *busy == before {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::build::Builder;
    use crate::ir::{Dist, Mode, Reduce, ReduceOp, Type, Uniform, Value};
    use crate::target::Target;

    fn reduce(b: &mut Builder, value: Value) -> Value {
        let dist = Dist {
            threads: vec![Mode::replicated(128)],
            values: vec![],
        };
        b.tile(
            DType::F32,
            &[1],
            &dist,
            Op::Reduce(Reduce {
                value,
                axis: 1,
                op: ReduceOp::Sum,
                bounds: vec![None, None],
                scratch: None,
                barrier_before: false,
            }),
        )
    }

    fn plan(k: &mut Kernel) -> Vec<bool> {
        run(k, &mut Report::default());
        let mut found = Vec::new();
        each_reduce(&mut k.body, &mut |r, _| found.push(r.barrier_before));
        found
    }

    #[test]
    fn a_reduction_in_a_loop_waits_for_its_last_readers() {
        let mut b = Builder::new("k", Target::default_target(), 128);
        let dist = Dist {
            threads: vec![Mode::along(1, 128, 1)],
            values: vec![],
        };
        let zero = b.float(DType::F32, 0.0);
        let v = b.tile(DType::F32, &[1, 128], &dist, Op::Splat(zero));
        reduce(&mut b, v);
        reduce(&mut b, v);
        let (lo, hi) = (b.int(DType::U32, 0), b.int(DType::U32, 4));
        let index = b.value(Type::Scalar(DType::U32), Uniform::Block);
        let (body, _) = b.block(|b| reduce(b, v));
        b.push(StmtKind::For {
            index,
            lo,
            hi,
            step: 1,
            unroll: None,
            body,
        });
        let mut k = b.finish();
        assert_eq!(plan(&mut k), [false, false, true]);
        assert_eq!(k.shared.len(), 3);
    }
}
