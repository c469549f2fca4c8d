//! The requests that reach one shared allocation, kept so that a message about one of them can offer a swizzle.
//!
//! A swizzle is offered only if, with it, every request of the allocation takes the least there is: each is counted
//! again under the candidate by the same code. The candidates leave alone the low bits that a vector or a row of
//! 16 bytes needs next to each other, and stay within the allocation. Nothing is offered where something else reads
//! the bytes too, for which it may be the wrong one: a descriptor, the accelerator's copies, single elements.

use super::count_traffic::{Cost, priced, worst};
use crate::diag::{Diag, Sink};
use crate::ir::asynchronous::Async;
use crate::ir::visit::each;
use crate::ir::{
    Coordinates, Kernel, MmaKind, Op, Operand, Place, SharedView, Steps, StmtKind, TensorType, Xor,
};
use std::collections::BTreeSet;
use tiki_layout::banks::SharedAccess;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Load,
    Store,
    Matrices,
}

/// One access of a tile.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// What is accessed.
    pub view: SharedView,
    tile: TensorType,
    vector: u32,
    kind: Kind,
}

impl Request {
    /// Loads of `vector` elements a lane.
    pub fn load(view: &SharedView, tile: &TensorType, vector: u32) -> Self {
        Self::new(view, tile, vector, Kind::Load)
    }
    /// Stores of `vector` elements a lane.
    pub fn store(view: &SharedView, tile: &TensorType, vector: u32) -> Self {
        Self::new(view, tile, vector, Kind::Store)
    }
    /// Rows of 16 bytes of 8 x 8 matrices; `rows` says which lane names which.
    pub fn matrices(view: &SharedView, rows: &TensorType) -> Self {
        Self::new(view, rows, 1, Kind::Matrices)
    }
    fn new(view: &SharedView, tile: &TensorType, vector: u32, kind: Kind) -> Self {
        let (view, tile) = (view.clone(), tile.clone());
        Request {
            view,
            tile,
            vector,
            kind,
        }
    }

    /// What it costs under a swizzle; `None` if it cannot be counted.
    pub fn cost(&self, swizzle: Option<Xor>) -> Option<Cost> {
        let (t, bytes) = (&self.tile, i64::from(self.tile.dtype.bytes()));
        let width = bytes * i64::from(self.vector);
        let stores = |thread: &usize| {
            self.kind != Kind::Store || super::first_holder(&t.dist, *thread as u32)
        };
        let all = Coordinates::new(&t.dist, t.shape.len());
        let steps = Steps::new(&t.shape, |axis, c| self.view.step(axis, c));
        worst(t, self.vector as usize, |lanes, v| {
            let address = |thread: usize| {
                let linear = self.view.offset + all.sum(&steps, thread, v)?;
                Some(swizzle.map_or(linear, |x| x.apply(linear)) * bytes)
            };
            let at = lanes
                .iter()
                .map(|lane| lane.filter(stores).and_then(address));
            priced(match self.kind {
                Kind::Load => SharedAccess::load(width, at),
                Kind::Store => SharedAccess::store(width, at),
                Kind::Matrices => SharedAccess::matrices(at.flatten()),
            })
        })
    }

    /// Elements, a power of two, that must stay next to each other.
    fn together(&self) -> u32 {
        match self.kind {
            Kind::Matrices => 16 / self.tile.dtype.bytes(),
            _ => self.vector.next_power_of_two(),
        }
    }
}

/// All requests, and what is denied of them.
#[derive(Debug, Default)]
pub(super) struct Requests {
    seen: Vec<Request>,
    refused: Vec<(usize, Diag)>,
}

impl Requests {
    /// Keeps one.
    pub fn add(&mut self, request: Request) {
        self.seen.push(request);
    }
    /// Keeps what is denied, of this allocation.
    pub fn refuse(&mut self, alloc: usize, diag: Diag) {
        self.refused.push((alloc, diag));
    }

    /// Tells what is denied, with the swizzle that helps.
    pub fn tell(self, kernel: &Kernel, sink: &mut Sink) {
        if self.refused.is_empty() {
            return;
        }
        let bound = bound(kernel);
        for (alloc, mut diag) in self.refused {
            let all: Vec<&Request> = self.seen.iter().filter(|r| r.view.alloc == alloc).collect();
            if !bound.contains(&alloc)
                && let Some(x) = cure(kernel, alloc, &all)
            {
                let (bits, base, shift) = (x.bits, x.base, x.shift);
                let name = &kernel.shared[alloc].name;
                diag = diag.help(format!(
                    "with `.swizzle(Swizzle::new({bits}, {base}, {shift}))` on the layout of `{name}` each of its {} accesses takes the least",
                    all.len()
                ));
            }
            sink.push(diag);
        }
    }
}

/// Allocations whose swizzle is not free to choose.
fn bound(kernel: &Kernel) -> BTreeSet<usize> {
    let mut bound: BTreeSet<usize> = kernel
        .shared
        .iter()
        .enumerate()
        .filter_map(|(i, s)| s.over.map(|(under, _)| [i, under]))
        .flatten()
        .collect();
    each(&kernel.body, &mut |stmt| match &stmt.kind {
        StmtKind::Async(Async::Mma(mma))
            if !matches!(mma.kind, MmaKind::Warp | MmaKind::WarpThrice) =>
        {
            bound.insert(mma.b.alloc);
            if let Operand::Shared(view) = &mma.a {
                bound.insert(view.alloc);
            }
        }
        StmtKind::Async(Async::TensorCopy(copy)) => {
            bound.insert(copy.shared.alloc);
        }
        StmtKind::Let(
            _,
            Op::LoadElement {
                place: Place::Shared(view),
                ..
            },
        )
        | StmtKind::StoreSharedElement { view, .. } => {
            bound.insert(view.alloc);
        }
        _ => {}
    });
    bound
}

/// A swizzle under which every request takes the least, of the fewest bits.
fn cure(kernel: &Kernel, alloc: usize, all: &[&Request]) -> Option<Xor> {
    let shared = &kernel.shared[alloc];
    if all.is_empty() || all.iter().any(|r| r.view.swizzle.is_some()) {
        return None;
    }
    let base = all.iter().map(|r| r.together()).max()?.trailing_zeros();
    // Within one stage, whose size stays what it is.
    let elements = shared.bytes / shared.dtype.bytes() / shared.stages.max(1);
    let room = elements.trailing_zeros();
    (1..=5).find_map(|bits| {
        (bits..=room.saturating_sub(base + bits))
            .map(|shift| Xor {
                bits,
                base,
                shift: shift as i32,
            })
            .find(|x| {
                let least = |r: &&Request| r.cost(Some(*x)).is_some_and(|c| c.taken <= c.least);
                all.iter().all(least)
            })
    })
}
