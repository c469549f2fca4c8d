//! Witnesses: a few admissible assignments that the store keeps, to see at once what cannot be shown.
//!
//! Facts that hold together at a witness do not contradict each other, and what is false at one cannot be proven: the
//! elimination would end without a result, after a thousand times the work. So a witness changes no answer. Candidates
//! are the ends of all variables' ranges and the witnesses from before the last fact, moved into the new ranges; none
//! of them need be admissible, and each is kept only if every fact holds at it.

use std::sync::Arc;

use super::Facts;
use super::poly::Poly;

/// Values of the variables, by number. What a defined variable has here is of no meaning: normal forms do not name it.
pub(super) type Witness = Arc<[i128]>;

/// Most that are kept.
const MOST: usize = 4;
/// Beyond a range without an end, from its other end.
const FAR: i128 = 1 << 20;

impl Facts {
    /// Whether `p <= 0` is false at a witness.
    pub(super) fn witnessed_false(&self, p: &Poly) -> bool {
        self.witnesses
            .iter()
            .any(|w| value(p, w).is_some_and(|p| p > 0))
    }

    /// Looks for witnesses of the facts as they are now.
    pub(super) fn find_witnesses(&mut self) {
        let known = core::mem::take(&mut self.witnesses);
        let count = self.variable_count();
        let range = |v: u32| self.bounds().variable(v);
        let ends = |low: bool| {
            (0..count).map(move |v| {
                let r = range(v);
                let (near, far) = match low {
                    true => (r.low, r.high.map(|h| h.min(0))),
                    false => (r.high, r.low.map(|l| l.saturating_add(FAR))),
                };
                near.or(far).unwrap_or(0)
            })
        };
        let moved = |w: &Witness| -> Witness {
            (0..count)
                .zip(ends(true))
                .map(|(v, low)| {
                    let r = range(v);
                    let old = w.get(v as usize).copied().unwrap_or(low);
                    let least = r.low.map_or(old, |l| old.max(l));
                    r.high.map_or(least, |h| least.min(h))
                })
                .collect()
        };
        let mut found: Vec<Witness> = Vec::with_capacity(MOST);
        let moved: Vec<Witness> = known.iter().map(moved).collect();
        let new = [true, false].map(|low| ends(low).collect());
        for candidate in new.into_iter().chain(moved) {
            if found.len() < MOST && !found.contains(&candidate) && self.holds_at(&candidate) {
                found.push(candidate);
            }
        }
        self.witnesses = found;
    }

    /// Whether all facts hold at an assignment.
    fn holds_at(&self, w: &Witness) -> bool {
        let at_most_zero = |p: &Poly| value(p, w).is_some_and(|p| p <= 0);
        self.relations().iter().all(|p| at_most_zero(p)) && self.ties().all(|p| at_most_zero(&p))
    }
}

fn value(p: &Poly, w: &Witness) -> Option<i128> {
    p.at(&mut |v| w.get(v as usize).copied())
}
