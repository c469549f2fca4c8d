//! Complement: the offsets that a layout leaves out.
//!
//! ```text
//!     A = 4:2       offsets 0 . 2 . 4 . 6 .
//!     R = 2:1       (A,R) covers 0..8 once
//! ```
//!
//! Laws, for the complement `R` of `A` up to `M`: `R` increases; apart from 0 it shares no offset with `A`; and
//! whole copies of `A` and its gaps reach at least `size(M)`. Where the strides of `A` do not divide each other, what is
//! left of a gap stays unfilled: `(4,2):(1,10)` leaves out 8 and 9. `A` must be injective once its broadcast modes are dropped, and its modes must not
//! interleave: each stride at least as large as what the smaller modes span.

use super::coalesce::{coalesce_flat, merge_all};
use crate::error::{Error, Result, div_up, mul};
use crate::inline::{Mode, Modes};
use crate::{Layout, Tuple};

const OP: &str = "complement";

/// The filtered modes of `layout` in order of stride; refuses empty and backward ones.
pub(crate) fn sorted_modes(op: &'static str, layout: &Layout) -> Result<Modes> {
    if layout.is_empty() {
        return Err(Error::Empty {
            op,
            shape: layout.shape().clone(),
        });
    }
    live_modes(op, &layout.flat())
}

/// The same of the leaves of a layout that is not empty.
pub(super) fn live_modes(op: &'static str, flat: &[Mode]) -> Result<Modes> {
    let live = |mode: &Mode| mode.extent > 1 && mode.stride != 0;
    let mut modes = merge_all(flat.iter().copied().filter(live))?;
    if let Some(mode) = modes.iter().find(|mode| mode.stride < 0) {
        return Err(Error::NegativeStride {
            op,
            extent: mode.extent,
            stride: mode.stride,
        });
    }
    modes.sort_by_key(|mode| mode.stride);
    Ok(modes)
}

/// What lies between sorted modes.
pub(super) struct Gaps {
    pub(super) modes: Modes,
    /// Where the copy after the modes and their gaps begins.
    pub(super) below: i64,
    /// The first offset that neither has, if strides do not divide each other.
    pub(super) unreached: Option<i64>,
}

/// The gaps between `modes`, which are sorted and live ([`live_modes`]).
pub(super) fn gaps_between(modes: &[Mode]) -> Result<Gaps> {
    let mut gaps = Gaps {
        modes: Modes::new(),
        below: 1,
        unreached: None,
    };
    for mode in modes {
        let below = gaps.below;
        if mode.stride < below {
            return Err(Error::Overlap {
                op: OP,
                extent: mode.extent,
                stride: mode.stride,
                below,
            });
        }
        if mode.stride % below != 0 && gaps.unreached.is_none() {
            gaps.unreached = Some(mode.stride - mode.stride % below);
        }
        gaps.modes.push(Mode {
            extent: mode.stride / below,
            stride: below,
        });
        gaps.below = mul(OP, mode.stride, mode.extent)?;
    }
    Ok(gaps)
}

impl Layout {
    /// The complement within this layout's own reach.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// assert_eq!(Layout::parse("4:2").unwrap().complement().unwrap().to_string(), "2:1");
    /// ```
    pub fn complement(&self) -> Result<Layout> {
        self.complement_in(self.filter()?.cosize())
    }

    /// The complement up to `bound`: an integer, or a shape each mode of which is rounded up on its own.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// let tile = Layout::parse("(2,2):(1,6)").unwrap();
    /// assert_eq!(tile.complement_in(24).unwrap().to_string(), "(3,2):(2,12)");
    /// ```
    pub fn complement_in(&self, bound: impl Into<Tuple>) -> Result<Layout> {
        let bound = bound.into();
        let result = Layout::from_flat(&coalesce_flat(&self.gaps(&bound)?.0)?)?;
        // A bound given as a shape can be rounded up in too few modes.
        if !bound.is_int() {
            let (want, got) = (bound.product()?, Layout::concat([self, &result])?.cosize());
            if got < want {
                return Err(Error::NotRepresentable {
                    op: OP,
                    index: got,
                    got,
                    want,
                });
            }
        }
        Ok(result)
    }

    /// The modes between the modes of this layout, and last the mode that repeats the whole: it stays even if the bound
    /// asks for one copy only, because what is read past the end goes there.
    /// Also the first offset that neither has, if strides do not divide each other.
    pub(crate) fn gaps(&self, bound: &Tuple) -> Result<(Modes, Option<i64>)> {
        let mut gaps = gaps_between(&sorted_modes(OP, self)?)?;
        let below = gaps.below;
        let rest = match bound {
            Tuple::Int(bound) if *bound < 0 => {
                return Err(Error::NegativeExtent {
                    op: OP,
                    extent: *bound,
                });
            }
            Tuple::Int(bound) => div_up(*bound, below),
            bound => bound.ceil_div(&Tuple::Int(below))?.product()?,
        };
        gaps.modes.push(Mode {
            extent: rest,
            stride: below,
        });
        Ok((gaps.modes, gaps.unreached))
    }
}
