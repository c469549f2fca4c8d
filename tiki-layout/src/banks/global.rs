//! One request of a warp to global memory: which 32-byte sectors it touches.

use super::access::byte_addresses;
use super::{BankError, LANES, SECTOR_BYTES};
use crate::IndexMap;
use std::collections::BTreeSet;

/// Byte addresses of the lanes of one request, relative to a base that is a multiple of 128 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalAccess {
    width: i64,
    addresses: Vec<Option<i64>>,
}

/// What one request moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalReport {
    /// Distinct 32-byte sectors.
    pub sectors: usize,
    /// The sectors that the distinct bytes would fill if they lay side by side.
    pub ideal: usize,
    /// Distinct 128-byte lines.
    pub lines: usize,
    /// Distinct bytes asked for.
    pub bytes: usize,
}

impl GlobalReport {
    /// Whether no sector more than needed is moved.
    pub fn is_coalesced(&self) -> bool {
        self.sectors == self.ideal
    }
}

impl GlobalAccess {
    /// `width` bytes (1, 2, 4, 8, 16) per lane; at most 32 lanes.
    ///
    /// ```
    /// # use tiki_layout::banks::GlobalAccess;
    /// let row = GlobalAccess::new(4, (0..32).map(|lane| Some(lane * 4))).unwrap().report();
    /// assert_eq!((row.sectors, row.ideal), (4, 4));
    /// let column = GlobalAccess::new(4, (0..32).map(|lane| Some(lane * 4096))).unwrap().report();
    /// assert_eq!((column.sectors, column.ideal), (32, 4));
    /// ```
    pub fn new(
        width: i64,
        addresses: impl IntoIterator<Item = Option<i64>>,
    ) -> Result<Self, BankError> {
        if !matches!(width, 1 | 2 | 4 | 8 | 16) {
            return Err(BankError::Width { bytes: width });
        }
        let addresses: Vec<Option<i64>> = addresses.into_iter().collect();
        if addresses.len() > LANES {
            return Err(BankError::Lanes {
                count: addresses.len(),
            });
        }
        for (lane, address) in addresses.iter().enumerate() {
            match *address {
                Some(a) if !(0..=i64::MAX >> 1).contains(&a) => {
                    return Err(BankError::Address { lane });
                }
                Some(address) if address % width != 0 => {
                    return Err(BankError::Misaligned {
                        lane,
                        address,
                        width,
                    });
                }
                _ => {}
            }
        }
        Ok(GlobalAccess { width, addresses })
    }

    /// Lane `i` starts at element `map(i)`.
    pub fn of_map(map: &impl IndexMap, element_bytes: i64, width: i64) -> Result<Self, BankError> {
        Self::new(
            width,
            byte_addresses(map, element_bytes, LANES)?
                .into_iter()
                .map(Some),
        )
    }

    /// The exact counts. A lane's bytes never cross a sector: they are aligned to their width.
    pub fn report(&self) -> GlobalReport {
        let distinct = |unit: i64| {
            self.addresses
                .iter()
                .flatten()
                .map(|a| a / unit)
                .collect::<BTreeSet<_>>()
                .len()
        };
        let bytes = distinct(self.width) * self.width as usize;
        GlobalReport {
            sectors: distinct(SECTOR_BYTES),
            ideal: bytes.div_ceil(SECTOR_BYTES as usize),
            lines: distinct(128),
            bytes,
        }
    }
}
