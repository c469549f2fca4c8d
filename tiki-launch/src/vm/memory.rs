//! Device memory: buffers with provenance.
//!
//! Every buffer has a terabyte of addresses of its own, of which only its first bytes exist. An address
//! therefore says which buffer it was derived from, and one that runs over the end of a buffer can never
//! land in another.

use super::simd::Bytes;
use super::written::Written;
use crate::vm::meaning::moves::GLOBAL;
use std::sync::{Arc, RwLock};

const SHIFT: u32 = GLOBAL.trailing_zeros();

/// A buffer of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BufferId(pub(super) u32);

#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) name: String,
    pub(super) bytes: Bytes,
    /// What was written of it, if it held nothing at first.
    pub(super) written: Option<Written>,
}

/// What is wrong with a host's access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryError {
    /// The buffer was freed, or is of another machine.
    NoBuffer,
    /// The bytes do not lie in the buffer.
    Range {
        /// First byte.
        start: u64,
        /// Bytes.
        len: u64,
        /// Bytes of the buffer.
        size: u64,
    },
    /// More than the machine can address or the host can give.
    TooLarge(u64),
}

impl std::fmt::Display for MemoryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MemoryError::NoBuffer => f.write_str("no such buffer"),
            MemoryError::Range { start, len, size } => {
                write!(f, "bytes {start} to {} of a buffer of {size}", start + len)
            }
            MemoryError::TooLarge(n) => write!(f, "a buffer of {n} bytes is too large"),
        }
    }
}
impl std::error::Error for MemoryError {}

/// All buffers.
#[derive(Debug, Default)]
pub(super) struct Memory {
    buffers: RwLock<Vec<Option<Arc<Buffer>>>>,
}

pub(super) type Table = Vec<Option<Arc<Buffer>>>;

impl Memory {
    pub(super) fn alloc(&self, len: u64, name: &str) -> Result<BufferId, MemoryError> {
        self.add(len, name, |_| None)
    }
    pub(super) fn alloc_unset(&self, len: u64, name: &str) -> Result<BufferId, MemoryError> {
        self.add(len, name, |len| Some(Written::new(len)))
    }
    fn add(
        &self,
        len: u64,
        name: &str,
        written: impl FnOnce(usize) -> Option<Written>,
    ) -> Result<BufferId, MemoryError> {
        let mut all = self
            .buffers
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if len > 1 << 36 || all.len() >= 1 << 22 {
            return Err(MemoryError::TooLarge(len));
        }
        let buffer = Buffer {
            name: name.to_string(),
            bytes: Bytes::new(len as usize),
            written: written(len as usize),
        };
        all.push(Some(Arc::new(buffer)));
        Ok(BufferId(all.len() as u32 - 1))
    }
    pub(super) fn free(&self, id: BufferId) {
        let mut all = self
            .buffers
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(b) = all.get_mut(id.0 as usize) {
            *b = None;
        }
    }
    pub(super) fn get(&self, id: BufferId) -> Result<Arc<Buffer>, MemoryError> {
        let all = self
            .buffers
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        all.get(id.0 as usize)
            .cloned()
            .flatten()
            .ok_or(MemoryError::NoBuffer)
    }
    pub(super) fn table(&self) -> Table {
        self.buffers
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clone()
    }
    pub(super) fn range(
        &self,
        id: BufferId,
        start: u64,
        len: u64,
    ) -> Result<Arc<Buffer>, MemoryError> {
        let b = self.get(id)?;
        let size = b.bytes.len() as u64;
        if start.checked_add(len).is_none_or(|end| end > size) {
            return Err(MemoryError::Range { start, len, size });
        }
        Ok(b)
    }
}

/// Address of a buffer's first byte.
pub(super) fn address(id: BufferId) -> u64 {
    (u64::from(id.0) + 1) << SHIFT
}

/// Number of the buffer that an address belongs to, and the byte in it.
#[inline(always)]
pub(super) fn split(address: u64) -> (usize, u64) {
    (
        (address >> SHIFT).wrapping_sub(1) as usize,
        address & (GLOBAL - 1),
    )
}
