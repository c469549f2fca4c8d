//! The driver's answers as our errors.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};

use cudarc::driver::sys;

use crate::error::{LaunchError, Status};

/// Ok, or what the driver says of it.
pub(super) fn status(result: sys::CUresult) -> Result<(), Box<Status>> {
    if result == sys::CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let words = |ask: unsafe fn(sys::CUresult, *mut *const c_char) -> sys::CUresult| {
        let mut text = std::ptr::null();
        // SAFETY: on success the driver stores a pointer to a static string.
        unsafe {
            if ask(result, &raw mut text) != sys::CUresult::CUDA_SUCCESS || text.is_null() {
                return String::from("unknown");
            }
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    };
    Err(Box::new(Status {
        number: result as i32,
        name: words(sys::cuGetErrorName),
        text: words(sys::cuGetErrorString),
    }))
}

/// Answers with which the driver reports that a kernel broke, at whichever call comes next.
const FAULTS: &[sys::CUresult] = &[
    sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
    sys::CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
    sys::CUresult::CUDA_ERROR_ASSERT,
    sys::CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR,
    sys::CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
    sys::CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
    sys::CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE,
    sys::CUresult::CUDA_ERROR_INVALID_PC,
    sys::CUresult::CUDA_ERROR_LAUNCH_FAILED,
];

/// Ok, or an error that says what was being done.
#[inline]
pub(super) fn check(doing: &'static str, result: sys::CUresult) -> Result<(), LaunchError> {
    if result == sys::CUresult::CUDA_SUCCESS {
        Ok(())
    } else {
        Err(failed(doing.into(), result))
    }
}

/// The error for an answer that is not success.
#[cold]
pub(super) fn failed(doing: Cow<'static, str>, result: sys::CUresult) -> LaunchError {
    let status = status(result).err().unwrap_or_default();
    if FAULTS.contains(&result) {
        let report = status.to_string();
        LaunchError::Fault {
            doing,
            report,
            fault: None,
        }
    } else {
        LaunchError::Driver { doing, status }
    }
}
