//! How much a text may ask for.
//!
//! The limits are a card's where a card has one, and else so large that no program meets them: a text must
//! not be able to ask for memory without bounds.

use super::program::LoadError;
use tiki_kernel::isa::Space;
use tiki_kernel::ptx::Module;

/// Bytes of constants of a module, and of its global variables.
const CONSTANTS: u64 = 640 << 10;
const GLOBALS: u64 = 1 << 30;
/// Bytes of a thread's own memory, of a block's shared memory and of parameters.
const LOCAL: u64 = 512 << 10;
const SHARED: u64 = 227 << 10;
const PARAMETERS: u64 = 32_764;
/// Planes of a warp.
const PLANES: usize = 1 << 17;

/// What a module asks for as a whole.
pub(super) fn module(m: &Module) -> Result<(), LoadError> {
    let sum = |space: Space| {
        let all = m.vars.iter().filter(|v| v.space == space);
        all.fold(0u64, |n, v| {
            n.saturating_add(v.bytes()).saturating_add(v.alignment())
        })
    };
    let wrong: Vec<String> = [
        ("constants", sum(Space::Const), CONSTANTS),
        ("global variables", sum(Space::Global), GLOBALS),
    ]
    .into_iter()
    .filter(|(_, n, most)| n > most)
    .map(|(what, n, most)| format!("{n} bytes of {what}: at most {most} are possible"))
    .collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(LoadError(wrong))
    }
}

/// What an entry asks for.
pub(super) fn entry(
    name: &str,
    planes: usize,
    local: u64,
    shared: u64,
    parameters: u64,
) -> Result<(), LoadError> {
    let wrong: Vec<String> = [
        ("registers, in planes,", planes as u64, PLANES as u64),
        ("bytes of local memory", local, LOCAL),
        ("bytes of shared memory", shared, SHARED),
        ("bytes of parameters", parameters, PARAMETERS),
    ]
    .into_iter()
    .filter(|(_, n, most)| n > most)
    .map(|(what, n, most)| format!("`{name}` has {n} {what}: at most {most} are possible"))
    .collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(LoadError(wrong))
    }
}
