//! Is there a driver, and has it everything we call?
//!
//! Asked once per process, before the first call: the bindings would panic.

use std::sync::OnceLock;

use libloading::Library;

use crate::error::LaunchError;

/// Every function of the driver that this folder calls.
pub(super) const SYMBOLS: &[&str] = &[
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetDefaultMemPool",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime_v2",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuFuncGetAttribute",
    "cuFuncGetParamInfo",
    "cuFuncSetAttribute",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuInit",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuMemAllocAsync",
    "cuMemAlloc_v2",
    "cuMemFreeAsync",
    "cuMemFree_v2",
    "cuMemPoolGetAttribute",
    "cuMemPoolSetAttribute",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuStreamBeginCapture_v2",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamEndCapture",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuTensorMapEncodeTiled",
    "cuThreadExchangeStreamCaptureMode",
];

enum Found {
    All,
    NoLibrary(String),
    NoSymbol(&'static str),
}

/// Whether the driver can be called.
pub(crate) fn present() -> Result<(), LaunchError> {
    static FOUND: OnceLock<Found> = OnceLock::new();
    match FOUND.get_or_init(look) {
        Found::All => Ok(()),
        Found::NoLibrary(reason) => Err(LaunchError::NoDriver {
            reason: reason.clone(),
        }),
        Found::NoSymbol(missing) => Err(LaunchError::OldDriver { missing }),
    }
}

fn look() -> Found {
    // The names the bindings try, in their order, as far as drivers use them.
    let names: &[&str] = if cfg!(windows) {
        &["nvcuda.dll"]
    } else {
        &["libcuda.so", "libcuda.so.1"]
    };
    // SAFETY: loading the driver runs its initialisers, as the first call of the bindings would.
    let Some(library) = names
        .iter()
        .find_map(|name| unsafe { Library::new(*name) }.ok())
    else {
        return Found::NoLibrary(format!("{} could not be loaded", names[names.len() - 1]));
    };
    for symbol in SYMBOLS {
        // SAFETY: the symbol is looked up, not used.
        if unsafe { library.get::<*const ()>(*symbol) }.is_err() {
            return Found::NoSymbol(symbol);
        }
    }
    Found::All
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_of_this_folder_is_asked_for() {
        let sources = [
            include_str!("context.rs"),
            include_str!("interop.rs"),
            include_str!("launch.rs"),
            include_str!("code.rs"),
            include_str!("status.rs"),
            include_str!("tensor_map.rs"),
        ];
        let mut called: Vec<&str> = sources
            .iter()
            .flat_map(|text| text.match_indices("sys::cu").map(|(at, _)| &text[at + 5..]))
            .map(|rest| {
                &rest[..rest
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(0)]
            })
            .collect();
        called.sort_unstable();
        called.dedup();
        assert_eq!(called, SYMBOLS);
    }
}
