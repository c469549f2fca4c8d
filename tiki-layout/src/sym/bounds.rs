//! Intervals of terms: the cheap half of the prover, and the seed of its product rules.
//!
//! A bound that is missing means "not known", never "infinite". Arithmetic that leaves 128 bits loses the bound.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::changes::Changes;
use super::poly::{Atom, Monomial, Poly};

/// Rounds of propagation: each lets a bound travel one relation further (`i <= n - 1`, `n <= N`, `N <= 4096`).
const ROUNDS: usize = 6;

/// What is known of the smallest and the largest value of a term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Interval {
    /// No admissible value is below it.
    pub low: Option<i128>,
    /// No admissible value is above it.
    pub high: Option<i128>,
}

impl Interval {
    /// Nothing known.
    pub const UNKNOWN: Interval = Interval {
        low: None,
        high: None,
    };

    /// The interval of one number.
    pub fn exactly(k: i128) -> Interval {
        Interval {
            low: Some(k),
            high: Some(k),
        }
    }

    /// The only value, if there is only one.
    pub fn single(&self) -> Option<i128> {
        self.low.filter(|low| Some(*low) == self.high)
    }

    /// Whether the bounds leave no value.
    pub fn is_empty(&self) -> bool {
        matches!((self.low, self.high), (Some(l), Some(h)) if l > h)
    }

    /// Values in both.
    #[must_use]
    pub fn intersect(self, other: Interval) -> Interval {
        let pick = |a: Option<i128>, b: Option<i128>, f: fn(i128, i128) -> i128| match (a, b) {
            (Some(a), Some(b)) => Some(f(a, b)),
            (a, b) => a.or(b),
        };
        Interval {
            low: pick(self.low, other.low, i128::max),
            high: pick(self.high, other.high, i128::min),
        }
    }

    fn add(self, other: Interval) -> Interval {
        let sum = |a: Option<i128>, b: Option<i128>| a?.checked_add(b?);
        Interval {
            low: sum(self.low, other.low),
            high: sum(self.high, other.high),
        }
    }

    fn scale(self, k: i128) -> Interval {
        let times = |a: Option<i128>| a?.checked_mul(k);
        let (a, b) = (times(self.low), times(self.high));
        if k == 0 {
            Interval::exactly(0)
        } else if k > 0 {
            Interval { low: a, high: b }
        } else {
            Interval { low: b, high: a }
        }
    }

    fn mul(self, other: Interval) -> Interval {
        if let (Some(a), Some(b), Some(c), Some(d)) = (self.low, self.high, other.low, other.high) {
            let corners = [
                a.checked_mul(c),
                a.checked_mul(d),
                b.checked_mul(c),
                b.checked_mul(d),
            ];
            if corners.iter().all(Option::is_some) {
                let corners = corners.map(|c| c.unwrap_or(0));
                return Interval {
                    low: corners.iter().min().copied(),
                    high: corners.iter().max().copied(),
                };
            }
            return Interval::UNKNOWN;
        }
        // With a missing end, only products of one sign are bounded.
        let sign = |i: Interval| match (i.low, i.high) {
            (Some(l), _) if l >= 0 => 1,
            (_, Some(h)) if h <= 0 => -1,
            _ => 0,
        };
        let (s, t) = (sign(self), sign(other));
        if s == 0 || t == 0 {
            return Interval::UNKNOWN;
        }
        let (x, y) = (self.scale(s), other.scale(t));
        let product = |a: Option<i128>, b: Option<i128>| a?.checked_mul(b?);
        Interval {
            low: product(x.low, y.low),
            high: product(x.high, y.high),
        }
        .scale(s * t)
    }

    fn floor_div(self, k: i128) -> Interval {
        Interval {
            low: self.low.map(|l| l.div_euclid(k)),
            high: self.high.map(|h| h.div_euclid(k)),
        }
    }
}

/// Intervals of monomials that the relations of a store imply.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// Of the variables, by number.
    variables: Vec<Interval>,
    /// Of the other monomials.
    others: BTreeMap<Monomial, Interval>,
    /// Another round would find nothing.
    complete: bool,
}

impl Bounds {
    /// Propagates the relations `p <= 0`.
    pub fn of(relations: &[Arc<Poly>]) -> Bounds {
        let mut bounds = Bounds::default();
        bounds.propagate_from(relations, 0);
        bounds
    }

    /// Propagates relations of which all but those from `new` on are in these bounds.
    pub fn learn(&mut self, relations: &[Arc<Poly>], new: usize) {
        if self.complete || new == 0 {
            self.propagate_from(relations, new);
        }
        if !self.complete {
            *self = Bounds::of(relations);
        }
    }

    /// Rounds over the relations, in which those are left out of which nothing has changed since their last turn.
    fn propagate_from(&mut self, relations: &[Arc<Poly>], new: usize) {
        let mut changes = Changes::default();
        let mut turns = vec![1; new];
        turns.resize(relations.len(), 0);
        self.complete = false;
        for _ in 0..ROUNDS {
            let before = changes.count;
            for (p, turn) in relations.iter().zip(&mut turns) {
                if *turn == 0 || changes.since(p, *turn) {
                    *turn = changes.count + 1;
                    self.propagate(p, &mut changes);
                }
            }
            if changes.count == before {
                self.complete = true;
                break;
            }
        }
    }

    /// Whether some monomial has no possible value.
    pub fn contradictory(&self) -> bool {
        let mut all = self.variables.iter().chain(self.others.values());
        all.any(Interval::is_empty)
    }

    /// From `c*m + rest <= 0`: `m <= floor(-min(rest)/c)` for `c > 0`, `m >= ceil(min(rest)/-c)` for `c < 0`.
    fn propagate(&mut self, p: &Poly, changes: &mut Changes) {
        let intervals = |bounds: &Bounds| -> Vec<Interval> {
            p.variable_terms()
                .map(|(m, c)| bounds.monomial(m).scale(c))
                .collect()
        };
        let mut terms = intervals(self);
        for (i, (m, c)) in p.variable_terms().enumerate() {
            let mut rest = Interval::exactly(p.offset());
            for (j, term) in terms.iter().enumerate() {
                if i != j {
                    rest = rest.add(*term);
                }
            }
            let Some(low) = rest.low else { continue };
            let found = if c > 0 {
                Interval {
                    low: None,
                    high: low.checked_neg().map(|n| n.div_euclid(c)),
                }
            } else {
                let Some(k) = c.checked_neg() else { continue };
                Interval {
                    low: low.checked_add(k - 1).map(|n| n.div_euclid(k)),
                    high: None,
                }
            };
            if self.narrow(m, found) {
                changes.note(m);
                terms = intervals(self);
            }
        }
    }

    /// Takes a bound of a monomial; whether it is news.
    fn narrow(&mut self, m: &Monomial, found: Interval) -> bool {
        let known = self.stored(m);
        let both = known.intersect(found);
        if both == known {
            return false;
        }
        if let [Atom::Var(v)] = m.as_slice() {
            let v = *v as usize;
            if self.variables.len() <= v {
                self.variables.resize(v + 1, Interval::UNKNOWN);
            }
            self.variables[v] = both;
        } else {
            self.others.insert(m.clone(), both);
        }
        true
    }

    /// Of a variable.
    pub fn variable(&self, v: u32) -> Interval {
        self.variables.get(v as usize).copied().unwrap_or_default()
    }

    fn stored(&self, m: &[Atom]) -> Interval {
        match m {
            [Atom::Var(v)] => self.variable(*v),
            _ => self.others.get(m).copied().unwrap_or_default(),
        }
    }

    fn atom(&self, atom: &Atom) -> Interval {
        match atom {
            Atom::Var(_) => Interval::UNKNOWN,
            Atom::Floor(p, k) => self.poly(p).floor_div(*k),
            Atom::Quotient(p, q) => {
                let (p, q) = (self.poly(p), self.poly(q));
                // An admissible divisor is at least 1, so a quotient of a non-negative term lies in 0..=p/low(q).
                match (p.low, p.high) {
                    (Some(l), high) if l >= 0 => {
                        let least = q.low.unwrap_or(1).max(1);
                        Interval {
                            low: Some(0),
                            high: high.map(|h| h.div_euclid(least)),
                        }
                    }
                    _ => Interval::UNKNOWN,
                }
            }
            Atom::Min(a, b) | Atom::Max(a, b) => {
                let (a, b) = (self.poly(a), self.poly(b));
                let both =
                    |x: Option<i128>, y: Option<i128>, f: fn(i128, i128) -> i128| Some(f(x?, y?));
                let either =
                    |x: Option<i128>, y: Option<i128>, f: fn(i128, i128) -> i128| match (x, y) {
                        (Some(x), Some(y)) => Some(f(x, y)),
                        (x, y) => x.or(y),
                    };
                if matches!(atom, Atom::Min(..)) {
                    Interval {
                        low: both(a.low, b.low, i128::min),
                        high: either(a.high, b.high, i128::min),
                    }
                } else {
                    Interval {
                        low: either(a.low, b.low, i128::max),
                        high: both(a.high, b.high, i128::max),
                    }
                }
            }
        }
    }

    pub fn monomial(&self, m: &Monomial) -> Interval {
        if let [Atom::Var(v)] = m.as_slice() {
            return self.variable(*v);
        }
        let mut product: Option<Interval> = None;
        let mut at = 0;
        while at < m.len() {
            let one = self.atom(&m[at]).intersect(self.stored(&m[at..=at]));
            let power = m[at..].iter().take_while(|a| **a == m[at]).count();
            let mut value = one;
            for _ in 1..power {
                value = value.mul(one);
            }
            if power % 2 == 0 {
                // An even power is never negative, whatever its base.
                value = value.intersect(Interval {
                    low: Some(0),
                    high: None,
                });
            }
            product = Some(product.map_or(value, |p| p.mul(value)));
            at += power;
        }
        product
            .unwrap_or(Interval::exactly(1))
            .intersect(self.stored(m))
    }

    pub fn poly(&self, p: &Poly) -> Interval {
        p.terms.iter().fold(Interval::exactly(0), |sum, (m, c)| {
            sum.add(self.monomial(m).scale(*c))
        })
    }
}
