//! What a device must be able to do: one trait, answered by the GPU and by the virtual machine.
//!
//! Everything above this trait (tensors, ordering, argument checks, graphs) is written once. A machine
//! hands out numbers for what it makes (streams, events, functions, graphs); they come back to it
//! unchanged and to no other machine. Addresses are 64-bit numbers in the machine's own memory.
//!
//! A machine orders the work of one stream and nothing else: [`crate::order`] decides which stream
//! must wait for which. A machine that finishes each piece of work before it returns is a legal one.

use std::fmt;

use tiki_kernel::artifact::Param;
use tiki_kernel::target::Target;

use crate::error::LaunchError;
use crate::tensor_map::{Described, Map, MapOf};

/// A stream of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawStream(pub u64);
/// An event of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawEvent(pub u64);
/// A loaded module of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawModule(pub u64);
/// An entry of a loaded module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawFunction(pub u64);
/// A captured graph, ready to launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawGraph(pub u64);

/// Which kind of machine a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// An NVIDIA GPU, by the driver's number.
    Gpu(usize),
    /// The virtual machine.
    Vm,
}

/// What is fixed about a machine.
#[derive(Debug, Clone)]
pub(crate) struct Traits {
    /// Name for people.
    pub name: String,
    /// Kind.
    pub kind: Kind,
    /// Compute capability.
    pub capability: (u32, u32),
    /// Multiprocessors (persistent grids ask).
    pub multiprocessors: u32,
    /// Largest shared memory of a block.
    pub shared_per_block: u32,
    /// Version of what drives it, for records of measurements.
    pub driver: String,
}

impl Traits {
    /// Whether code of a target runs here.
    pub fn runs(&self, target: Target) -> bool {
        target.runs_on(self.capability.0, self.capability.1)
    }
}

/// A module to load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit<'a> {
    /// The kernel's instance, for messages.
    pub kernel: &'a str,
    /// Entry to look up.
    pub entry: &'a str,
    /// PTX text.
    pub ptx: &'a str,
    /// Bytes of dynamic shared memory it will be launched with.
    pub dynamic_shared: u32,
    /// Blocks of a cluster it will be launched with.
    pub cluster: u32,
    /// Bytes of each parameter its entry must declare.
    pub widths: &'a [u8],
    /// The text and the widths were compiled together, so that they agree.
    pub compiled: bool,
    /// Hash of the kernel's text; 0 for PTX that no kernel was compiled to.
    pub fingerprint: u128,
}

/// A loaded entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub module: RawModule,
    pub function: RawFunction,
    /// Registers of a thread, 0 where the machine has none to report.
    pub registers: u32,
    /// Local memory of a thread.
    pub local_bytes: u32,
    /// Static shared memory of a block.
    pub static_shared: u32,
}

/// One launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shot<'a> {
    /// The kernel's instance, for messages.
    pub kernel: &'a str,
    pub function: RawFunction,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: u32,
    pub dynamic_shared: u32,
    /// May start while the launch before it still runs.
    pub dependent: bool,
    pub params: &'a [Param],
    /// Tensors are passed as their address alone.
    pub bare: bool,
    pub words: &'a [u64],
    pub maps: Described<'a>,
}

impl Shot<'_> {
    /// The bytes of the entry's parameter space.
    pub fn packed(&self) -> Vec<u8> {
        let widths = crate::kernel::widths(self.params, &[], self.bare);
        let maps = self.maps.iter().map(|Map(words)| words);
        crate::args::packed(self.words, &widths, maps)
    }
}

/// A device's side of the work. All calls are legal from any thread.
pub(crate) trait Machine: Send + Sync + fmt::Debug {
    fn traits(&self) -> &Traits;

    // Memory. `upload` and `download` have finished with the host's bytes when they return.
    fn allocate(&self, bytes: u64, stream: RawStream) -> Result<u64, LaunchError>;
    fn free(&self, address: u64, stream: RawStream);
    /// The most bytes that were in use at once, where the driver counts them.
    fn memory_peak(&self) -> Option<u64> {
        None
    }
    fn zero(&self, address: u64, bytes: u64, stream: RawStream) -> Result<(), LaunchError>;
    fn upload(&self, address: u64, bytes: &[u8], stream: RawStream) -> Result<(), LaunchError>;
    fn download(
        &self,
        address: u64,
        bytes: &mut [u8],
        stream: RawStream,
    ) -> Result<(), LaunchError>;
    fn copy(&self, from: u64, to: u64, bytes: u64, stream: RawStream) -> Result<(), LaunchError>;

    // Streams and events.
    fn new_stream(&self) -> Result<RawStream, LaunchError>;
    fn drop_stream(&self, stream: RawStream);
    fn synchronize(&self, stream: RawStream) -> Result<(), LaunchError>;
    fn new_event(&self, timing: bool) -> Result<RawEvent, LaunchError>;
    fn drop_event(&self, event: RawEvent);
    fn record(&self, event: RawEvent, stream: RawStream) -> Result<(), LaunchError>;
    fn wait(&self, stream: RawStream, event: RawEvent) -> Result<(), LaunchError>;
    /// Whether the work before the event has finished.
    fn reached(&self, event: RawEvent) -> bool;
    /// Microseconds between two timing events that were reached.
    fn elapsed_us(&self, start: RawEvent, end: RawEvent) -> Result<f64, LaunchError>;

    // Kernels.
    fn load(&self, unit: &Unit<'_>) -> Result<Entry, LaunchError>;
    /// Takes code away once nothing on the device runs it. No stream may be under capture.
    fn unload(&self, module: RawModule);
    fn launch(&self, shot: &Shot<'_>, stream: RawStream) -> Result<(), LaunchError>;
    /// The same launch so many times in a row, by nothing but what hands it over.
    fn launch_times(
        &self,
        shot: &Shot<'_>,
        stream: RawStream,
        times: u32,
    ) -> Result<(), LaunchError> {
        (0..times).try_for_each(|_| self.launch(shot, stream))
    }

    /// The bytes of a tensor map.
    fn tensor_map(&self, of: &MapOf) -> Result<Map, LaunchError>;

    // Graphs. A stream under capture records work instead of doing it.
    fn begin_capture(&self, stream: RawStream) -> Result<(), LaunchError>;
    fn end_capture(&self, stream: RawStream) -> Result<RawGraph, LaunchError>;
    fn launch_graph(&self, graph: RawGraph, stream: RawStream) -> Result<(), LaunchError>;
    fn drop_graph(&self, graph: RawGraph);
}
