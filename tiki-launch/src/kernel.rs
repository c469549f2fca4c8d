//! Loaded kernels: an artefact on one device, or PTX text of one's own.
//!
//! An artefact is loaded at its first launch on a device (or by [`load`]) and stays until the device goes.
//! [`Kernel::from_ptx`] is the door for hand-written text: it is launched through the same checks and the
//! same path, but what its entry does with an address is its author's word alone.

use std::sync::Arc;

use tiki_kernel::artifact::{Artifact, Hidden, Param, ParamKind};
use tiki_kernel::dtype::DType;

use crate::device::Device;
use crate::element::Element;
use crate::error::{LaunchError, Place};
use crate::inspect::{self, Wishes};
use crate::machine::{Entry, RawModule, Unit};

/// What the driver says of a loaded kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loaded {
    /// Registers of a thread; 0 where the machine has none to report.
    pub registers: u32,
    /// Bytes of local memory of a thread: spills, and arrays indexed at run time.
    pub local_bytes: u32,
    /// Static shared memory of a block.
    pub static_shared: u32,
    /// The bound proved at build time, 0 if none was.
    pub bound: u32,
}

impl Loaded {
    /// Whether the assembler kept to the bound: it must where the bound is a cap (`.maxnreg`), and may take more where
    /// as many blocks stay resident all the same.
    #[must_use]
    pub fn within_bound(&self) -> bool {
        self.bound == 0 || self.registers <= self.bound
    }
}

/// Loads an artefact on a device, as its first launch would, and says what became of it.
pub fn load(device: &Device, artifact: &'static Artifact) -> Result<Loaded, LaunchError> {
    Plan::Artifact(artifact)
        .function(device)
        .map(|f| f.loaded())
}

/// A loaded entry, and what a launch needs to know of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Function {
    pub entry: Entry,
    pub bound: u32,
}

impl Function {
    fn loaded(&self) -> Loaded {
        let Entry {
            registers,
            local_bytes,
            static_shared,
            ..
        } = self.entry;
        Loaded {
            registers,
            local_bytes,
            static_shared,
            bound: self.bound,
        }
    }
}

/// How it is launched, whatever its arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster.
    pub cluster: u32,
    pub dynamic_shared: u32,
    /// May start while the launch before it still runs.
    pub dependent: bool,
}

/// What is launched.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Plan<'a> {
    Artifact(&'static Artifact),
    Kernel(&'a Kernel),
}

impl<'a> Plan<'a> {
    #[inline]
    pub fn name(self) -> &'a str {
        match self {
            Plan::Artifact(a) => a.instance,
            Plan::Kernel(k) => &k.name,
        }
    }
    #[inline]
    pub fn params(self) -> &'a [Param] {
        match self {
            Plan::Artifact(a) => a.params,
            Plan::Kernel(k) => &k.params,
        }
    }
    /// Tensors are passed as their address alone.
    #[inline]
    pub fn bare(self) -> bool {
        matches!(self, Plan::Kernel(_))
    }
    #[inline]
    pub fn cluster(self) -> u32 {
        match self {
            Plan::Artifact(a) => a.cluster.max(1),
            Plan::Kernel(k) => k.cluster,
        }
    }
    #[inline]
    pub fn form(self) -> Form {
        match self {
            Plan::Artifact(a) => Form {
                block: a.threads,
                cluster: a.cluster.max(1),
                dynamic_shared: a.dynamic_shared,
                dependent: a.dependent_launch,
            },
            Plan::Kernel(k) => Form {
                block: k.threads,
                cluster: k.cluster,
                dynamic_shared: k.dynamic_shared,
                dependent: k.dependent,
            },
        }
    }

    /// The loaded entry; loads it the first time. The device's lock must not be held.
    #[cold]
    pub fn function(self, device: &Device) -> Result<Function, LaunchError> {
        let artifact = match self {
            Plan::Kernel(kernel) => return Ok(kernel.function),
            Plan::Artifact(artifact) => artifact,
        };
        if !device.runs_artifact(artifact) {
            return Err(wrong_target(device, artifact).into());
        }
        let key = std::ptr::from_ref(artifact).addr();
        if let Some(function) = device.lock().functions.get(&key) {
            return Ok(*function);
        }
        let unit = Unit {
            kernel: artifact.instance,
            entry: artifact.entry,
            ptx: artifact.ptx,
            dynamic_shared: artifact.dynamic_shared,
            cluster: artifact.cluster,
            widths: &widths(artifact.params, artifact.hidden, false),
            compiled: true,
            fingerprint: artifact.fingerprint,
        };
        let entry = load_unit(device, unit)?;
        if artifact.deny_spills && entry.local_bytes > 0 {
            device.retire(entry.module);
            return Err(LaunchError::Spills {
                kernel: artifact.instance.into(),
                local_bytes: entry.local_bytes,
                registers: entry.registers,
            });
        }
        let function = Function {
            entry,
            bound: artifact.usage.registers,
        };
        // Another thread may have loaded it meanwhile: the first one stays, ours goes.
        let mut state = device.lock();
        if let Some(first) = state.functions.get(&key) {
            let first = *first;
            drop(state);
            device.retire(entry.module);
            return Ok(first);
        }
        state.functions.insert(key, function);
        Ok(function)
    }
}

/// A device cannot run an artefact.
#[cold]
pub(crate) fn wrong_target(device: &Device, artifact: &Artifact) -> Box<LaunchError> {
    Box::new(LaunchError::WrongTarget {
        kernel: artifact.instance.into(),
        target: artifact.target.into(),
        device: device.to_string(),
        capability: device.capability(),
    })
}

/// A kernel is loaded on another device than this.
#[cold]
pub(crate) fn elsewhere(device: &Device, kernel: &Kernel) -> Box<LaunchError> {
    Box::new(LaunchError::OtherDevice {
        place: Box::new(Place {
            kernel: kernel.name().into(),
            argument: "the kernel itself".into(),
        }),
        there: kernel.device().to_string(),
        here: device.to_string(),
    })
}

/// Loads a module, or what the environment puts in its place, and writes what the environment wants to see.
fn load_unit(device: &Device, unit: Unit<'_>) -> Result<Entry, LaunchError> {
    let other = inspect::overridden(unit.entry).map_err(|log| LaunchError::Refused {
        kernel: unit.kernel.into(),
        log,
        status: Box::default(),
    })?;
    let unit = Unit {
        ptx: other.as_deref().unwrap_or(unit.ptx),
        compiled: unit.compiled && other.is_none(),
        ..unit
    };
    let wishes = Wishes::of(&unit);
    wishes.write("ptx", unit.ptx.as_bytes());
    if matches!(device.kind(), crate::Kind::Vm) {
        wishes.nothing_assembled();
    }
    device.machine().load(&unit)
}

/// Bytes of each parameter of an entry; see [`tiki_kernel::artifact`] for the order.
pub(crate) fn widths(params: &[Param], hidden: &[Hidden], bare: bool) -> Vec<u8> {
    let mut widths = Vec::new();
    for param in params {
        match param.kind {
            ParamKind::Scalar(dtype) => widths.push(dtype.bytes() as u8),
            ParamKind::Tensor { rank, strided, .. } => {
                let rank = if bare { 0 } else { rank as usize };
                widths.push(8);
                widths.extend(std::iter::repeat_n(4, rank));
                widths.extend(std::iter::repeat_n(8, if strided { rank } else { 0 }));
            }
        }
    }
    widths.extend(
        hidden
            .iter()
            .map(|Hidden::TensorMap { .. }| crate::args::MAP),
    );
    widths
}

/// Loaded code that goes when nothing can launch it any more: neither its kernel nor a graph.
#[derive(Debug)]
pub(crate) struct Module {
    device: Device,
    raw: RawModule,
}

impl Drop for Module {
    fn drop(&mut self) {
        self.device.retire(self.raw);
    }
}

/// A kernel from PTX text, loaded on one device.
#[derive(Debug)]
pub struct Kernel {
    module: Arc<Module>,
    name: String,
    function: Function,
    params: Vec<Param>,
    threads: [u32; 3],
    cluster: u32,
    dynamic_shared: u32,
    dependent: bool,
}

/// A parameter of a hand-written entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawParam(Param);

impl RawParam {
    fn pointer(name: &'static str, dtype: DType, writes: bool) -> RawParam {
        let kind = ParamKind::Tensor {
            dtype,
            rank: 0,
            writes,
            strided: true,
            align: dtype.bytes(),
        };
        RawParam(Param { name, kind })
    }
    /// A 64-bit address the kernel reads through.
    #[must_use]
    pub fn input<E: Element>(name: &'static str) -> RawParam {
        RawParam::pointer(name, E::DTYPE, false)
    }
    /// A 64-bit address the kernel writes through.
    #[must_use]
    pub fn output<E: Element>(name: &'static str) -> RawParam {
        RawParam::pointer(name, E::DTYPE, true)
    }
    /// A value.
    #[must_use]
    pub fn value<E: Element>(name: &'static str) -> RawParam {
        RawParam(Param {
            name,
            kind: ParamKind::Scalar(E::DTYPE),
        })
    }
}

/// PTX text on its way to a [`Kernel`].
#[derive(Debug, Clone)]
pub struct PtxKernel<'a> {
    ptx: &'a str,
    entry: &'a str,
    params: Vec<Param>,
    threads: [u32; 3],
    cluster: u32,
    dynamic_shared: u32,
    dependent: bool,
}

impl Kernel {
    /// A kernel of hand-written PTX: the text, the name of its entry, and the entry's parameters in order.
    /// Say how many threads a block has, then [`PtxKernel::load`] it.
    #[must_use]
    pub fn from_ptx<'a>(
        ptx: &'a str,
        entry: &'a str,
        params: impl IntoIterator<Item = RawParam>,
    ) -> PtxKernel<'a> {
        PtxKernel {
            ptx,
            entry,
            params: params.into_iter().map(|p| p.0).collect(),
            threads: [1; 3],
            cluster: 1,
            dynamic_shared: 0,
            dependent: false,
        }
    }
    /// The name of its entry.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
    /// What the driver says of it.
    #[must_use]
    pub fn loaded(&self) -> Loaded {
        self.function.loaded()
    }
    /// The device it is loaded on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.module.device
    }
    pub(crate) fn function(&self) -> Function {
        self.function
    }
    pub(crate) fn module(&self) -> &Arc<Module> {
        &self.module
    }
}

impl PtxKernel<'_> {
    /// Threads of a block; one unless said.
    #[must_use]
    pub fn threads(mut self, threads: [u32; 3]) -> Self {
        self.threads = threads;
        self
    }
    /// Blocks of a cluster along x; one unless said.
    #[must_use]
    pub fn cluster(mut self, blocks: u32) -> Self {
        self.cluster = blocks.max(1);
        self
    }
    /// Bytes of dynamic shared memory; none unless said.
    #[must_use]
    pub fn dynamic_shared(mut self, bytes: u32) -> Self {
        self.dynamic_shared = bytes;
        self
    }
    /// It waits for its predecessor itself, so it may start while that one still runs.
    #[must_use]
    pub fn dependent_launch(mut self, yes: bool) -> Self {
        self.dependent = yes;
        self
    }
    /// Gives the text to the device.
    pub fn load(self, device: &Device) -> Result<Kernel, LaunchError> {
        let unit = Unit {
            kernel: self.entry,
            entry: self.entry,
            ptx: self.ptx,
            dynamic_shared: self.dynamic_shared,
            cluster: self.cluster,
            widths: &widths(&self.params, &[], true),
            compiled: false,
            fingerprint: 0,
        };
        let entry = load_unit(device, unit)?;
        Ok(Kernel {
            module: Arc::new(Module {
                device: device.clone(),
                raw: entry.module,
            }),
            name: self.entry.to_string(),
            function: Function { entry, bound: 0 },
            params: self.params,
            threads: self.threads,
            cluster: self.cluster,
            dynamic_shared: self.dynamic_shared,
            dependent: self.dependent,
        })
    }
}
