//! Rows: what their kernels have in common, as device functions for bodies here and in other crates, and (feature
//! `attention`) RMSNorm and softmax as differentiable operators.

#[cfg(feature = "attention")]
pub mod kernels;
pub mod look_back;
#[cfg(feature = "attention")]
mod operators;
pub mod walk;

#[cfg(feature = "attention")]
pub use operators::{Rows, rms_norm, softmax};
