//! Witnesses: a few admissible assignments that the store keeps, to see at once what cannot be shown.
//!
//! Facts that hold together at a witness do not contradict each other, and what is false at one cannot be proven: the
//! elimination would end without a result, after a thousand times the work. So a witness changes no answer. Candidates
//! are the ends of all variables' ranges and the witnesses from before the last fact, moved into the new ranges. None
//! of them need be admissible: each is kept only if every fact holds at it.

use std::sync::Arc;

use super::poly::{Atom, Poly};
use super::{Facts, Interval};

/// Values of the variables, by number. What a defined variable has here is of no meaning: normal forms do not name it.
pub(super) type Witness = Arc<[i128]>;

/// Most that are kept, and how many are enough not to look for others.
const MOST: usize = 4;
const FEW: usize = MOST;
/// Beyond a range without an end, from its other end.
const FAR: i128 = 1 << 20;

impl Facts {
    /// Whether `p <= 0` is false at a witness.
    pub(super) fn witnessed_false(&self, p: &Poly) -> bool {
        self.witnesses
            .iter()
            .any(|w| value(p, w).is_some_and(|p| p > 0))
    }

    /// Looks for witnesses of the facts as they are now. At those from before the relations before `new` hold.
    pub(super) fn find_witnesses(&mut self, new: usize) {
        let known = core::mem::take(&mut self.witnesses);
        let mut found: Vec<Witness> = Vec::with_capacity(MOST);
        for old in &known {
            let old = self.extended(old);
            if self.hold_at(&old, new) {
                found.push(old);
            } else {
                self.keep_if_new(&mut found, self.candidate(|v, r| closest(old[v], r)));
            }
        }
        if found.len() < FEW {
            let small = self.bounded_by_others();
            let mixed = |v: usize, r| if small[v] { low_end(r) } else { high_end(r) };
            self.keep_if_new(&mut found, self.candidate(mixed));
            self.keep_if_new(&mut found, self.candidate(|_, r| low_end(r)));
            self.keep_if_new(&mut found, self.candidate(|_, r| high_end(r)));
        }
        self.witnesses = found;
    }

    /// An assignment that is made of each variable's range.
    fn candidate(&self, value: impl Fn(usize, Interval) -> i128) -> Witness {
        let all = 0..self.variable_count();
        all.map(|v| value(v as usize, self.bounds().variable(v)))
            .collect()
    }

    /// A witness with values of the variables that came after it.
    fn extended(&self, w: &Witness) -> Witness {
        match w.len() == self.variable_count() as usize {
            true => Arc::clone(w),
            false => self.candidate(|v, r| w.get(v).copied().unwrap_or(low_end(r))),
        }
    }

    /// Variables that some relation bounds from above by others: `i` in `i < n`, and `d` in `i < floor(n / d)`.
    fn bounded_by_others(&self) -> Vec<bool> {
        let mut small = vec![false; self.variable_count() as usize];
        let several = |p: &&Arc<Poly>| p.variable_terms().nth(1).is_some();
        for p in self.relations().iter().filter(several) {
            rising(p, true, &mut |v| small[v as usize] = true);
        }
        small
    }

    fn keep_if_new(&self, found: &mut Vec<Witness>, w: Witness) {
        if found.len() < MOST && !found.contains(&w) && self.hold_at(&w, 0) {
            found.push(w);
        }
    }

    /// Whether the facts hold at an assignment: the relations from `new` on, and the rules.
    fn hold_at(&self, w: &Witness, new: usize) -> bool {
        let at_most_zero = |p: &Poly| value(p, w).is_some_and(|p| p <= 0);
        let mut relations = self.relations()[new..].iter();
        relations.all(|p| at_most_zero(p)) && self.ties().all(|p| at_most_zero(&p))
    }
}

fn low_end(r: Interval) -> i128 {
    let near = r.low.or(r.high.map(|h| h.min(0)));
    near.unwrap_or(0)
}

fn high_end(r: Interval) -> i128 {
    let near = r.high.or(r.low.map(|l| l.saturating_add(FAR)));
    near.unwrap_or(0)
}

/// Goes through the variables with which a term grows (or falls), its factors taken as positive.
fn rising(p: &Poly, grows: bool, found: &mut impl FnMut(u32)) {
    for (m, c) in p.variable_terms() {
        let grows = grows == (c > 0);
        for atom in m {
            match atom {
                Atom::Var(v) if grows => found(*v),
                Atom::Var(_) => {}
                Atom::Floor(p, _) => rising(p, grows, found),
                Atom::Quotient(a, b) => {
                    rising(a, grows, found);
                    rising(b, !grows, found);
                }
                Atom::Min(a, b) | Atom::Max(a, b) => {
                    rising(a, grows, found);
                    rising(b, grows, found);
                }
            }
        }
    }
}

/// The value of a range that is closest to one.
fn closest(value: i128, r: Interval) -> i128 {
    let least = r.low.map_or(value, |l| value.max(l));
    r.high.map_or(least, |h| least.min(h))
}

fn value(p: &Poly, w: &Witness) -> Option<i128> {
    p.at(&mut |v| w.get(v as usize).copied())
}
