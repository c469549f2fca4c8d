//! One request of a warp to shared memory, counted exactly.

use super::{BANKS, BankError, LANES, WORD_BYTES};
use crate::IndexMap;
use std::ops::Range;

/// Byte addresses of the lanes of one request. A lane that is predicated off has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedAccess {
    width: i64,
    /// Eight for matrices; for plain accesses a phase's worth of bytes, or twice that (see [`SharedAccess::load`]).
    lanes_per_phase: usize,
    addresses: Vec<Option<i64>>,
}

/// What one phase costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The lanes (or matrix rows) served.
    pub lanes: Range<usize>,
    /// Distinct words.
    pub words: usize,
    /// The most distinct words in one bank.
    pub wavefronts: usize,
    /// What any placement of as many words costs at least.
    pub ideal: usize,
}

/// What one request costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedReport {
    /// Phase by phase.
    pub phases: Vec<Phase>,
    /// The sum over the phases.
    pub wavefronts: usize,
    /// The sum of the phases' ideals.
    pub ideal: usize,
    /// The worst phase: 1 is free of conflicts, n is an n-way conflict.
    pub degree: usize,
}

impl SharedReport {
    /// Wavefronts beyond the ideal: what profilers call bank conflicts.
    pub fn excess(&self) -> usize {
        self.wavefronts - self.ideal
    }
}

/// One word of one lane, and when it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// The lane or matrix row.
    pub lane: usize,
    /// The phase the lane is in.
    pub phase: usize,
    /// The word of the address space.
    pub word: i64,
    /// Its bank.
    pub bank: i64,
    /// The wavefront of the phase in which this word is read: the n-th distinct word of its bank.
    pub wavefront: usize,
}

impl SharedAccess {
    /// A plain load of `width` bytes per lane; at most 32 lanes.
    ///
    /// Where every lane reads the address of its neighbour (lane `i` that of `i ^ 1`, or all lanes that of `i ^ 2`; a lane
    /// that is off agrees with any), the card serves twice as many lanes of 8 or 16 bytes in a phase.
    ///
    /// ```
    /// # use tiki_layout::banks::SharedAccess;
    /// // A column of a 32 x 32 array of 4-byte numbers: every lane meets bank 0.
    /// let column = SharedAccess::load(4, (0..32).map(|lane| Some(lane * 128))).unwrap();
    /// assert_eq!(column.report().wavefronts, 32);
    /// // One word of padding per row, and it is free of conflicts.
    /// let padded = SharedAccess::load(4, (0..32).map(|lane| Some(lane * 132))).unwrap();
    /// assert_eq!(padded.report().wavefronts, 1);
    /// ```
    pub fn load(
        width: i64,
        addresses: impl IntoIterator<Item = Option<i64>>,
    ) -> Result<Self, BankError> {
        let mut access = Self::store(width, addresses)?;
        if access.lanes_per_phase < LANES && paired(&access.addresses) {
            access.lanes_per_phase *= 2;
        }
        Ok(access)
    }

    /// A plain store of `width` bytes per lane; at most 32 lanes.
    ///
    /// ```
    /// # use tiki_layout::banks::SharedAccess;
    /// // 16 bytes a lane, two lanes to an address: a load has half the phases of a store.
    /// let pairs = || (0..32).map(|lane| Some(lane / 2 * 16));
    /// assert_eq!(SharedAccess::store(16, pairs()).unwrap().report().wavefronts, 4);
    /// assert_eq!(SharedAccess::load(16, pairs()).unwrap().report().wavefronts, 2);
    /// ```
    pub fn store(
        width: i64,
        addresses: impl IntoIterator<Item = Option<i64>>,
    ) -> Result<Self, BankError> {
        let lanes_per_phase = match width {
            1 | 2 | 4 => 32,
            8 => 16,
            16 => 8,
            _ => return Err(BankError::Width { bytes: width }),
        };
        SharedAccess {
            width,
            lanes_per_phase,
            addresses: addresses.into_iter().collect(),
        }
        .checked()
    }

    /// `ldmatrix` or `stmatrix`: the addresses of 8, 16 or 32 rows of 16 bytes, eight to a matrix.
    pub fn matrices(rows: impl IntoIterator<Item = i64>) -> Result<Self, BankError> {
        let addresses: Vec<_> = rows.into_iter().map(Some).collect();
        if !matches!(addresses.len(), 8 | 16 | 32) {
            return Err(BankError::Lanes {
                count: addresses.len(),
            });
        }
        SharedAccess {
            width: 16,
            lanes_per_phase: 8,
            addresses,
        }
        .checked()
    }

    /// A load whose lane `i` starts at element `map(i)`.
    pub fn load_of_map(
        map: &impl IndexMap,
        element_bytes: i64,
        width: i64,
    ) -> Result<Self, BankError> {
        let lanes = byte_addresses(map, element_bytes, LANES)?;
        Self::load(width, lanes.into_iter().map(Some))
    }

    /// A store whose lane `i` starts at element `map(i)`.
    pub fn store_of_map(
        map: &impl IndexMap,
        element_bytes: i64,
        width: i64,
    ) -> Result<Self, BankError> {
        let lanes = byte_addresses(map, element_bytes, LANES)?;
        Self::store(width, lanes.into_iter().map(Some))
    }

    /// A matrix access whose row `i` starts at element `map(i)`.
    pub fn matrices_of_map(map: &impl IndexMap, element_bytes: i64) -> Result<Self, BankError> {
        Self::matrices(byte_addresses(map, element_bytes, LANES)?)
    }

    fn checked(self) -> Result<Self, BankError> {
        if self.addresses.len() > LANES {
            return Err(BankError::Lanes {
                count: self.addresses.len(),
            });
        }
        for (lane, address) in self.addresses.iter().enumerate() {
            let Some(address) = *address else { continue };
            if !(0..=i64::MAX >> 1).contains(&address) {
                return Err(BankError::Address { lane });
            }
            if address % self.width != 0 {
                return Err(BankError::Misaligned {
                    lane,
                    address,
                    width: self.width,
                });
            }
        }
        Ok(self)
    }

    /// Bytes per lane.
    pub fn width(&self) -> i64 {
        self.width
    }

    /// The byte address of each lane.
    pub fn addresses(&self) -> &[Option<i64>] {
        &self.addresses
    }

    /// How many lanes one phase serves.
    pub fn lanes_per_phase(&self) -> usize {
        self.lanes_per_phase
    }

    /// The distinct words of each phase, in order.
    pub fn words(&self) -> Vec<Vec<i64>> {
        let words = |lanes: &[Option<i64>]| {
            let there = lanes.iter().flatten();
            let mut words: Vec<i64> = there.flat_map(|a| self.words_at(*a)).collect();
            words.sort_unstable();
            words.dedup();
            words
        };
        self.addresses
            .chunks(self.lanes_per_phase)
            .map(words)
            .collect()
    }

    fn words_at(&self, address: i64) -> Range<i64> {
        address / WORD_BYTES..(address + self.width - 1) / WORD_BYTES + 1
    }

    /// The exact cost.
    pub fn report(&self) -> SharedReport {
        let count = self.addresses.len();
        let phases = self.words().into_iter().enumerate().map(|(phase, words)| {
            let mut per_bank = [0usize; BANKS as usize];
            words
                .iter()
                .for_each(|word| per_bank[(word % BANKS) as usize] += 1);
            let first = phase * self.lanes_per_phase;
            Phase {
                lanes: first..(first + self.lanes_per_phase).min(count),
                words: words.len(),
                wavefronts: per_bank.into_iter().max().unwrap_or(0),
                ideal: words.len().div_ceil(BANKS as usize),
            }
        });
        let phases: Vec<Phase> = phases.collect();
        SharedReport {
            wavefronts: phases.iter().map(|p| p.wavefronts).sum(),
            ideal: phases.iter().map(|p| p.ideal).sum(),
            degree: phases.iter().map(|p| p.wavefronts).max().unwrap_or(0),
            phases,
        }
    }

    /// Every word of every lane with its bank and wavefront, in order of lanes. Lanes that share a word share its
    /// wavefront.
    pub fn services(&self) -> Vec<Service> {
        let mut services = Vec::new();
        for (phase, words) in self.words().into_iter().enumerate() {
            let lanes = self
                .addresses
                .iter()
                .enumerate()
                .skip(phase * self.lanes_per_phase)
                .take(self.lanes_per_phase);
            for (lane, address) in lanes {
                for word in address.iter().flat_map(|a| self.words_at(*a)) {
                    let bank = word % BANKS;
                    let before = words.iter().take_while(|w| **w < word);
                    let wavefront = before.filter(|w| *w % BANKS == bank).count();
                    services.push(Service {
                        lane,
                        phase,
                        word,
                        bank,
                        wavefront,
                    });
                }
            }
        }
        services
    }
}

/// Whether all lanes agree with the lane one further, or all with the lane two further, in aligned pairs.
fn paired(addresses: &[Option<i64>]) -> bool {
    let at = |lane: usize| addresses.get(lane).copied().flatten();
    [1, 2].into_iter().any(|apart| {
        (0..LANES)
            .filter(|lane| lane & apart == 0)
            .all(|lane| match (at(lane), at(lane | apart)) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            })
    })
}

/// Element offsets of a map as byte addresses, if there are at most `limit`.
pub(super) fn byte_addresses(
    map: &impl IndexMap,
    element_bytes: i64,
    limit: usize,
) -> Result<Vec<i64>, BankError> {
    let count = usize::try_from(map.count()?).unwrap_or(usize::MAX);
    if count > limit {
        return Err(BankError::Lanes { count });
    }
    let offsets = map.all_offsets()?.into_iter().enumerate();
    offsets
        .map(|(lane, o)| {
            o.checked_mul(element_bytes)
                .ok_or(BankError::Address { lane })
        })
        .collect()
}
