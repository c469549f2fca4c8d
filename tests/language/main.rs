//! The language used in ways the examples do not use it, against Rust on the host.

mod barriers;
mod control;
mod edges;
mod eight;
mod functions;
mod leaving;
mod odd;
mod odd_tiles;
mod optional;
mod overlap;
mod rearranged;
mod scans;
mod tensors;
mod testing;
mod values;
mod windows;
mod written;
