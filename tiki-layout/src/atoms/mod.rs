//! Thread-value layouts: which thread of a group holds which element, for every tensor-core and matrix-copy
//! instruction.
//!
//! ```text
//!     m16n8 accumulator, ((4,8),(2,2)):((32,1),(16,8))        (thread, value) -> row + 16 * column
//!
//!              column 0 1   2 3   4 5   6 7
//!     row  0          T0    T1    T2    T3        values 0 1 of each thread
//!     row  1          T4    T5    T6    T7
//!      ..
//!     row  8          T0    T1    T2    T3        values 2 3
//! ```
//!
//! A *fragment* maps (thread, value) to the 1-D index of a tile, rows fastest. Operand A is m by k, B is n by k, C is m by
//! n. The widths of elements, not their types, decide where they lie, so the tables here know widths only:
//!
//! - [`MmaAtom::warp`]: a warp multiplies (mma.sync), by one rule for every shape and width;
//! - [`MmaAtom::warpgroup`]: four warps multiply (wgmma), with A in registers or in shared memory;
//! - [`SharedAtom`]: the shared-memory patterns that wgmma and the copy engine read;
//! - [`CopyAtom`]: matrix loads and stores, plain copies, in bits;
//! - [`TiledMma`], [`TiledCopy`]: atoms repeated over threads and values.

mod copy;
mod shared;
mod tiled_copy;
mod tiled_mma;
mod warp;
mod warpgroup;

pub use copy::{CopyAtom, Datapath};
pub use shared::{Major, SharedAtom};
pub use tiled_copy::{CopyMap, TiledCopy};
pub use tiled_mma::{Operand, TiledMma};
pub use warp::{QuadOperand, WARP_SHAPES, WarpShape};

use crate::Layout;

/// One multiply-accumulate instruction: its shape, its threads, and the fragments of its operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MmaAtom {
    /// Rows of A and C.
    pub m: i64,
    /// Rows of B, columns of C.
    pub n: i64,
    /// Columns of A and B.
    pub k: i64,
    /// From the number of a participant to its thread.
    pub threads: Layout,
    /// (thread, value) to the m by k tile.
    pub a: Layout,
    /// (thread, value) to the n by k tile.
    pub b: Layout,
    /// (thread, value) to the m by n tile.
    pub c: Layout,
}
