//! Wavefronts of shared accesses and sectors of global ones, by enumeration of the lanes of each warp.
//!
//! What a request costs is the bank model's to say (`tiki_layout::banks`). A global access touches 32-byte
//! sectors; where a row's pitch is a run-time value, rows are taken to begin at sectors.

use crate::artifact::ParamKind;
use crate::ast::Span;
use crate::diag::{Diag, Sink, codes};
use crate::ir::asynchronous::Async;
use crate::ir::visit::each;
use crate::ir::{
    Access, Deny, Edge, GlobalView, Kernel, Op, SharedView, StmtKind, TensorType, Value,
};
use crate::report::Report;
use crate::schedule::narrow_global::contiguous_axis;
use std::collections::BTreeSet;
use tiki_layout::banks::{SECTOR_BYTES, SharedAccess};

/// A count and the least it could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// As it is.
    pub taken: u32,
    /// As it must be.
    pub least: u32,
}

/// Counts every access.
pub fn run(kernel: &Kernel, sink: &mut Sink, report: &mut Report) {
    let tensor = |v: &Value| kernel.values[v.0 as usize].ty.tensor();
    each(&kernel.body, &mut |stmt| match &stmt.kind {
        StmtKind::Async(Async::CopyTile {
            view,
            into,
            dist,
            vector,
            cache,
        }) => {
            let t = TensorType {
                dtype: kernel.shared[into.alloc].dtype,
                shape: into.shape(),
                dist: dist.clone(),
            };
            let access = Access {
                vector: *vector,
                edge: Edge::Whole,
                cache: *cache,
            };
            shared(kernel, into, &t, *vector, "store", stmt.span, sink, report);
            global(kernel, view, &t, &access, "load", stmt.span, sink, report);
        }
        StmtKind::Let(v, Op::LoadShared { view, vector }) => {
            if let Some(t) = tensor(v) {
                shared(kernel, view, t, *vector, "load", stmt.span, sink, report);
            }
        }
        StmtKind::StoreShared {
            view,
            value,
            vector,
        } => {
            if let Some(t) = tensor(value) {
                shared(kernel, view, t, *vector, "store", stmt.span, sink, report);
            }
        }
        StmtKind::Let(v, Op::Load { view, access, .. }) => {
            if let Some(t) = tensor(v) {
                global(kernel, view, t, access, "load", stmt.span, sink, report);
            }
        }
        StmtKind::Store {
            view,
            value,
            access,
        } => {
            if let Some(t) = tensor(value) {
                global(kernel, view, t, access, "store", stmt.span, sink, report);
            }
        }
        _ => {}
    });
}

/// Wavefronts of one access of a warp: byte address of each lane that takes part.
fn wavefronts(lanes: Vec<Option<i64>>, bytes: i64, writes: bool) -> Cost {
    let access = if writes {
        SharedAccess::store(bytes, lanes)
    } else {
        SharedAccess::load(bytes, lanes)
    };
    // The lowering splits what is wider or askew; then there is no single request to count.
    access.map_or(Cost::default(), |access| {
        let report = access.report();
        Cost {
            taken: report.wavefronts as u32,
            least: report.ideal as u32,
        }
    })
}

/// The most expensive warp and instruction of a tile's access.
fn worst(t: &TensorType, n: usize, cost: impl Fn(&[Option<usize>], usize) -> Cost) -> Cost {
    let rank = t.shape.len();
    let threads = t.dist.thread_count() as usize;
    let mut worst = Cost::default();
    for first in (0..threads).step_by(32) {
        for v in (0..t.dist.len()).step_by(n) {
            let lanes: Vec<Option<usize>> = (first..(first + 32).min(threads))
                .map(|thread| {
                    let at = t.dist.coordinate(thread, v, rank);
                    at.iter()
                        .zip(&t.shape)
                        .all(|(c, s)| c < s)
                        .then_some(thread)
                })
                .collect();
            let c = cost(&lanes, v);
            if c.taken.saturating_sub(c.least) > worst.taken.saturating_sub(worst.least)
                || worst.taken == 0
            {
                worst = c;
            }
        }
    }
    worst
}

#[allow(clippy::too_many_arguments)]
fn shared(
    kernel: &Kernel,
    view: &SharedView,
    t: &TensorType,
    vector: u32,
    verb: &str,
    span: Span,
    sink: &mut Sink,
    report: &mut Report,
) {
    let bytes = i64::from(t.dtype.bytes());
    let rank = t.shape.len();
    let writes = verb == "store";
    let cost = worst(t, vector.max(1) as usize, |lanes, v| {
        let at: Vec<Option<i64>> = lanes
            .iter()
            .map(|thread| {
                let thread = (*thread)?;
                if writes && !super::first_holder(&t.dist, thread as u32) {
                    return None;
                }
                let linear = view.linear(&t.dist.coordinate(thread, v, rank));
                Some(view.swizzle.map_or(linear, |x| x.apply(linear)) * bytes)
            })
            .collect();
        wavefronts(at, bytes * i64::from(vector.max(1)), writes)
    });
    let name = &kernel.shared[view.alloc].name;
    let text = format!(
        "{verb}: {} wavefronts an access, {} at least",
        cost.taken, cost.least
    );
    report
        .add("bank conflicts", span, name, text)
        .number("wavefronts", cost.taken.into())
        .number("least", cost.least.into());
    if cost.taken > cost.least && kernel.deny.contains(&Deny::BankConflicts) {
        sink.push(
            Diag::error(
                codes::BANK_CONFLICTS,
                span,
                format!(
                    "the {verb} of `{name}` takes {} wavefronts where {} would do",
                    cost.taken, cost.least
                ),
            )
            .note(format!(
                "{vector} elements of {bytes} bytes a lane; the map is {}",
                t.dist
            )),
        );
    }
}

#[allow(clippy::too_many_arguments)]
fn global(
    kernel: &Kernel,
    view: &GlobalView,
    t: &TensorType,
    access: &Access,
    verb: &str,
    span: Span,
    sink: &mut Sink,
    report: &mut Report,
) {
    let bytes = i64::from(t.dtype.bytes());
    let rank = t.shape.len();
    let along = contiguous_axis(kernel, view);
    let n = access.vector.max(1);
    let writes = verb == "store";
    let cost = worst(t, n as usize, |lanes, v| {
        let mut sectors = BTreeSet::new();
        let mut cells = BTreeSet::new();
        for thread in lanes.iter().flatten() {
            if writes && !super::first_holder(&t.dist, *thread as u32) {
                continue;
            }
            let mut at = t.dist.coordinate(*thread, v, rank);
            let within = along.map_or(0, |a| std::mem::take(&mut at[a]));
            let (row, within) = match fixed_row(kernel, view, &at) {
                Some(row) => (Vec::new(), (row + i64::from(within)) * bytes),
                None => (at, i64::from(within) * bytes),
            };
            for byte in (within..within + bytes * i64::from(n)).step_by(bytes as usize) {
                sectors.insert((row.clone(), byte / SECTOR_BYTES));
                cells.insert((row.clone(), byte));
            }
        }
        Cost {
            taken: sectors.len() as u32,
            least: (cells.len() as u32 * bytes as u32).div_ceil(SECTOR_BYTES as u32),
        }
    });
    let name = &kernel.params[view.param].name;
    report
        .add(
            "sectors",
            span,
            name,
            format!(
                "{verb}: {} sectors a warp's access, {} at least",
                cost.taken, cost.least
            ),
        )
        .number("sectors", cost.taken.into())
        .number("least", cost.least.into());
    if cost.taken > cost.least && kernel.deny.contains(&Deny::Uncoalesced) {
        sink.push(
            Diag::error(
                codes::UNCOALESCED,
                span,
                format!(
                    "a warp's {verb} of `{name}` touches {} sectors where {} would do",
                    cost.taken, cost.least
                ),
            )
            .note(format!(
                "{n} elements of {bytes} bytes a lane; the map is {}",
                t.dist
            )),
        );
    }
}

/// Elements from the tile's first to this row's, if facts fix the pitch.
fn fixed_row(kernel: &Kernel, view: &GlobalView, at: &[u32]) -> Option<i64> {
    let p = &kernel.params[view.param];
    let ParamKind::Tensor { rank, strided, .. } = p.kind else {
        return None;
    };
    let mut sum = 0;
    for (axis, c) in view.axes.iter().zip(at) {
        let pitch: Option<i64> = (axis.axis + 1..rank as usize)
            .map(|a| p.extents.get(a).copied().flatten().map(i64::from))
            .product();
        match pitch {
            _ if *c == 0 => {}
            Some(n) if !strided => sum += i64::from(*c) * n,
            _ => return None,
        }
    }
    Some(sum)
}
