//! Composition, division, slices, inverses and complements of XOR layouts.
//!
//! Every operation that only rearranges the domain is a composition with a strided layout of *indices*: divide the
//! compact layout of the shape, then compose. So [`rearrange`](XorLayout::rearrange) lends the whole algebra of
//! strided layouts to XOR layouts.

use super::layout::log2;
use super::{BitMatrix, Refusal, XorLayout};
use crate::coord::Coord;
use crate::{Layout, Tiler, Tuple};

impl XorLayout {
    /// `R(c) = self(other(c))`.
    ///
    /// ```
    /// # use tiki_layout::{Layout, xor::XorLayout};
    /// let a = XorLayout::with_strides([8, 8], &[9, 1]).unwrap();
    /// let column = Layout::parse("8:8").unwrap();
    /// assert_eq!(a.compose(&XorLayout::from_layout(&column).unwrap()).unwrap().to_string(), "8:^1");
    /// ```
    pub fn compose(&self, other: &XorLayout) -> Result<XorLayout, Refusal> {
        if other.cosize() > self.size() {
            return Err(Refusal::Outside {
                index: other.cosize() - 1,
                size: self.size(),
            });
        }
        let matrix = self.matrix();
        let columns = other
            .columns
            .iter()
            .map(|list| list.iter().map(|c| matrix.apply(*c)).collect());
        XorLayout::new(
            other.shape.clone(),
            columns.collect(),
            matrix.apply(other.offset) ^ self.offset,
        )
    }

    /// Composes with an operation on the compact layout of the shape, which maps coordinates to indices.
    ///
    /// ```
    /// # use tiki_layout::{Tiler, xor::XorLayout};
    /// let a = XorLayout::with_strides([8, 8], &[9, 1]).unwrap();
    /// let tiles = a.rearrange(|index| index.zipped_divide(Tiler::parse("<4,2>")?)).unwrap();
    /// assert_eq!(tiles.to_string(), "((4,2),(2,4)):((^9,^1),(^36,^2))");
    /// ```
    pub fn rearrange(
        &self,
        f: impl FnOnce(&Layout) -> crate::Result<Layout>,
    ) -> Result<XorLayout, Refusal> {
        let indices = Layout::col_major(self.shape.clone())?;
        self.compose(&XorLayout::from_layout(&f(&indices)?)?)
    }

    /// Every tiled mode becomes `(tile, rest)`.
    pub fn logical_divide(&self, tiler: impl Into<Tiler>) -> Result<XorLayout, Refusal> {
        self.rearrange(|index| index.logical_divide(tiler))
    }

    /// All tiles in mode 0, all rests in mode 1.
    pub fn zipped_divide(&self, tiler: impl Into<Tiler>) -> Result<XorLayout, Refusal> {
        self.rearrange(|index| index.zipped_divide(tiler))
    }

    /// Fixes the integers of `coord` and keeps the modes under `_`; what is fixed moves into the constant.
    pub fn slice(&self, coord: impl Into<Coord>) -> Result<XorLayout, Refusal> {
        let (rest, offset) = Layout::col_major(self.shape.clone())?.slice(coord)?;
        let mut inner = XorLayout::from_layout(&rest)?;
        if offset < 0 || offset >= self.size() {
            return Err(Refusal::Outside {
                index: offset,
                size: self.size(),
            });
        }
        inner.offset = offset as u64;
        self.compose(&inner)
    }

    /// `R` on offsets with `R(self(i)) = i`: a layout of the power of two that holds all offsets. Offsets that are not
    /// reached go to some index. Refused if two indices share an offset.
    ///
    /// ```
    /// # use tiki_layout::xor::XorLayout;
    /// let a = XorLayout::with_strides([8, 8], &[9, 1]).unwrap();
    /// let r = a.left_inverse().unwrap();
    /// assert!((0..64).all(|i| r.at(a.at(i).unwrap()) == Ok(i)));
    /// ```
    pub fn left_inverse(&self) -> Result<XorLayout, Refusal> {
        let matrix = self.matrix();
        if let Some(vector) = matrix.kernel().basis().first() {
            return Err(Refusal::NotInjective {
                index: *vector as i64,
            });
        }
        let bits = 64 - ((self.cosize() - 1) as u64).leading_zeros();
        let inverse = matrix.quasi_inverse(bits);
        let offset = inverse.apply(self.offset);
        XorLayout::new(1i64 << bits, vec![inverse.columns().to_vec()], offset)
    }

    /// The longest `R` of the form `0..2^k` with `self(R(i)) = i`: the offsets below `2^k` are all reached.
    pub fn right_inverse(&self) -> Result<XorLayout, Refusal> {
        let matrix = self.matrix();
        let mut columns = Vec::new();
        // Offset 0 must be reached, or no offset is its own image.
        let Some(start) = matrix.solve(self.offset) else {
            return Err(Refusal::Offset {
                offset: self.offset(),
                used: self.cosize() - 1,
            });
        };
        while let Some(index) = matrix
            .solve(1 << columns.len())
            .filter(|_| columns.len() < 62)
        {
            columns.push(index);
        }
        XorLayout::new(1i64 << columns.len(), vec![columns], start)
    }

    /// `R` such that `(i, j) -> self(i) ^ R(j)` reaches every offset below `bound` once. `bound` is a power of two.
    ///
    /// R takes the unit bits that are leading bits of no member of the image, ascending; so every value of R is the
    /// smallest offset of its coset.
    ///
    /// ```
    /// # use tiki_layout::xor::{Refusal, XorLayout};
    /// let a = XorLayout::with_strides(8, &[9]).unwrap();
    /// assert_eq!(a.complement_in(64).unwrap().to_string(), "8:^1");
    /// let clash = XorLayout::with_strides([2, 2], &[3, 3]).unwrap();
    /// assert_eq!(clash.complement_in(64), Err(Refusal::NotInjective { index: 3 }));
    /// ```
    pub fn complement_in(&self, bound: i64) -> Result<XorLayout, Refusal> {
        let matrix = self.matrix();
        if let Some(vector) = matrix.kernel().basis().first() {
            return Err(Refusal::NotInjective {
                index: *vector as i64,
            });
        }
        let refused = Refusal::Bound {
            bound,
            reach: self.cosize() - 1,
        };
        let bits = log2(bound)
            .filter(|_| self.cosize() <= bound)
            .ok_or(refused)?;
        let image = matrix.image();
        let leads = image
            .basis()
            .iter()
            .fold(0u64, |all, b| all | 1 << (63 - b.leading_zeros()));
        let free: Vec<u64> = (0..bits)
            .map(|bit| 1 << bit)
            .filter(|bit| leads & bit == 0)
            .collect();
        // Neighbouring bits share a leaf: the XOR stride notation stays short.
        let mut lists: Vec<Vec<u64>> = Vec::new();
        for bit in free {
            match lists.last_mut() {
                Some(list) if list.last().is_some_and(|last| last << 1 == bit) => list.push(bit),
                _ => lists.push(vec![bit]),
            }
        }
        let extents: Vec<i64> = lists.iter().map(|list| 1 << list.len()).collect();
        match extents.as_slice() {
            [] => XorLayout::new(1, vec![Vec::new()], 0),
            [extent] => XorLayout::new(*extent, lists, 0),
            _ => XorLayout::new(extents.into_iter().collect::<Tuple>(), lists, 0),
        }
    }

    /// Applies a map of offset bits after the layout.
    pub fn map_offsets(&self, map: &BitMatrix) -> Result<XorLayout, Refusal> {
        let columns = self
            .columns
            .iter()
            .map(|list| list.iter().map(|c| map.apply(*c)).collect());
        XorLayout::new(
            self.shape.clone(),
            columns.collect(),
            map.apply(self.offset),
        )
    }
}
