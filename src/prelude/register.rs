//! Tensors in registers: every thread holds its part, as a layout says.
//!
//! Where a reduction or a scan goes over several warps, those meet: all of the block at its barrier, those of a role at a named
//! one that is theirs alone.

use super::{Element, Shared, ThreadMap, device_only};
use std::marker::PhantomData;
use std::ops::{Add, Div, Index, Mul, Neg, Sub};

/// A register tensor, or a vector distributed like another's rows or columns.
///
/// `+ - * /` combine two of equal shape and layout, element by element; there is no broadcast: use
/// [`rows`](Self::rows), [`cols`](Self::cols) and [`map`](Self::map).
#[derive(Debug)]
pub struct Register<E> {
    _element: PhantomData<E>,
}

/// The thread's own values, by place.
#[derive(Debug)]
pub struct Raw<E> {
    _element: PhantomData<E>,
}

impl<E: Element> Raw<E> {
    /// How many the thread holds.
    #[must_use]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        device_only()
    }
}

impl<E> Index<usize> for Raw<E> {
    type Output = E;
    fn index(&self, place: usize) -> &E {
        let _ = place;
        device_only()
    }
}

impl<E: Element> Register<E> {
    /// Converts every element, to nearest even.
    #[must_use]
    pub fn cast<T: Element>(&self) -> Register<T> {
        device_only()
    }
    /// Every element through `f`.
    #[must_use]
    pub fn map<T: Element>(&self, f: impl Fn(E) -> T) -> Register<T> {
        let _ = f;
        device_only()
    }
    /// Elements of two equals through `f`.
    #[must_use]
    pub fn zip<U: Element, T: Element>(
        &self,
        other: &Register<U>,
        f: impl Fn(E, U) -> T,
    ) -> Register<T> {
        let _ = (other, f);
        device_only()
    }
    /// Every element and its coordinates in the tile through `f`.
    #[must_use]
    pub fn map_at<const R: usize, T: Element>(
        &self,
        f: impl Fn(E, [usize; R]) -> T,
    ) -> Register<T> {
        let _ = f;
        device_only()
    }
    /// Elements whose coordinates in the tile `keep` refuses become `fill`.
    #[must_use]
    pub fn mask<const R: usize>(&self, keep: impl Fn([usize; R]) -> bool, fill: E) -> Register<E> {
        let _ = (keep, fill);
        device_only()
    }
    /// Every element and its row's element of the vector through `f`.
    #[must_use]
    pub fn rows<U: Element, T: Element>(
        &self,
        vector: &Register<U>,
        f: impl Fn(E, U) -> T,
    ) -> Register<T> {
        let _ = (vector, f);
        device_only()
    }
    /// Every element and its column's element of the vector through `f`.
    #[must_use]
    pub fn cols<U: Element, T: Element>(
        &self,
        vector: &Register<U>,
        f: impl Fn(E, U) -> T,
    ) -> Register<T> {
        let _ = (vector, f);
        device_only()
    }
    /// A vector with one element a row, distributed like the rows.
    #[must_use]
    pub fn row_vector(&self, init: E) -> Register<E> {
        let _ = init;
        device_only()
    }
    /// A vector with one element a column, distributed like the columns.
    #[must_use]
    pub fn col_vector(&self, init: E) -> Register<E> {
        let _ = init;
        device_only()
    }
    /// A tile whose elements every thread holds at the same build-time places.
    #[must_use]
    pub fn tile<const K: usize>(&self, shape: [usize; K], at: [usize; K]) -> Register<E> {
        let _ = (shape, at);
        device_only()
    }
    /// Sum of each row; 16-bit floats accumulate in f32 and are rounded once.
    #[must_use]
    pub fn row_sum(&self) -> Register<E> {
        device_only()
    }
    /// Greatest of each row; numbers win over NaN; the lowest value of the type if none.
    #[must_use]
    pub fn row_max(&self) -> Register<E> {
        device_only()
    }
    /// Least of each row; numbers win over NaN.
    #[must_use]
    pub fn row_min(&self) -> Register<E> {
        device_only()
    }
    /// Greatest of each row; NaN if the row has one.
    #[must_use]
    pub fn row_max_propagate_nan(&self) -> Register<E> {
        device_only()
    }
    /// Least of each row; NaN if the row has one.
    #[must_use]
    pub fn row_min_propagate_nan(&self) -> Register<E> {
        device_only()
    }
    /// Where the greatest of each row lies: the first of several; the first NaN if the row has one.
    #[must_use]
    pub fn row_argmax(&self) -> Register<u32> {
        device_only()
    }
    /// Where the least of each row lies: the first of several; the first NaN if the row has one.
    #[must_use]
    pub fn row_argmin(&self) -> Register<u32> {
        device_only()
    }
    /// Sum of each column.
    #[must_use]
    pub fn col_sum(&self) -> Register<E> {
        device_only()
    }
    /// Greatest of each column.
    #[must_use]
    pub fn col_max(&self) -> Register<E> {
        device_only()
    }
    /// Least of each column.
    #[must_use]
    pub fn col_min(&self) -> Register<E> {
        device_only()
    }
    /// Greatest of each column; NaN if the column has one.
    #[must_use]
    pub fn col_max_propagate_nan(&self) -> Register<E> {
        device_only()
    }
    /// Least of each column; NaN if the column has one.
    #[must_use]
    pub fn col_min_propagate_nan(&self) -> Register<E> {
        device_only()
    }
    /// Where the greatest of each column lies.
    #[must_use]
    pub fn col_argmax(&self) -> Register<u32> {
        device_only()
    }
    /// Where the least of each column lies.
    #[must_use]
    pub fn col_argmin(&self) -> Register<u32> {
        device_only()
    }
    /// Greatest of a vector; NaN if it has one.
    #[must_use]
    pub fn max_propagate_nan(&self) -> E {
        device_only()
    }
    /// Least of a vector; NaN if it has one.
    #[must_use]
    pub fn min_propagate_nan(&self) -> E {
        device_only()
    }
    /// Sum of a vector, known to all threads.
    #[must_use]
    pub fn sum(&self) -> E {
        device_only()
    }
    /// Greatest of a vector, known to all threads.
    #[must_use]
    pub fn max(&self) -> E {
        device_only()
    }
    /// Least of a vector, known to all threads.
    #[must_use]
    pub fn min(&self) -> E {
        device_only()
    }
    /// Where the greatest of a vector lies.
    #[must_use]
    pub fn argmax(&self) -> u32 {
        device_only()
    }
    /// Where the least of a vector lies.
    #[must_use]
    pub fn argmin(&self) -> u32 {
        device_only()
    }
    /// Sums of each row up to each element (`exclusive`: up to the one before it, from 0); `reverse`: from the
    /// last element back. 16-bit floats accumulate in f32. The order is fixed by the layout.
    #[must_use]
    pub fn row_scan_sum(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// Products of each row up to each element; as the sums, from 1.
    #[must_use]
    pub fn row_scan_product(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// Greatest of each row up to each element; numbers win over NaN; before any, the lowest value of the type.
    #[must_use]
    pub fn row_scan_max(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// Least of each row up to each element; numbers win over NaN.
    #[must_use]
    pub fn row_scan_min(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// Greatest of each row up to each element; NaN from the first NaN on.
    #[must_use]
    pub fn row_scan_max_propagate_nan(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// Least of each row up to each element; NaN from the first NaN on.
    #[must_use]
    pub fn row_scan_min_propagate_nan(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// The recurrence `h = factor * h + self` along each row, from `h = 0`: every h, or (`exclusive`) the one
    /// before it. Composed of steps of one rounding, in an order fixed by the layout; products of factors must
    /// stay finite.
    #[must_use]
    pub fn row_scan_affine(
        &self,
        factor: &Register<E>,
        exclusive: bool,
        reverse: bool,
    ) -> Register<E> {
        let _ = (factor, exclusive, reverse);
        device_only()
    }
    /// Sums of each column up to each element (`exclusive`: up to the one before it, from 0); `reverse`: from the
    /// last element back. 16-bit floats accumulate in f32. The order is fixed by the layout.
    #[must_use]
    pub fn col_scan_sum(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// Products of each column up to each element; as the sums, from 1.
    #[must_use]
    pub fn col_scan_product(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// Greatest of each column up to each element; numbers win over NaN; before any, the lowest value of the
    /// type.
    #[must_use]
    pub fn col_scan_max(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// Least of each column up to each element; numbers win over NaN.
    #[must_use]
    pub fn col_scan_min(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// Greatest of each column up to each element; NaN from the first NaN on.
    #[must_use]
    pub fn col_scan_max_propagate_nan(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// Least of each column up to each element; NaN from the first NaN on.
    #[must_use]
    pub fn col_scan_min_propagate_nan(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// The recurrence `h = factor * h + self` along each column, from `h = 0`: every h, or (`exclusive`) the one
    /// before it. Composed of steps of one rounding, in an order fixed by the layout; products of factors must
    /// stay finite.
    #[must_use]
    pub fn col_scan_affine(
        &self,
        factor: &Register<E>,
        exclusive: bool,
        reverse: bool,
    ) -> Register<E> {
        let _ = (factor, exclusive, reverse);
        device_only()
    }
    /// Sums of a vector up to each element (`exclusive`: up to the one before it, from 0); `reverse`: from the
    /// last element back. 16-bit floats accumulate in f32. The order is fixed by the layout.
    #[must_use]
    pub fn scan_sum(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// Products of a vector up to each element; as the sums, from 1.
    #[must_use]
    pub fn scan_product(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// Greatest of a vector up to each element; numbers win over NaN; before any, the lowest value of the type.
    #[must_use]
    pub fn scan_max(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// Least of a vector up to each element; numbers win over NaN.
    #[must_use]
    pub fn scan_min(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// Greatest of a vector up to each element; NaN from the first NaN on.
    #[must_use]
    pub fn scan_max_propagate_nan(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// Least of a vector up to each element; NaN from the first NaN on.
    #[must_use]
    pub fn scan_min_propagate_nan(&self, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (exclusive, reverse);
        device_only()
    }
    /// The recurrence `h = factor * h + self` along a vector, from `h = 0`: every h, or (`exclusive`) the one
    /// before it. Composed of steps of one rounding, in an order fixed by the layout; products of factors must
    /// stay finite.
    #[must_use]
    pub fn scan_affine(&self, factor: &Register<E>, exclusive: bool, reverse: bool) -> Register<E> {
        let _ = (factor, exclusive, reverse);
        device_only()
    }
    /// Zeros of its shape and layout. Of an accumulator: in its own registers, and the first product into
    /// them ignores what is there.
    #[must_use]
    pub fn zeroed(self) -> Register<E> {
        device_only()
    }
    /// The same tensor dealt to the threads by another map, by shuffles: every element stays in its warp, or
    /// it is an error. The report says how many.
    #[must_use]
    pub fn redistribute(&self, map: ThreadMap) -> Register<E> {
        let _ = map;
        device_only()
    }
    /// As `redistribute`, dealt like another tensor of this shape.
    #[must_use]
    pub fn redistribute_like<T>(&self, like: &Register<T>) -> Register<E> {
        let _ = like;
        device_only()
    }
    /// The same tensor dealt by another map, through a shared tensor of its shape: stored, met at the
    /// block's barrier, loaded.
    #[must_use]
    pub fn redistribute_through(&self, buffer: &Shared<E>, map: ThreadMap) -> Register<E> {
        let _ = (buffer, map);
        device_only()
    }
    /// As `redistribute_through`, dealt like another tensor of this shape.
    #[must_use]
    pub fn redistribute_through_like<T>(
        &self,
        buffer: &Shared<E>,
        like: &Register<T>,
    ) -> Register<E> {
        let _ = (buffer, like);
        device_only()
    }
    /// The thread's own values, by place: `raw()[i]`, `raw().len()`.
    #[must_use]
    pub fn raw(&self) -> Raw<E> {
        device_only()
    }
}

macro_rules! operators {
    ($($op:ident $method:ident;)*) => {$(
        operators!(@ $op $method, Register<E>, Register<E>);
        operators!(@ $op $method, Register<E>, &Register<E>);
        operators!(@ $op $method, &Register<E>, Register<E>);
        operators!(@ $op $method, &Register<E>, &Register<E>);
    )*};
    (@ $op:ident $method:ident, $left:ty, $right:ty) => {
        impl<E: Element> $op<$right> for $left {
            type Output = Register<E>;
            fn $method(self, other: $right) -> Register<E> {
                let _ = other;
                device_only()
            }
        }
    };
}
operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl<E: Element> Neg for Register<E> {
    type Output = Register<E>;
    fn neg(self) -> Register<E> {
        device_only()
    }
}
impl<E: Element> Neg for &Register<E> {
    type Output = Register<E>;
    fn neg(self) -> Register<E> {
        device_only()
    }
}
