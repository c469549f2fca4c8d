//! Accesses to one tile, in offsets of the unswizzled tile: the input of the choice of a swizzle.

use super::access::byte_addresses;
use super::{BankError, LANES, SharedAccess, WORD_BYTES};
use crate::IndexMap;
use crate::xor::Subspace;
use std::collections::BTreeMap;

/// Most lanes of all requests of one access: far more than fill shared memory.
const MAX_LANES: usize = 1 << 16;

/// How a kernel reads or writes a tile: any number of requests of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileAccess {
    /// Byte addresses in the unswizzled tile, request after request, lanes fastest.
    addresses: Vec<i64>,
    width: i64,
    matrices: bool,
    weight: u64,
}

impl TileAccess {
    /// Plain loads or stores of `width` bytes: index `i` is lane `i % 32` of request `i / 32`.
    pub fn plain(map: &impl IndexMap, element_bytes: i64, width: i64) -> Result<Self, BankError> {
        Self::from_addresses(byte_addresses(map, element_bytes, MAX_LANES)?, width, false)
    }

    /// `ldmatrix` or `stmatrix`: index `i` is row `i % 8` of matrix `i / 8`.
    pub fn matrices(map: &impl IndexMap, element_bytes: i64) -> Result<Self, BankError> {
        Self::from_addresses(byte_addresses(map, element_bytes, MAX_LANES)?, 16, true)
    }

    /// The same from byte addresses in the unswizzled tile.
    pub fn from_addresses(
        addresses: Vec<i64>,
        width: i64,
        matrices: bool,
    ) -> Result<Self, BankError> {
        let access = TileAccess {
            addresses,
            width,
            matrices,
            weight: 1,
        };
        access.requests(|address| address)?;
        Ok(access)
    }

    /// Counts every request this many times: an inner loop against a prologue.
    #[must_use]
    pub fn weighted(mut self, weight: u64) -> Self {
        self.weight = weight;
        self
    }

    /// Bytes per lane.
    pub fn width(&self) -> i64 {
        self.width
    }

    /// How often each request counts.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// The highest byte touched.
    pub(super) fn last_byte(&self) -> i64 {
        self.addresses
            .iter()
            .max()
            .map_or(0, |a| a + self.width - 1)
    }

    /// The requests, with every address moved by `place`.
    pub fn requests(&self, place: impl Fn(i64) -> i64) -> Result<Vec<SharedAccess>, BankError> {
        let request = |lanes: &[i64]| {
            let lanes = lanes.iter().map(|a| place(*a));
            if self.matrices {
                SharedAccess::matrices(lanes)
            } else {
                SharedAccess::plain(self.width, lanes.map(Some))
            }
        };
        self.addresses.chunks(LANES).map(request).collect()
    }

    /// Counted wavefronts times weight, with every address moved by `place`.
    pub fn wavefronts(&self, place: impl Fn(i64) -> i64) -> Result<u64, BankError> {
        let sum: u64 = self
            .requests(place)?
            .iter()
            .map(|r| r.report().wavefronts as u64)
            .sum();
        Ok(sum.saturating_mul(self.weight))
    }

    /// The subspaces of words of the phases, each with the weight of all phases that are cosets of it.
    pub(super) fn phases(&self, number: usize) -> Result<BTreeMap<Vec<u64>, u64>, BankError> {
        let mut found = BTreeMap::new();
        let phases = self
            .requests(|address| address)?
            .into_iter()
            .flat_map(|r| r.words());
        for (phase, words) in phases.enumerate() {
            let Some(first) = words.first().copied() else {
                continue;
            };
            let space = Subspace::span(words.iter().map(|w| (w ^ first) as u64));
            if words.len() as u64 != 1 << space.dim() {
                return Err(BankError::NotLinear {
                    access: number,
                    phase,
                });
            }
            let sum: &mut u64 = found.entry(space.basis().to_vec()).or_insert(0);
            *sum = sum.saturating_add(self.weight);
        }
        Ok(found)
    }

    /// The width in which the tile must stay in order for this access, in bytes.
    pub(super) fn unit(&self) -> i64 {
        self.width.max(WORD_BYTES)
    }
}
