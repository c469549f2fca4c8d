//! [`Subspace`]: a set of bit vectors closed under XOR, by a reduced basis.
//!
//! Invariant: basis vectors have distinct leading bits, ordered from the highest, and the leading bit of one is not set
//! in any other. So equal subspaces compare equal.

/// A subspace of the 64-bit vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Subspace {
    basis: Vec<u64>,
}

impl Subspace {
    /// The span of some vectors.
    pub fn span(vectors: impl IntoIterator<Item = u64>) -> Subspace {
        let mut space = Subspace::default();
        for vector in vectors {
            space.insert(vector);
        }
        space
    }

    /// The number of basis vectors.
    pub fn dim(&self) -> u32 {
        self.basis.len() as u32
    }

    /// The reduced basis, highest leading bit first.
    pub fn basis(&self) -> &[u64] {
        &self.basis
    }

    /// What is left of a vector after all leading bits of the basis are cleared: 0 exactly for members.
    pub fn reduce(&self, mut vector: u64) -> u64 {
        for b in &self.basis {
            vector = vector.min(vector ^ b);
        }
        vector
    }

    /// Whether the vector is a member.
    pub fn contains(&self, vector: u64) -> bool {
        self.reduce(vector) == 0
    }

    /// Adds a vector to the span. `false`: it was a member.
    pub fn insert(&mut self, vector: u64) -> bool {
        let vector = self.reduce(vector);
        if vector == 0 {
            return false;
        }
        let lead = 1u64 << (63 - vector.leading_zeros());
        for b in &mut self.basis {
            if *b & lead != 0 {
                *b ^= vector;
            }
        }
        let at = self.basis.iter().take_while(|b| **b > vector).count();
        self.basis.insert(at, vector);
        true
    }

    /// The span of both.
    #[must_use]
    pub fn sum(&self, other: &Subspace) -> Subspace {
        let mut sum = self.clone();
        for vector in &other.basis {
            sum.insert(*vector);
        }
        sum
    }

    /// The dimension of the intersection: `dim A + dim B - dim (A + B)`.
    pub fn meet_dim(&self, other: &Subspace) -> u32 {
        self.dim() + other.dim() - self.sum(other).dim()
    }

    /// The vectors in both. A basis vector of `other` that is dependent on `self` and those before it gives one.
    #[must_use]
    pub fn meet(&self, other: &Subspace) -> Subspace {
        // Rows (vector, its part from `other`): eliminating the first coordinate leaves members of both.
        let mut rows: Vec<(u64, u64)> = self.basis.iter().map(|b| (*b, 0)).collect();
        let mut meet = Subspace::default();
        for b in &other.basis {
            let (mut vector, mut part) = (*b, *b);
            for (row, from) in &rows {
                if vector ^ row < vector {
                    vector ^= row;
                    part ^= from;
                }
            }
            if vector == 0 {
                meet.insert(part);
            } else {
                let at = rows.iter().take_while(|(row, _)| *row > vector).count();
                rows.insert(at, (vector, part));
            }
        }
        meet
    }

    /// The members of `self` under a linear functional: those with an even number of bits in `mask` for each mask.
    #[must_use]
    pub fn orthogonal_to(&self, masks: &[u64]) -> Subspace {
        let mut kept = self.basis.clone();
        for mask in masks {
            let odd = |v: &u64| (v & mask).count_ones() % 2 == 1;
            if let Some(at) = kept.iter().position(odd) {
                let pivot = kept.remove(at);
                for v in &mut kept {
                    if odd(v) {
                        *v ^= pivot;
                    }
                }
            }
        }
        Subspace::span(kept)
    }

    /// Every member, 0 first. Meant for small dimensions.
    pub fn members(&self) -> impl Iterator<Item = u64> + '_ {
        (0..1u64 << self.dim().min(63)).map(|choice| {
            let chosen = self
                .basis
                .iter()
                .enumerate()
                .filter(|(i, _)| choice >> i & 1 == 1);
            chosen.fold(0, |sum, (_, b)| sum ^ b)
        })
    }
}
