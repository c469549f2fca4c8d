//! Arithmetic on tuples: division with a carry through the modes, scaling, and compact strides.
//!
//! ```text
//!     ceil_div((4,6), 8) = (1,3)      8 uses up the 4, what is left of it (2) divides the 6
//! ```

use crate::error::{Error, Result, add, div_up, mul};
use crate::{Layout, Tiler, Tuple};

fn positive(op: &'static str, value: i64) -> Result<i64> {
    if value > 0 {
        Ok(value)
    } else {
        Err(Error::NotPositive {
            op,
            what: "a divisor",
            got: value,
        })
    }
}

impl Tuple {
    /// Divides and rounds up, leaf by leaf. An integer divides a tuple from the left, carrying what is left of it; a
    /// tuple divides mode by mode, missing modes dividing by 1.
    pub fn ceil_div(&self, by: &Tuple) -> Result<Tuple> {
        const OP: &str = "ceil_div";
        self.divide(OP, by, &|a, b| {
            positive(OP, b)?;
            if a < 0 {
                Err(Error::NegativeExtent { op: OP, extent: a })
            } else {
                Ok(div_up(a, b))
            }
        })
    }

    /// Divides like [`ceil_div`](Self::ceil_div), but at every step one number must divide the other.
    pub fn shape_div(&self, by: &Tuple) -> Result<Tuple> {
        const OP: &str = "shape_div";
        self.divide(OP, by, &|a, b| {
            positive(OP, b)?;
            if a < 0 {
                return Err(Error::NegativeExtent { op: OP, extent: a });
            }
            if a % b == 0 || (a != 0 && b % a == 0) {
                return Ok(div_up(a, b));
            }
            Err(Error::Divisibility {
                op: OP,
                left: a,
                right: b,
            })
        })
    }

    fn divide(
        &self,
        op: &'static str,
        by: &Tuple,
        leaf: &dyn Fn(i64, i64) -> Result<i64>,
    ) -> Result<Tuple> {
        match (self, by) {
            (Tuple::Int(a), by) => leaf(*a, by.product()?).map(Tuple::Int),
            (Tuple::Tuple(modes), Tuple::Int(by)) => {
                let mut rest = *by;
                let mut out = Vec::with_capacity(modes.len());
                for mode in modes {
                    out.push(mode.divide(op, &Tuple::Int(rest), leaf)?);
                    let size = mode.product()?;
                    rest = if size == 0 { rest } else { leaf(rest, size)? };
                }
                Ok(Tuple::Tuple(out))
            }
            (Tuple::Tuple(modes), Tuple::Tuple(bys)) => {
                if bys.len() > modes.len() {
                    return Err(Error::Rank {
                        op,
                        got: bys.len(),
                        want: modes.len(),
                    });
                }
                let one = Tuple::Int(1);
                let parts = modes.iter().enumerate();
                parts
                    .map(|(i, mode)| mode.divide(op, bys.get(i).unwrap_or(&one), leaf))
                    .collect()
            }
        }
    }

    /// Multiplies leaf by leaf; under a leaf of `self` the other side counts by its product.
    pub fn elem_scale(&self, by: &Tuple) -> Result<Tuple> {
        const OP: &str = "elem_scale";
        match (self, by) {
            (Tuple::Int(a), by) => Ok(Tuple::Int(mul(OP, *a, by.product()?)?)),
            (Tuple::Tuple(a), Tuple::Tuple(b)) if a.len() == b.len() => {
                a.iter().zip(b).map(|(a, b)| a.elem_scale(b)).collect()
            }
            _ => Err(Error::Incongruent {
                op: OP,
                left: self.clone(),
                right: by.clone(),
            }),
        }
    }

    /// The sum of the products of corresponding leaves.
    pub fn inner_product(&self, other: &Tuple) -> Result<i64> {
        const OP: &str = "inner_product";
        match (self, other) {
            (Tuple::Int(a), Tuple::Int(b)) => mul(OP, *a, *b),
            (Tuple::Tuple(a), Tuple::Tuple(b)) if a.len() == b.len() => a
                .iter()
                .zip(b)
                .map(|(a, b)| a.inner_product(b))
                .try_fold(0, |sum, x| add(OP, sum, x?)),
            _ => Err(Error::Incongruent {
                op: OP,
                left: self.clone(),
                right: other.clone(),
            }),
        }
    }

    /// Each leaf replaced by the product of the leaves left of it, starting from `init`; leaves of 1 get 0, as in a
    /// compact layout's stride.
    pub fn prefix_product(&self, init: i64) -> Result<Tuple> {
        let mut step = init;
        self.try_map(&mut |extent| {
            if extent == 1 {
                return Ok(0);
            }
            let stride = step;
            step = mul("prefix_product", step, extent)?;
            Ok(stride)
        })
    }

    /// Whether the tiler's tiles cover this shape exactly: every tiled mode divides.
    pub fn is_evenly_divided_by(&self, tiler: &Tiler) -> Result<bool> {
        match (self, tiler) {
            (_, Tiler::Keep) => Ok(true),
            (shape, Tiler::Layout(tile)) => match tile.complement_in(shape.clone()) {
                Ok(rest) => {
                    Ok(mul("evenly_divides", rest.size(), tile.size())? == shape.product()?)
                }
                Err(Error::NotRepresentable { .. }) => Ok(false),
                Err(error) => Err(error),
            },
            (shape, Tiler::Modes(tilers)) => {
                if tilers.len() > shape.rank() {
                    return Ok(false);
                }
                let pairs = shape.modes().iter().zip(tilers);
                pairs
                    .map(|(mode, tiler)| mode.is_evenly_divided_by(tiler))
                    .try_fold(true, |all, x| Ok(all && x?))
            }
        }
    }

    /// The strides of [`Layout::ordered`].
    pub fn compact_order(&self, order: &Tuple) -> Result<Tuple> {
        const OP: &str = "compact_order";
        if !order.is_weakly_congruent(self) {
            return Err(Error::Mismatch {
                op: OP,
                got: order.clone(),
                shape: self.clone(),
            });
        }
        let extents = self.product_like(order)?.leaves();
        let all: Vec<(i64, i64)> = order.leaves().into_iter().zip(extents).collect();
        self.order_below(order, &all)
    }

    fn order_below(&self, order: &Tuple, all: &[(i64, i64)]) -> Result<Tuple> {
        match (self, order) {
            (shape, Tuple::Int(order)) => {
                let below = all.iter().filter(|(other, _)| other < order);
                let start = below
                    .map(|(_, extent)| *extent)
                    .collect::<Tuple>()
                    .product()?;
                shape.prefix_product(start)
            }
            (Tuple::Tuple(modes), Tuple::Tuple(orders)) => modes
                .iter()
                .zip(orders)
                .map(|(mode, order)| mode.order_below(order, all))
                .collect(),
            _ => Err(Error::Mismatch {
                op: "compact_order",
                got: order.clone(),
                shape: self.clone(),
            }),
        }
    }
}

/// In which order the modes of a compact layout follow each other, the fastest first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Leftmost fastest (column-major).
    Left,
    /// Rightmost fastest (row-major).
    Right,
    /// A rank for each mode, the smallest fastest. Equal ranks share their strides.
    By(Tuple),
}

impl<T: Into<Tuple>> From<T> for Order {
    fn from(order: T) -> Self {
        Order::By(order.into())
    }
}

impl Layout {
    /// The compact layout of `shape` whose modes follow each other in `order`.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// assert_eq!(Layout::ordered([2, 3, 5], [2, 0, 1]).unwrap().to_string(), "(2,3,5):(15,1,3)");
    /// ```
    pub fn ordered(shape: impl Into<Tuple>, order: impl Into<Order>) -> Result<Layout> {
        let shape = shape.into();
        match order.into() {
            Order::Left => Layout::col_major(shape),
            Order::Right => Layout::row_major(shape),
            Order::By(order) => {
                let stride = shape.compact_order(&order)?;
                Layout::new(shape, stride)
            }
        }
    }
}
