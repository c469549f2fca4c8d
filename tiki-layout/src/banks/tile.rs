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
    kind: Request,
    weight: u64,
}

/// What an instruction does with the addresses of its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A plain load.
    Load,
    /// A plain store.
    Store,
    /// `ldmatrix` or `stmatrix`: rows of 16 bytes, eight to a matrix.
    Matrices,
}

impl TileAccess {
    /// Plain loads of `width` bytes: index `i` is lane `i % 32` of request `i / 32`.
    pub fn loads(map: &impl IndexMap, element_bytes: i64, width: i64) -> Result<Self, BankError> {
        let addresses = byte_addresses(map, element_bytes, MAX_LANES)?;
        Self::from_addresses(addresses, width, Request::Load)
    }

    /// Plain stores of `width` bytes: index `i` is lane `i % 32` of request `i / 32`.
    pub fn stores(map: &impl IndexMap, element_bytes: i64, width: i64) -> Result<Self, BankError> {
        let addresses = byte_addresses(map, element_bytes, MAX_LANES)?;
        Self::from_addresses(addresses, width, Request::Store)
    }

    /// `ldmatrix` or `stmatrix`: index `i` is row `i % 8` of matrix `i / 8`.
    pub fn matrices(map: &impl IndexMap, element_bytes: i64) -> Result<Self, BankError> {
        let addresses = byte_addresses(map, element_bytes, MAX_LANES)?;
        Self::from_addresses(addresses, 16, Request::Matrices)
    }

    /// The same from byte addresses in the unswizzled tile. Matrices are 16 bytes wide, whatever `width` says.
    pub fn from_addresses(
        addresses: Vec<i64>,
        width: i64,
        kind: Request,
    ) -> Result<Self, BankError> {
        let access = TileAccess {
            addresses,
            width: if kind == Request::Matrices { 16 } else { width },
            kind,
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
            match self.kind {
                Request::Load => SharedAccess::load(self.width, lanes.map(Some)),
                Request::Store => SharedAccess::store(self.width, lanes.map(Some)),
                Request::Matrices => SharedAccess::matrices(lanes),
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
