//! What the compiler hands to the machines: PTX text and everything a launcher must know about it.
//!
//! An artefact is a constant: the macro writes it into the user's crate as a `static`. Its entry takes
//! its arguments in this order, for each parameter of the kernel's signature in turn:
//!
//! - a tensor of rank R: its address (`.u64`), then R extents (`.u32`, outermost first), then, only if
//!   it is strided, R strides in elements (`.u64`, outermost first);
//! - a scalar: its value, in its own type (`bool` as `.u8`);
//! - after all of them, the launcher's own ([`Hidden`]) in the order listed.

use crate::dtype::DType;

/// One compiled instance of a kernel.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// The kernel's name as its author wrote it.
    pub kernel: &'static str,
    /// The instance, for people: `rms_norm<f16, N = 4096, T = 256>`.
    pub instance: &'static str,
    /// The entry's name in the PTX text.
    pub entry: &'static str,
    /// Target name, a row of [`crate::target`].
    pub target: &'static str,
    /// The PTX text.
    pub ptx: &'static str,
    /// Threads of a block (the PTX requires exactly these).
    pub threads: [u32; 3],
    /// Blocks of a cluster, 1 if none.
    pub cluster: u32,
    /// Bytes of dynamic shared memory to launch with.
    pub dynamic_shared: u32,
    /// Parameters in the order of the kernel's signature.
    pub params: &'static [Param],
    /// Values the launcher adds after the author's.
    pub hidden: &'static [Hidden],
    /// What it uses, as bounded at build time.
    pub usage: Usage,
    /// The author forbade spills: the launcher refuses the kernel if the driver reports local memory.
    pub deny_spills: bool,
    /// It waits for its predecessor itself, so it may start while that one still runs.
    pub dependent_launch: bool,
    /// The report of what the compiler chose and why, as text.
    pub report: &'static str,
    /// Hash of what the kernel says ([`crate::instance::fingerprint`]).
    pub fingerprint: u128,
    /// File and line of the kernel.
    pub source: (&'static str, u32),
}

/// One parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    /// The author's name for it.
    pub name: &'static str,
    /// What it is.
    pub kind: ParamKind,
}

/// What a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    /// A tensor in global memory.
    Tensor {
        /// Element type.
        dtype: DType,
        /// Rank.
        rank: u32,
        /// The kernel writes it.
        writes: bool,
        /// Strides are passed; otherwise it must be row-major without gaps.
        strided: bool,
        /// Bytes to which its address must be aligned.
        align: u32,
    },
    /// A value.
    Scalar(DType),
}

/// A value the launcher passes on its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// A tensor map for the accelerator: 128 bytes, aligned to 64, passed by value.
    TensorMap {
        /// Index into [`Artifact::params`]: a tensor.
        param: u32,
        /// Elements of one copy along each axis of the tensor, outermost first; the rest is 1.
        tile: [u32; 5],
        /// Bytes over which a copy is swizzled in shared memory: 32, 64, 128, or 0 for not at all.
        swizzle: u32,
    },
}

/// Resources of one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Upper bound on registers a thread: capped at it, the assembler does not spill.
    pub registers: u32,
    /// Static and dynamic shared bytes of a block, exact.
    pub shared: u32,
    /// Named barriers.
    pub barriers: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks resident on an SM at this use.
    pub blocks_per_sm: u32,
}

/// `137 registers, 40960 bytes of shared memory, 1 barriers, 128 threads; 3 blocks an SM`.
impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Usage {
            registers,
            shared,
            barriers,
            threads,
            blocks_per_sm,
        } = self;
        write!(
            f,
            "{registers} registers, {shared} bytes of shared memory, {barriers} barriers, {threads} threads; \
             {blocks_per_sm} blocks an SM"
        )
    }
}
