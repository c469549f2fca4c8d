//! A warp: registers, and lanes that may stand at different places.
//!
//! Lanes that run together are a [`Frag`]. A branch that lanes disagree on splits a fragment in two; the
//! one at the lowest place runs first (the deepest call before that), and fragments that meet at one place,
//! with the same calls behind them, are one again. An instruction that needs lanes which stand elsewhere
//! waits for them ([`State::Join`]).

use super::program::Kernel;
use super::transfer::Transfers;
use crate::vm::meaning::{File, Plane};

/// Why a fragment does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It runs.
    Ready,
    /// It waits for lanes of its warp.
    Join(u32),
    /// It waits at a barrier of its block since this generation.
    Bar { id: u8, generation: u64 },
    /// It waits at the cluster's barrier.
    Cluster { generation: u64 },
    /// It waits for a barrier object: block, address, phase that must end.
    Object { block: u32, at: u32, phase: u64 },
}

/// Lanes that stand at one place.
#[derive(Debug, Clone)]
pub(super) struct Frag {
    pub(super) pc: u32,
    pub(super) mask: u32,
    /// Where calls return to, the innermost last.
    pub(super) calls: Vec<u32>,
    pub(super) state: State,
}

#[derive(Debug, Default)]
pub(super) struct Warp {
    pub(super) index: u32,
    /// Lanes that have not left the kernel.
    pub(super) alive: u32,
    pub(super) frags: Vec<Frag>,
    pub(super) file: File,
    pub(super) local: Vec<Plane>,
    pub(super) transfers: Transfers,
    pub(super) steps: u64,
    /// Waits for barrier objects that were told once that it is not over yet.
    pub(super) told: Vec<u32>,
}

impl Warp {
    pub(super) fn new(index: u32, lanes: u32, kernel: &Kernel) -> Warp {
        let mut file = File {
            words: vec![Plane::splat(0); kernel.words],
            preds: vec![0; kernel.preds],
            ..File::default()
        };
        file.preds[3] = u32::MAX;
        for (slot, word) in &kernel.fills {
            file.words[*slot as usize] = Plane::splat(*word);
        }
        Warp {
            index,
            alive: lanes,
            frags: vec![Frag {
                pc: 0,
                mask: lanes,
                calls: vec![],
                state: State::Ready,
            }],
            file,
            local: vec![Plane::splat(0); kernel.local_bytes as usize / 4],
            transfers: Transfers::default(),
            steps: 0,
            told: vec![],
        }
    }

    /// Takes out the fragment to run next, joined with all that stand at its place.
    pub(super) fn pick(&mut self) -> Option<Frag> {
        let at = (0..self.frags.len())
            .filter(|i| self.frags[*i].state == State::Ready)
            .min_by_key(|i| (usize::MAX - self.frags[*i].calls.len(), self.frags[*i].pc))?;
        let mut cur = self.frags.swap_remove(at);
        if !self.frags.is_empty() {
            self.absorb(&mut cur, |s| s == State::Ready);
        }
        Some(cur)
    }

    /// Joins fragments at the same place with the same calls.
    pub(super) fn absorb(&mut self, cur: &mut Frag, which: impl Fn(State) -> bool) {
        let mut i = 0;
        while i < self.frags.len() {
            let f = &self.frags[i];
            if which(f.state) && f.pc == cur.pc && f.calls == cur.calls {
                cur.mask |= f.mask;
                self.frags.swap_remove(i);
            } else {
                i += 1;
            }
        }
    }

    /// The place at which `cur` meets or passes another fragment that could run.
    pub(super) fn limit(&self, cur: &Frag) -> u32 {
        self.frags
            .iter()
            .filter(|f| f.state == State::Ready && f.calls.len() == cur.calls.len())
            .map(|f| f.pc)
            .min()
            .unwrap_or(u32::MAX)
    }
}
