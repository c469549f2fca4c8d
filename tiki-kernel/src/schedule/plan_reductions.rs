//! Scratch and barriers of reductions and scans over several warps.
//!
//! A reduction or scan writes its partial values to scratch, meets at one barrier, and reads them. So after it, warps may
//! still be reading that scratch, and its next writer needs a barrier first, unless another barrier of the block lies
//! between: a reduction's own barrier counts. Small scratch is given to each of them for itself; where that would be more
//! than [`OWN`] bytes, two buffers alternate, each as large as the largest. Those of a role meet at a barrier of its own,
//! which says nothing of other roles: their scratch is never another's.

use crate::ast::Span;
use crate::dtype::DType;
use crate::ir::reduction::{Steps, entry_bytes};
use crate::ir::visit::blocks_mut;
use crate::ir::{Barrier, Block, Kernel, Op, ReduceOp, ScanOp, Shared, StmtKind, ValueInfo, scan};
use crate::report::Report;
use std::collections::{BTreeMap, BTreeSet};

/// Most bytes of scratch before buffers are shared.
pub const OWN: u32 = 4096;

/// A reduction or a scan: how its threads meet.
struct Meeting<'a> {
    /// For people: `sum along axis 1`.
    what: String,
    kind: &'static str,
    lane_steps: u32,
    /// Partial values of one result that meet in scratch; 1 if none do.
    combine: u32,
    bytes: u32,
    name: &'a str,
    scratch: &'a mut Option<usize>,
    barrier_before: &'a mut bool,
    /// The number of the barrier at which they meet.
    at: u32,
}

/// Scratch that may still be read, and the barrier at which its readers meet.
type Busy = BTreeSet<(usize, u32)>;

fn number(meet: &Barrier) -> u32 {
    match meet {
        Barrier::Named { id, .. } => *id,
        Barrier::Block | Barrier::Warp => 0,
    }
}

/// A reduction in words.
fn reduction(op: ReduceOp) -> &'static str {
    match op {
        ReduceOp::Sum => "sum",
        ReduceOp::Max { nan: false } => "greatest",
        ReduceOp::Max { nan: true } => "greatest or NaN",
        ReduceOp::Min { nan: false } => "least",
        ReduceOp::Min { nan: true } => "least or NaN",
        ReduceOp::ArgMax => "place of the greatest",
        ReduceOp::ArgMin => "place of the least",
    }
}

/// What a scan is of, in words.
fn scanned(op: ScanOp) -> &'static str {
    match op {
        ScanOp::Sum => "sum",
        ScanOp::Product => "product",
        ScanOp::Max { nan: false } => "greatest",
        ScanOp::Max { nan: true } => "greatest or NaN",
        ScanOp::Min { nan: false } => "least",
        ScanOp::Min { nan: true } => "least or NaN",
        ScanOp::Affine => "recurrence",
    }
}

impl<'a> Meeting<'a> {
    fn of(values: &'a [ValueInfo], op: &'a mut Op) -> Option<Meeting<'a>> {
        match op {
            Op::Reduce(r) => {
                let info = &values[r.value.0 as usize];
                let t = info.ty.tensor()?;
                let steps = Steps::of(t, r.axis as usize);
                Some(Meeting {
                    what: format!("{} along axis {}", reduction(r.op), r.axis),
                    kind: "reduction",
                    lane_steps: steps.butterflies.len() as u32,
                    combine: steps.combine(),
                    bytes: steps.scratch_bytes(entry_bytes(r.op, t.dtype)),
                    name: &info.name,
                    scratch: &mut r.scratch,
                    barrier_before: &mut r.barrier_before,
                    at: number(&r.meet),
                })
            }
            Op::Scan(s) => {
                let info = &values[s.value.0 as usize];
                let t = info.ty.tensor()?;
                let steps = scan::Steps::of(t, s.axis as usize)?;
                Some(Meeting {
                    what: format!("{} scan along axis {}", scanned(s.op), s.axis),
                    kind: "scan",
                    lane_steps: steps.lane_steps(),
                    combine: steps.combine(),
                    bytes: steps.scratch_bytes(scan::entry_bytes(s.op, t)),
                    name: &info.name,
                    scratch: &mut s.scratch,
                    barrier_before: &mut s.barrier_before,
                    at: number(&s.meet),
                })
            }
            _ => None,
        }
    }
}

/// Plans every reduction and scan.
pub fn run(kernel: &mut Kernel, report: &mut Report) {
    let mut body = std::mem::take(&mut kernel.body);
    let values = &kernel.values;
    let shared = &mut kernel.shared;
    let mut needs = Vec::new();
    each(values, &mut body, &mut |m, _| {
        if m.combine > 1 && m.scratch.is_none() {
            needs.push(m.bytes);
        }
    });
    let own = needs.iter().sum::<u32>() <= OWN;
    let largest = needs.iter().copied().max().unwrap_or(0);
    // Of each barrier: its buffers, and how many operations have one.
    let mut buffers: BTreeMap<u32, (Vec<usize>, usize)> = BTreeMap::new();
    let (mut next, mut made) = (0, 0);
    each(values, &mut body, &mut |m, span| {
        if m.combine == 1 || m.scratch.is_some() {
            return;
        }
        let bytes = if own { needs[next] } else { largest };
        let (held, used) = buffers.entry(m.at).or_default();
        if held.len() < 2 || own {
            shared.push(scratch(made, bytes, m.kind, m.combine, span));
            held.push(shared.len() - 1);
            made += 1;
        }
        *m.scratch = Some(held[if own { *used } else { *used % 2 }]);
        *used += 1;
        next += 1;
    });
    let mut busy = Busy::new();
    block(values, &mut body, &mut busy, &mut Vec::new());
    each(values, &mut body, &mut |m, span| {
        let barriers = u32::from(m.combine > 1) + u32::from(*m.barrier_before);
        let text = format!(
            "{}: {} lane steps, {} partial values through {} bytes of scratch; barriers: {barriers}",
            m.what,
            m.lane_steps,
            if m.combine > 1 { m.combine } else { 0 },
            m.bytes,
        );
        report
            .add(m.kind, span, m.name, text)
            .number("lane_steps", m.lane_steps.into())
            .number("scratch_bytes", m.bytes.into())
            .number("barriers", barriers.into());
    });
    kernel.body = body;
}

fn scratch(number: usize, bytes: u32, kind: &str, combine: u32, span: Span) -> Shared {
    Shared {
        name: format!("scratch{number}"),
        dtype: DType::U32,
        bytes,
        align: 16,
        stages: 1,
        detail: format!("partial values of {combine} warps of a {kind}"),
        over: None,
        span,
    }
}

fn each(values: &[ValueInfo], stmts: &mut Block, f: &mut impl FnMut(Meeting<'_>, Span)) {
    for stmt in stmts {
        let span = stmt.span;
        if let StmtKind::Let(_, op) = &mut stmt.kind
            && let Some(meeting) = Meeting::of(values, op)
        {
            f(meeting, span);
        }
        for inner in blocks_mut(&mut stmt.kind) {
            each(values, inner, f);
        }
    }
}

/// Walks with the set of scratch that may still be read; `loops` holds, per open loop, what its
/// breaks and continues carry out.
fn block(values: &[ValueInfo], stmts: &mut Block, busy: &mut Busy, loops: &mut Vec<Busy>) {
    for stmt in stmts {
        match &mut stmt.kind {
            StmtKind::Let(_, op) => {
                if let Some(m) = Meeting::of(values, op)
                    && let Some(s) = *m.scratch
                {
                    *m.barrier_before |= busy.contains(&(s, m.at));
                    busy.retain(|(_, at)| m.at != 0 && *at != m.at);
                    busy.insert((s, m.at));
                }
            }
            StmtKind::Barrier(Barrier::Block) => busy.clear(),
            StmtKind::If {
                then, otherwise, ..
            } => {
                let mut other = busy.clone();
                block(values, then, busy, loops);
                block(values, otherwise, &mut other, loops);
                busy.extend(other);
            }
            StmtKind::For { body, .. } => around(values, &mut [body], busy, loops),
            StmtKind::While { head, body, .. } => around(values, &mut [head, body], busy, loops),
            StmtKind::Once(body) => {
                loops.push(Busy::new());
                block(values, body, busy, loops);
                busy.extend(loops.pop().expect("pushed above"));
            }
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

fn around(values: &[ValueInfo], bodies: &mut [&mut Block], busy: &mut Busy, loops: &mut Vec<Busy>) {
    loop {
        let before = busy.clone();
        loops.push(Busy::new());
        for body in bodies.iter_mut() {
            block(values, body, busy, loops);
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

    fn reduce(b: &mut Builder, value: Value, meet: Barrier) -> Value {
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
                meet,
            }),
        )
    }

    fn plan(k: &mut Kernel) -> Vec<bool> {
        run(k, &mut Report::default());
        let mut found = Vec::new();
        let mut body = std::mem::take(&mut k.body);
        each(&k.values, &mut body, &mut |m, _| {
            found.push(*m.barrier_before);
        });
        k.body = body;
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
        reduce(&mut b, v, Barrier::Block);
        reduce(&mut b, v, Barrier::Block);
        let (lo, hi) = (b.int(DType::U32, 0), b.int(DType::U32, 4));
        let index = b.value(Type::Scalar(DType::U32), Uniform::Block);
        let (body, _) = b.block(|b| reduce(b, v, Barrier::Block));
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

    /// Three reductions of 4 KiB of scratch in all, at these barriers: who waits, and for which scratch.
    fn three(meets: [u32; 3], results: u32) -> (Vec<bool>, Vec<usize>) {
        let mut b = Builder::new("k", Target::default_target(), 256);
        let dist = Dist {
            threads: vec![Mode::along(1, 128, 1)],
            values: vec![Mode::along(0, results, 1)],
        };
        let zero = b.float(DType::F32, 0.0);
        let v = b.tile(DType::F32, &[results, 128], &dist, Op::Splat(zero));
        for id in meets {
            let meet = match id {
                0 => Barrier::Block,
                id => Barrier::Named {
                    id,
                    threads: 128,
                    arrive: false,
                },
            };
            reduce(&mut b, v, meet);
        }
        let mut k = b.finish();
        let waits = plan(&mut k);
        let mut held = Vec::new();
        each(&k.values, &mut k.body, &mut |m, _| held.extend(*m.scratch));
        (waits, held)
    }

    #[test]
    fn roles_share_no_scratch_and_wait_for_their_own_alone() {
        // Much scratch: two buffers a barrier, and a third operation of one barrier meets its first again.
        let (waits, held) = three([1, 1, 1], 128);
        assert_eq!((waits, held), (vec![false; 3], vec![0, 1, 0]));
        let (waits, held) = three([1, 2, 1], 128);
        assert_eq!((waits, held), (vec![false; 3], vec![0, 1, 2]));
        // The block's barrier ends all reading.
        let (waits, held) = three([1, 0, 1], 128);
        assert_eq!((waits, held), (vec![false; 3], vec![0, 1, 2]));
    }
}
