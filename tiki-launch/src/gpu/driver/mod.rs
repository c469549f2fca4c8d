//! Calls of the NVIDIA driver (the bindings of cudarc, no type of which leaves this folder).
//!
//! What makes the `unsafe` here sound:
//!
//! - The bindings load the driver lazily and panic where it, or a symbol, is missing. [`probe`] asks for
//!   both first, so no call is reached without them.
//! - Handles are made by this folder, wrapped in numbers of [`crate::machine`], and come back to the same
//!   [`context::Gpu`]; streams are destroyed when nothing uses them, modules only after the device is idle.
//! - Every call binds the device's primary context to the calling thread first if another is bound.
//! - Host memory is lent to the driver only for calls that are done with it when they return: uploads
//!   and downloads wait for their stream.
//! - Buffers outlive the work that uses them because they are freed in stream order behind it.
//!
//! What a kernel does with an address is not checked by the driver: artefacts rest on the compiler's proofs,
//! hand-written PTX on its author.

#![allow(unsafe_code)]

mod code;
pub(crate) mod context;
#[cfg(test)]
pub(crate) mod counting;
pub mod interop;
mod launch;
pub(crate) mod probe;
mod status;
mod tensor_map;
#[cfg(all(test, feature = "gpu"))]
mod tests;
