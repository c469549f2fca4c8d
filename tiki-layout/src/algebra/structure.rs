//! Moving modes about: no offset changes, only which coordinate reaches it.

use crate::error::{Error, Result};
use crate::{Layout, Tuple};

impl Layout {
    /// All leaves as modes of one level; an integer layout stays one.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("(2,(3,5)):(1,(2,6))");
    /// let r = a.flatten().unwrap();
    /// assert_eq!(r, l("(2,3,5):(1,2,6)"));
    /// laws::same_function(&a, &r).unwrap();
    /// ```
    pub fn flatten(&self) -> Result<Layout> {
        Layout::from_parts(self.shape().flatten(), self.stride().flatten())
    }

    /// Gives the leaves another nesting with as many leaves.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("(2,(3,5)):(1,(2,6))");
    /// assert_eq!(a.flatten().unwrap().unflatten(a.shape()).unwrap(), a);
    /// ```
    pub fn unflatten(&self, profile: &Tuple) -> Result<Layout> {
        Layout::from_parts(
            self.shape().unflatten(profile)?,
            self.stride().unflatten(profile)?,
        )
    }

    /// The modes named by `modes`, in that order; a mode may be named twice.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// assert_eq!(Layout::parse("(4,8):(8,1)").unwrap().select(&[1, 0]).unwrap().to_string(), "(8,4):(1,8)");
    /// ```
    pub fn select(&self, modes: &[usize]) -> Result<Layout> {
        Layout::concat(
            &modes
                .iter()
                .map(|mode| self.mode(*mode))
                .collect::<Result<Vec<_>>>()?,
        )
    }

    /// The modes reversed: a matrix transposed.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("(4,8):(8,1)");
    /// assert_eq!(a.transpose().unwrap().at_coord([5, 2]), a.at_coord([2, 5]));
    /// ```
    pub fn transpose(&self) -> Result<Layout> {
        self.select(&(0..self.rank()).rev().collect::<Vec<_>>())
    }

    /// The modes `begin..end`, at least one.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("(2,3,5):(1,2,6)");
    /// assert_eq!(a.take(1, 3).unwrap(), l("(3,5):(2,6)"));
    /// assert!(a.take(1, 1).is_err());
    /// ```
    pub fn take(&self, begin: usize, end: usize) -> Result<Layout> {
        self.range("take", begin, end)?;
        if begin == end {
            return Err(Error::Mode {
                op: "take",
                mode: begin,
                rank: self.rank(),
            });
        }
        self.select(&(begin..end).collect::<Vec<_>>())
    }

    fn range(&self, op: &'static str, begin: usize, end: usize) -> Result<()> {
        if begin > end || end > self.rank() {
            return Err(Error::Mode {
                op,
                mode: begin.max(end),
                rank: self.rank(),
            });
        }
        Ok(())
    }

    /// The modes `begin..end` become one nested mode; an empty range changes nothing.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// assert_eq!(Layout::parse("(2,3,5):(1,2,6)").unwrap().group(0, 2).unwrap().to_string(), "((2,3),5):((1,2),6)");
    /// ```
    pub fn group(&self, begin: usize, end: usize) -> Result<Layout> {
        self.range("group", begin, end)?;
        if begin == end {
            return Ok(self.clone());
        }
        let mut modes: Vec<Layout> = self.modes().collect();
        let grouped = Layout::concat_all(modes.drain(begin..end).collect())?;
        modes.insert(begin, grouped);
        Layout::concat_all(modes)
    }

    /// `other` as one more mode at the end.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("(2,3):(1,2)").append(&l("5:6")).unwrap();
    /// assert_eq!(a, l("(2,3,5):(1,2,6)"));
    /// ```
    pub fn append(&self, other: &Layout) -> Result<Layout> {
        let mut modes: Vec<Layout> = self.modes().collect();
        modes.push(other.clone());
        Layout::concat_all(modes)
    }

    /// `other` as one more mode in front.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("(2,3):(1,2)").prepend(&l("5:6")).unwrap();
    /// assert_eq!(a, l("(5,2,3):(6,1,2)"));
    /// ```
    pub fn prepend(&self, other: &Layout) -> Result<Layout> {
        let mut modes: Vec<Layout> = self.modes().collect();
        modes.insert(0, other.clone());
        Layout::concat_all(modes)
    }

    /// Pads with modes `1:0` at the end until there are `rank` of them.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("4:2");
    /// let r = a.append_to_rank(3).unwrap();
    /// assert_eq!(r, l("(4,1,1):(2,0,0)"));
    /// laws::same_function(&a, &r).unwrap();
    /// ```
    pub fn append_to_rank(&self, rank: usize) -> Result<Layout> {
        let missing = rank.saturating_sub(self.rank());
        if missing == 0 {
            return Ok(self.clone());
        }
        let pad = Layout::new(1, 0)?;
        let modes: Vec<Layout> = self
            .modes()
            .chain(std::iter::repeat_n(pad, missing))
            .collect();
        Layout::concat_all(modes)
    }

    /// `other` in the place of mode `mode`.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// assert_eq!(l("(2,3):(1,2)").replace(1, &l("(4,4):(4,1)")).unwrap(), l("(2,(4,4)):(1,(4,1))"));
    /// ```
    pub fn replace(&self, mode: usize, other: &Layout) -> Result<Layout> {
        let mut modes: Vec<Layout> = self.modes().collect();
        match modes.get_mut(mode) {
            Some(place) => *place = other.clone(),
            None => {
                return Err(Error::Mode {
                    op: "replace",
                    mode,
                    rank: self.rank(),
                });
            }
        }
        Layout::concat_all(modes)
    }

    /// Transposes the top two levels: `((a,b),(c,d))` becomes `((a,c),(b,d))`. All modes must have one rank.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("((2,3),(5,7)):((1,2),(6,30))");
    /// assert_eq!(a.zip().unwrap(), l("((2,5),(3,7)):((1,6),(2,30))"));
    /// assert_eq!(a.zip().unwrap().zip().unwrap(), a);
    /// ```
    pub fn zip(&self) -> Result<Layout> {
        let modes: Vec<Layout> = self.modes().collect();
        let rank = modes.first().map_or(0, Layout::rank);
        if let Some(other) = modes.iter().find(|mode| mode.rank() != rank) {
            return Err(Error::Rank {
                op: "zip",
                got: other.rank(),
                want: rank,
            });
        }
        let across = |i| {
            Layout::concat(
                &modes
                    .iter()
                    .map(|mode| mode.mode(i))
                    .collect::<Result<Vec<_>>>()?,
            )
        };
        Layout::concat_all((0..rank).map(across).collect::<Result<Vec<_>>>()?)
    }
}
