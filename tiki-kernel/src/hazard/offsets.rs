//! A set of elements of a shared allocation, a bit each. An access of a tile is as many elements as its threads hold, and
//! a loop is walked twice: trees of them took a tenth of the compilation.

/// Elements by their offset. What cannot be inside shared memory is only known to be there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Offsets {
    words: Vec<u64>,
    outside: bool,
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
        assert!(!odd.is_empty() && !odd.contains(-1) && !odd.contains(i64::MAX));
    }
}
