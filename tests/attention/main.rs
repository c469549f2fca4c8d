//! Attention on the virtual machine, against an f64 reference that knows no tiles.
//!
//! Invariant: outputs, log-sum-exps and gradients lie within a forward bound of the definition's, whatever the
//! lengths, heads, masks and element type. Witness: shapes and options drawn at random, and the edges by name.

mod backward;
mod decode;
mod edges;
mod forward;
mod reference;
#[cfg(feature = "gpu")]
mod sweep;
