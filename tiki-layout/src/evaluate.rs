//! Evaluation: a layout as a function of indices and coordinates, its offsets in order, and cuts of it.

use crate::coord::{Coord, coord_to_offset, split};
use crate::error::{Error, Result, add, mul};
use crate::inline::{Inline, Mode, Modes};
use crate::{Layout, Tuple};

impl Layout {
    /// The offset of the 1-D index. Past the end the last leaf simply goes on.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("(4,2):(1,8)");
    /// assert_eq!([a.at(3), a.at(4), a.at(8)], [Ok(3), Ok(8), Ok(16)]);   // 8 is past the end
    /// ```
    pub fn at(&self, index: i64) -> Result<i64> {
        at_flat(&self.flat(), index)
    }

    /// The offset of a coordinate: an integer, a flat tuple, a natural tuple, or any mix.
    pub fn at_coord(&self, coord: impl Into<Tuple>) -> Result<i64> {
        coord_to_offset(&coord.into(), self.shape(), self.stride())
    }

    /// The offsets of all indices in order.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// assert_eq!(l("(2,3):(3,1)").offsets().collect::<Vec<_>>(), [0, 3, 1, 4, 2, 5]);
    /// ```
    pub fn offsets(&self) -> Offsets {
        let modes = self.flat();
        let left = self.size();
        Offsets {
            at: modes.iter().map(|_| 0).collect(),
            modes,
            offset: 0,
            left,
        }
    }

    /// One more than the largest offset, and the smallest: `(min, max + 1)`; `(0, 0)` if empty.
    pub fn span(&self) -> (i64, i64) {
        if self.is_empty() {
            return (0, 0);
        }
        let (mut low, mut high) = (0, 0);
        for mode in self.flat().iter().filter(|mode| mode.extent > 1) {
            let reach = (mode.extent - 1) * mode.stride;
            if reach < 0 {
                low += reach
            } else {
                high += reach
            }
        }
        (low, high + 1)
    }

    /// Cuts the layout: entries over `_` are kept as modes, integers are fixed. Returns the rest and the offset of the cut.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("(4,(2,3)):(1,(4,8))");
    /// let (row, at) = a.slice(Coord::parse("(2,_)").unwrap()).unwrap();
    /// assert_eq!((row, at), (l("((2,3)):((4,8))"), 2));
    /// let (part, at) = a.slice(Coord::parse("(_,(1,_))").unwrap()).unwrap();
    /// assert_eq!((part, at), (l("(4,3):(1,8)"), 4));
    /// ```
    pub fn slice(&self, coord: impl Into<Coord>) -> Result<(Layout, i64)> {
        let coord = coord.into();
        let offset = self.at_coord(coord.origin())?;
        let shape = coord.slice(self.shape())?;
        Ok((
            Layout::from_parts(shape, coord.slice(self.stride())?)?,
            offset,
        ))
    }

    /// The modes that stand over an integer of `coord`: the complement of [`slice`](Self::slice).
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("(4,(2,3)):(1,(4,8))");
    /// assert_eq!(a.dice(Coord::parse("(2,_)").unwrap()).unwrap(), l("(4):(1)"));
    /// ```
    pub fn dice(&self, coord: impl Into<Coord>) -> Result<Layout> {
        let coord = coord.into();
        Layout::from_parts(coord.dice(self.shape())?, coord.dice(self.stride())?)
    }

    /// The offset of `coord`, and the layout that starts there (the same strides).
    pub fn domain_offset(&self, coord: impl Into<Tuple>) -> Result<(Layout, i64)> {
        Ok((self.clone(), self.at_coord(coord)?))
    }

    /// Whether no two indices share an offset.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// assert_eq!(l("(4,2):(1,3)").is_injective(), Ok(false));        // 3 is reached twice
    /// assert_eq!(l("(3,2):(2,3)").is_injective(), Ok(true));
    /// ```
    pub fn is_injective(&self) -> Result<bool> {
        let mut modes: Vec<Mode> = self
            .flat()
            .iter()
            .copied()
            .filter(|mode| mode.extent > 1)
            .collect();
        if self.is_empty() {
            return Ok(true);
        }
        modes.sort_by_key(|mode| mode.stride.unsigned_abs());
        let mut reach = 0;
        if modes.iter().all(|mode| {
            let clear = mode.stride.abs() > reach;
            reach += (mode.extent - 1) * mode.stride.abs();
            clear
        }) {
            return Ok(true);
        }
        if self.cosize() < self.size() {
            return Ok(false);
        }
        if self.size() > crate::ENUMERATION_LIMIT {
            return Err(Error::TooLarge {
                op: "injectivity",
                size: self.size(),
                limit: crate::ENUMERATION_LIMIT,
            });
        }
        let mut seen = std::collections::HashSet::new();
        Ok(self.offsets().all(|offset| seen.insert(offset)))
    }
}

/// Evaluates a flat list of modes at a 1-D index; the last is not reduced.
pub(crate) fn at_flat(modes: &[Mode], index: i64) -> Result<i64> {
    const OP: &str = "evaluation";
    let Some((last, front)) = modes.split_last() else {
        return if index == 0 {
            Ok(0)
        } else {
            Err(Error::Coordinate {
                op: OP,
                coordinate: index,
                extent: 1,
            })
        };
    };
    let (mut rest, mut offset) = (index, 0);
    for mode in front {
        offset = add(
            OP,
            offset,
            mul(OP, split(OP, &mut rest, mode.extent)?, mode.stride)?,
        )?;
    }
    add(OP, offset, mul(OP, rest, last.stride)?)
}

/// Iterates over the offsets of a layout: an odometer, one addition per step.
#[derive(Clone, Debug)]
pub struct Offsets {
    modes: Modes,
    at: Inline<i64, 8>,
    offset: i64,
    left: i64,
}

impl Iterator for Offsets {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        if self.left == 0 {
            return None;
        }
        let now = self.offset;
        self.left -= 1;
        if self.left > 0 {
            for (mode, at) in self.modes.iter().zip(self.at.iter_mut()) {
                if mode.extent == 1 {
                    continue;
                }
                *at += 1;
                if *at < mode.extent {
                    self.offset += mode.stride;
                    break;
                }
                self.offset -= (mode.extent - 1) * mode.stride;
                *at = 0;
            }
        }
        Some(now)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}
