//! Loading PTX and launching entries.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use cudarc::driver::sys;

use super::context::{Gpu, function, stream, text};
use super::status::{check, failed, status};
use crate::args::{CAPACITY, MAPS};
use crate::error::LaunchError;
use crate::machine::{Entry, Machine, RawFunction, RawModule, RawStream, Shot, Unit};

/// Bytes of room for the assembler's words.
const LOG: usize = 16 * 1024;

/// Blocks of a cluster that every card with clusters grants.
const PORTABLE_CLUSTER: u32 = 8;

impl Gpu {
    /// Assembles PTX text and looks up its entry.
    pub(super) fn load_unit(&self, unit: &Unit<'_>) -> Result<Entry, LaunchError> {
        self.bind()?;
        let relaxed = Relaxed::begin();
        let no_entry = || LaunchError::NoEntry {
            kernel: unit.kernel.into(),
            entry: unit.entry.into(),
        };
        let name = CString::new(unit.entry).map_err(|_| no_entry())?;
        let module = self.module_of(unit)?;
        let loaded = RawModule(module.expose_provenance() as u64);
        let mut found = null_mut();
        // SAFETY: the module is alive, the name ends in NUL.
        match unsafe { sys::cuModuleGetFunction(&raw mut found, module, name.as_ptr()) } {
            sys::CUresult::CUDA_SUCCESS => {}
            sys::CUresult::CUDA_ERROR_NOT_FOUND => {
                self.unload(loaded);
                return Err(no_entry());
            }
            other => {
                self.unload(loaded);
                check("looking up a kernel", other)?;
            }
        }
        let entry = self
            .prepare(unit, found, loaded)
            .inspect_err(|_| self.unload(loaded));
        drop(relaxed);
        entry
    }

    /// Assembles PTX text without keeping the result.
    pub(super) fn assemble(&self, unit: &Unit<'_>) -> Result<sys::CUmodule, LaunchError> {
        use sys::CUjit_option_enum as Option;
        let refused = |log: String, result| LaunchError::Refused {
            kernel: unit.kernel.into(),
            log,
            status: status(result).err().unwrap_or_default(),
        };
        let Ok(source) = CString::new(unit.ptx) else {
            return Err(refused(
                "the text contains a NUL".into(),
                sys::CUresult::CUDA_ERROR_INVALID_PTX,
            ));
        };
        let mut errors = vec![0u8; LOG];
        let mut options = [
            Option::CU_JIT_ERROR_LOG_BUFFER,
            Option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            Option::CU_JIT_GENERATE_LINE_INFO,
        ];
        // Numbers are passed in the place of pointers.
        let mut values = [
            errors.as_mut_ptr().cast::<c_void>(),
            std::ptr::without_provenance_mut(LOG - 1),
            std::ptr::without_provenance_mut(1),
        ];
        let mut module = null_mut();
        // SAFETY: options and values are parallel arrays; the log outlives the call.
        let result = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut module,
                source.as_ptr().cast(),
                options.len() as c_uint,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        match result {
            sys::CUresult::CUDA_SUCCESS => Ok(module),
            sys::CUresult::CUDA_ERROR_INVALID_PTX
            | sys::CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
            | sys::CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
            | sys::CUresult::CUDA_ERROR_INVALID_IMAGE
            | sys::CUresult::CUDA_ERROR_INVALID_SOURCE => Err(refused(text(&errors), result)),
            other => check("loading a kernel", other).map(|()| module),
        }
    }

    /// Reads what the driver made of it, and sets what must be set once.
    fn prepare(
        &self,
        unit: &Unit<'_>,
        found: sys::CUfunction,
        module: RawModule,
    ) -> Result<Entry, LaunchError> {
        use sys::CUfunction_attribute_enum as Ask;
        let ask = |which| -> Result<u32, LaunchError> {
            let mut value: c_int = 0;
            // SAFETY: the function is alive.
            check("asking about a kernel", unsafe {
                sys::cuFuncGetAttribute(&raw mut value, which, found)
            })?;
            Ok(value as u32)
        };
        let set = |which, value: u32| {
            // SAFETY: as above.
            check("setting up a kernel", unsafe {
                sys::cuFuncSetAttribute(found, which, value as c_int)
            })
        };
        must_declare(unit, found)?;
        let static_shared = ask(Ask::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
        if unit.dynamic_shared > 0 {
            let (bytes, limit) = (
                static_shared + unit.dynamic_shared,
                self.traits().shared_per_block,
            );
            if bytes > limit {
                return Err(LaunchError::Shared {
                    kernel: unit.kernel.into(),
                    bytes,
                    limit,
                });
            }
            set(
                Ask::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                unit.dynamic_shared,
            )?;
        }
        if unit.cluster > PORTABLE_CLUSTER {
            set(Ask::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)?;
        }
        Ok(Entry {
            module,
            function: RawFunction(found.expose_provenance() as u64),
            registers: ask(Ask::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local_bytes: ask(Ask::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            static_shared,
        })
    }

    /// Hands a launch to the driver, so many times.
    ///
    /// Which context is current is not asked first: the driver refuses a kernel of another one, and asking costs
    /// every launch what only the first of a thread needs.
    #[inline]
    pub(super) fn launch_shot(
        &self,
        shot: &Shot<'_>,
        at: RawStream,
        times: u32,
    ) -> Result<(), LaunchError> {
        let mut pointers = [const { MaybeUninit::<*const c_void>::uninit() }; CAPACITY + MAPS];
        let count = shot.words.len();
        for (pointer, word) in pointers[..CAPACITY].iter_mut().zip(shot.words) {
            pointer.write(std::ptr::from_ref(word).cast());
        }
        for (pointer, map) in pointers[count..].iter_mut().zip(shot.maps.iter()) {
            pointer.write(std::ptr::from_ref(map).cast());
        }
        // As many as the entry declares (`must_declare` has compared them), each a word or a tensor map that outlives
        // the call; the driver writes none.
        let parameters: *mut *mut c_void = pointers.as_mut_ptr().cast();
        let mut attributes = MaybeUninit::<[sys::CUlaunchAttribute; 2]>::uninit();
        let attributes = attributes_of(shot, &mut attributes);
        let (grid, block) = (shot.grid, shot.block);
        let config = sys::CUlaunchConfig {
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: block[0],
            blockDimY: block[1],
            blockDimZ: block[2],
            sharedMemBytes: shot.dynamic_shared,
            hStream: stream(at),
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as c_uint,
        };
        for _ in 0..times {
            let mut result = hand_over(shot.function, &config, parameters);
            if matches!(
                result,
                sys::CUresult::CUDA_ERROR_INVALID_CONTEXT
                    | sys::CUresult::CUDA_ERROR_INVALID_HANDLE
                    | sys::CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
            ) {
                self.bind()?;
                result = hand_over(shot.function, &config, parameters);
            }
            if result != sys::CUresult::CUDA_SUCCESS {
                let doing = format!("launching kernel `{}`", shot.kernel);
                return Err(failed(doing.into(), result));
            }
        }
        Ok(())
    }
}

/// What a launch asks for beside its extents.
#[inline]
fn attributes_of<'a>(
    shot: &Shot<'_>,
    room: &'a mut MaybeUninit<[sys::CUlaunchAttribute; 2]>,
) -> &'a mut [sys::CUlaunchAttribute] {
    use sys::CUlaunchAttributeID as Id;
    if shot.cluster <= 1 && !shot.dependent {
        return &mut [];
    }
    // SAFETY: all-zero is a valid attribute (it is ignored).
    let attributes = room.write(unsafe { std::mem::zeroed() });
    let mut count = 0;
    if shot.cluster > 1 {
        attributes[count].id = Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes[count].value.clusterDim = sys::CUlaunchAttributeValue_union__bindgen_ty_1 {
            x: shot.cluster,
            y: 1,
            z: 1,
        };
        count += 1;
    }
    if shot.dependent {
        attributes[count].id = Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attributes[count]
            .value
            .programmaticStreamSerializationAllowed = 1;
        count += 1;
    }
    &mut attributes[..count]
}

/// The driver's call itself; a launch without attributes has a shorter one.
#[inline]
fn hand_over(
    f: RawFunction,
    config: &sys::CUlaunchConfig,
    parameters: *mut *mut c_void,
) -> sys::CUresult {
    // SAFETY: the function is loaded, the parameters are what it declares, and the attributes are alive. The driver
    // copies all of them before it returns.
    unsafe {
        if config.numAttrs == 0 {
            sys::cuLaunchKernel(
                function(f),
                config.gridDimX,
                config.gridDimY,
                config.gridDimZ,
                config.blockDimX,
                config.blockDimY,
                config.blockDimZ,
                config.sharedMemBytes,
                config.hStream,
                parameters,
                null_mut(),
            )
        } else {
            sys::cuLaunchKernelEx(
                std::ptr::from_ref(config),
                function(f),
                parameters,
                null_mut(),
            )
        }
    }
}

/// Compares the entry's parameters with the description: a launch passes as many bytes as that says.
fn must_declare(unit: &Unit<'_>, found: sys::CUfunction) -> Result<(), LaunchError> {
    // Whether there is one more only an error of the driver tells, which tools that watch it report. Of a text that was
    // compiled together with its description the question need not be asked.
    let asked = unit.widths.len() + usize::from(!unit.compiled);
    for index in 0..asked {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function is alive; past its last parameter the driver answers with an error.
        let result =
            unsafe { sys::cuFuncGetParamInfo(found, index, &raw mut offset, &raw mut size) };
        let declared = (result == sys::CUresult::CUDA_SUCCESS).then_some(size);
        let described = unit.widths.get(index).map(|&width| usize::from(width));
        if declared != described {
            let kernel = unit.kernel.into();
            return Err(LaunchError::Parameters {
                kernel,
                index,
                declared,
                described,
            });
        }
    }
    Ok(())
}

/// Lets this thread load modules while another library captures a stream, which the driver may forbid otherwise.
struct Relaxed(sys::CUstreamCaptureMode);

impl Relaxed {
    fn begin() -> Relaxed {
        let mut mode = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: exchanges the thread's mode with the local's.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
        Relaxed(mode)
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        // SAFETY: as above.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut self.0) };
    }
}
