//! Devices, tensors and launches of Tiki: NVIDIA GPU and CPU virtual machine.
//!
//! A [`Device`] is a GPU or the virtual machine. [`Tensor`]s live on one; a [`Stream`] is where work is put,
//! in order. A kernel's generated `launch` goes through [`Call`], which checks every argument and every
//! required fact on the host before anything runs.
//!
//! Work on two streams that touches the same tensor is ordered by the library, on the device, with events
//! recorded only then. Tensors may be dropped while work that uses them is in flight. Everything here
//! may be used from several threads. [`Stream::capture`] records launches into a [`Graph`].
//!
//! Errors are typed ([`LaunchError`], [`checkpoint::DataError`]) and carry a stable code of [`codes`].

mod args;
pub mod bench;
mod buffer;
mod call;
pub mod checkpoint;
pub mod codes;
mod device;
#[cfg(test)]
mod double;
mod element;
mod error;
mod gpu;
mod graph;
mod host;
mod kernel;
mod machine;
mod order;
pub mod report;
mod stream;
mod tensor;
pub mod vm;
mod workspace;

pub use call::Call;
pub use device::Device;
pub use element::Element;
pub use error::{FactError, Form, LaunchError, Place, Status};
pub use gpu::driver::interop;
pub use graph::Graph;
pub use kernel::{Kernel, Loaded, PtxKernel, RawParam, load};
pub use machine::Kind;
pub use stream::Stream;
pub use tensor::Tensor;
