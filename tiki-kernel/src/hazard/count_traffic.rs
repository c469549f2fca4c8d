//! Wavefronts of shared accesses and sectors of global ones, by enumeration of the lanes of each warp.
//!
//! What a request costs is the bank model's to say (`tiki_layout::banks`). Counted are the instructions that the
//! lowering emits: tiles as wide as the schedule made them, fragments of tensor cores and stores of matrices as
//! [`crate::schedule::fragments`] has them, single elements as far as their coordinates can be followed
//! ([`super::count_elements`]). A warpgroup's product reads 8 rows of 16 bytes at a time, which every layout that a
//! descriptor can name puts into different banks; the accelerator's copies and atomics are no requests of lanes.
//!
//! What cannot be counted is said in the report, and `deny(bank_conflicts)` refuses it: a promise that nobody
//! looked at is none.

use super::requests::{Request, Requests};
use super::{count_elements, count_sectors};
use crate::ast::Span;
use crate::diag::{Diag, Sink, codes};
use crate::ir::Coordinates;
use crate::ir::asynchronous::Async;
use crate::ir::visit::each;
use crate::ir::{
    Access, Deny, Edge, Kernel, Mma, MmaKind, Op, Operand, SharedView, StmtKind, TensorType, Value,
};
use crate::report::Report;
use crate::schedule::fragments::{self, How, Part, Side};
use tiki_layout::banks::{BankError, SharedAccess};

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
    let mut count = Count {
        kernel,
        sink,
        report,
        requests: Requests::default(),
    };
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
            count.tile(into, &t, *vector, "store", stmt.span);
            count_sectors::tile(
                kernel,
                view,
                &t,
                &access,
                "load",
                stmt.span,
                count.sink,
                count.report,
            );
        }
        StmtKind::Async(Async::Mma(mma)) => count.product(mma, stmt.span),
        StmtKind::Let(v, Op::LoadShared { view, vector }) => {
            if let Some(t) = tensor(v) {
                count.tile(view, t, *vector, "load", stmt.span);
            }
        }
        StmtKind::StoreShared {
            view,
            value,
            vector,
        } => {
            if let Some(t) = tensor(value) {
                match fragments::matrix_store(kernel, view, t) {
                    Some(store) => count.matrices(view, &store.rows, "store", stmt.span),
                    None => count.tile(view, t, *vector, "store", stmt.span),
                }
            }
        }
        StmtKind::Let(v, Op::Load { view, access, .. }) => {
            if let Some(t) = tensor(v) {
                count_sectors::tile(
                    kernel,
                    view,
                    t,
                    access,
                    "load",
                    stmt.span,
                    count.sink,
                    count.report,
                );
            }
        }
        StmtKind::Store {
            view,
            value,
            access,
        } => {
            if let Some(t) = tensor(value) {
                count_sectors::tile(
                    kernel,
                    view,
                    t,
                    access,
                    "store",
                    stmt.span,
                    count.sink,
                    count.report,
                );
            }
        }
        _ => {}
    });
    count_elements::run(&mut count);
    let Count { sink, requests, .. } = count;
    requests.tell(kernel, sink);
}

/// The most expensive warp and instruction of a tile's access; `None` if one cannot be counted.
pub(super) fn worst(
    t: &TensorType,
    n: usize,
    cost: impl Fn(&[Option<usize>], usize) -> Option<Cost>,
) -> Option<Cost> {
    let all = Coordinates::new(&t.dist, t.shape.len());
    let threads = all.threads();
    let mut worst = Cost::default();
    for first in (0..threads).step_by(32) {
        for v in (0..all.values()).step_by(n) {
            let lanes: Vec<Option<usize>> = (first..(first + 32).min(threads))
                .map(|thread| {
                    let there = all.inside(&t.shape, thread, v);
                    there.then_some(thread)
                })
                .collect();
            let c = cost(&lanes, v)?;
            if c.taken.saturating_sub(c.least) > worst.taken.saturating_sub(worst.least)
                || worst.taken == 0
            {
                worst = c;
            }
        }
    }
    Some(worst)
}

/// Where counts go.
pub(super) struct Count<'a, 'b> {
    /// The program.
    pub kernel: &'a Kernel,
    /// What is denied goes here.
    pub sink: &'b mut Sink,
    /// What was counted goes here.
    pub report: &'b mut Report,
    /// The requests of each allocation, and what is denied of them.
    pub requests: Requests,
}

impl Count<'_, '_> {
    /// A tile, `vector` elements a lane and instruction.
    fn tile(&mut self, view: &SharedView, t: &TensorType, vector: u32, verb: &str, span: Span) {
        let n = vector.max(1);
        let request = if verb == "store" {
            Request::store(view, t, n)
        } else {
            Request::load(view, t, n)
        };
        self.request(request, verb, span, a_lane(t, n));
    }

    /// 8 x 8 matrices, whose rows the lanes name.
    fn matrices(&mut self, view: &SharedView, rows: &TensorType, verb: &str, span: Span) {
        let note = format!(
            "8 x 8 matrices, a row of 16 bytes a lane; the rows' map is {}",
            rows.dist
        );
        self.request(Request::matrices(view, rows), verb, span, note);
    }

    fn request(&mut self, request: Request, verb: &str, span: Span, note: String) {
        let cost = request.cost(request.view.swizzle);
        self.tell(&request.view, verb, span, cost, note);
        self.requests.add(request);
    }

    /// What a product by warps reads.
    fn product(&mut self, mma: &Mma, span: Span) {
        if !matches!(mma.kind, MmaKind::Warp | MmaKind::WarpThrice) {
            return;
        }
        let kernel = self.kernel;
        let Some(acc) = kernel.vars[mma.acc.0 as usize].ty.tensor() else {
            return;
        };
        let part = |side, rows: u32, warps: u32| Part {
            side,
            warps: mma.warps,
            rows: rows / warps.max(1),
            depth: mma.b.shape()[1],
        };
        let left = match &mma.a {
            Operand::Shared(view) => Some((view, part(Side::A, acc.shape[0], mma.warps.0))),
            Operand::Register(_) => None,
        };
        let right = (&mma.b, part(Side::B, acc.shape[1], mma.warps.1));
        for (view, part) in left.into_iter().chain([right]) {
            // A product that no instruction does is refused where it is lowered.
            match fragments::form(kernel, view, part) {
                Some((t, How::Matrices { .. })) => self.matrices(view, &t, "product", span),
                Some((t, How::Words)) => {
                    let words = 4 / t.dtype.bytes();
                    self.tile(view, &t, words, "product", span);
                }
                None => {}
            }
        }
    }

    /// Tells what a request costs.
    pub fn tell(
        &mut self,
        view: &SharedView,
        verb: &str,
        span: Span,
        cost: Option<Cost>,
        note: String,
    ) {
        let name = &self.kernel.shared[view.alloc].name;
        let denied = self.kernel.deny.contains(&Deny::BankConflicts);
        let Some(cost) = cost else {
            let text = format!("{verb}: not counted");
            self.report.add("bank conflicts", span, name, text);
            if denied {
                let text = format!("the wavefronts of the {verb} of `{name}` cannot be counted");
                self.sink
                    .push(Diag::error(codes::BANK_CONFLICTS, span, text).note(note));
            }
            return;
        };
        let text = format!(
            "{verb}: {} wavefronts an access, {} at least",
            cost.taken, cost.least
        );
        self.report
            .add("bank conflicts", span, name, text)
            .number("wavefronts", cost.taken.into())
            .number("least", cost.least.into());
        if cost.taken > cost.least && denied {
            let (taken, least) = (cost.taken, cost.least);
            let text =
                format!("the {verb} of `{name}` takes {taken} wavefronts where {least} would do");
            let diag = Diag::error(codes::BANK_CONFLICTS, span, text).note(note);
            self.requests.refuse(view.alloc, diag);
        }
    }
}

/// What a lane takes at a time, in words.
pub(super) fn a_lane(t: &TensorType, n: u32) -> String {
    let (bytes, map) = (t.dtype.bytes(), &t.dist);
    match n {
        1 => format!("one element of {bytes} bytes a lane; the map is {map}"),
        _ => format!("{n} elements of {bytes} bytes a lane; the map is {map}"),
    }
}

/// What a request costs; `None` if it is none.
pub(super) fn priced(access: Result<SharedAccess, BankError>) -> Option<Cost> {
    let report = access.ok()?.report();
    Some(Cost {
        taken: report.wavefronts as u32,
        least: report.ideal as u32,
    })
}
