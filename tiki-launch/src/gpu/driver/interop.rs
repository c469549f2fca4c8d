//! Streams and memory that another library owns, and ours lent to others.
//!
//! - [`borrow_stream`]: launch on a stream of PyTorch, candle, a C library...
//! - [`tensor_from_raw_parts`]: view memory of theirs as a tensor.
//! - [`crate::Tensor::address`] and [`crate::Stream::raw`] go the other way.
//!
//! What others do on their streams is not seen here. Our own work on a borrowed stream is ordered behind
//! theirs by the stream itself; where they touch our memory on another stream, ordering it is up to them.
//! If they capture a borrowed stream into a graph, every tensor launched on it must have been used last on that
//! stream (or its stream synchronised before), must not be dropped inside, and must outlive their graph.

use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::LaunchError;
use crate::machine::RawStream;
use crate::stream::Stream;
use crate::tensor::Tensor;

/// A stream that another library owns. It is not destroyed by us.
///
/// # Safety
/// `raw` is a `CUstream` of this device's primary context (on the virtual machine: a number that
/// [`Stream::raw`] gave), and stays alive until the last handle to the returned stream is dropped.
pub unsafe fn borrow_stream(device: &Device, raw: u64) -> Result<Stream, LaunchError> {
    Stream::enter(device, RawStream(raw), false)
}

/// A tensor over memory that another library owns. It is not freed by us. Strides are in elements.
///
/// # Safety
/// All elements that shape and strides reach from `address` lie in memory of this device that stays
/// allocated until the tensor, its views and all work that uses them are gone.
pub unsafe fn tensor_from_raw_parts<E: Element, const R: usize>(
    device: &Device,
    address: u64,
    shape: [usize; R],
    strides: [usize; R],
) -> Tensor<E, R> {
    Tensor::over(Buffer::foreign(device, address), shape, strides)
}
