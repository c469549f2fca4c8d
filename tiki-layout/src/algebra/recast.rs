//! Recast: the same bytes seen as wider or narrower elements.
//!
//! ```text
//!     (8,4):(1,8) of 16 bits   upcast 2    (4,4):(1,4) of 32 bits
//!     (8,4):(1,8) of 16 bits   downcast 2  (16,4):(1,16) of 8 bits
//! ```
//!
//! A mode that is contiguous changes its extent, every other mode its stride. An extent that is no multiple rounds up:
//! the last wide element then reaches past the end.

use crate::error::{Error, Result, abs, div_up, mul};
use crate::{Layout, Tuple};

fn factor(op: &'static str, n: i64) -> Result<()> {
    if n > 0 {
        Ok(())
    } else {
        Err(Error::NotPositive {
            op,
            what: "the factor",
            got: n,
        })
    }
}

impl Layout {
    /// `n` old elements form a new one. Each stride must divide `n` or be divided by it.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// let l = |text| Layout::parse(text).unwrap();
    /// assert_eq!(l("(8,4):(1,8)").upcast(2).unwrap(), l("(4,4):(1,4)"));
    /// assert!(l("(8,3):(3,1)").upcast(8).is_err());
    /// ```
    pub fn upcast(&self, n: i64) -> Result<Layout> {
        const OP: &str = "upcast";
        factor(OP, n)?;
        self.map_leaves(&|extent, stride| {
            if stride == 0 || extent == 1 {
                return Ok((extent, 0));
            }
            let distance = abs(OP, stride)?;
            if distance % n != 0 && n % distance != 0 {
                return Err(Error::Divisibility {
                    op: OP,
                    left: stride,
                    right: n,
                });
            }
            Ok((
                div_up(extent, div_up(n, distance)),
                stride.signum() * div_up(distance, n),
            ))
        })
    }

    /// Each old element is `n` new ones. Some mode must have stride 1, or the new elements would have gaps.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// let l = |text| Layout::parse(text).unwrap();
    /// assert_eq!(l("(4,8):(8,1)").downcast(2).unwrap(), l("(4,16):(16,1)"));
    /// ```
    pub fn downcast(&self, n: i64) -> Result<Layout> {
        const OP: &str = "downcast";
        factor(OP, n)?;
        if !self.flat().iter().any(|mode| mode.stride == 1) {
            return Err(Error::NotPositive {
                op: OP,
                what: "the number of modes of stride 1",
                got: 0,
            });
        }
        self.map_leaves(&|extent, stride| match stride {
            1 | -1 => Ok((mul(OP, extent, n)?, stride)),
            _ => Ok((extent, mul(OP, stride, n)?)),
        })
    }

    /// The layout of elements of `new` bits where this one is of elements of `old` bits.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// assert_eq!(l("(8,4):(1,8)").recast(16, 32).unwrap(), l("(4,4):(1,4)"));
    /// assert_eq!(l("(8,4):(1,8)").recast(16, 8).unwrap(), l("(16,4):(1,16)"));
    /// ```
    pub fn recast(&self, old: i64, new: i64) -> Result<Layout> {
        factor("recast", old)?;
        factor("recast", new)?;
        let common = gcd(old, new);
        match (new / common, old / common) {
            (1, 1) => Ok(self.clone()),
            (1, n) => self.downcast(n),
            (n, 1) => self.upcast(n),
            (up, down) => self.upcast(up)?.downcast(down),
        }
    }

    fn map_leaves(&self, f: &dyn Fn(i64, i64) -> Result<(i64, i64)>) -> Result<Layout> {
        fn walk(
            shape: &Tuple,
            stride: &Tuple,
            f: &dyn Fn(i64, i64) -> Result<(i64, i64)>,
        ) -> Result<(Tuple, Tuple)> {
            if let (Tuple::Int(extent), Tuple::Int(stride)) = (shape, stride) {
                let (extent, stride) = f(*extent, *stride)?;
                return Ok((Tuple::Int(extent), Tuple::Int(stride)));
            }
            let pairs = shape.modes().iter().zip(stride.modes());
            let parts = pairs
                .map(|(shape, stride)| walk(shape, stride, f))
                .collect::<Result<Vec<_>>>()?;
            let (shapes, strides) = parts.into_iter().unzip();
            Ok((Tuple::Tuple(shapes), Tuple::Tuple(strides)))
        }
        let (shape, stride) = walk(self.shape(), self.stride(), f)?;
        Layout::from_parts(shape, stride)
    }
}

/// The greatest common divisor of two numbers of any sign; `gcd(0, n) = |n|`.
pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(i64::MAX)
}
