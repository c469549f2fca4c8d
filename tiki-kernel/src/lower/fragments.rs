//! Operands of a warp's tensor core: which lane holds which element of a fragment, and the matrix loads
//! that bring it there.
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

use super::Lower;
use super::lanes::Lanes;
use crate::dtype::DType;
use crate::ir::{Dist, Mode, SharedView, TensorType};
use crate::isa::{self, Matrices, Space, Ty};
use crate::ptx::{Operand, Reg};
use crate::schedule::widen_shared;

/// Which operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Left.
    A,
    /// Right.
    B,
}

/// How warps divide an operand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Which operand.
    pub side: Side,
    /// Warps along M and N.
    pub warps: (u32, u32),
    /// Rows of a warp.
    pub rows: u32,
    /// Extent of K.
    pub depth: u32,
}

/// Loads an operand's fragments.
pub(super) struct Loader<'v> {
    lanes: Lanes<'v>,
    part: Part,
    how: How,
}

#[derive(Clone, Copy)]
enum How {
    Matrices { transposed: bool },
    Words,
}

/// Elements of K that an instruction multiplies.
pub(super) fn step(t: DType) -> u32 {
    32 / t.bytes()
}

impl Part {
    /// Instruction tiles along the rows.
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

impl Lower<'_> {
    /// Prepares an operand's loads; `None` if its layout has no way into the tensor core.
    pub(super) fn loader<'v>(&mut self, view: &'v SharedView, part: Part) -> Option<Loader<'v>> {
        let dtype = self.kernel.shared[view.alloc].dtype;
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
            if widen_shared::width(self.kernel, &tensor(rows), view, chunk) == chunk {
                let lanes = self.lanes_of(view, tensor(dist));
                return Some(Loader {
                    lanes,
                    part,
                    how: How::Matrices { transposed },
                });
            }
        }
        let w = 4 / dtype.bytes();
        let dist = part.words(dtype);
        (w == 1 || widen_shared::width(self.kernel, &tensor(dist.clone()), view, w) == w).then(
            || Loader {
                lanes: self.lanes_of(view, tensor(dist)),
                part,
                how: How::Words,
            },
        )
    }

    /// The registers of tile `tile` (of B, of tiles `tile` and `tile + 1`, `tile` even) at a step.
    pub(super) fn fragment(&mut self, loader: &Loader<'_>, at: u32, tile: u32) -> Vec<Reg> {
        let Part { side, depth, .. } = loader.part;
        let dtype = loader.lanes.dtype();
        let steps = depth / step(dtype);
        let of_tile = if side == Side::A { 4 } else { 2 };
        let both = side == Side::B && tile + 1 < loader.part.tiles();
        let count = if both { 4 } else { of_tile };
        let name = if side == Side::A {
            "left fragments"
        } else {
            "right fragments"
        };
        let regs: Vec<Reg> = self.holding(name, |l| (0..count).map(|_| l.reg(Ty::B32)).collect());
        match loader.how {
            How::Matrices { transposed } => {
                let group = if side == Side::A { tile } else { tile / 2 };
                let from = self.lane_address(&loader.lanes, (at + steps * group) as usize);
                let num = if count == 4 {
                    Matrices::X4
                } else {
                    Matrices::X2
                };
                let to = Operand::vec(regs.iter().copied());
                self.ins(None, isa::ldmatrix(num, transposed), vec![to, from]);
            }
            How::Words => {
                let w = 4 / dtype.bytes();
                for (j, r) in regs.iter().enumerate() {
                    let (tile, j) = (tile + j as u32 / of_tile, j as u32 % of_tile);
                    let i = w * (j + of_tile * (at + steps * tile));
                    let from = self.lane_address(&loader.lanes, i as usize);
                    self.ins(
                        None,
                        isa::ld(Space::Shared, Ty::B32),
                        vec![(*r).into(), from],
                    );
                }
            }
        }
        regs
    }
}
