//! Stores of accumulators to shared memory, where the target stores 8 x 8 matrices at once:
//! [`crate::schedule::fragments`] says who names which row.

use super::Lower;
use crate::ir::{SharedView, Value};
use crate::isa::{self, Matrices};
use crate::ptx::Operand;
use crate::schedule::fragments::{MatrixStore, matrix_store};

impl Lower<'_> {
    /// Stores a tile matrix by matrix; false if it is not laid out for that.
    pub(super) fn store_matrices(&mut self, view: &SharedView, v: Value) -> bool {
        let Some(MatrixStore {
            rows,
            transposed,
            matrices,
        }) = matrix_store(self.kernel, view, self.tensor(v))
        else {
            return false;
        };
        let num = if matrices == 4 {
            Matrices::X4
        } else {
            Matrices::X2
        };
        let count = rows.dist.len() as u32;
        let lanes = self.lanes_of(view, rows);
        for i in 0..count {
            let from: Vec<Operand> = (0..matrices)
                .flat_map(|j| self.gather(v, (2 * (matrices * i + j)) as usize, 2))
                .collect();
            let at = self.lane_address(&lanes, i as usize);
            let op = isa::stmatrix(num, transposed);
            self.ins(None, op, vec![at, Operand::vec(from)]);
        }
        true
    }
}
