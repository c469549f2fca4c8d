//! The best placement of bank conflicts: a subspace K of given codimension that meets given subspaces least.
//!
//! # The problem
//! Demands are pairs (L, weight) of subspaces of unit vectors U. Minimise `sum(weight * 2^dim(L meet K))` over all
//! subspaces K of codimension b, the units that share a bank with unit 0.
//!
//! # The bound
//! `dim(L meet K) >= dim L - b`, so no K costs less than `sum(weight * 2^max(0, dim L - b))`.
//!
//! # What has to be searched
//! 1. Only `K meet S` matters, where S is the sum of the L, and it has dimension at least `k = dim S - b`; any subspace
//!    of S of that dimension extends to a K by vectors outside of S.
//! 2. Let C be in all L with `dim C <= b`. Some optimal K meets C trivially: if c is in both, write `K = <c> + K1`. As
//!    `dim(K1 + C) < dim S`, there is v in S outside of `K1 + C`, and `K1 + <v>` meets each L in at most the dimension
//!    that K does, since L contains c; it meets C less. Repeat.
//! 3. So K is searched in the quotient S/C, where the dimensions of `L meet K` are the same.
//!
//! Subspaces of S/C are visited by reduced bases with ascending leading bits, each exactly once. The cost never falls
//! when K grows, so a partial basis that costs as much as the best so far is cut. The search ends early when the bound
//! is reached; otherwise it has exhausted the quotient, which is the proof.

use super::BankError;
use crate::xor::{BitMatrix, Subspace};

/// Most partial bases that are visited.
pub(super) const LIMIT: u64 = 1 << 16;

/// Subspaces of units with the weights of the phases that have them.
#[derive(Clone, Debug)]
pub(super) struct Demands {
    pub spaces: Vec<(Subspace, u64)>,
    /// Bits of a unit number that are bank bits: the codimension of K.
    pub bank_bits: u32,
}

/// The outcome of a search.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The part of K inside of the sum of all demands.
    pub kernel: Subspace,
    pub cost: u64,
    /// The dimension of the quotient and the partial bases visited.
    pub quotient: u32,
    pub visited: u64,
}

impl Demands {
    pub fn cost(&self, kernel: &Subspace) -> u64 {
        self.spaces.iter().fold(0, |sum: u64, (space, weight)| {
            sum.saturating_add(weight.saturating_mul(1 << space.meet_dim(kernel)))
        })
    }

    pub fn bound(&self) -> u64 {
        self.spaces.iter().fold(0, |sum: u64, (space, weight)| {
            sum.saturating_add(
                weight.saturating_mul(1 << space.dim().saturating_sub(self.bank_bits)),
            )
        })
    }

    pub fn sum(&self) -> Subspace {
        self.spaces
            .iter()
            .fold(Subspace::default(), |sum, (space, _)| sum.sum(space))
    }

    /// The best K, or the first that costs no more than `good_enough`.
    pub fn search(&self, good_enough: u64) -> Result<Found, BankError> {
        let sum = self.sum();
        let depth = sum.dim().saturating_sub(self.bank_bits);
        let mut common = self
            .spaces
            .first()
            .map_or(Subspace::default(), |(space, _)| space.clone());
        for (space, _) in &self.spaces {
            common = common.meet(space);
        }
        let common = Subspace::span(common.basis().iter().take(self.bank_bits as usize).copied());
        // Coordinates: bits 0..q along a complement of C in S, the bits above along C.
        let mut complement = Vec::new();
        let mut covered = common.clone();
        for vector in sum.basis().iter().rev() {
            if covered.insert(*vector) {
                complement.push(*vector);
            }
        }
        let quotient = complement.len() as u32;
        let lift = BitMatrix::new(complement);
        let frame = BitMatrix::new([lift.columns(), common.basis()].concat());
        let project = |v: u64| frame.solve(v).unwrap_or(0) & ((1 << quotient) - 1);
        let images: Vec<(Subspace, u64)> = self
            .spaces
            .iter()
            .map(|(space, weight)| {
                (
                    Subspace::span(space.basis().iter().map(|v| project(*v))),
                    *weight,
                )
            })
            .collect();
        let mut walk = Walk {
            depth,
            quotient,
            good_enough,
            visited: 0,
            best: None,
        };
        let costs = self
            .spaces
            .iter()
            .fold(0u64, |sum, (_, weight)| sum.saturating_add(*weight));
        walk.extend(
            &mut Vec::new(),
            &images
                .iter()
                .map(|(s, w)| (s.clone(), *w))
                .collect::<Vec<_>>(),
            costs,
        )?;
        let (cost, basis) = walk.best.unwrap_or((costs, Vec::new()));
        let kernel = Subspace::span(basis.iter().map(|v| lift.apply(*v)));
        Ok(Found {
            kernel,
            cost,
            quotient,
            visited: walk.visited,
        })
    }
}

struct Walk {
    depth: u32,
    quotient: u32,
    good_enough: u64,
    visited: u64,
    best: Option<(u64, Vec<u64>)>,
}

impl Walk {
    fn visit(&mut self) -> Result<(), BankError> {
        self.visited += 1;
        if self.visited > LIMIT {
            return Err(BankError::TooLarge { limit: LIMIT });
        }
        Ok(())
    }

    /// `joined` holds L + K with `weight * 2^dim(L meet K)` for the current K. Returns whether to stop.
    fn extend(
        &mut self,
        basis: &mut Vec<u64>,
        joined: &[(Subspace, u64)],
        cost: u64,
    ) -> Result<bool, BankError> {
        self.visit()?;
        if basis.len() as u32 == self.depth {
            self.best = Some((cost, basis.clone()));
            return Ok(cost <= self.good_enough);
        }
        let left = self.depth - basis.len() as u32;
        let lowest = basis.last().map_or(0, |v| 64 - v.leading_zeros());
        let taken = basis
            .iter()
            .fold(0u64, |all, v| all | 1 << (63 - v.leading_zeros()));
        for pivot in lowest..=self.quotient - left {
            // Bits below the pivot that no other basis vector leads are free.
            let free: Vec<u64> = (0..pivot)
                .map(|bit| 1 << bit)
                .filter(|bit| taken & bit == 0)
                .collect();
            let choices = BitMatrix::new(free);
            for choice in 0..1u64 << choices.columns().len() {
                let vector = 1 << pivot | choices.apply(choice);
                let sum = joined.iter().fold(0u64, |sum, (space, weight)| {
                    let doubled = u64::from(space.contains(vector)) + 1;
                    sum.saturating_add(weight.saturating_mul(doubled))
                });
                if self.best.as_ref().is_some_and(|(best, _)| sum >= *best) {
                    self.visit()?;
                    continue;
                }
                let mut next = joined.to_vec();
                for (space, weight) in &mut next {
                    if !space.insert(vector) {
                        *weight = weight.saturating_mul(2);
                    }
                }
                basis.push(vector);
                let stop = self.extend(basis, &next, sum)?;
                basis.pop();
                if stop {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
