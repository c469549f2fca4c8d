//! Division: a layout cut into equal tiles.
//!
//! ```text
//!     A = 24:1     tile 4     (4,6):(1,4)
//!     0 1 2 3 | 4 5 6 7 | 8 9 10 11 | ..        mode 0 walks in a tile, mode 1 from tile to tile
//! ```
//!
//! `logical_divide(A, T) = A o (T, complement(T, size A))`. The other three arrange the same modes:
//!
//! | operation | modes for tiles `T0 T1` of `A0 A1 A2` |
//! | --- | --- |
//! | logical | `(T0,R0), (T1,R1), A2` |
//! | zipped | `(T0,T1), (R0,R1,A2)` |
//! | tiled | `(T0,T1), R0, R1, A2` |
//! | flat | `T0, T1, R0, R1, A2` |
//!
//! A tile that does not divide rounds the rest up: the last tile then reaches past the end of `A`. A tile that would leave
//! elements of `A` in no tile at all, such as `(4,2):(1,10)` of 20, is refused.

use super::coalesce::coalesce_flat;
use super::cut;
use crate::coord::Coord;
use crate::error::{Error, Result};
use crate::{Layout, Tiler, Tuple};

impl Layout {
    /// Every tiled mode becomes `(tile, rest)`; modes the tiler does not mention are kept.
    ///
    /// ```
    /// # use tiki_layout::{Layout, Tiler};
    /// let a = Layout::parse("(4,2,3):(2,1,8)").unwrap();
    /// let d = a.logical_divide(Layout::parse("4:2").unwrap()).unwrap();
    /// assert_eq!(d.to_string(), "((2,2),(2,3)):((4,1),(2,8))");
    /// let d = Layout::parse("(9,(4,8)):(59,(13,1))").unwrap().logical_divide(Tiler::parse("<3:3,(2,4):(1,8)>").unwrap());
    /// assert_eq!(d.unwrap().to_string(), "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))");
    /// ```
    pub fn logical_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        let tiler = tiler.into();
        match cut::logical(self.shape(), self.stride(), &tiler) {
            Some((shape, stride)) => Layout::from_parts(shape, stride),
            None => self.divide_by(&tiler),
        }
    }

    pub(super) fn divide_by(&self, tiler: &Tiler) -> Result<Layout> {
        match tiler {
            Tiler::Keep => Ok(self.clone()),
            Tiler::Layout(tile) => {
                let modes = coalesce_flat(&self.flat())?;
                let bound = match modes[..] {
                    [] => Tuple::Int(1),
                    [only] => Tuple::Int(only.extent),
                    _ => modes.iter().map(|mode| mode.extent).collect(),
                };
                if let Some(place) = tile.gaps(&bound)?.1.filter(|place| *place < self.size()) {
                    return Err(Error::Unreached {
                        op: "divide",
                        place,
                    });
                }
                let rest = tile.complement_in(bound)?;
                self.compose(&Layout::concat_all(vec![tile.clone(), rest])?)
            }
            Tiler::Modes(tilers) => self.by_mode("logical divide", tilers, Layout::divide_by),
        }
    }

    pub(crate) fn by_mode(
        &self,
        op: &'static str,
        tilers: &[Tiler],
        f: impl Fn(&Layout, &Tiler) -> Result<Layout>,
    ) -> Result<Layout> {
        if tilers.len() > self.rank() {
            return Err(Error::Rank {
                op,
                got: tilers.len(),
                want: self.rank(),
            });
        }
        let modes = self
            .modes()
            .enumerate()
            .map(|(i, mode)| match tilers.get(i) {
                Some(tiler) => f(&mode, tiler),
                None => Ok(mode),
            });
        Layout::concat_all(modes.collect::<Result<Vec<_>>>()?)
    }

    /// All tiles in mode 0, all rests in mode 1.
    ///
    /// ```
    /// # use tiki_layout::{Layout, Tiler};
    /// let a = Layout::parse("(128,64):(64,1)").unwrap();
    /// let d = a.zipped_divide(Tiler::parse("<32,16>").unwrap()).unwrap();
    /// assert_eq!(d.to_string(), "((32,16),(4,4)):((64,1),(2048,16))");
    /// ```
    pub fn zipped_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        let tiler = tiler.into();
        if let Some((tile, rest)) = cut::zipped(self.shape(), self.stride(), &tiler) {
            let (shape, stride) = cut::pair(tile, rest);
            return Layout::from_parts(shape, stride);
        }
        let (tile, rest) = unzip(self.divide_by(&tiler)?, &tiler)?;
        Ok(Layout::regroup(vec![tile, rest]))
    }

    /// All tiles in mode 0, then each rest as a mode.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let (a, t) = (l("(128,64):(64,1)"), Tiler::parse("<32,16>").unwrap());
    /// let r = a.tiled_divide(&t).unwrap();
    /// assert_eq!(r, l("((32,16),4,4):((64,1),2048,16)"));
    /// laws::covers(&a, &r).unwrap();
    /// ```
    pub fn tiled_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        self.zipped_divide(tiler)?.spread(false)
    }

    /// Each tile mode, then each rest mode.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let (a, t) = (l("(128,64):(64,1)"), Tiler::parse("<32,16>").unwrap());
    /// let r = a.flat_divide(&t).unwrap();
    /// assert_eq!(r, l("(32,16,4,4):(64,1,2048,16)"));
    /// laws::covers(&a, &r).unwrap();
    /// ```
    pub fn flat_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        self.zipped_divide(tiler)?.spread(true)
    }

    /// Unpacks mode 1 (and mode 0) of a zipped layout. A mode of rank 1 stays as it is.
    pub(crate) fn spread(&self, both: bool) -> Result<Layout> {
        let all = |mode: Layout| match mode.rank() {
            1 => Coord::All,
            rank => Coord::Tuple(vec![Coord::All; rank]),
        };
        let first = if both { all(self.mode(0)?) } else { Coord::All };
        Ok(self.slice(vec![first, all(self.mode(1)?)])?.0)
    }
}

/// Splits a logically divided (or multiplied) layout into its tile and rest parts. A kept mode has the tile `1:0`.
pub(crate) fn unzip(divided: Layout, tiler: &Tiler) -> Result<(Layout, Layout)> {
    match tiler {
        Tiler::Keep => Ok((Layout::new(1, 0)?, divided)),
        Tiler::Layout(_) => {
            let mut modes = divided.into_modes().into_iter();
            match (modes.next(), modes.next()) {
                (Some(tile), Some(rest)) => Ok((tile, rest)),
                (first, _) => Err(Error::Rank {
                    op: "unzip",
                    got: usize::from(first.is_some()),
                    want: 2,
                }),
            }
        }
        Tiler::Modes(tilers) => {
            let (mut tiles, mut rests) = (
                Vec::with_capacity(tilers.len()),
                Vec::with_capacity(tilers.len()),
            );
            for (i, mode) in divided.into_modes().into_iter().enumerate() {
                match tilers.get(i) {
                    Some(tiler) => {
                        let (tile, rest) = unzip(mode, tiler)?;
                        tiles.push(tile);
                        rests.push(rest);
                    }
                    None => rests.push(mode),
                }
            }
            Ok((Layout::regroup(tiles), Layout::regroup(rests)))
        }
    }
}
