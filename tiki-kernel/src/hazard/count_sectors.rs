//! Sectors that a warp's access of global memory touches, by enumeration of its lanes.
//!
//! A sector has 32 bytes. Where a row's pitch is a run-time value, rows are taken to begin at sectors.

use super::count_traffic::{Cost, a_lane, worst};
use crate::artifact::ParamKind;
use crate::ast::Span;
use crate::check::map::linear;
use crate::diag::{Diag, Sink, codes};
use crate::ir::{Access, Coordinates, Deny, GlobalView, Kernel, TensorType};
use crate::report::Report;
use crate::schedule::narrow_global::contiguous_axis;
use tiki_layout::banks::SECTOR_BYTES;

/// Counts one access.
#[allow(clippy::too_many_arguments)]
pub(super) fn tile(
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
    let along = contiguous_axis(kernel, view);
    let n = access.vector.max(1);
    let writes = verb == "store";
    let priced = |t: &TensorType, n: u32| {
        let all = Coordinates::new(&t.dist, t.shape.len());
        worst(t, n as usize, |lanes, v| {
            let mut cells: Vec<(u64, i64)> = Vec::new();
            for thread in lanes.iter().flatten() {
                if writes && !super::first_holder(&t.dist, *thread as u32) {
                    continue;
                }
                let mut at = all.at(*thread, v);
                let within = along.map_or(0, |a| std::mem::take(&mut at[a]));
                let (row, within) = match fixed_row(kernel, view, &at) {
                    Some(row) => (0, (row + i64::from(within)) * bytes),
                    None => (numbered(&at, &t.shape), i64::from(within) * bytes),
                };
                let run = (within..within + bytes * i64::from(n)).step_by(bytes as usize);
                cells.extend(run.map(|byte| (row, byte)));
            }
            cells.sort_unstable();
            cells.dedup();
            let least = (cells.len() as u32 * bytes as u32).div_ceil(SECTOR_BYTES as u32);
            cells.dedup_by_key(|(row, byte)| (*row, *byte / SECTOR_BYTES));
            Some(Cost {
                taken: cells.len() as u32,
                least,
            })
        })
    };
    let cost = priced(t, n);
    let cost = cost.unwrap_or_default();
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
        let threads = t.dist.thread_count();
        let straight = TensorType {
            dist: linear(threads, &t.shape, 1),
            ..t.clone()
        };
        let mut diag = Diag::error(
            codes::UNCOALESCED,
            span,
            format!(
                "a warp's {verb} of `{name}` touches {} sectors where {} would do",
                cost.taken, cost.least
            ),
        )
        .note(a_lane(t, n));
        // Counted by the same code: offered only if it is the cure.
        if let Some(c) = priced(&straight, 1).filter(|c| c.taken <= c.least) {
            diag = diag.help(format!(
                "with `ThreadMap::linear({threads})` neighbouring threads take neighbouring elements: {} sectors",
                c.taken
            ));
        }
        sink.push(diag);
    }
}

/// A coordinate as one number.
fn numbered(at: &[u32], shape: &[u32]) -> u64 {
    at.iter()
        .zip(shape)
        .fold(0, |n, (c, s)| n * u64::from(*s) + u64::from(*c))
}

/// Elements from the tile's first to this row's, if facts fix the pitch.
fn fixed_row(kernel: &Kernel, view: &GlobalView, at: &[u32]) -> Option<i64> {
    let p = &kernel.params[view.param];
    let ParamKind::Tensor { rank, strided, .. } = p.kind else {
        return None;
    };
    let strided = strided || view.window.is_some();
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
