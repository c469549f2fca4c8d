//! Comparing and counting coordinates.
//!
//! Three orders compare tuples of one profile. *Lexicographic*: the leftmost difference decides. *Colexicographic*: the
//! rightmost decides, which is the order of indices. *Elementwise*: every leaf must agree, which is a partial order and
//! what a bounds test asks.

use crate::Tuple;
use crate::coord::index_to_coord;
use crate::error::{Error, Result, div_up, mul};
use std::cmp::Ordering;

impl Tuple {
    fn pairs(&self, op: &'static str, other: &Tuple) -> Result<Vec<(i64, i64)>> {
        if !self.is_congruent(other) {
            return Err(Error::Incongruent {
                op,
                left: self.clone(),
                right: other.clone(),
            });
        }
        Ok(self.leaves().into_iter().zip(other.leaves()).collect())
    }

    /// Compares by the leftmost difference.
    ///
    /// ```
    /// # use tiki_layout::Tuple;
    /// # use std::cmp::Ordering;
    /// let (a, b) = (Tuple::from([1, 5]), Tuple::from([2, 3]));
    /// assert_eq!((a.cmp_lex(&b), a.cmp_colex(&b)), (Ok(Ordering::Less), Ok(Ordering::Greater)));
    /// assert_eq!(a.elem_less(&b), Ok(false));
    /// ```
    pub fn cmp_lex(&self, other: &Tuple) -> Result<Ordering> {
        let pairs = self.pairs("cmp_lex", other)?;
        Ok(pairs
            .iter()
            .map(|(a, b)| a.cmp(b))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal))
    }

    /// Compares by the rightmost difference: the order of 1-D indices.
    pub fn cmp_colex(&self, other: &Tuple) -> Result<Ordering> {
        let pairs = self.pairs("cmp_colex", other)?;
        Ok(pairs
            .iter()
            .rev()
            .map(|(a, b)| a.cmp(b))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal))
    }

    /// Whether every leaf is less: a coordinate is inside a shape.
    pub fn elem_less(&self, other: &Tuple) -> Result<bool> {
        Ok(self.pairs("elem_less", other)?.iter().all(|(a, b)| a < b))
    }

    /// Whether every leaf is less or equal.
    pub fn elem_less_or_equal(&self, other: &Tuple) -> Result<bool> {
        Ok(self
            .pairs("elem_less_or_equal", other)?
            .iter()
            .all(|(a, b)| a <= b))
    }

    /// Rounds every leaf up to a multiple of the leaf of `unit`.
    ///
    /// ```
    /// # use tiki_layout::Tuple;
    /// assert_eq!(Tuple::from([100, 64]).round_up(&Tuple::from([16, 64])), Ok(Tuple::from([112, 64])));
    /// ```
    pub fn round_up(&self, unit: &Tuple) -> Result<Tuple> {
        const OP: &str = "round_up";
        let mut out = Vec::new();
        for (extent, unit) in self.pairs(OP, unit)? {
            if unit <= 0 {
                return Err(Error::NotPositive {
                    op: OP,
                    what: "the unit",
                    got: unit,
                });
            }
            if extent < 0 {
                return Err(Error::NegativeExtent { op: OP, extent });
            }
            out.push(mul(OP, div_up(extent, unit), unit)?);
        }
        out.into_iter().collect::<Tuple>().unflatten(self)
    }

    /// The coordinates of this shape in the order of their indices.
    ///
    /// ```
    /// # use tiki_layout::Tuple;
    /// let all: Vec<String> = Tuple::from([2, 3]).coordinates().unwrap().map(|c| c.to_string()).collect();
    /// assert_eq!(all, ["(0,0)", "(1,0)", "(0,1)", "(1,1)", "(0,2)", "(1,2)"]);
    /// ```
    pub fn coordinates(&self) -> Result<impl Iterator<Item = Tuple> + '_> {
        let size = self.product()?;
        if let Some(extent) = self.leaves().into_iter().find(|extent| *extent < 0) {
            return Err(Error::NegativeExtent {
                op: "coordinates",
                extent,
            });
        }
        // An index below the size has a coordinate.
        Ok((0..size).filter_map(|index| index_to_coord(index, self).ok()))
    }
}
