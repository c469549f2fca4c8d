//! Inverses: from offsets back to indices.
//!
//! ```text
//!     A = (4,2):(2,1)     index  0 1 2 3 4 5 6 7
//!                         offset 0 2 4 6 1 3 5 7
//!     R = (2,4):(4,1)     A(R(k)) = k
//! ```

use super::coalesce::coalesce_flat;
use super::complement::sorted_modes;
use crate::Layout;
use crate::error::{Error, Result, mul};
use crate::inline::{Mode, Modes};

impl Layout {
    /// The longest `R` with `self(R(k)) = k` that a chain of modes gives: it starts at stride 1 and each mode continues
    /// where the chain ends. `1:0` if no mode has stride 1.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// let a = Layout::parse("(4,2):(2,1)").unwrap();
    /// let r = a.right_inverse().unwrap();
    /// assert_eq!(r.to_string(), "(2,4):(4,1)");
    /// assert!((0..8).all(|k| a.at(r.at(k).unwrap()) == Ok(k)));
    /// ```
    pub fn right_inverse(&self) -> Result<Layout> {
        let modes = coalesce_flat(&self.flat())?;
        if self.is_empty() {
            return Layout::from_flat(&modes);
        }
        let mut steps: Vec<(Mode, i64)> = Vec::with_capacity(modes.len());
        let mut step = 1;
        for mode in modes.iter() {
            steps.push((*mode, step));
            step = mul("right inverse", step, mode.extent)?;
        }
        steps.sort_by_key(|(mode, _)| mode.stride);
        let (mut next, mut out) = (1, Modes::new());
        for (mode, step) in steps {
            if mode.stride == next {
                out.push(Mode {
                    extent: mode.extent,
                    stride: step,
                });
                next = mul("right inverse", mode.stride, mode.extent)?;
            }
        }
        Layout::from_flat(&coalesce_flat(&out)?)
    }

    /// `R` with `self(R(self(i))) = self(i)`: an offset in the image goes back to (the first of) its indices. Without
    /// broadcast modes `R(self(i)) = i`. Offsets between go to the index below them.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// let a = Layout::parse("4:2").unwrap();
    /// let r = a.left_inverse().unwrap();
    /// assert_eq!(r.to_string(), "(2,4):(0,1)");
    /// assert!((0..4).all(|i| r.at(a.at(i).unwrap()) == Ok(i)));
    /// ```
    pub fn left_inverse(&self) -> Result<Layout> {
        const OP: &str = "left inverse";
        let flat = coalesce_flat(&self.flat())?;
        if self.is_empty() {
            return Layout::from_flat(&flat);
        }
        if sorted_modes(OP, self)?.is_empty() && flat.len() == 1 {
            return Layout::new(self.size(), 0);
        }
        let mut steps: Vec<(Mode, i64)> = Vec::with_capacity(flat.len());
        let mut step = 1;
        for mode in flat.iter() {
            steps.push((*mode, step));
            step = mul(OP, step, mode.extent)?;
        }
        steps.retain(|(mode, _)| mode.stride != 0);
        steps.sort_by_key(|(mode, _)| mode.stride);
        let (mut out, mut below, mut unit, mut stride) = (Modes::new(), 1, 1, 0);
        for (mode, step) in steps {
            if mode.stride < below {
                return Err(Error::Overlap {
                    op: OP,
                    extent: mode.extent,
                    stride: mode.stride,
                    below,
                });
            }
            if mode.stride % unit != 0 {
                return Err(Error::Divisibility {
                    op: OP,
                    left: mode.stride,
                    right: unit,
                });
            }
            out.push(Mode {
                extent: mode.stride / unit,
                stride,
            });
            (unit, stride) = (mode.stride, step);
            below = mul(OP, mode.stride, mode.extent)?;
        }
        if below > 1 {
            out.push(Mode {
                extent: below / unit,
                stride,
            });
        }
        Layout::from_flat(&coalesce_flat(&out)?)
    }
}
