//! What accesses cost, counted per line: wavefronts of shared memory, sectors of global memory, lanes that
//! take part.
//!
//! The counts are the model's of [`tiki_layout::banks`], request by request. A request that looks like one
//! before it (the same lanes, the same distances, the same place in a line) is not counted anew.

use super::access::Addresses;
use super::fault::{Code, Fault, Source};
use super::launch::Env;
use crate::vm::meaning::LANES;
use std::collections::HashMap;
use tiki_layout::banks::{GlobalAccess, SharedAccess};

/// Kinds of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    SharedLoad,
    SharedStore,
    Matrices,
    Global,
}

/// What the accesses of a line cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// Line of the PTX text.
    pub ptx_line: u32,
    /// Place in the author's source.
    pub source: Option<Source>,
    /// Shared memory, counted in wavefronts; global memory, in sectors of 32 bytes, if not.
    pub shared: bool,
    /// Requests of warps.
    pub requests: u64,
    /// Lanes that took part.
    pub lanes: u64,
    /// Wavefronts or sectors.
    pub moved: u64,
    /// As few as they could be for as many bytes.
    pub ideal: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    requests: u64,
    lanes: u64,
    moved: u64,
    ideal: u64,
}

impl Sum {
    fn add(&mut self, mask: u32, (moved, ideal): (u32, u32)) {
        self.requests += 1;
        self.lanes += u64::from(mask.count_ones());
        self.moved += u64::from(moved);
        self.ideal += u64::from(ideal);
    }
}

/// Counts of a step.
#[derive(Debug, Default)]
struct OfStep {
    /// Of global and of shared memory.
    sums: [Sum; 2],
    /// The last request of the quick path.
    last: Option<Last>,
}

/// A request, but for the line that it begins in, and what it cost.
#[derive(Debug)]
struct Last {
    mask: u32,
    /// Place of the first lane in its line.
    low: u32,
    /// Distances of the lanes from the first.
    far: [u32; LANES],
    cost: (u32, u32),
}

/// Counts by step.
#[derive(Debug, Default)]
pub(super) struct Costs {
    steps: Vec<OfStep>,
    seen: HashMap<u64, (u32, u32)>,
}

impl Costs {
    fn of(&mut self, pc: u32) -> &mut OfStep {
        let at = pc as usize;
        if at >= self.steps.len() {
            self.steps.resize_with(at + 1, OfStep::default);
        }
        &mut self.steps[at]
    }

    /// Counts a request of the lanes of a mask.
    pub(super) fn count(&mut self, pc: u32, kind: Kind, at: &Addresses, mask: u32, width: u32) {
        let cost = self.cost(kind, at, mask, width);
        self.of(pc).sums[usize::from(kind != Kind::Global)].add(mask, cost);
    }

    /// The same with offsets in a buffer; a step that does again what it did last is not looked up.
    pub(super) fn count_near(
        &mut self,
        pc: u32,
        kind: Kind,
        at: &[u32; LANES],
        mask: u32,
        width: u32,
    ) {
        let first = at[mask.trailing_zeros() as usize & 31];
        let mut far = *at;
        for x in &mut far {
            *x = x.wrapping_sub(first);
        }
        let step = self.of(pc);
        let cost = match &step.last {
            Some(l) if (l.mask, l.low) == (mask, first & 127) && l.far == far => l.cost,
            _ => {
                let cost = self.cost(kind, &at.map(u64::from), mask, width);
                self.of(pc).last = Some(Last {
                    mask,
                    low: first & 127,
                    far,
                    cost,
                });
                cost
            }
        };
        self.of(pc).sums[usize::from(kind != Kind::Global)].add(mask, cost);
    }

    /// What a request costs.
    fn cost(&mut self, kind: Kind, at: &Addresses, mask: u32, width: u32) -> (u32, u32) {
        let first = at[mask.trailing_zeros() as usize & 31];
        let mut hash = 0xcbf2_9ce4_8422_2325u64 ^ u64::from(mask) << 8 ^ u64::from(width);
        hash ^= (kind as u64) << 40 ^ (first & 127) << 44;
        for i in 0..LANES {
            let d = if mask >> i & 1 == 1 {
                at[i].wrapping_sub(first)
            } else {
                0
            };
            hash = (hash ^ d).wrapping_mul(0x0000_0100_0000_01b3);
            hash ^= hash >> 29;
        }
        *self
            .seen
            .entry(hash)
            .or_insert_with(|| measure(kind, at, mask, width, first))
    }

    /// Adds the counts of another team.
    pub(super) fn add(&mut self, other: Costs) {
        for (pc, theirs) in (0..).zip(other.steps) {
            for (sum, s) in self.of(pc).sums.iter_mut().zip(theirs.sums) {
                sum.requests += s.requests;
                sum.lanes += s.lanes;
                sum.moved += s.moved;
                sum.ideal += s.ideal;
            }
        }
    }

    /// The counts by line.
    pub(super) fn list(&self, env: &Env<'_>) -> Vec<Cost> {
        let of = |pc: usize, shared: bool, s: &Sum| {
            let step = env.kernel.code.get(pc)?;
            (s.requests > 0).then(|| Cost {
                ptx_line: step.line,
                source: env.source(step),
                shared,
                requests: s.requests,
                lanes: s.lanes,
                moved: s.moved,
                ideal: s.ideal,
            })
        };
        let steps = self.steps.iter().enumerate();
        steps
            .flat_map(|(pc, step)| [of(pc, false, &step.sums[0]), of(pc, true, &step.sums[1])])
            .flatten()
            .collect()
    }
}

/// Wavefronts or sectors of a request, and the ideal.
fn measure(kind: Kind, at: &Addresses, mask: u32, width: u32, first: u64) -> (u32, u32) {
    // Distances from the start of a line are what matters.
    let base = first & !127;
    let lane = |i: usize| (mask >> i & 1 == 1).then(|| at[i].wrapping_sub(base) as i64 + (1 << 40));
    let width = i64::from(width);
    let shared = |a: SharedAccess| {
        let r = a.report();
        (r.wavefronts as u32, r.ideal as u32)
    };
    match kind {
        Kind::SharedLoad => SharedAccess::load(width, (0..LANES).map(lane)).map_or((0, 0), shared),
        Kind::SharedStore => {
            SharedAccess::store(width, (0..LANES).map(lane)).map_or((0, 0), shared)
        }
        Kind::Matrices => {
            let rows = mask.count_ones() as usize;
            SharedAccess::matrices((0..rows).filter_map(lane)).map_or((0, 0), shared)
        }
        Kind::Global => GlobalAccess::new(width, (0..LANES).map(lane)).map_or((0, 0), |a| {
            let r = a.report();
            (r.sectors as u32, r.ideal as u32)
        }),
    }
}

impl Cost {
    /// Remarks: lines that move more than they need, and lines with few lanes.
    pub(super) fn remarks(&self, kernel: &str) -> Vec<Fault> {
        let mut out = vec![];
        let mut say = |code: Code, text: String| {
            let mut f = Fault::new(code, kernel, text);
            f.ptx_line = self.ptx_line;
            f.source.clone_from(&self.source);
            out.push(f);
        };
        if self.moved > self.ideal {
            let (code, what) = if self.shared {
                (Code::Banks, "wavefronts of shared memory")
            } else {
                (Code::Sectors, "sectors of global memory")
            };
            let text = format!(
                "{} requests take {} {what}, {} would do",
                self.requests, self.moved, self.ideal
            );
            say(code, text);
        }
        if self.lanes < 16 * self.requests {
            let mean = self.lanes as f64 / self.requests as f64;
            let text = format!(
                "{} requests have {mean:.1} lanes of 32 on average",
                self.requests
            );
            say(Code::Divergence, text);
        }
        out
    }
}
