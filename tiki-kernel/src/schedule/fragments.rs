//! How fragments of tensor cores get from shared memory and back to it: which lane holds which element of
//! one, and who names which address of what instruction. The lowering emits it; the traffic is counted on it.
//!
//! An operand is a matrix (R, K): rows of A along M, of B along N. `w` elements fill a 32-bit register, a
//! *step* is `8 w` of K (what one instruction multiplies), and lane = 4 g + t holds:
//!
//! ```text
//! A, 16 rows: a0 (g, w t ..)  a1 (g + 8, w t ..)  a2 (g, w t + 4 w ..)  a3 (g + 8, w t + 4 w ..)
//! B,  8 rows: b0 (g, w t ..)  b1 (g, w t + 4 w ..)
//! C, 16 x 8:  c0 (g, 2 t)     c1 (g, 2 t + 1)     c2 (g + 8, 2 t)       c3 (g + 8, 2 t + 1)
//! ```
//!
//! A matrix load takes 8 rows of 16 bytes (`4 w` elements of K), whose addresses eight lanes name, and
//! gives each lane one register as above; four at once fill a0..a3, or b0, b1 of two neighbours. Where R is
//! the contiguous axis, rows of 16-bit elements run along K and the load transposes. Where rows of 16 bytes
//! do not lie together, each lane loads its registers itself.
//!
//! An accumulator of 16-bit elements, as C above, is stored 16 x 16 elements an instruction where the target
//! stores 8 x 8 matrices: (rows 0.., columns 0..), (8.., 0..), (0.., 8..), (8.., 8..), whose rows of 16 bytes
//! eight lanes name. Where the columns of the tile are contiguous, the instruction transposes.

use super::widen_shared;
use crate::dtype::DType;
use crate::ir::{Dist, Kernel, Mode, SharedView, TensorType};
use crate::isa::{self, Matrices};

/// Which operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Left.
    A,
    /// Right.
    B,
}

/// How warps divide an operand.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Which operand.
    pub side: Side,
    /// Warps along M and N.
    pub warps: (u32, u32),
    /// Rows of a warp.
    pub rows: u32,
    /// Extent of K.
    pub depth: u32,
}

/// By which loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Four 8 x 8 matrices an instruction, whose rows of 16 bytes the lanes name.
    Matrices {
        /// Rows run along K.
        transposed: bool,
    },
    /// Each lane a register an instruction.
    Words,
}

/// Elements of K that an instruction multiplies.
#[must_use]
pub fn step(t: DType) -> u32 {
    32 / t.bytes()
}

impl Part {
    /// Instruction tiles along the rows.
    #[must_use]
    pub fn tiles(&self) -> u32 {
        self.rows / if self.side == Side::A { 16 } else { 8 }
    }
    fn of_warps(&self) -> [Mode; 2] {
        let (m, n) = self.warps;
        match self.side {
            Side::A => [Mode::along(0, m, self.rows), Mode::replicated(n)],
            Side::B => [Mode::replicated(m), Mode::along(0, n, self.rows)],
        }
    }
    /// Lanes name rows of 16 bytes; values count steps, then tiles (of B, pairs of tiles).
    fn matrices(&self, t: DType, transposed: bool) -> Dist {
        let chunk = 16 / t.bytes();
        let next_rows = Mode::along(0, 2, 8);
        let next_depth = Mode::along(1, 2, chunk);
        let mut threads = vec![if transposed {
            Mode::along(1, 8, 1)
        } else {
            Mode::along(0, 8, 1)
        }];
        threads.extend(match self.side {
            Side::A => [next_rows, next_depth],
            Side::B => [next_depth, next_rows],
        });
        threads.extend(self.of_warps());
        let s = step(t);
        Dist {
            threads,
            values: vec![
                Mode::along(1, self.depth / s, s),
                Mode::along(0, self.rows.div_ceil(16), 16),
            ],
        }
    }
    /// Lanes name the words they hold; values count registers of a tile, steps, tiles.
    fn words(&self, t: DType) -> Dist {
        let w = 4 / t.bytes();
        let mut threads = vec![Mode::along(1, 4, w), Mode::along(0, 8, 1)];
        threads.extend(self.of_warps());
        let mut values = vec![Mode::along(1, w, 1)];
        if self.side == Side::A {
            values.push(Mode::along(0, 2, 8));
        }
        values.push(Mode::along(1, 2, 4 * w));
        values.push(Mode::along(1, self.depth / (8 * w), 8 * w));
        let rows = self.rows / self.tiles();
        values.push(Mode::along(0, self.tiles(), rows));
        Dist { threads, values }
    }
}

/// How an operand's fragments are loaded: who names which address, and by what. `None` if its layout has no
/// way into the tensor core.
#[must_use]
pub fn form(kernel: &Kernel, view: &SharedView, part: Part) -> Option<(TensorType, How)> {
    let dtype = kernel.shared[view.alloc].dtype;
    let tensor = |dist: Dist| TensorType {
        dtype,
        shape: view.shape(),
        dist,
    };
    let chunk = 16 / dtype.bytes();
    for transposed in [false, true] {
        if transposed && dtype.bytes() != 2 {
            continue;
        }
        let dist = part.matrices(dtype, transposed);
        let mut rows = dist.clone();
        let along = usize::from(!transposed);
        rows.values.insert(0, Mode::along(along, chunk, 1));
        // Lanes past the last pair of tiles name rows that no load takes.
        if widen_shared::width(kernel, &tensor(rows), view, chunk) == chunk {
            return Some((tensor(dist), How::Matrices { transposed }));
        }
    }
    let w = 4 / dtype.bytes();
    let words = tensor(part.words(dtype));
    (w == 1 || widen_shared::width(kernel, &words, view, w) == w).then_some((words, How::Words))
}

/// What lanes hold of an 8 x 8 matrix, and a thread of 16 rows of it.
const LANES: [Mode; 2] = [Mode::along(1, 4, 2), Mode::along(0, 8, 1)];
const HELD: [Mode; 2] = [Mode::along(1, 2, 1), Mode::along(0, 2, 8)];
/// Elements of a matrix' row.
const ROW: u32 = 8;

/// A store of matrices.
#[derive(Debug, Clone)]
pub struct MatrixStore {
    /// Which lane names which row, by instruction.
    pub rows: TensorType,
    /// Rows run along the first axis.
    pub transposed: bool,
    /// Matrices an instruction: 4, or 2 where a tile has only eight columns.
    pub matrices: u32,
}

/// How a tile is stored matrix by matrix; `None` if it is not held or not laid out for that.
#[must_use]
pub fn matrix_store(kernel: &Kernel, view: &SharedView, t: &TensorType) -> Option<MatrixStore> {
    let plain = t.dtype.bytes() == 2
        && t.shape.len() == 2
        && isa::stmatrix(Matrices::X4, false).exists_on(kernel.target)
        && t.dist.threads.get(..2) == Some(&LANES)
        && t.dist.values.get(..2) == Some(&HELD)
        && (0..2).all(|a| t.dist.reach(a) <= t.shape[a]);
    if !plain {
        return None;
    }
    // Neighbouring tiles of eight columns are stored together, if there are any.
    let mut rest: Vec<Mode> = t.dist.values[2..].to_vec();
    let pair = rest
        .first()
        .is_some_and(|m| m.axis == Some(1) && m.step == ROW && m.extent.is_multiple_of(2));
    if pair {
        rest[0].extent /= 2;
        rest[0].step *= 2;
    }
    [false, true].into_iter().find_map(|transposed| {
        let mut threads = vec![
            Mode::along(usize::from(transposed), 8, 1),
            Mode::along(0, 2, ROW),
            Mode::along(1, 2, if pair { ROW } else { 0 }),
        ];
        threads.extend_from_slice(&t.dist.threads[2..]);
        let tensor = |values: Vec<Mode>| TensorType {
            dtype: t.dtype,
            shape: t.shape.clone(),
            dist: Dist {
                threads: threads.clone(),
                values,
            },
        };
        let mut row = rest.clone();
        row.insert(0, Mode::along(usize::from(!transposed), ROW, 1));
        (widen_shared::width(kernel, &tensor(row), view, ROW) == ROW).then(|| MatrixStore {
            rows: tensor(rest.clone()),
            transposed,
            matrices: if pair { 4 } else { 2 },
        })
    })
}
