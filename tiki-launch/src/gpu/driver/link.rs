//! PTX to machine code by the driver's linker, through the cache.
//!
//! The linker gives what loading the text would have kept to itself: the machine code, to be stored, and the
//! assembler's log. A hit reads a file and hands the code to the driver, which assembles nothing.

use std::ffi::{CString, c_uint, c_void};
use std::ptr::null_mut;

use cudarc::driver::sys;

use super::context::{Gpu, text};
use super::status::{failed, status};
use crate::cache::{self, Entry, Key, Mode};
use crate::error::LaunchError;
use crate::inspect::Wishes;
use crate::machine::{Machine, Unit};

/// Bytes of room for the assembler's words, for each of its two logs.
const LOG: usize = 16 * 1024;

/// Answers that mean the text is at fault.
const REFUSALS: &[sys::CUresult] = &[
    sys::CUresult::CUDA_ERROR_INVALID_PTX,
    sys::CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
    sys::CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
    sys::CUresult::CUDA_ERROR_INVALID_IMAGE,
    sys::CUresult::CUDA_ERROR_INVALID_SOURCE,
];

impl Gpu {
    /// The module of a text, loaded: from the cache, or assembled now.
    pub(super) fn module_of(&self, unit: &Unit<'_>) -> Result<sys::CUmodule, LaunchError> {
        let store = cache::store();
        let wishes = Wishes::of(unit);
        let plain = store.settings().mode == Mode::Off || store.settings().folder.is_none();
        if plain && !wishes.any(&["cubin", "log", "sass"]) {
            return self.assemble(unit);
        }
        let traits = self.traits();
        let key = Key::of_unit(unit, traits.capability, &traits.driver);
        let entry = store.get_or_make(&key, || self.link(unit))?;
        let module = match self.load_code(&entry.cubin) {
            Ok(module) => module,
            Err(_) => {
                // Whole, and yet the driver does not want it: it is made again.
                store.forget(&key);
                let entry = store.get_or_make(&key, || self.link(unit))?;
                let loaded = self.load_code(&entry.cubin);
                loaded.map_err(|result| failed("loading a kernel".into(), result))?
            }
        };
        wishes.write("log", entry.log.as_bytes());
        wishes.write_code(&entry.cubin);
        Ok(module)
    }

    fn load_code(&self, cubin: &[u8]) -> Result<sys::CUmodule, sys::CUresult> {
        let mut module = null_mut();
        // SAFETY: the code is whole (its hash was compared), and says its own length.
        let result = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut module,
                cubin.as_ptr().cast(),
                0,
                null_mut(),
                null_mut(),
            )
        };
        match result {
            sys::CUresult::CUDA_SUCCESS => Ok(module),
            other => Err(other),
        }
    }

    /// Assembles a text.
    fn link(&self, unit: &Unit<'_>) -> Result<Entry, LaunchError> {
        use sys::CUjit_option_enum as Option;
        let refused = |log: String, result| LaunchError::Refused {
            kernel: unit.kernel.into(),
            log,
            status: status(result).err().unwrap_or_default(),
        };
        let Ok(source) = CString::new(unit.ptx) else {
            let result = sys::CUresult::CUDA_ERROR_INVALID_PTX;
            return Err(refused("the text contains a NUL".into(), result));
        };
        let (mut errors, mut infos) = (vec![0u8; LOG], vec![0u8; LOG]);
        let size = || std::ptr::without_provenance_mut::<c_void>(LOG - 1);
        let one = || std::ptr::without_provenance_mut::<c_void>(1);
        let mut options = [
            Option::CU_JIT_ERROR_LOG_BUFFER,
            Option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            Option::CU_JIT_INFO_LOG_BUFFER,
            Option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
            Option::CU_JIT_GENERATE_LINE_INFO,
            Option::CU_JIT_LOG_VERBOSE,
        ];
        // Numbers are passed in the place of pointers.
        let mut values = [
            errors.as_mut_ptr().cast::<c_void>(),
            size(),
            infos.as_mut_ptr().cast::<c_void>(),
            size(),
            one(),
            one(),
        ];
        let bytes = source.as_bytes_with_nul();
        let mut state = null_mut();
        let (mut code, mut length) = (null_mut(), 0usize);
        // SAFETY: options and values are parallel arrays; they, the logs and the text outlive the linker, which
        // is destroyed below; its result is copied before that.
        let (result, cubin) = unsafe {
            let mut result = sys::cuLinkCreate_v2(
                options.len() as c_uint,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
                &raw mut state,
            );
            if result == sys::CUresult::CUDA_SUCCESS {
                result = sys::cuLinkAddData_v2(
                    state,
                    sys::CUjitInputType_enum::CU_JIT_INPUT_PTX,
                    bytes.as_ptr().cast_mut().cast(),
                    bytes.len(),
                    c"kernel".as_ptr(),
                    0,
                    null_mut(),
                    null_mut(),
                );
            }
            if result == sys::CUresult::CUDA_SUCCESS {
                result = sys::cuLinkComplete(state, &raw mut code, &raw mut length);
            }
            let cubin = if result == sys::CUresult::CUDA_SUCCESS {
                std::slice::from_raw_parts(code.cast::<u8>(), length).to_vec()
            } else {
                Vec::new()
            };
            if !state.is_null() {
                let _ = sys::cuLinkDestroy(state);
            }
            (result, cubin)
        };
        match result {
            sys::CUresult::CUDA_SUCCESS => Ok(Entry {
                kernel: unit.kernel.to_owned(),
                log: text(&infos),
                cubin,
            }),
            other if REFUSALS.contains(&other) => Err(refused(text(&errors), other)),
            other => Err(failed("assembling a kernel".into(), other)),
        }
    }
}
