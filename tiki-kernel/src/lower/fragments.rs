//! Loads of a warp's tensor-core operands: [`crate::schedule::fragments`] says who loads what.

use super::Lower;
use super::lanes::Lanes;
use crate::ir::SharedView;
use crate::isa::{self, Matrices, Space, Ty};
use crate::ptx::{Operand, Reg};
use crate::schedule::fragments::{How, Part, Side, form, step};

/// Loads an operand's fragments.
pub(super) struct Loader<'v> {
    lanes: Lanes<'v>,
    part: Part,
    how: How,
}

impl Lower<'_> {
    /// Prepares an operand's loads; `None` if its layout has no way into the tensor core.
    pub(super) fn loader<'v>(&mut self, view: &'v SharedView, part: Part) -> Option<Loader<'v>> {
        let (tensor, how) = form(self.kernel, view, part)?;
        let lanes = self.lanes_of(view, tensor);
        Some(Loader { lanes, part, how })
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
