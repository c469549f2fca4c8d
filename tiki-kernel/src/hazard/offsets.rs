//! A set of elements of a shared allocation, a bit each. An access of a tile is as many elements as its threads hold, and
//! a loop is walked twice: trees of them took a tenth of the compilation.

use super::track_shared::{Access, Walk};
use crate::diag::{Diag, codes};
use std::collections::HashMap;

/// Elements by their offset. What cannot be inside shared memory is only known to be there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Offsets {
    words: Vec<u64>,
    outside: bool,
}

/// Something for each element.
#[derive(Debug, Default)]
pub(super) struct ByElement<T> {
    inside: Vec<Option<T>>,
    outside: HashMap<i64, Option<T>>,
}

impl<T: Copy> ByElement<T> {
    /// An element's.
    pub(super) fn slot(&mut self, at: i64) -> &mut Option<T> {
        if !(0..MOST).contains(&at) {
            return self.outside.entry(at).or_default();
        }
        let at = at as usize;
        if self.inside.len() <= at {
            self.inside.resize(at + 1, None);
        }
        &mut self.inside[at]
    }
}

/// No allocation has as many elements.
const MOST: i64 = 1 << 20;

impl Offsets {
    pub(super) fn insert(&mut self, at: i64) {
        if !(0..MOST).contains(&at) {
            self.outside = true;
            return;
        }
        let (word, bit) = (at as usize / 64, at % 64);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << bit;
    }

    pub(super) fn contains(&self, at: i64) -> bool {
        let word = usize::try_from(at)
            .ok()
            .and_then(|at| self.words.get(at / 64));
        word.is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.outside && self.words.iter().all(|word| *word == 0)
    }

    pub(super) fn clear(&mut self) {
        *self = Offsets::default();
    }

    /// Whether any element cannot be inside shared memory.
    pub(super) fn has_outside(&self) -> bool {
        self.outside
    }

    /// Whether all elements are below a number.
    pub(super) fn are_below(&self, end: i64) -> bool {
        let last = self.words.iter().rposition(|word| *word != 0);
        let last = last.map_or(-1, |i| i as i64 * 64 + i64::from(self.words[i].ilog2()));
        !self.outside && last < end
    }

    /// Whether all that `other` has is here; of what cannot be inside shared memory, that is not known.
    pub(super) fn covers(&self, other: &Offsets) -> bool {
        let mut words = other.words.iter().enumerate();
        let here = |i: usize| self.words.get(i).copied().unwrap_or(0);
        !other.outside && words.all(|(i, word)| word & !here(i) == 0)
    }

    /// Takes in what `other` has.
    pub(super) fn add(&mut self, other: &Offsets) {
        self.outside |= other.outside;
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Leaves what both have.
    pub(super) fn keep(&mut self, other: &Offsets) {
        self.outside &= other.outside;
        self.words.truncate(other.words.len());
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Takes out what `other` has.
    pub(super) fn remove(&mut self, other: &Offsets) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    pub(super) fn meets(&self, other: &Offsets) -> bool {
        let mut words = self.words.iter().zip(&other.words);
        words.any(|(word, other)| word & other != 0)
    }
}

impl Extend<i64> for Offsets {
    fn extend<I: IntoIterator<Item = i64>>(&mut self, all: I) {
        all.into_iter().for_each(|at| self.insert(at));
    }
}

impl FromIterator<i64> for Offsets {
    fn from_iter<I: IntoIterator<Item = i64>>(all: I) -> Offsets {
        let mut offsets = Offsets::default();
        offsets.extend(all);
        offsets
    }
}

impl Walk<'_, '_> {
    /// Whether every element that is surely touched lies in its tensor; else says so.
    pub(super) fn inside(&mut self, a: &Access, name: &str) -> bool {
        let shared = &self.kernel.shared[a.alloc];
        let elements = i64::from(shared.bytes / shared.dtype.bytes());
        let known = a.cells.as_ref().filter(|_| a.exact && a.symbols.is_empty());
        let Some(cells) = known.filter(|cells| !cells.elements().are_below(elements)) else {
            return true;
        };
        let outside = |at: i64| !(0..elements).contains(&at);
        let Some((t, at)) = cells.iter().find(|c| outside(c.1)) else {
            return true;
        };
        let text = format!("thread {t} touches element {at} of `{name}`, which has {elements}");
        self.sink.push(Diag::error(codes::BOUNDS, a.span, text));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every operation does to the bits what a set of numbers does, over pairs of sets that end in different words.
    #[test]
    fn like_a_set() {
        let sets: [&[i64]; 5] = [&[], &[0], &[63, 64, 200], &[1, 64, 1000], &[200, 63]];
        for a in sets {
            for b in sets {
                let (x, y): (BTreeSet<i64>, BTreeSet<i64>) =
                    (a.iter().copied().collect(), b.iter().copied().collect());
                let (p, q): (Offsets, Offsets) =
                    (a.iter().copied().collect(), b.iter().copied().collect());
                let listed = |o: &Offsets| {
                    (0..1100)
                        .filter(|i| o.contains(*i))
                        .collect::<BTreeSet<i64>>()
                };
                assert_eq!(listed(&p), x);
                assert_eq!(p.is_empty(), x.is_empty());
                assert_eq!(p.meets(&q), !x.is_disjoint(&y));
                let mut sum = p.clone();
                sum.add(&q);
                assert_eq!(listed(&sum), x.union(&y).copied().collect());
                assert_eq!(p.covers(&q), y.is_subset(&x));
                let end = x.last().map_or(0, |last| last + 1);
                assert!(p.are_below(end) && (x.is_empty() || !p.are_below(end - 1)));
                let (mut both, mut rest) = (p.clone(), p);
                both.keep(&q);
                rest.remove(&q);
                assert_eq!(listed(&both), x.intersection(&y).copied().collect());
                assert_eq!(listed(&rest), x.difference(&y).copied().collect());
                rest.clear();
                assert!(rest.is_empty());
            }
        }
        let odd: Offsets = [-1, i64::MAX].into_iter().collect();
        assert!(odd.has_outside() && !odd.are_below(i64::MAX) && !odd.covers(&odd));
        assert!(!odd.is_empty() && !odd.contains(-1) && !odd.contains(i64::MAX));
    }
}
