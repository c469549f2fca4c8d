//! What a memory access costs: wavefronts of shared memory, sectors of global memory.
//!
//! # Shared memory
//! 32 banks of 4 bytes: the word `w = address / 4` lies in bank `w % 32`. One request of a warp is served in phases
//! that read at most 128 bytes, and a phase in *wavefronts*, each of which reads one word from each bank:
//!
//! | bytes per lane | lanes per phase |
//! | --- | --- |
//! | 1, 2, 4 | 32 |
//! | 8 | 16 |
//! | 16, and the 16-byte rows of `ldmatrix` and `stmatrix` | 8 |
//!
//! A load whose lanes agree in aligned pairs, all with the next lane or all with the one after, has phases of twice as
//! many lanes of 8 or 16 bytes; a store never has. Lanes that touch the same word share it. So, counting distinct words,
//!
//! ```text
//!     wavefronts(phase) = max over banks of | words of the phase in that bank |
//!     ideal(phase)      = ceil(| words of the phase | / 32)
//! ```
//!
//! [`SharedAccess::report`] counts this exactly for any addresses. The model was held against the counters of an H200
//! for 820 requests of all kinds, without exception (`tests/goldens/banks_h200.csv`).
//!
//! # Linear accesses
//! If the words of a phase are a coset of a subspace L of bit vectors (extents and strides that are powers of two, any
//! swizzle), and K is the subspace of words that share bank 0 with word 0, then `wavefronts = 2^dim(L meet K)`: one
//! rank decides all phases, iterations and warps that differ by a constant. A swizzle changes K and nothing else, which
//! turns the choice of the best one into a question about subspaces: see [`choose_swizzle`].
//!
//! # Global memory
//! 32-byte sectors: [`GlobalAccess::report`] counts the distinct ones that a request touches.

mod access;
mod choose;
mod error;
mod global;
mod search;
mod tile;

pub use access::{Phase, Service, SharedAccess, SharedReport};
pub use choose::{Optimality, SwizzleChoice, choose_swizzle};
pub use error::BankError;
pub use global::{GlobalAccess, GlobalReport};
pub use tile::{Request, TileAccess};

/// Banks of shared memory.
pub const BANKS: i64 = 32;
/// Bytes of one word of one bank.
pub const WORD_BYTES: i64 = 4;
/// Bytes of a sector of global memory.
pub const SECTOR_BYTES: i64 = 32;
/// Lanes of a warp.
pub const LANES: usize = 32;
