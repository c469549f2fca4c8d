//! A device: a GPU or the virtual machine, chosen once and never changed silently.
//!
//! [`Device::open_default`] obeys `TIKI_DEVICE`; without it, it takes the first GPU, and the virtual
//! machine only where there is no driver or no GPU at all. A driver that is there but broken is an error.
//! A handle is cheap to clone and usable from any thread; all handles to one GPU are the same device.

mod state;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tiki_kernel::artifact::Artifact;
use tiki_kernel::target::Target;

use crate::buffer::Memory;
use crate::element::Element;
use crate::error::LaunchError;
use crate::machine::{Kind, Machine, RawModule};
use crate::stream::Stream;
use crate::tensor::Tensor;
use crate::vm::Options;

pub(crate) use state::State;

/// Artefacts of which a device has the answers to a launch's questions at hand.
const KNOWN: usize = 64;

/// The place of an artefact's answers, by its address.
#[inline]
fn place(address: usize) -> usize {
    address / 64 % KNOWN
}

/// A GPU or the virtual machine.
#[derive(Clone)]
pub struct Device(Arc<Shared>);

pub(crate) struct Shared {
    machine: Box<dyn Machine>,
    /// Of the machine's traits, what persistent grids ask for at every launch.
    multiprocessors: u32,
    state: Mutex<State>,
    /// Artefacts that were found to run here, by their address: neither they nor the machine change.
    runs: [AtomicUsize; KNOWN],
}

impl Device {
    /// The device `TIKI_DEVICE` names (`vm`, `vm:TARGET`, `cuda:N`); unset, a GPU if there is one, else
    /// the virtual machine. Asked again, it is the same device.
    pub fn open_default() -> Result<Device, LaunchError> {
        match std::env::var("TIKI_DEVICE") {
            Ok(name) => Device::of_the_variable(&name),
            Err(std::env::VarError::NotPresent) => match Device::cuda(0) {
                Err(LaunchError::NoDriver { .. } | LaunchError::NoDevice { count: 0, .. }) => {
                    Device::the_vm("vm")
                }
                other => other,
            },
            Err(std::env::VarError::NotUnicode(name)) => {
                let given = name.to_string_lossy().into_owned();
                Err(LaunchError::DeviceName {
                    given,
                    variable: true,
                })
            }
        }
    }

    fn of_the_variable(name: &str) -> Result<Device, LaunchError> {
        let device = if name.starts_with("cuda") {
            Device::named(name)
        } else {
            Device::the_vm(name)
        };
        device.map_err(|error| match error {
            LaunchError::DeviceName { given, .. } => LaunchError::DeviceName {
                given,
                variable: true,
            },
            other => other,
        })
    }

    /// The process's own virtual machine of this name.
    fn the_vm(name: &str) -> Result<Device, LaunchError> {
        static OPEN: Mutex<Vec<(String, Device)>> = Mutex::new(Vec::new());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, device)) = open.iter().find(|(n, _)| n == name) {
            return Ok(device.clone());
        }
        let device = Device::named(name)?;
        open.push((name.to_string(), device.clone()));
        Ok(device)
    }

    /// The device of a name as `TIKI_DEVICE` spells it.
    pub fn named(name: &str) -> Result<Device, LaunchError> {
        let wrong = || LaunchError::DeviceName {
            given: name.to_string(),
            variable: false,
        };
        match name.split_once(':') {
            None if name == "vm" => Device::vm(),
            Some(("vm", target)) => Device::vm_of(Target::by_name(target).ok_or_else(wrong)?),
            Some(("cuda", number)) => Device::cuda(number.parse().map_err(|_| wrong())?),
            _ => Err(wrong()),
        }
    }

    /// A virtual machine of its own, which runs kernels of every target.
    pub fn vm() -> Result<Device, LaunchError> {
        let newest = Target::all().max_by_key(|t| t.row().capability);
        Device::vm_of(newest.unwrap_or_else(Target::default_target))
    }

    /// A virtual machine that imitates a card of this target: kernels of newer targets are refused.
    pub fn vm_of(target: Target) -> Result<Device, LaunchError> {
        Device::vm_with(target, Options::default())
    }

    /// The same, with options of its own: when asynchronous work completes, what is checked, host threads.
    pub fn vm_with(target: Target, options: Options) -> Result<Device, LaunchError> {
        Device::over(crate::host::open(target, options))
    }

    /// The GPU of this number.
    pub fn cuda(ordinal: usize) -> Result<Device, LaunchError> {
        static OPEN: Mutex<Vec<(usize, Weak<Shared>)>> = Mutex::new(Vec::new());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, shared)| shared.strong_count() > 0);
        if let Some(shared) = open
            .iter()
            .find(|(n, _)| *n == ordinal)
            .and_then(|(_, s)| s.upgrade())
        {
            return Ok(Device(shared));
        }
        let device = Device::over(crate::gpu::open(ordinal)?)?;
        open.push((ordinal, Arc::downgrade(&device.0)));
        Ok(device)
    }

    /// A device over a machine, with its default stream.
    pub(crate) fn over(machine: Box<dyn Machine>) -> Result<Device, LaunchError> {
        let mut state = State::default();
        let raw = machine.new_stream()?;
        state.order.open(&*machine, raw, true)?;
        Ok(Device(Arc::new(Shared {
            multiprocessors: machine.traits().multiprocessors,
            machine,
            state: Mutex::new(state),
            runs: [const { AtomicUsize::new(0) }; KNOWN],
        })))
    }

    /// Name of the card or the machine.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.machine().traits().name
    }
    /// Which kind of machine it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.machine().traits().kind
    }
    /// Compute capability.
    #[must_use]
    pub fn capability(&self) -> (u32, u32) {
        self.machine().traits().capability
    }
    /// Number of multiprocessors.
    #[must_use]
    #[inline]
    pub fn multiprocessors(&self) -> u32 {
        self.0.multiprocessors
    }
    /// Memory that its tensors and its launchers' workspaces hold.
    #[must_use]
    pub fn memory(&self) -> Memory {
        Memory {
            driver_peak: self.machine().memory_peak(),
            ..self.lock().memory
        }
    }
    /// Version of what drives it.
    #[must_use]
    pub fn driver(&self) -> &str {
        &self.machine().traits().driver
    }
    /// Whether kernels built for a target run here.
    #[must_use]
    pub fn runs(&self, target: Target) -> bool {
        self.machine().traits().runs(target)
    }

    /// Whether an artefact runs here; asked again, which it is by every launch, the answer is at hand.
    #[inline]
    pub(crate) fn runs_artifact(&self, artifact: &'static Artifact) -> bool {
        let address = std::ptr::from_ref(artifact).addr();
        let known = &self.0.runs[place(address)];
        known.load(Ordering::Relaxed) == address || self.ask_artifact(artifact, known)
    }

    #[cold]
    fn ask_artifact(&self, artifact: &'static Artifact, known: &AtomicUsize) -> bool {
        let runs = Target::by_name(artifact.target).is_some_and(|target| self.runs(target));
        if runs {
            known.store(std::ptr::from_ref(artifact).addr(), Ordering::Relaxed);
        }
        runs
    }

    /// The grid of a persistent kernel: as many blocks as are held at once, in whole clusters.
    #[must_use]
    #[inline(always)] // into launchers, which know the artefact
    pub fn persistent_grid(&self, artifact: &Artifact) -> [u64; 3] {
        let cluster = artifact.cluster.max(1);
        let blocks = self.multiprocessors() * artifact.usage.blocks_per_sm.max(1);
        [u64::from((blocks / cluster).max(1) * cluster), 1, 1]
    }

    /// The device's default stream.
    #[must_use]
    pub fn stream(&self) -> Stream {
        Stream::default_of(self)
    }
    /// A further stream, not ordered with any other except through the tensors they share.
    pub fn new_stream(&self) -> Result<Stream, LaunchError> {
        Stream::open(self)
    }

    /// A row-major tensor with the values of a host slice.
    pub fn tensor_from<E: Element, const R: usize>(
        &self,
        host: &[E],
        shape: [usize; R],
    ) -> Result<Tensor<E, R>, LaunchError> {
        Tensor::from_host(self, host, shape)
    }
    /// A row-major tensor of zeros.
    pub fn zeros<E: Element, const R: usize>(
        &self,
        shape: [usize; R],
    ) -> Result<Tensor<E, R>, LaunchError> {
        Tensor::allocate(self, shape, true)
    }
    /// A row-major tensor whose values are not defined.
    pub fn empty<E: Element, const R: usize>(
        &self,
        shape: [usize; R],
    ) -> Result<Tensor<E, R>, LaunchError> {
        Tensor::allocate(self, shape, false)
    }

    /// Takes code away that nothing will launch any more, once it has run.
    pub(crate) fn retire(&self, module: RawModule) {
        let mut state = self.lock();
        state.retired.push(module);
        state.unload_retired(self.machine());
    }

    #[inline]
    pub(crate) fn machine(&self) -> &dyn Machine {
        &*self.0.machine
    }
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Two handles are equal if they are the same device.
impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
impl Eq for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.name()).finish()
    }
}

/// `NVIDIA H200 (cuda:0)`.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Kind::Gpu(n) => write!(f, "{} (cuda:{n})", self.name()),
            Kind::Vm => write!(f, "{} (vm)", self.name()),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let machine = &*self.machine;
        state.workspaces.clear(machine, &mut state.order);
        state.order.shut(machine);
        state.unload_retired(machine);
        for function in state.functions.values() {
            machine.unload(function.entry.module);
        }
    }
}

#[cfg(test)]
mod tests;
