//! Products: a layout repeated.
//!
//! ```text
//!     A = 4:1, T = 3:2     (4,3):(1,8)        copy j of A starts at block T(j) of A's own size
//! ```
//!
//! `logical_product(A, T) = (A, complement(A, size(A) * cosize(T)) o T)`. The copies fill the gaps of `A` first. Because
//! composition here is exact, copies never collide: where no layout can place them, the product is refused.

use super::coalesce::coalesce_extended;
use super::divide::unzip;
use crate::error::{Error, Result, mul};
use crate::{Layout, Order, Tiler, Tuple};

impl Layout {
    /// Every multiplied mode becomes `(block, copies)`; modes the tiler does not mention are kept.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// let a = Layout::parse("(2,2):(4,1)").unwrap();
    /// let p = a.logical_product(Layout::parse("6:1").unwrap()).unwrap();
    /// assert_eq!(p.to_string(), "((2,2),(2,3)):((4,1),(2,8))");
    /// ```
    pub fn logical_product(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        self.multiply_by(&tiler.into())
    }

    fn multiply_by(&self, tiler: &Tiler) -> Result<Layout> {
        match tiler {
            Tiler::Keep => Ok(self.clone()),
            Tiler::Layout(tiler) => Layout::concat_all(vec![self.clone(), self.copies(tiler)?]),
            Tiler::Modes(tilers) => self.by_mode("logical product", tilers, Layout::multiply_by),
        }
    }

    fn copies(&self, tiler: &Layout) -> Result<Layout> {
        let bound = mul("logical product", self.size(), tiler.cosize())?;
        Layout::from_flat(&coalesce_extended(&self.gaps(&Tuple::Int(bound))?.0)?)?.compose(tiler)
    }

    /// All blocks in mode 0, all copies in mode 1.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let (a, t) = (l("(2,5):(5,1)"), Tiler::parse("<3,4>").unwrap());
    /// let r = a.zipped_product(&t).unwrap();
    /// assert_eq!(r.mode(0).unwrap(), a);
    /// laws::repeats(&a, &r).unwrap();
    /// ```
    pub fn zipped_product(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        let tiler = tiler.into();
        let (block, copies) = unzip(self.multiply_by(&tiler)?, &tiler)?;
        Ok(Layout::regroup(vec![block, copies]))
    }

    /// All blocks in mode 0, then each mode of copies.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("(4,8):(8,1)");
    /// let r = a.tiled_product(l("(2,3):(3,1)")).unwrap();
    /// assert_eq!(r, l("((4,8),2,3):((8,1),96,32)"));
    /// ```
    pub fn tiled_product(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        self.zipped_product(tiler)?.spread(false)
    }

    /// Each block mode, then each mode of copies.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("(4,8):(8,1)");
    /// let r = a.flat_product(l("(2,3):(3,1)")).unwrap();
    /// assert_eq!(r, l("(4,8,2,3):(8,1,96,32)"));
    /// ```
    pub fn flat_product(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        self.zipped_product(tiler)?.spread(true)
    }

    /// Mode `i` is (block mode `i`, copies along `i`): whole blocks side by side. The shorter operand is padded by `1:0`.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// let a = Layout::parse("(2,5):(5,1)").unwrap();
    /// let p = a.blocked_product(&Layout::parse("(3,4):(1,3)").unwrap()).unwrap();
    /// assert_eq!(p.to_string(), "((2,3),(5,4)):((5,10),(1,30))");
    /// ```
    pub fn blocked_product(&self, tiler: &Layout) -> Result<Layout> {
        self.interleaved(tiler, |block, copies| [block, copies])
    }

    /// Mode `i` is (copies along `i`, block mode `i`): the elements of the blocks interleaved.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// let a = Layout::parse("(2,5):(5,1)").unwrap();
    /// let p = a.raked_product(&Layout::parse("(3,4):(1,3)").unwrap()).unwrap();
    /// assert_eq!(p.to_string(), "((3,2),(4,5)):((10,5),(30,1))");
    /// ```
    pub fn raked_product(&self, tiler: &Layout) -> Result<Layout> {
        self.interleaved(tiler, |block, copies| [copies, block])
    }

    fn interleaved(
        &self,
        tiler: &Layout,
        order: fn(Layout, Layout) -> [Layout; 2],
    ) -> Result<Layout> {
        let rank = self.rank().max(tiler.rank());
        let (block, tiler) = (self.append_to_rank(rank)?, tiler.append_to_rank(rank)?);
        let copies = block.copies(&tiler)?;
        // An integer layout is one mode however its copies come out: both stay whole, 3:1 by (2):(1) is ((3,(2))).
        if rank == 1 && (block.depth() == 0 || tiler.depth() == 0) {
            return Layout::concat_all(vec![Layout::concat_all(order(block, copies).into())?]);
        }
        let pairs = block.modes().zip(copies.modes());
        let modes = pairs.map(|(block, copies)| Layout::concat_all(order(block, copies).into()));
        Layout::concat_all(modes.collect::<Result<Vec<_>>>()?)
    }

    /// Repeats this layout until it covers `target`, the copies laid out compactly in `order`. Each mode of the result has the size of the target's mode.
    ///
    /// ```
    /// # use tiki_layout::{Layout, Order};
    /// let atom = Layout::parse("(8,64):(64,1)").unwrap();
    /// let tile = atom.tile_to_shape([128, 128], Order::Left).unwrap();
    /// assert_eq!(tile.to_string(), "((8,16),(64,2)):((64,512),(1,8192))");
    /// ```
    pub fn tile_to_shape(
        &self,
        target: impl Into<Tuple>,
        order: impl Into<Order>,
    ) -> Result<Layout> {
        const OP: &str = "tile to shape";
        let target = target.into();
        let rank = self.rank().max(target.rank());
        let block = self.append_to_rank(rank)?;
        let (want, have) = (
            target.product_each()?.leaves(),
            block.shape().product_each()?.leaves(),
        );
        if want.len() != have.len() {
            return Err(Error::Rank {
                op: OP,
                got: have.len(),
                want: want.len(),
            });
        }
        let mut counts = Vec::with_capacity(rank);
        for (mode, (target, tile)) in want.into_iter().zip(have).enumerate() {
            if tile == 0 || target % tile != 0 {
                return Err(Error::TileDoesNotDivide {
                    op: OP,
                    mode,
                    tile,
                    target,
                });
            }
            counts.push(target / tile);
        }
        let counts: Tuple = counts.into_iter().collect();
        block.blocked_product(&Layout::ordered(counts, order)?)
    }
}
