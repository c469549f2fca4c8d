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
//! A tile that does not divide rounds the rest up: the last tile then reaches past the end of `A`.

use crate::coord::Coord;
use crate::error::{Error, Result};
use crate::{Layout, Tiler};

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
        match tiler.into() {
            Tiler::Keep => Ok(self.clone()),
            Tiler::Layout(tile) => {
                let rest = tile.complement_in(self.coalesce()?.shape())?;
                self.compose(&Layout::concat([&tile, &rest])?)
            }
            Tiler::Modes(tilers) => self.by_mode("logical divide", tilers, |mode, tiler| {
                mode.logical_divide(tiler)
            }),
        }
    }

    pub(crate) fn by_mode(
        &self,
        op: &'static str,
        tilers: Vec<Tiler>,
        f: impl Fn(Layout, Tiler) -> Result<Layout>,
    ) -> Result<Layout> {
        if tilers.len() > self.rank() {
            return Err(Error::Rank {
                op,
                got: tilers.len(),
                want: self.rank(),
            });
        }
        let mut tilers = tilers.into_iter();
        let modes = self.modes().map(|mode| match tilers.next() {
            Some(tiler) => f(mode, tiler),
            None => Ok(mode),
        });
        Layout::concat(&modes.collect::<Result<Vec<_>>>()?)
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
        let (tile, rest) = unzip(&self.logical_divide(&tiler)?, &tiler)?;
        Layout::concat([&tile, &rest])
    }

    /// All tiles in mode 0, then each rest as a mode.
    pub fn tiled_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        self.zipped_divide(tiler)?.spread(false)
    }

    /// Each tile mode, then each rest mode.
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
pub(crate) fn unzip(divided: &Layout, tiler: &Tiler) -> Result<(Layout, Layout)> {
    match tiler {
        Tiler::Keep => Ok((Layout::new(1, 0)?, divided.clone())),
        Tiler::Layout(_) => Ok((divided.mode(0)?, divided.mode(1)?)),
        Tiler::Modes(tilers) => {
            let (mut tiles, mut rests) = (Vec::new(), Vec::new());
            for (i, mode) in divided.modes().enumerate() {
                match tilers.get(i) {
                    Some(tiler) => {
                        let (tile, rest) = unzip(&mode, tiler)?;
                        tiles.push(tile);
                        rests.push(rest);
                    }
                    None => rests.push(mode),
                }
            }
            Ok((Layout::concat(&tiles)?, Layout::concat(&rests)?))
        }
    }
}
