//! Partitions: the tile of one block, the elements of one thread.
//!
//! ```text
//!     inner partition   one tile, whole           rest coordinate fixed
//!     outer partition   one place of every tile   tile coordinate fixed
//! ```
//!
//! Each answers a layout and the offset where it starts.

use crate::coord::{Coord, coord_to_coord, offset_to_coord};
use crate::error::{Error, Result};
use crate::{Layout, Tiler, Tuple};

impl Coord {
    fn all(rank: usize) -> Coord {
        if rank == 1 {
            Coord::All
        } else {
            Coord::Tuple(vec![Coord::All; rank])
        }
    }

    fn padded(self, rank: usize) -> Coord {
        match self {
            Coord::Tuple(mut modes) => {
                modes.resize(rank.max(modes.len()), Coord::All);
                Coord::Tuple(modes)
            }
            other => other,
        }
    }

    /// The entries that stand over an integer of `projection`.
    pub fn dice_by(&self, projection: &Coord) -> Result<Coord> {
        pick(self.modes(), projection).map(Coord::Tuple)
    }
}

impl Tiler {
    /// The entries that stand over an integer of `projection`.
    pub fn dice_by(&self, projection: &Coord) -> Result<Tiler> {
        match self {
            Tiler::Modes(modes) => pick(modes, projection).map(Tiler::Modes),
            other => Ok(other.clone()),
        }
    }
}

fn pick<T: Clone>(items: &[T], projection: &Coord) -> Result<Vec<T>> {
    let marks = projection.modes();
    if marks.len() != items.len() {
        return Err(Error::Rank {
            op: "projection",
            got: marks.len(),
            want: items.len(),
        });
    }
    Ok(items
        .iter()
        .zip(marks)
        .filter(|(_, mark)| **mark != Coord::All)
        .map(|(item, _)| item.clone())
        .collect())
}

impl Layout {
    /// One tile: [`zipped_divide`](Self::zipped_divide), then the rest modes fixed at `coord`. Missing entries of `coord`
    /// keep their mode; an integer counts the tiles.
    ///
    /// ```
    /// # use tiki_layout::{Layout, Tiler, Coord};
    /// let a = Layout::parse("(32,24):(24,1)").unwrap();
    /// let (tile, at) = a.inner_partition(Tiler::parse("<4,3>").unwrap(), [2, 3]).unwrap();
    /// assert_eq!((tile.to_string().as_str(), at), ("(4,3):(24,1)", 2 * 4 * 24 + 3 * 3));
    /// ```
    pub fn inner_partition(
        &self,
        tiler: impl Into<Tiler>,
        coord: impl Into<Coord>,
    ) -> Result<(Layout, i64)> {
        let tiled = self.zipped_divide(tiler)?;
        let (tiles, rests) = (tiled.mode(0)?.rank(), tiled.mode(1)?.rank());
        tiled.slice(vec![Coord::all(tiles), coord.into().padded(rests)])
    }

    /// One place of every tile: [`zipped_divide`](Self::zipped_divide), then the tile modes fixed at `coord`.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("(8,8):(1,8)");
    /// let (own, at) = a.outer_partition(Tiler::parse("<4,2>").unwrap(), [3, 1]).unwrap();
    /// assert_eq!((own, at), (l("(2,4):(4,16)"), 3 + 8));
    /// ```
    pub fn outer_partition(
        &self,
        tiler: impl Into<Tiler>,
        coord: impl Into<Coord>,
    ) -> Result<(Layout, i64)> {
        let tiled = self.zipped_divide(tiler)?;
        let (tiles, rests) = (tiled.mode(0)?.rank(), tiled.mode(1)?.rank());
        tiled.slice(vec![coord.into().padded(tiles), Coord::all(rests)])
    }

    /// The tile of one block: an [`inner_partition`](Self::inner_partition); with a projection, only the entries of tiler
    /// and coordinate that stand over an integer take part.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// // The A tile of a block: the entries of (m, n, k) that A has.
    /// let a = l("(256,64):(64,1)");
    /// let tiler = Tiler::parse("<128,256,32>").unwrap();
    /// let (tile, at) = a.local_tile(tiler, [1, 5, 1], Some(&Coord::parse("(1,_,1)").unwrap())).unwrap();
    /// assert_eq!((tile, at), (l("(128,32):(64,1)"), 128 * 64 + 32));
    /// ```
    pub fn local_tile(
        &self,
        tiler: impl Into<Tiler>,
        coord: impl Into<Coord>,
        projection: Option<&Coord>,
    ) -> Result<(Layout, i64)> {
        let (tiler, coord) = (tiler.into(), coord.into());
        match projection {
            None => self.inner_partition(tiler, coord),
            Some(marks) => self.inner_partition(tiler.dice_by(marks)?, coord.dice_by(marks)?),
        }
    }

    /// The elements of one thread: an [`outer_partition`](Self::outer_partition) by the extents of the thread layout, at
    /// the coordinate that it gives the thread `index`.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let (a, threads) = (l("(8,8):(8,1)"), l("(2,4):(4,1)"));
    /// let (own, at) = a.local_partition(&threads, 6, None).unwrap();
    /// assert_eq!((own, at), (l("(4,2):(16,4)"), 8 + 2));              // thread 6 is (1,2)
    /// ```
    pub fn local_partition(
        &self,
        threads: &Layout,
        index: i64,
        projection: Option<&Coord>,
    ) -> Result<(Layout, i64)> {
        let threads = match projection {
            None => threads.clone(),
            Some(marks) => threads.dice(marks.clone())?,
        };
        let extents = threads.shape().product_each()?;
        let coord = offset_to_coord(index, threads.shape(), threads.stride())?;
        let flat: Tuple = coord_to_coord(&coord.wrap(), &threads.shape().wrap(), &extents)?;
        self.outer_partition(Tiler::by_extents(&extents)?, Coord::from(&flat))
    }
}
