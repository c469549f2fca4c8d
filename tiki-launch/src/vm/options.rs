//! How a launch is run.

pub use crate::vm::meaning::tensor::Generation;

/// When asynchronous work completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Async {
    /// When it is issued.
    #[default]
    Eager,
    /// At the wait that needs it.
    Late,
    /// At a wait or earlier, as a generator with this seed says.
    Seed(u64),
}

/// What is checked beyond bounds and alignment, which always are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Checks {
    /// Nothing.
    Run,
    /// Reads of shared memory, and of buffers declared to hold nothing ([`super::Vm::alloc_unset`]), that nothing wrote,
    /// masks, barriers that not all reach.
    #[default]
    Check,
    /// That, races and data in flight by byte, misuse of copies and multiplies, reads of registers and of a
    /// thread's own memory that nothing wrote, indices that wrap, and what accesses cost: every access is recorded,
    /// at several times the cost of the run itself, more where lanes do not lie side by side.
    All,
}

/// Options of a launch.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Asynchronous work.
    pub completion: Async,
    /// Checks.
    pub checks: Checks,
    /// Look for the first instructions that make a NaN or an infinity out of finite numbers.
    pub numbers: bool,
    /// Host threads; as many as the host has if zero. Results do not depend on it.
    pub threads: usize,
    /// Blocks of a cluster; the kernel's own, or none, if zero.
    pub cluster: [u32; 3],
    /// Steps of a warp after which the launch is given up; without end if zero.
    pub max_steps: u64,
    /// Tensor cores whose arithmetic is modelled; generations differ in bits.
    pub tensor_cores: Generation,
    /// Who takes what the launch prints, besides its report.
    pub printed: Option<super::Printed>,
    /// Who takes the launch's timeline, if anybody.
    pub timeline: Option<super::Recorder>,
    /// CPU level; the best if `None`.
    pub level: Option<super::Level>,
}
