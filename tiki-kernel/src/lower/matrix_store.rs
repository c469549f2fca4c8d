//! Stores of accumulators to shared memory, where the target stores 8 x 8 matrices at once.
//!
//! A tile of 16-bit elements held as products leave it (see [`super::fragments`]) is stored 16 x 16 elements an
//! instruction: matrices (rows 0.., columns 0..), (8.., 0..), (0.., 8..), (8.., 8..), whose rows of 16 bytes eight
//! lanes name. Where the rows of the tile are not contiguous but its columns are, the instruction transposes.

use super::Lower;
use crate::ir::{Dist, Mode, SharedView, TensorType, Value};
use crate::isa::{self, Matrices};
use crate::ptx::Operand;
use crate::schedule::widen_shared;

/// What lanes hold of an 8 x 8 matrix, and a thread of 16 rows of it.
const LANES: [Mode; 2] = [mode(4, 1, 2), mode(8, 0, 1)];
const HELD: [Mode; 2] = [mode(2, 1, 1), mode(2, 0, 8)];
/// Elements of a matrix' row.
const ROW: u32 = 8;

const fn mode(extent: u32, axis: u8, step: u32) -> Mode {
    Mode {
        extent,
        axis: Some(axis),
        step,
    }
}

impl Lower<'_> {
    /// Stores a tile matrix by matrix; false if it is not laid out for that.
    pub(super) fn store_matrices(&mut self, view: &SharedView, v: Value) -> bool {
        let t = self.tensor(v);
        let plain = t.dtype.bytes() == 2
            && t.shape.len() == 2
            && self.exists(isa::stmatrix(Matrices::X4, false))
            && t.dist.threads.get(..2) == Some(&LANES)
            && t.dist.values.get(..2) == Some(&HELD)
            && (0..2).all(|a| t.dist.reach(a) <= t.shape[a]);
        if !plain {
            return false;
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
        for transposed in [false, true] {
            let mut threads = vec![
                mode(8, u8::from(transposed), 1),
                mode(2, 0, ROW),
                mode(2, 1, if pair { ROW } else { 0 }),
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
            row.insert(0, mode(ROW, u8::from(!transposed), 1));
            if widen_shared::width(self.kernel, &tensor(row), view, ROW) != ROW {
                continue;
            }
            let (num, words) = if pair {
                (Matrices::X4, 4)
            } else {
                (Matrices::X2, 2)
            };
            let to = tensor(rest);
            let count = to.dist.len();
            let lanes = self.lanes_of(view, to);
            for i in 0..count {
                let mut from = Vec::new();
                for j in 0..words {
                    from.extend(self.gather(v, 2 * (words * i + j), 2));
                }
                let at = self.lane_address(&lanes, i);
                let op = isa::stmatrix(num, transposed);
                self.ins(None, op, vec![at, Operand::vec(from)]);
            }
            return true;
        }
        false
    }
}
