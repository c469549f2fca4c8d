//! PTX to a loaded module: code from the cache, made by the toolkit's assembler, or the driver's own doing.
//!
//! ```text
//! cache on, an assembler there --> store: found, or assembled now --> driver loads the code
//! else, or what they gave is refused --> driver assembles the text, whole, and keeps it in its own cache
//! ```
//!
//! A hit reads a file and hands the code to the driver, which assembles nothing. What refuses a text in the end is
//! always the driver, so that a message does not depend on which assembler is there.

use std::ptr::null_mut;

use cudarc::driver::sys;

use super::context::Gpu;
use crate::assembler::Assembler;
use crate::cache::{self, Entry, Key, Mode};
use crate::error::LaunchError;
use crate::inspect::Wishes;
use crate::machine::{Machine, Unit};

/// What of a kernel only machine code shows.
const OF_CODE: &[&str] = &["cubin", "log", "sass"];

impl Gpu {
    /// The module of a text, loaded.
    pub(super) fn module_of(&self, unit: &Unit<'_>) -> Result<sys::CUmodule, LaunchError> {
        let store = cache::store();
        let wishes = Wishes::of(unit);
        let wanted = wishes.any(OF_CODE);
        let keeps = store.settings().mode != Mode::Off && store.settings().folder.is_some();
        let assembler = Assembler::find().filter(|_| keeps || wanted);
        if let Some(assembler) = assembler {
            if let Some((module, entry)) = self.module_by(assembler, unit) {
                wishes.write("log", entry.log.as_bytes());
                wishes.write_code(&entry.cubin);
                return Ok(module);
            }
        } else if wanted {
            wishes.cannot("machine code is shown where there is an assembler: `ptxas` of the path, or TIKI_PTXAS");
        }
        self.assemble(unit)
    }

    /// By way of the toolkit's assembler; `None` if it or the driver refuses.
    fn module_by(&self, assembler: &Assembler, unit: &Unit<'_>) -> Option<(sys::CUmodule, Entry)> {
        let store = cache::store();
        let traits = self.traits();
        let key = Key::of_unit(unit, traits.capability, assembler.stamp());
        let make = || {
            let made = assembler.assemble(unit.ptx, traits.capability)?;
            Ok::<_, crate::assembler::Refusal>(Entry {
                kernel: unit.kernel.to_owned(),
                log: made.log,
                cubin: made.cubin,
            })
        };
        // Once more, if the driver does not want what was found: it is whole, but may be of no use.
        for _ in 0..2 {
            let entry = store.get_or_make(&key, make).ok()?;
            if let Ok(module) = self.load_code(&entry.cubin) {
                return Some((module, entry));
            }
            store.forget(&key);
        }
        None
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
}
