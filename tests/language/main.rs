//! The language used in ways the examples do not use it, against Rust on the host.

mod control;
mod edges;
mod optional;
mod overlap;
mod scans;
mod tensors;
mod testing;
mod written;
