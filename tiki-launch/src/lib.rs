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
//! ```
//! use tiki_launch::{Call, Device, Kernel, RawParam};
//!
//! // `Device::open_default()` takes a GPU if there is one; TIKI_DEVICE decides.
//! let device = Device::vm()?;
//! let x = device.tensor_from(&[1.0f32, 2.0, 3.0], [3])?;
//! let mut out = device.zeros::<f32, 1>([3])?;
//!
//! // A compiled kernel has its own typed `launch`; hand-written PTX goes the same way.
//! let text = include_str!("gpu/driver/ptx/add.ptx");
//! let params = [
//!     RawParam::input::<f32>("x"),
//!     RawParam::output::<f32>("out"),
//!     RawParam::value::<u32>("n"),
//!     RawParam::value::<f32>("by"),
//!     RawParam::value::<u32>("spin"),
//! ];
//! let kernel = Kernel::from_ptx(text, "add", params).threads([128, 1, 1]).load(&device)?;
//!
//! let stream = device.stream();
//! let mut call = Call::raw(&stream, &kernel)?;
//! call.tensor(0, &x)?.tensor_mut(1, &mut out)?;
//! call.scalar(2, 3u32)?.scalar(3, 0.5f32)?.scalar(4, 0u32)?;
//! call.launch()?;
//! drop(call);
//! assert_eq!(out.to_vec()?, [1.5, 2.5, 3.5]);
//! # Ok::<(), tiki_launch::LaunchError>(())
//! ```
//!
//! Errors are typed ([`LaunchError`], [`checkpoint::DataError`]) and carry a stable code of [`codes`].

mod args;
pub mod assembler;
pub mod bench;
mod buffer;
pub mod cache;
mod call;
pub mod checkpoint;
pub mod codes;
mod device;
#[cfg(test)]
mod double;
mod element;
mod error;
mod fact;
mod gpu;
mod graph;
mod host;
mod inspect;
pub mod jit;
mod kernel;
mod machine;
mod order;
mod reached;
pub mod report;
mod stream;
mod tensor;
mod tensor_map;
pub mod tune;
pub mod vm;
mod word_hash;
mod workspace;

pub use buffer::Memory;
pub use call::Call;
pub use device::Device;
pub use element::{Element, e4m3, e5m2};
pub use error::{Form, LaunchError, Place, Status};
pub use fact::{ArithmeticError, FactError};
pub use gpu::driver::interop;
pub use graph::Graph;
pub use jit::{Compiled, JitError};
pub use kernel::{Kernel, Loaded, PtxKernel, RawParam, load};
pub use machine::Kind;
pub use reached::Reached;
pub use stream::Stream;
pub use tensor::Tensor;
