//! Tiki: GPU kernels in Rust whose body says where every byte goes.
