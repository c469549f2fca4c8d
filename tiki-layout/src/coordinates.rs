//! [`Coordinates`]: a layout whose offsets are coordinates.
//!
//! ```text
//!     identity of (128,64)          (128,64):(1@0,1@1)                  (i,j) -> (i,j)
//!     its tiles of 32 by 16         ((32,16),(4,4)):((1@0,1@1),(32@0,16@1))
//! ```
//!
//! Dividing and slicing it beside a tensor tells, for every element of a tile, where in the tensor it is: what a bounds
//! test compares and what a copy engine is given. `1@0` is the unit of mode 0, `1@1@0` that of sub-mode 1 of mode 0
//! (innermost index first).
//!
//! A coordinate is kept as one number in a mixed radix with room above each extent, so that every operation of plain
//! layouts works on it. An overhang larger than that room is an overflow error, never a wrong coordinate.

use crate::coord::Coord;
use crate::error::{Error, Result, add, mul};
use crate::{Layout, Tiler, Tuple};
use std::fmt;

/// A function from coordinates to coordinates: the strides are multiples of unit vectors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Coordinates {
    /// The shape whose coordinates are the values.
    target: Tuple,
    /// The weight of each leaf of the target, and last the end of the range.
    weights: Vec<i64>,
    /// Where this part starts.
    start: i64,
    layout: Layout,
}

impl Coordinates {
    /// Maps every coordinate of `shape` to itself.
    ///
    /// ```
    /// # use tiki_layout::{Coordinates, Tiler, Tuple};
    /// let all = Coordinates::identity([128, 64]).unwrap();
    /// let tiles = all.zipped_divide(Tiler::parse("<32,16>").unwrap()).unwrap();
    /// assert_eq!(tiles.to_string(), "((32,16),(4,4)):((1@0,1@1),(32@0,16@1))");
    /// let tile = all.local_tile(Tiler::parse("<32,16>").unwrap(), [1, 2]).unwrap();
    /// assert_eq!(tile.at_coord([3, 5]).unwrap(), Tuple::from([32 + 3, 32 + 5]));
    /// ```
    pub fn identity(shape: impl Into<Tuple>) -> Result<Coordinates> {
        const OP: &str = "coordinates";
        let target = shape.into();
        let leaves = target.leaves();
        if let Some(extent) = leaves.iter().find(|extent| **extent < 0) {
            return Err(Error::NegativeExtent {
                op: OP,
                extent: *extent,
            });
        }
        let bits = |extent: &i64| 64 - extent.leading_zeros();
        let used: u32 = leaves.iter().map(bits).sum();
        let count = u32::try_from(leaves.len()).unwrap_or(u32::MAX).max(1);
        let room = match 60u32.checked_sub(used) {
            Some(free) if free / count > 0 => (free / count).min(30),
            _ => {
                return Err(Error::Overflow {
                    op: OP,
                    left: used.into(),
                    right: 60,
                });
            }
        };
        let mut weights = vec![1];
        for extent in &leaves {
            let last = weights[weights.len() - 1];
            weights.push(mul(OP, last, 1 << (bits(extent) + room))?);
        }
        let stride = weights[..leaves.len()]
            .iter()
            .copied()
            .collect::<Tuple>()
            .unflatten(&target)?;
        let layout = Layout::new(target.clone(), stride)?;
        Coordinates {
            target,
            weights,
            start: 0,
            layout,
        }
        .checked()
    }

    /// No coordinate leaves its range: the digits of all leaves together stay below each weight.
    fn checked(self) -> Result<Self> {
        let mut reach = self.digits(self.start);
        for (extent, stride) in self.layout.leaves() {
            let digits = self.digits(stride);
            for (axis, digit) in digits.into_iter().enumerate() {
                let far = if extent > 1 {
                    mul("coordinates", extent - 1, digit)?
                } else {
                    0
                };
                reach[axis] = add("coordinates", reach[axis], far)?;
            }
        }
        for (axis, reach) in reach.into_iter().enumerate() {
            let range = self.weights[axis + 1] / self.weights[axis];
            if !(0..range).contains(&reach) {
                return Err(Error::Overflow {
                    op: "coordinates",
                    left: reach,
                    right: range,
                });
            }
        }
        Ok(self)
    }

    fn digits(&self, value: i64) -> Vec<i64> {
        self.weights
            .windows(2)
            .map(|pair| (value % pair[1]) / pair[0])
            .collect()
    }

    fn with(&self, layout: Layout, start: i64) -> Result<Coordinates> {
        let (target, weights) = (self.target.clone(), self.weights.clone());
        Coordinates {
            target,
            weights,
            start,
            layout,
        }
        .checked()
    }

    /// The shape whose coordinates are the values.
    pub fn target(&self) -> &Tuple {
        &self.target
    }

    /// The extents of the domain.
    pub fn shape(&self) -> &Tuple {
        self.layout.shape()
    }

    /// How many coordinates.
    pub fn size(&self) -> i64 {
        self.layout.size()
    }

    fn coordinate(&self, value: i64) -> Result<Tuple> {
        self.digits(value)
            .into_iter()
            .collect::<Tuple>()
            .unflatten(&self.target)
    }

    /// The coordinate of a 1-D index inside the domain.
    pub fn at(&self, index: i64) -> Result<Tuple> {
        if !(0..self.size()).contains(&index) {
            return Err(Error::Coordinate {
                op: "coordinates",
                coordinate: index,
                extent: self.size(),
            });
        }
        self.coordinate(add("coordinates", self.start, self.layout.at(index)?)?)
    }

    /// The coordinate of a coordinate inside the domain.
    pub fn at_coord(&self, coord: impl Into<Tuple>) -> Result<Tuple> {
        self.at(crate::coord::coord_to_index(&coord.into(), self.shape())?)
    }

    /// The coordinates of all indices in order.
    pub fn coordinates(&self) -> impl Iterator<Item = Result<Tuple>> + '_ {
        self.layout
            .offsets()
            .map(|offset| self.coordinate(self.start + offset))
    }

    /// Cuts the domain: entries over `_` are kept.
    pub fn slice(&self, coord: impl Into<Coord>) -> Result<Coordinates> {
        let (layout, offset) = self.layout.slice(coord)?;
        self.with(layout, add("coordinates", self.start, offset)?)
    }

    /// The tile of one block; see [`Layout::local_tile`].
    pub fn local_tile(
        &self,
        tiler: impl Into<Tiler>,
        coord: impl Into<Coord>,
    ) -> Result<Coordinates> {
        let (layout, offset) = self.layout.local_tile(tiler, coord, None)?;
        self.with(layout, add("coordinates", self.start, offset)?)
    }

    /// The elements of one thread; see [`Layout::local_partition`].
    pub fn local_partition(&self, threads: &Layout, index: i64) -> Result<Coordinates> {
        let (layout, offset) = self.layout.local_partition(threads, index, None)?;
        self.with(layout, add("coordinates", self.start, offset)?)
    }

    /// Reads the coordinates through a layout of indices.
    pub fn compose(&self, other: &Layout) -> Result<Coordinates> {
        self.with(self.layout.compose(other)?, self.start)
    }

    /// Reads the coordinates mode by mode.
    pub fn compose_by(&self, tiler: impl Into<Tiler>) -> Result<Coordinates> {
        self.with(self.layout.compose_by(tiler)?, self.start)
    }

    /// See [`Layout::logical_divide`].
    pub fn logical_divide(&self, tiler: impl Into<Tiler>) -> Result<Coordinates> {
        self.with(self.layout.logical_divide(tiler)?, self.start)
    }

    /// See [`Layout::zipped_divide`].
    pub fn zipped_divide(&self, tiler: impl Into<Tiler>) -> Result<Coordinates> {
        self.with(self.layout.zipped_divide(tiler)?, self.start)
    }

    /// See [`Layout::select`].
    pub fn select(&self, modes: &[usize]) -> Result<Coordinates> {
        self.with(self.layout.select(modes)?, self.start)
    }
}

/// The way to each leaf, innermost index first.
fn paths(tuple: &Tuple, outer: &str, out: &mut Vec<String>) {
    match tuple {
        Tuple::Int(_) => out.push(outer.to_string()),
        Tuple::Tuple(modes) => {
            modes
                .iter()
                .enumerate()
                .for_each(|(i, mode)| paths(mode, &format!("@{i}{outer}"), out));
        }
    }
}

impl fmt::Display for Coordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = Vec::new();
        paths(&self.target, "", &mut names);
        let show = |value: i64| {
            let parts = self
                .digits(value)
                .into_iter()
                .zip(&names)
                .filter(|(digit, _)| *digit != 0);
            let text = parts
                .map(|(digit, name)| format!("{digit}{name}"))
                .collect::<Vec<_>>()
                .join("+");
            if text.is_empty() {
                "0".to_string()
            } else {
                text
            }
        };
        if self.start != 0 {
            write!(
                f,
                "{} + ",
                self.coordinate(self.start).map_err(|_| fmt::Error)?
            )?;
        }
        write!(f, "{}:", self.shape())?;
        write_tree(f, self.layout.stride(), &show)
    }
}

fn write_tree(
    f: &mut fmt::Formatter<'_>,
    tuple: &Tuple,
    show: &dyn Fn(i64) -> String,
) -> fmt::Result {
    match tuple {
        Tuple::Int(value) => f.write_str(&show(*value)),
        Tuple::Tuple(modes) => {
            f.write_str("(")?;
            for (i, mode) in modes.iter().enumerate() {
                if i > 0 {
                    f.write_str(",")?;
                }
                write_tree(f, mode, show)?;
            }
            f.write_str(")")
        }
    }
}
