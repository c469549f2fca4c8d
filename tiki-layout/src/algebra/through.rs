//! Layouts before and after a swizzle: what can be pulled through it.
//!
//! `L o Sw = Sw' o L` holds where `L` carries the two bit fields of `Sw` onto two bit fields: then `Sw'` XORs the images.
//! It is tried, and checked at every index.

use super::recast::gcd;
use crate::error::{Error, Result, add, mul};
use crate::{Composed, ENUMERATION_LIMIT, Layout, Swizzle};

impl Layout {
    /// This layout after a swizzle of its index, `R(i) = self(swizzle(i))`, written with the swizzle in front.
    ///
    /// ```
    /// # use tiki_layout::{Layout, Swizzle};
    /// let l = Layout::parse("(8,8):(8,1)").unwrap();
    /// let r = l.after_swizzle(&Swizzle::new(2, 1, 3).unwrap()).unwrap();
    /// assert_eq!(r.to_string(), "Sw<2,1,-3> o 0 o (8,8):(8,1)");
    /// ```
    pub fn after_swizzle(&self, swizzle: &Swizzle) -> Result<Composed> {
        const OP: &str = "layout after swizzle";
        if swizzle.is_identity() {
            return Ok(self.clone().into());
        }
        let image = |mask: i64| self.at(mask);
        let moved = Swizzle::from_masks(image(swizzle.y_mask())?, image(swizzle.z_mask())?)?;
        let result = Composed::new(moved, 0, self.clone())?;
        law(OP, result.size(), |i| {
            Ok((result.at(i)?, self.at(swizzle.apply(i))?))
        })?;
        Ok(result)
    }

    /// [`compose`](Self::compose) with a swizzled layout: `R(c) = self(other(c))`, written with a swizzle in front.
    pub fn compose_swizzled(&self, other: &Composed) -> Result<Composed> {
        const OP: &str = "composition";
        if other.offset() != 0 {
            return Err(Error::Atom {
                op: OP,
                what: "the offset under the swizzle",
                got: other.offset(),
                want: 0,
            });
        }
        if other.swizzle().is_identity() {
            return self.compose(other.layout()).map(Composed::from);
        }
        let (swizzle, plain) = (other.swizzle(), self.compose(other.layout())?);
        let moved = Swizzle::from_masks(self.at(swizzle.y_mask())?, self.at(swizzle.z_mask())?)?;
        let result = Composed::new(moved, 0, plain)?;
        law(OP, result.size(), |i| {
            Ok((result.at(i)?, self.at(other.at(i)?)?))
        })?;
        Ok(result)
    }

    /// [`logical_product`](Self::logical_product) whose copies lie as a swizzled layout says.
    pub fn logical_product_swizzled(&self, tiler: &Composed) -> Result<Composed> {
        const OP: &str = "logical product";
        let bound = mul(
            OP,
            self.size(),
            tiler.cosize()?.max(tiler.layout().cosize()),
        )?;
        let copies = self.complement_in(bound)?.compose_swizzled(tiler)?;
        let result = Composed::new(
            copies.swizzle(),
            0,
            Layout::concat([self, copies.layout()])?,
        )?;
        let inner = self.size().max(1);
        law(OP, result.size(), |i| {
            Ok((
                result.at(i)?,
                add(OP, self.at(i % inner)?, copies.at(i / inner)?)?,
            ))
        })?;
        Ok(result)
    }
}

/// Checks `got(i) = want(i)` for every index below `size`.
fn law(op: &'static str, size: i64, pair: impl Fn(i64) -> Result<(i64, i64)>) -> Result<()> {
    if size > ENUMERATION_LIMIT {
        return Err(Error::TooLarge {
            op,
            size,
            limit: ENUMERATION_LIMIT,
        });
    }
    for index in 0..size {
        let (got, want) = pair(index)?;
        if got != want {
            return Err(Error::NotRepresentable {
                op,
                index,
                got,
                want,
            });
        }
    }
    Ok(())
}

impl Composed {
    /// `R` with `self(R(k)) = k`: the swizzle is pulled through the inverse of the layout, or the answer is refused.
    pub fn right_inverse(&self) -> Result<Composed> {
        const OP: &str = "right inverse";
        if self.is_plain() {
            return self.layout().right_inverse().map(Composed::from);
        }
        let result = self.inverse_under(OP, self.layout().right_inverse()?)?;
        law(OP, result.size(), |k| Ok((self.at(result.at(k)?)?, k)))?;
        Ok(result)
    }

    /// `R` with `self(R(self(i))) = self(i)`.
    pub fn left_inverse(&self) -> Result<Composed> {
        const OP: &str = "left inverse";
        if self.is_plain() {
            return self.layout().left_inverse().map(Composed::from);
        }
        let result = self.inverse_under(OP, self.layout().left_inverse()?)?;
        law(OP, self.size(), |i| {
            Ok((self.at(result.at(self.at(i)?)?)?, self.at(i)?))
        })?;
        Ok(result)
    }

    fn is_plain(&self) -> bool {
        self.swizzle().is_identity() && self.offset() == 0
    }

    fn inverse_under(&self, op: &'static str, inverse: Layout) -> Result<Composed> {
        if self.offset() != 0 {
            return Err(Error::Atom {
                op,
                what: "the offset under the swizzle",
                got: self.offset(),
                want: 0,
            });
        }
        let (swizzle, image) = (self.swizzle(), |mask: i64| inverse.at(mask));
        let moved = Swizzle::from_masks(image(swizzle.y_mask())?, image(swizzle.z_mask())?)?;
        Composed::new(moved, 0, inverse)
    }

    /// `n` old elements form a new one.
    pub fn upcast(&self, n: i64) -> Result<Composed> {
        let (layout, swizzle) = (self.layout().upcast(n)?, self.swizzle().upcast(n)?);
        if self.offset() % n != 0 {
            return Err(Error::Divisibility {
                op: "upcast",
                left: self.offset(),
                right: n,
            });
        }
        Composed::new(swizzle, self.offset() / n, layout)
    }

    /// Each old element is `n` new ones.
    pub fn downcast(&self, n: i64) -> Result<Composed> {
        let layout = self.layout().downcast(n)?;
        Composed::new(
            self.swizzle().downcast(n)?,
            mul("downcast", self.offset(), n)?,
            layout,
        )
    }

    /// The composed layout of elements of `new` bits where this one is of elements of `old` bits.
    pub fn recast(&self, old: i64, new: i64) -> Result<Composed> {
        if old <= 0 || new <= 0 {
            return Err(Error::NotPositive {
                op: "recast",
                what: "an element width",
                got: old.min(new),
            });
        }
        let common = gcd(old, new);
        match (new / common, old / common) {
            (1, 1) => Ok(self.clone()),
            (1, n) => self.downcast(n),
            (n, 1) => self.upcast(n),
            (left, right) => Err(Error::Divisibility {
                op: "recast",
                left,
                right,
            }),
        }
    }

    /// The largest power of two `n` (or less) by which vectors stay whole: the swizzle's base, the offset and the layout's
    /// own alignment allow it.
    pub fn max_alignment(&self) -> Result<i64> {
        let layout = self.layout().max_alignment()?;
        if self.swizzle().is_identity() {
            return Ok(gcd(layout, self.offset()));
        }
        Ok(gcd(gcd(1 << self.swizzle().base(), self.offset()), layout))
    }

    /// How many elements lie together, in order, here and in `other`.
    pub fn max_common_vector(&self, other: &Composed) -> Result<i64> {
        let vector = self.layout().max_common_vector(other.layout())?;
        if self.swizzle() == other.swizzle() && self.offset() == other.offset() {
            return Ok(vector);
        }
        let whole = |c: &Composed| match (c.swizzle().is_identity(), c.offset()) {
            (true, 0) => i64::MAX,
            (true, offset) => gcd(offset, 0),
            (false, offset) => gcd(1 << c.swizzle().base(), offset),
        };
        Ok(vector.min(whole(self)).min(whole(other)))
    }
}
