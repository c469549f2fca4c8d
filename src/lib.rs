//! GPU kernels in Rust whose body says where every byte goes: the readme, then where things are.
//!
#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! [`kernel`] compiles a function to PTX while the crate is built, and gives it `launch`. What can stand in a body is in [`prelude`]; devices, tensors and streams are here.
//!
//! [`guide`] goes through all of it with a first kernel.
//!
//! A crate that renames the dependency (`gpu = { package = "tiki" }`) says so in the attribute:
//! `#[gpu::kernel(crate = ::gpu, ..)]`.

#![forbid(unsafe_code)]

extern crate self as tiki;

#[cfg(feature = "attention")]
pub mod attention;
#[cfg(feature = "gemm")]
pub mod gemm;
pub mod guide;
pub mod host;
pub mod operator;
pub mod prelude;
pub mod rows;
#[doc(hidden)]
pub mod testing;

#[cfg(feature = "attention")]
pub use attention::attention;
pub use tiki_kernel as compiler;
pub use tiki_launch::*;
pub use tiki_layout as algebra;
#[doc(hidden)]
pub use tiki_macros::{__next, __shadow, __twice};
pub use tiki_macros::{device, kernel, kernel_set, module, test};

/// What generated code names. Not for people.
#[doc(hidden)]
pub mod __private {
    pub use crate::{host, testing};
    pub use tiki_kernel::artifact::{Artifact, Hidden, Param, ParamKind, Usage};
    pub use tiki_kernel::dtype::DType;
    pub use tiki_kernel::instance::Arg;
    pub use tiki_launch::Call;
    pub use tiki_launch::jit;

    /// Stands for every instance of a kernel that did not compile.
    pub static NOTHING_BUILT: Artifact = Artifact {
        kernel: "",
        instance: "",
        entry: "",
        target: "",
        ptx: "",
        threads: [1, 1, 1],
        cluster: 1,
        dynamic_shared: 0,
        params: &[],
        hidden: &[],
        usage: Usage {
            registers: 0,
            shared: 0,
            barriers: 0,
            threads: 0,
            blocks_per_sm: 0,
        },
        deny_spills: false,
        dependent_launch: false,
        report: "",
        fingerprint: 0,
        source: ("", 0),
    };
}
