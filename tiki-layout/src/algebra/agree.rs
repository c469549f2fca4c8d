//! What layouts have in common, and what one layout says about vectors, alignment and null space.

use super::coalesce::coalesce_flat;
use super::recast::gcd;
use crate::error::{Error, Result, mul};
use crate::inline::{Mode, Modes};
use crate::{ENUMERATION_LIMIT, Layout, Tuple};

impl Layout {
    /// The longest `R` found with `self(R(i)) = other(R(i)) = i`: the elements that two layouts keep together, in order.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// let (a, b) = (Layout::parse("(4,8):(1,16)").unwrap(), Layout::parse("(4,8):(1,32)").unwrap());
    /// assert_eq!(a.max_common_layout(&b).unwrap().to_string(), "4:1");
    /// ```
    pub fn max_common_layout(&self, other: &Layout) -> Result<Layout> {
        let inverse = other.right_inverse()?;
        if inverse.is_empty() || self.is_empty() {
            return Layout::new(0, 0);
        }
        let common = match self.compose(&inverse) {
            Ok(common) => common.coalesce()?,
            Err(Error::NotRepresentable { .. } | Error::Coordinate { .. }) => {
                return self.common_prefix(&inverse);
            }
            Err(error) => return Err(error),
        };
        let first = common.mode(0)?;
        if first.stride() == &Tuple::Int(1) {
            inverse.compose(&first)
        } else {
            Layout::new(1, 0)
        }
    }

    /// The longest prefix of `inverse` on which this layout is the identity, as far as whole modes of it allow.
    fn common_prefix(&self, inverse: &Layout) -> Result<Layout> {
        let size = inverse.size();
        if size > ENUMERATION_LIMIT {
            return Err(Error::TooLarge {
                op: "max_common_layout",
                size,
                limit: ENUMERATION_LIMIT,
            });
        }
        let same = (0..)
            .zip(inverse.offsets())
            .take_while(|(i, index)| self.at(*index) == Ok(*i))
            .count();
        let same = i64::try_from(same).unwrap_or(1).max(1);
        let mut whole = 1;
        for mode in inverse.flat().iter() {
            if whole * mode.extent > same {
                break;
            }
            whole *= mode.extent;
        }
        inverse.compose(&Layout::new(same - same % whole, 1)?)
    }

    /// How many elements lie together, in order, in both layouts. The width of a vector must still divide it.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// assert_eq!(l("(4,8):(1,4)").max_common_vector(&l("(4,8):(1,8)")), Ok(4));
    /// ```
    pub fn max_common_vector(&self, other: &Layout) -> Result<i64> {
        Ok(self.max_common_layout(other)?.size())
    }

    /// The largest `n` known such that the elements come in whole aligned runs of `n`: what lies together, as far as it
    /// divides every other stride.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// assert_eq!(Layout::parse("(8,4):(1,24)").unwrap().max_alignment(), Ok(8));
    /// ```
    pub fn max_alignment(&self) -> Result<i64> {
        let mut modes = coalesce_flat(&self.flat())?;
        if self.is_empty() {
            return Ok(1);
        }
        modes.sort_by_key(|mode| mode.stride);
        let (mut together, mut rest) = (1, 0);
        for mode in modes.iter() {
            if mode.stride == together {
                together = mul("max_alignment", together, mode.extent)?;
            } else {
                rest = gcd(rest, mode.stride);
            }
        }
        Ok(gcd(together, rest))
    }

    /// The indices that reach offset 0 because their modes have stride 0, as a layout into the domain.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// assert_eq!(Layout::parse("(2,2,2):(1,0,2)").unwrap().nullspace().unwrap().to_string(), "2:2");
    /// ```
    pub fn nullspace(&self) -> Result<Layout> {
        let (mut step, mut out) = (1, Modes::new());
        for mode in self.flat().iter() {
            if mode.stride == 0 {
                out.push(Mode {
                    extent: mode.extent,
                    stride: if mode.extent == 1 { 0 } else { step },
                });
            }
            step = mul("nullspace", step, mode.extent)?;
        }
        Layout::from_flat(&out)
    }

    /// Spreads `n` workers over the modes of `shape` from the left: as many along each mode as divide both.
    ///
    /// ```
    /// # use tiki_layout::{Layout, Tuple};
    /// let workers = Layout::domain_distribute(&Tuple::from([15, 14]), 6).unwrap();
    /// assert_eq!(workers.to_string(), "(3,2):(1,15)");
    /// ```
    pub fn domain_distribute(shape: &Tuple, n: i64) -> Result<Layout> {
        if n <= 0 {
            return Err(Error::NotPositive {
                op: "domain_distribute",
                what: "the number of workers",
                got: n,
            });
        }
        let (mut left, mut out) = (n, Modes::new());
        for mode in Layout::col_major(shape.flatten())?.flat().iter() {
            let here = gcd(mode.extent, left);
            out.push(Mode {
                extent: if mode.extent == 0 { 0 } else { here },
                stride: mode.stride,
            });
            left /= here;
        }
        Layout::from_flat(&coalesce_flat(&out)?)
    }

    /// The compact layout of the same shape whose modes follow each other in the order of these strides. Broadcast modes
    /// stay broadcast.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// assert_eq!(Layout::parse("(2,4,9):(1,72,0)").unwrap().like().unwrap().to_string(), "(2,4,9):(1,2,0)");
    /// ```
    pub fn like(&self) -> Result<Layout> {
        let stride = self.filter_zeros()?.shape().compact_order(self.stride())?;
        Layout::new(self.shape().clone(), stride)
    }

    /// The compact layout for registers that hold this layout's elements: mode 0 (the values of one access) comes first
    /// and is contiguous, the others follow in the order of their strides.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let r = l("((2,4),3,5):((3,1),100,10)").fragment_like().unwrap();
    /// assert_eq!(r, l("((2,4),3,5):((1,2),40,8)"));
    /// ```
    pub fn fragment_like(&self) -> Result<Layout> {
        if self.rank() <= 1 {
            return Layout::col_major(self.shape().clone());
        }
        let first = self.mode(0)?;
        let vector = Layout::new(
            first.shape().clone(),
            first.filter_zeros()?.shape().prefix_product(1)?,
        )?;
        let rest = self.take(1, self.rank())?;
        vector.tiled_product(Layout::ordered(
            rest.shape().clone(),
            rest.stride().clone(),
        )?)
    }
}
