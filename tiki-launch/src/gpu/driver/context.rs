//! One GPU: its primary context, memory, streams, events and graphs.

use std::ffi::{c_int, c_void};
use std::ptr::{null_mut, with_exposed_provenance_mut as handle};

use cudarc::driver::sys;

use super::status::{check, status};
use crate::error::LaunchError;
use crate::machine::{
    Entry, Kind, Machine, RawEvent, RawFunction, RawGraph, RawModule, RawStream, Shot, Traits, Unit,
};
use crate::tensor_map::{Map, MapOf};

/// A GPU.
#[derive(Debug)]
pub(crate) struct Gpu {
    device: sys::CUdevice,
    context: sys::CUcontext,
    traits: Traits,
    /// Memory is allocated in stream order; old cards without pools allocate and free with a wait.
    pools: bool,
}

// SAFETY: the driver's calls may come from any thread; the handles are plain names of its objects.
unsafe impl Send for Gpu {}
// SAFETY: as above; nothing in here changes after `open`.
unsafe impl Sync for Gpu {}

impl Gpu {
    /// Opens the device. [`super::probe::present`] has said yes.
    pub fn open(ordinal: usize) -> Result<Gpu, LaunchError> {
        // SAFETY: the driver is present; all pointers are to live locals of the right type.
        unsafe {
            match sys::cuInit(0) {
                sys::CUresult::CUDA_ERROR_NO_DEVICE => {
                    return Err(LaunchError::NoDevice { ordinal, count: 0 });
                }
                other => check("starting the driver", other)?,
            }
            let mut count = 0;
            check("counting the GPUs", sys::cuDeviceGetCount(&raw mut count))?;
            if ordinal >= count as usize {
                return Err(LaunchError::NoDevice {
                    ordinal,
                    count: count as usize,
                });
            }
            let mut device = 0;
            check(
                "finding the GPU",
                sys::cuDeviceGet(&raw mut device, ordinal as c_int),
            )?;
            let mut name = [0u8; 256];
            check(
                "asking the GPU's name",
                sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as c_int - 1, device),
            )?;
            let attribute = |which| -> Result<u32, LaunchError> {
                let mut value = 0;
                check(
                    "asking the GPU's limits",
                    sys::cuDeviceGetAttribute(&raw mut value, which, device),
                )?;
                Ok(value as u32)
            };
            use sys::CUdevice_attribute_enum as Ask;
            let mut version = 0;
            check(
                "asking the driver's version",
                sys::cuDriverGetVersion(&raw mut version),
            )?;
            let traits = Traits {
                name: text(&name),
                kind: Kind::Gpu(ordinal),
                capability: (
                    attribute(Ask::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                    attribute(Ask::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
                ),
                multiprocessors: attribute(Ask::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
                shared_per_block: attribute(
                    Ask::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                )?,
                driver: driver_version(version),
            };
            let pools = attribute(Ask::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0;
            let mut context = null_mut();
            check(
                "opening the GPU",
                sys::cuDevicePrimaryCtxRetain(&raw mut context, device),
            )?;
            let gpu = Gpu {
                device,
                context,
                traits,
                pools,
            };
            // Whatever this thread had bound before may be an earlier life of the same context.
            check("selecting the GPU", sys::cuCtxSetCurrent(context))?;
            if pools {
                gpu.keep_freed_memory()?;
            }
            Ok(gpu)
        }
    }

    /// Makes the context current in this thread, unless it is.
    #[inline]
    pub(super) fn bind(&self) -> Result<(), LaunchError> {
        let mut current = null_mut();
        // SAFETY: the context is alive as long as `self`.
        unsafe {
            check(
                "asking for the current context",
                sys::cuCtxGetCurrent(&raw mut current),
            )?;
            if current != self.context {
                check("selecting the GPU", sys::cuCtxSetCurrent(self.context))?;
            }
        }
        Ok(())
    }

    /// The pool that memory is allocated from.
    fn pool(&self) -> Result<sys::CUmemoryPool, LaunchError> {
        let mut pool = null_mut();
        // SAFETY: the pool lives as long as the device.
        check("finding the memory pool", unsafe {
            sys::cuDeviceGetDefaultMemPool(&raw mut pool, self.device)
        })?;
        Ok(pool)
    }

    /// A number that the pool keeps.
    fn pool_number(&self, which: sys::CUmemPool_attribute) -> Result<u64, LaunchError> {
        let mut number = 0u64;
        let into = (&raw mut number).cast::<c_void>();
        let pool = self.pool()?;
        // SAFETY: the attributes that we ask for are 64-bit numbers.
        check("asking the memory pool", unsafe {
            sys::cuMemPoolGetAttribute(pool, which, into)
        })?;
        Ok(number)
    }

    /// Lets the pool keep what is freed, unless someone has set a threshold: giving it back to the
    /// system at every wait would make each allocation after it dear.
    fn keep_freed_memory(&self) -> Result<(), LaunchError> {
        const THRESHOLD: sys::CUmemPool_attribute =
            sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        if self.pool_number(THRESHOLD)? == 0 {
            let mut all = u64::MAX;
            let all = (&raw mut all).cast::<c_void>();
            let pool = self.pool()?;
            // SAFETY: the attribute is a 64-bit number.
            check("setting up the memory pool", unsafe {
                sys::cuMemPoolSetAttribute(pool, THRESHOLD, all)
            })?;
        }
        Ok(())
    }
}

/// Text up to the first NUL.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end])
        .trim_end()
        .to_string()
}

/// The driver's own version where the system tells it, and the CUDA version it speaks.
fn driver_version(cuda: c_int) -> String {
    let cuda = format!("CUDA {}.{}", cuda / 1000, cuda % 1000 / 10);
    std::fs::read_to_string("/proc/driver/nvidia/version")
        .ok()
        .and_then(|text| {
            let is_version = |word: &&str| {
                word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.')
            };
            text.lines()
                .next()?
                .split_whitespace()
                .find(is_version)
                .map(|v| format!("{v} ({cuda})"))
        })
        .unwrap_or(cuda)
}

pub(super) fn stream(raw: RawStream) -> sys::CUstream {
    handle(raw.0 as usize)
}
fn event(raw: RawEvent) -> sys::CUevent {
    handle(raw.0 as usize)
}
pub(super) fn function(raw: RawFunction) -> sys::CUfunction {
    handle(raw.0 as usize)
}
fn number<T>(pointer: *mut T) -> u64 {
    pointer.expose_provenance() as u64
}

// SAFETY of all calls below: see the head of this folder; pointers are to live locals.
impl Machine for Gpu {
    fn traits(&self) -> &Traits {
        &self.traits
    }

    fn allocate(&self, bytes: u64, at: RawStream) -> Result<u64, LaunchError> {
        self.bind()?;
        let mut address = 0;
        let result = unsafe {
            if self.pools {
                sys::cuMemAllocAsync(&raw mut address, bytes as usize, stream(at))
            } else {
                sys::cuMemAlloc_v2(&raw mut address, bytes as usize)
            }
        };
        if result == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return Err(LaunchError::OutOfMemory { bytes });
        }
        check("allocating memory", result)?;
        Ok(address)
    }

    fn free(&self, address: u64, at: RawStream) {
        if self.bind().is_ok() {
            // A failure here is an earlier kernel's; the next call that waits reports it.
            let _ = unsafe {
                if self.pools {
                    sys::cuMemFreeAsync(address, stream(at))
                } else {
                    sys::cuMemFree_v2(address)
                }
            };
        }
    }

    fn memory_peak(&self) -> Option<u64> {
        const HIGH: sys::CUmemPool_attribute =
            sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
        self.pools.then(|| self.pool_number(HIGH).ok())?
    }

    fn zero(&self, address: u64, bytes: u64, at: RawStream) -> Result<(), LaunchError> {
        self.bind()?;
        check("clearing memory", unsafe {
            sys::cuMemsetD8Async(address, 0, bytes as usize, stream(at))
        })
    }

    fn upload(&self, address: u64, bytes: &[u8], at: RawStream) -> Result<(), LaunchError> {
        self.bind()?;
        let doing = "copying to the GPU";
        check(doing, unsafe {
            sys::cuMemcpyHtoDAsync_v2(address, bytes.as_ptr().cast(), bytes.len(), stream(at))
        })?;
        check(doing, unsafe { sys::cuStreamSynchronize(stream(at)) })
    }

    fn download(&self, address: u64, bytes: &mut [u8], at: RawStream) -> Result<(), LaunchError> {
        self.bind()?;
        let doing = "copying from the GPU";
        check(doing, unsafe {
            sys::cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), address, bytes.len(), stream(at))
        })?;
        check(doing, unsafe { sys::cuStreamSynchronize(stream(at)) })
    }

    fn copy(&self, from: u64, to: u64, bytes: u64, at: RawStream) -> Result<(), LaunchError> {
        self.bind()?;
        check("copying on the GPU", unsafe {
            sys::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, stream(at))
        })
    }

    fn new_stream(&self) -> Result<RawStream, LaunchError> {
        self.bind()?;
        let mut made = null_mut();
        let flags = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
        check("making a stream", unsafe {
            sys::cuStreamCreate(&raw mut made, flags)
        })?;
        Ok(RawStream(number(made)))
    }

    fn drop_stream(&self, raw: RawStream) {
        if self.bind().is_ok() {
            // The driver lets the stream's work finish before it takes the stream apart.
            let _ = unsafe { sys::cuStreamDestroy_v2(stream(raw)) };
        }
    }

    fn synchronize(&self, raw: RawStream) -> Result<(), LaunchError> {
        self.bind()?;
        check("waiting for a stream", unsafe {
            sys::cuStreamSynchronize(stream(raw))
        })
    }

    fn new_event(&self, timing: bool) -> Result<RawEvent, LaunchError> {
        self.bind()?;
        use sys::CUevent_flags_enum as Flag;
        let flags = if timing {
            Flag::CU_EVENT_DEFAULT
        } else {
            Flag::CU_EVENT_DISABLE_TIMING
        };
        let mut made = null_mut();
        check("making an event", unsafe {
            sys::cuEventCreate(&raw mut made, flags as u32)
        })?;
        Ok(RawEvent(number(made)))
    }

    fn drop_event(&self, raw: RawEvent) {
        if self.bind().is_ok() {
            let _ = unsafe { sys::cuEventDestroy_v2(event(raw)) };
        }
    }

    fn record(&self, raw: RawEvent, at: RawStream) -> Result<(), LaunchError> {
        self.bind()?;
        check("recording an event", unsafe {
            sys::cuEventRecord(event(raw), stream(at))
        })
    }

    fn wait(&self, at: RawStream, raw: RawEvent) -> Result<(), LaunchError> {
        self.bind()?;
        check("ordering two streams", unsafe {
            sys::cuStreamWaitEvent(stream(at), event(raw), 0)
        })
    }

    fn reached(&self, raw: RawEvent) -> bool {
        self.bind().is_ok()
            && unsafe { sys::cuEventQuery(event(raw)) } == sys::CUresult::CUDA_SUCCESS
    }

    fn elapsed_us(&self, start: RawEvent, end: RawEvent) -> Result<f64, LaunchError> {
        self.bind()?;
        let mut milliseconds = 0f32;
        check("waiting for an event", unsafe {
            sys::cuEventSynchronize(event(end))
        })?;
        check("reading a time", unsafe {
            sys::cuEventElapsedTime_v2(&raw mut milliseconds, event(start), event(end))
        })?;
        Ok(f64::from(milliseconds) * 1e3)
    }

    fn load(&self, unit: &Unit<'_>) -> Result<Entry, LaunchError> {
        self.load_unit(unit)
    }

    fn unload(&self, module: RawModule) {
        if self.bind().is_ok() {
            // The code may still run: wait for everything on the device first.
            let _ = unsafe { sys::cuCtxSynchronize() };
            let _ = unsafe { sys::cuModuleUnload(handle(module.0 as usize)) };
        }
    }

    #[inline]
    fn launch(&self, shot: &Shot<'_>, at: RawStream) -> Result<(), LaunchError> {
        self.launch_shot(shot, at, 1)
    }

    fn launch_times(&self, shot: &Shot<'_>, at: RawStream, times: u32) -> Result<(), LaunchError> {
        self.launch_shot(shot, at, times)
    }

    fn tensor_map(&self, of: &MapOf) -> Result<Map, LaunchError> {
        self.encode_map(of)
    }

    fn begin_capture(&self, at: RawStream) -> Result<(), LaunchError> {
        self.bind()?;
        // What must not happen meanwhile is refused before the driver is asked; other streams go on.
        let mode = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_RELAXED;
        check("beginning a capture", unsafe {
            sys::cuStreamBeginCapture_v2(stream(at), mode)
        })
    }

    fn end_capture(&self, at: RawStream) -> Result<RawGraph, LaunchError> {
        self.bind()?;
        let mut graph = null_mut();
        check("ending a capture", unsafe {
            sys::cuStreamEndCapture(stream(at), &raw mut graph)
        })?;
        let mut ready = null_mut();
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut ready, graph, 0) };
        let _ = unsafe { sys::cuGraphDestroy(graph) };
        check("building a graph", made)?;
        Ok(RawGraph(number(ready)))
    }

    fn launch_graph(&self, graph: RawGraph, at: RawStream) -> Result<(), LaunchError> {
        self.bind()?;
        check("launching a graph", unsafe {
            sys::cuGraphLaunch(handle(graph.0 as usize), stream(at))
        })
    }

    fn drop_graph(&self, graph: RawGraph) {
        if self.bind().is_ok() {
            let _ = unsafe { sys::cuGraphExecDestroy(handle(graph.0 as usize)) };
        }
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: retained once in `open`; everything made in it has been given back.
        let _ = status(unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) });
    }
}
