//! Tensors: an element type, a rank, and a view of device memory.
//!
//! A tensor made by [`Device::tensor_from`], [`Device::zeros`] or [`Device::empty`] is row-major and fills
//! its buffer. Views ([`Tensor::transpose`], [`Tensor::slice`], [`Tensor::at`], [`Tensor::reshape`]...) share the
//! buffer and copy nothing; they keep it alive by themselves. Tensors without elements are legal.
//!
//! A launch takes inputs by `&` and outputs by `&mut`, so the borrow checker keeps one tensor from being
//! both; views of one buffer are checked at launch. Dropping a tensor that a running kernel uses is safe.

pub(crate) mod form;
mod transfer;

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::LaunchError;

/// A tensor of `R` axes on a device.
pub struct Tensor<E: Element, const R: usize> {
    buffer: Arc<Buffer>,
    shape: [usize; R],
    strides: [usize; R],
    /// Elements before the first one.
    offset: usize,
    element: PhantomData<E>,
}

impl<E: Element, const R: usize> Tensor<E, R> {
    pub(crate) fn allocate(
        device: &Device,
        shape: [usize; R],
        zeroed: bool,
    ) -> Result<Self, LaunchError> {
        let buffer = Buffer::allocate(device, bytes_of::<E>(&shape)?, zeroed)?;
        Ok(Tensor::over(buffer, shape, form::row_major(&shape)))
    }

    pub(crate) fn over(buffer: Buffer, shape: [usize; R], strides: [usize; R]) -> Self {
        Tensor {
            buffer: Arc::new(buffer),
            shape,
            strides,
            offset: 0,
            element: PhantomData,
        }
    }

    /// Extents, outermost first.
    #[must_use]
    pub fn shape(&self) -> [usize; R] {
        self.shape
    }
    /// Strides in elements, outermost first.
    #[must_use]
    pub fn strides(&self) -> [usize; R] {
        self.strides
    }
    /// Extent of an axis.
    ///
    /// # Panics
    /// If there is no such axis.
    #[must_use]
    pub fn dim(&self, axis: usize) -> usize {
        self.shape[axis]
    }
    /// Stride of an axis in elements.
    ///
    /// # Panics
    /// If there is no such axis.
    #[must_use]
    pub fn stride(&self, axis: usize) -> usize {
        self.strides[axis]
    }
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        if self.is_empty() {
            0
        } else {
            self.shape.iter().product()
        }
    }
    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }
    /// Whether its elements lie in row-major order without gaps.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        form::is_row_major(&self.shape, &self.strides)
    }
    /// The device it lives on.
    #[must_use]
    #[inline]
    pub fn device(&self) -> &Device {
        self.buffer.device()
    }
    /// Device address of its first element, for other libraries; 0 if it has none.
    #[must_use]
    #[inline]
    pub fn address(&self) -> u64 {
        self.buffer.address() + (self.offset * size_of::<E>()) as u64
    }

    /// The same elements once more, sharing the buffer.
    #[must_use]
    pub fn view(&self) -> Self {
        self.with(self.shape, self.strides, self.offset)
    }

    /// With two axes exchanged.
    pub fn swap_axes(&self, a: usize, b: usize) -> Result<Self, LaunchError> {
        if a >= R || b >= R {
            return Err(self.no_view(format!("that exchanges axes {a} and {b}")));
        }
        let (mut shape, mut strides) = (self.shape, self.strides);
        shape.swap(a, b);
        strides.swap(a, b);
        Ok(self.with(shape, strides, self.offset))
    }

    /// One axis as several, the last of them fastest: `x.split_axis::<2, 3>(0, [4, 8])` of 32 rows. The extents multiply to the
    /// axis's own.
    pub fn split_axis<const P: usize, const Q: usize>(
        &self,
        axis: usize,
        extents: [usize; P],
    ) -> Result<Tensor<E, Q>, LaunchError> {
        if axis >= R || Q + 1 != R + P || form::count(&extents) != Some(self.shape[axis]) {
            return Err(self.no_view(format!("of axis {axis} as {extents:?}, of rank {Q}")));
        }
        let at = |own: &[usize; R], inside: [usize; P]| {
            std::array::from_fn(|i| match i.checked_sub(axis) {
                Some(j) if j < P => inside[j],
                Some(_) => own[i + 1 - P],
                None => own[i],
            })
        };
        // No larger than the axis's own step over all of it, which is known to fit; of an empty axis nothing is stepped over.
        let steps = std::array::from_fn(|j| {
            let rest = extents[j + 1..]
                .iter()
                .fold(1_usize, |a, b| a.saturating_mul(*b));
            self.strides[axis].saturating_mul(rest)
        });
        Ok(self.with(
            at(&self.shape, extents),
            at(&self.strides, steps),
            self.offset,
        ))
    }

    /// With axes of extent 1 before its own, up to rank `Q`: a batch of one is `x.with_rank::<3>()`.
    pub fn with_rank<const Q: usize>(&self) -> Result<Tensor<E, Q>, LaunchError> {
        let Some(more) = Q.checked_sub(R) else {
            return Err(self.no_view(format!("of rank {Q}")));
        };
        // No index but 0 follows these steps; they clear the tensor all the same, as row-major ones would.
        let whole = (0..R).map(|i| self.shape[i] * self.strides[i]).max();
        let step = whole.unwrap_or(1).max(1);
        let shape = std::array::from_fn(|i| if i < more { 1 } else { self.shape[i - more] });
        let strides = std::array::from_fn(|i| {
            if i < more {
                step
            } else {
                self.strides[i - more]
            }
        });
        Ok(self.with(shape, strides, self.offset))
    }

    /// A range of one axis.
    pub fn slice(&self, axis: usize, range: Range<usize>) -> Result<Self, LaunchError> {
        if axis >= R || range.start > range.end || range.end > self.shape[axis] {
            return Err(self.no_view(format!("of {range:?} along axis {axis}")));
        }
        let mut shape = self.shape;
        shape[axis] = range.len();
        let inside = if shape.contains(&0) {
            0
        } else {
            range.start * self.strides[axis]
        };
        Ok(self.with(shape, self.strides, self.offset + inside))
    }

    /// The sub-tensor at fixed leading coordinates: `x.at::<2, 2>([batch, head])` of a tensor of rank 4.
    pub fn at<const L: usize, const Q: usize>(
        &self,
        coordinates: [usize; L],
    ) -> Result<Tensor<E, Q>, LaunchError> {
        if L + Q != R || coordinates.iter().zip(&self.shape).any(|(&i, &d)| i >= d) {
            return Err(self.no_view(format!("of rank {Q} at {coordinates:?}")));
        }
        let before: usize = coordinates
            .iter()
            .zip(&self.strides)
            .map(|(&i, &s)| i * s)
            .sum();
        let shape: [usize; Q] = std::array::from_fn(|i| self.shape[L + i]);
        let strides = std::array::from_fn(|i| self.strides[L + i]);
        let inside = if shape.contains(&0) { 0 } else { before };
        Ok(self.with(shape, strides, self.offset + inside))
    }

    /// The same elements in row-major order under another shape. A view whose elements do not lie in
    /// row-major order has none without a copy, and is refused.
    pub fn reshape<const Q: usize>(&self, shape: [usize; Q]) -> Result<Tensor<E, Q>, LaunchError> {
        if form::count(&shape) != Some(self.len()) || !self.is_contiguous() {
            let strided = if self.is_contiguous() {
                ""
            } else {
                " (it is not row-major, so that needs a copy)"
            };
            return Err(self.no_view(format!("of shape {shape:?}{strided}")));
        }
        Ok(self.with(shape, form::row_major(&shape), self.offset))
    }

    fn with<const Q: usize>(
        &self,
        shape: [usize; Q],
        strides: [usize; Q],
        offset: usize,
    ) -> Tensor<E, Q> {
        Tensor {
            buffer: self.buffer.clone(),
            shape,
            strides,
            offset,
            element: PhantomData,
        }
    }

    fn no_view(&self, wanted: String) -> LaunchError {
        LaunchError::View {
            shape: self.shape.to_vec(),
            wanted,
        }
    }

    #[inline]
    pub(crate) fn form(&self) -> (&[usize; R], &[usize; R]) {
        (&self.shape, &self.strides)
    }
    #[inline]
    pub(crate) fn operand(&self) -> Operand<'_> {
        Operand {
            buffer: &self.buffer,
            dtype: E::DTYPE,
            shape: &self.shape,
            strides: &self.strides,
            offset: (self.offset * size_of::<E>()) as u64,
        }
    }
}

impl<E: Element> Tensor<E, 2> {
    /// Rows and columns exchanged.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let ([m, n], [s, t]) = (self.shape, self.strides);
        self.with([n, m], [t, s], self.offset)
    }
}

/// A tensor without its type, as a launch sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand<'a> {
    pub buffer: &'a Arc<Buffer>,
    pub dtype: tiki_kernel::dtype::DType,
    pub shape: &'a [usize],
    pub strides: &'a [usize],
    /// Bytes before the first element.
    pub offset: u64,
}

impl<'a> Operand<'a> {
    pub fn extent(&self) -> form::Extent<'a> {
        form::Extent {
            offset: self.offset,
            element: self.dtype.bytes().into(),
            shape: self.shape,
            strides: self.strides,
        }
    }
}

/// Bytes of a row-major tensor.
fn bytes_of<E: Element>(shape: &[usize]) -> Result<u64, LaunchError> {
    let bytes = form::count(shape).and_then(|n| n.checked_mul(size_of::<E>()));
    match bytes {
        Some(bytes) if bytes <= i64::MAX as usize => Ok(bytes as u64),
        _ => Err(LaunchError::TooLarge {
            shape: shape.to_vec(),
            dtype: E::DTYPE,
        }),
    }
}

/// Type, shape and strides; never the values, which are on the device.
impl<E: Element, const R: usize> fmt::Debug for Tensor<E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Tensor<{}>({:?}:{:?} on {})",
            E::DTYPE,
            self.shape,
            self.strides,
            self.device()
        )
    }
}

#[cfg(test)]
mod tests;
