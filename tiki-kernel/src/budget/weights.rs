//! What live registers weigh.
//!
//! Liveness is summed up at every statement, twice, so registers that weigh the same are a set of bits: a sum is a count
//! of bits for each of these sets, not a walk over the registers.

use crate::ptx::{Function, Reg, liveness};
use std::collections::{BTreeMap, BTreeSet};

/// Live registers: those of products under way, and the others.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Need {
    pub(super) core: u32,
    pub(super) other: u32,
}

/// A set of registers, a bit each, in words.
pub(super) type Set = Vec<u64>;

pub(super) fn insert(set: &mut Set, r: Reg) {
    set[r.0 as usize / 64] |= 1 << (r.0 % 64);
}

pub(super) fn has(set: &[u64], r: Reg) -> bool {
    set[r.0 as usize / 64] >> (r.0 % 64) & 1 == 1
}

pub(super) fn both(a: &[u64], b: &[u64]) -> Set {
    a.iter().zip(b).map(|(a, b)| a & b).collect()
}

/// How many are in both.
pub(super) fn count(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum()
}

/// The registers of a function that are so.
pub(super) fn marks(function: &Function, so: impl Fn(Reg) -> bool) -> Set {
    let mut set = vec![0; function.regs.len().div_ceil(64)];
    let all = (0..function.regs.len() as u32).map(Reg);
    all.filter(|r| so(*r)).for_each(|r| insert(&mut set, r));
    set
}

/// What registers weigh, as sets of those that weigh the same: liveness is summed up at every statement.
pub(super) struct Weights {
    /// All that count.
    pub(super) all: Set,
    /// Words each, whether of a product under way, and which.
    classes: Vec<(u32, bool, Set)>,
}

impl Weights {
    pub(super) fn new(
        function: &Function,
        core: &BTreeSet<Reg>,
        counts: impl Fn(Reg) -> bool,
    ) -> Weights {
        let all = marks(function, counts);
        let mut classes: BTreeMap<(u32, bool), Set> = BTreeMap::new();
        for r in liveness::members(&all) {
            let class = (liveness::words(function.ty(r)), core.contains(&r));
            let set = classes.entry(class).or_insert_with(|| vec![0; all.len()]);
            insert(set, r);
        }
        let classes = classes.into_iter();
        Weights {
            all,
            classes: classes.map(|((n, core), set)| (n, core, set)).collect(),
        }
    }

    pub(super) fn need(&self, set: &[u64]) -> Need {
        let mut need = Need::default();
        for (words, core, class) in &self.classes {
            let sum = if *core {
                &mut need.core
            } else {
                &mut need.other
            };
            *sum += words * count(set, class);
        }
        need
    }
}
