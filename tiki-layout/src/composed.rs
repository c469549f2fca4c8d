//! [`Composed`]: a swizzle after an offset after a layout, `R(c) = swizzle(offset + layout(c))`.
//!
//! Everything that only rearranges the domain (divide, product, coalesce, group, slice, ...) acts on the layout and
//! leaves swizzle and offset alone. A slice moves its offset *under* the swizzle: it is always exact, whatever bits it
//! touches. [`decay`](Composed::decay) gives the plain layout that has the same differences, where there is one.

use crate::algebra::first_difference;
use crate::coord::Coord;
use crate::error::{Error, Result, add};
use crate::evaluate::Offsets;
use crate::{Layout, Order, Swizzle, Tiler, Tuple};

/// `swizzle o offset o layout`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Composed {
    swizzle: Swizzle,
    offset: i64,
    layout: Layout,
}

impl From<Layout> for Composed {
    fn from(layout: Layout) -> Self {
        Composed {
            swizzle: Swizzle::IDENTITY,
            offset: 0,
            layout,
        }
    }
}

impl Composed {
    /// `swizzle o offset o layout`.
    ///
    /// ```
    /// # use tiki_layout::{Composed, Layout, Swizzle};
    /// let c = Composed::new(Swizzle::new(3, 0, 3).unwrap(), 0, Layout::row_major([8, 8]).unwrap()).unwrap();
    /// assert_eq!(c.to_string(), "Sw<3,0,3> o 0 o (8,8):(8,1)");
    /// assert_eq!(c.at_coord([2, 5]), Ok(2 * 8 + (5 ^ 2)));
    /// ```
    pub fn new(swizzle: Swizzle, offset: i64, layout: Layout) -> Result<Self> {
        let (low, high) = layout.span();
        add("composed layout", low, offset)?;
        add("composed layout", high, offset)?;
        Ok(Composed {
            swizzle,
            offset,
            layout,
        })
    }

    /// The swizzle applied last.
    pub fn swizzle(&self) -> Swizzle {
        self.swizzle
    }

    /// What is added under the swizzle.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// The layout applied first.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The extents of the domain.
    pub fn shape(&self) -> &Tuple {
        self.layout.shape()
    }

    /// How many coordinates.
    pub fn size(&self) -> i64 {
        self.layout.size()
    }

    /// How many modes.
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// How deep the modes nest.
    pub fn depth(&self) -> usize {
        self.layout.depth()
    }

    /// Whether an extent is zero.
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// One more than the largest offset; 0 if empty. Exact: the swizzle is applied to every offset.
    pub fn cosize(&self) -> Result<i64> {
        let size = self.size();
        if self.swizzle.is_identity() && size > 0 {
            return add("cosize", self.layout.span().1, self.offset);
        }
        if size > crate::ENUMERATION_LIMIT {
            return Err(Error::TooLarge {
                op: "cosize",
                size,
                limit: crate::ENUMERATION_LIMIT,
            });
        }
        self.offsets()
            .max()
            .map_or(Ok(0), |max| add("cosize", max, 1))
    }

    /// The offset of a 1-D index.
    pub fn at(&self, index: i64) -> Result<i64> {
        Ok(self
            .swizzle
            .apply(add("evaluation", self.offset, self.layout.at(index)?)?))
    }

    /// The offset of a coordinate.
    pub fn at_coord(&self, coord: impl Into<Tuple>) -> Result<i64> {
        Ok(self.swizzle.apply(add(
            "evaluation",
            self.offset,
            self.layout.at_coord(coord)?,
        )?))
    }

    /// The offsets of all indices in order.
    pub fn offsets(&self) -> impl Iterator<Item = i64> + use<> {
        let (swizzle, offset): (Swizzle, i64) = (self.swizzle, self.offset);
        let offsets: Offsets = self.layout.offsets();
        offsets.map(move |plain| swizzle.apply(plain + offset))
    }

    /// Applies an operation of the domain.
    pub fn map_layout(&self, f: impl FnOnce(&Layout) -> Result<Layout>) -> Result<Composed> {
        Composed::new(self.swizzle, self.offset, f(&self.layout)?)
    }

    /// Cuts the layout; the offset of the cut goes under the swizzle.
    ///
    /// ```
    /// # use tiki_layout::{Composed, Coord};
    /// let c = Composed::parse("Sw<3,4,3> o (10,2):(2,1)").unwrap();
    /// assert_eq!(c.slice(Coord::parse("(3,_)").unwrap()).unwrap().to_string(), "Sw<3,4,3> o 6 o (2):(1)");
    /// ```
    pub fn slice(&self, coord: impl Into<Coord>) -> Result<Composed> {
        self.part(self.layout.slice(coord)?)
    }

    /// The layout `L` and offset `o` with `self(i) = o + L(i)` at every index, if there is one.
    pub fn decay(&self) -> Result<(Layout, i64)> {
        if self.swizzle.is_identity() || self.is_empty() {
            return Ok((self.layout.clone(), self.offset));
        }
        let first = self.swizzle.apply(self.offset);
        let plain = self.layout.mapped("decay", &|offset| {
            Ok(self.swizzle.apply(offset + self.offset) - first)
        })?;
        Ok((plain, first))
    }

    /// Composes on the domain side.
    pub fn compose(&self, other: &Layout) -> Result<Composed> {
        self.map_layout(|layout| layout.compose(other))
    }

    /// Composes mode by mode on the domain side.
    pub fn compose_by(&self, tiler: impl Into<Tiler>) -> Result<Composed> {
        self.map_layout(|layout| layout.compose_by(tiler))
    }

    /// See [`Layout::tile_to_shape`].
    pub fn tile_to_shape(
        &self,
        target: impl Into<Tuple>,
        order: impl Into<Order>,
    ) -> Result<Composed> {
        self.map_layout(|layout| layout.tile_to_shape(target, order))
    }

    /// The tile of one block; see [`Layout::local_tile`]. Where it starts goes under the swizzle.
    pub fn local_tile(
        &self,
        tiler: impl Into<Tiler>,
        coord: impl Into<Coord>,
        projection: Option<&Coord>,
    ) -> Result<Composed> {
        self.part(self.layout.local_tile(tiler, coord, projection)?)
    }

    /// The elements of one thread; see [`Layout::local_partition`].
    pub fn local_partition(
        &self,
        threads: &Layout,
        index: i64,
        projection: Option<&Coord>,
    ) -> Result<Composed> {
        self.part(self.layout.local_partition(threads, index, projection)?)
    }

    /// See [`Layout::inner_partition`].
    pub fn inner_partition(
        &self,
        tiler: impl Into<Tiler>,
        coord: impl Into<Coord>,
    ) -> Result<Composed> {
        self.part(self.layout.inner_partition(tiler, coord)?)
    }

    /// See [`Layout::outer_partition`].
    pub fn outer_partition(
        &self,
        tiler: impl Into<Tiler>,
        coord: impl Into<Coord>,
    ) -> Result<Composed> {
        self.part(self.layout.outer_partition(tiler, coord)?)
    }

    fn part(&self, (layout, start): (Layout, i64)) -> Result<Composed> {
        Composed::new(self.swizzle, add("partition", self.offset, start)?, layout)
    }

    /// The first index whose offset another composed layout maps elsewhere: (index, ours, theirs).
    pub fn first_difference(&self, other: &Composed) -> Option<(i64, i64, i64)> {
        let mut both = (0..).zip(self.offsets().zip(other.offsets()));
        both.find(|(_, (a, b))| a != b).map(|(i, (a, b))| (i, a, b))
    }
}

macro_rules! on_the_domain {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {
        impl Composed {$(
            #[doc = concat!("[`Layout::", stringify!($name), "`] of the layout under the swizzle.")]
            pub fn $name(&self, $($arg: $type),*) -> Result<Composed> {
                self.map_layout(|layout| layout.$name($($arg),*))
            }
        )*}
    };
}

on_the_domain! {
    coalesce();
    coalesce_like(profile: &Tuple);
    filter();
    filter_zeros();
    flatten();
    unflatten(profile: &Tuple);
    select(modes: &[usize]);
    transpose();
    take(begin: usize, end: usize);
    group(begin: usize, end: usize);
    append(other: &Layout);
    prepend(other: &Layout);
    replace(mode: usize, other: &Layout);
    zip();
    filter_like(profile: &Tuple);
    append_to_rank(rank: usize);
    mode(index: usize);
    with_shape(shape: Tuple);
    logical_divide(tiler: impl Into<Tiler>);
    zipped_divide(tiler: impl Into<Tiler>);
    tiled_divide(tiler: impl Into<Tiler>);
    flat_divide(tiler: impl Into<Tiler>);
    logical_product(tiler: impl Into<Tiler>);
    zipped_product(tiler: impl Into<Tiler>);
    tiled_product(tiler: impl Into<Tiler>);
    flat_product(tiler: impl Into<Tiler>);
    blocked_product(tiler: &Layout);
    raked_product(tiler: &Layout);
}

impl Layout {
    /// The layout with this domain whose offsets are `f` of these, if there is one: `R(i) = f(self(i))`.
    pub(crate) fn mapped(
        &self,
        op: &'static str,
        f: &dyn Fn(i64) -> Result<i64>,
    ) -> Result<Layout> {
        if self.size() > crate::ENUMERATION_LIMIT {
            return Err(Error::TooLarge {
                op,
                size: self.size(),
                limit: crate::ENUMERATION_LIMIT,
            });
        }
        let candidate = self.runs_of(f)?;
        match first_difference(&candidate, self.offsets().map(f))? {
            None => Ok(candidate),
            Some((index, got, want)) => Err(Error::NotRepresentable {
                op,
                index,
                got,
                want,
            }),
        }
    }
}
