//! Blocks resident on an SM: the least of what registers, shared memory, warps, barriers and the
//! hardware's own count allow.
//!
//! ```text
//! registers of a warp = 32 * registers, up to the next unit
//! by registers        = 4 * floor(file / 4 / registers of a warp) / warps     each quarter has its own
//! by shared memory    = floor(shared of the SM / (block's bytes + reserved, up to the next 128))
//! ```

use crate::target::Target;

/// Unit in which shared memory is given to blocks.
const SHARED_UNIT: u32 = 128;
/// Schedulers of an SM, each with its part of the registers.
const QUARTERS: u32 = 4;

/// Residency and its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Blocks.
    pub blocks: u32,
    /// What allows no more.
    pub limit: &'static str,
}

/// Blocks of this use on an SM; 0 if not one fits.
#[must_use]
pub fn blocks(target: Target, threads: u32, registers: u32, shared: u32, barriers: u32) -> Held {
    let row = target.row();
    let warps = threads.div_ceil(32).max(1);
    let of_warp = (registers.max(1) * 32).div_ceil(row.register_unit) * row.register_unit;
    let by_registers = row.registers_per_sm / QUARTERS / of_warp * QUARTERS / warps;
    let of_block = (shared.saturating_add(row.shared_reserved)).div_ceil(SHARED_UNIT) * SHARED_UNIT;
    let by_shared = row.shared_per_sm / of_block.max(1);
    let candidates = [
        (by_registers, "registers"),
        (by_shared, "shared memory"),
        (row.warps_per_sm / warps, "warps"),
        (64 / barriers.max(1), "barriers"),
        (row.blocks_per_sm, "blocks"),
    ];
    let (blocks, limit) = candidates
        .into_iter()
        .min_by_key(|(n, _)| *n)
        .unwrap_or((0, "blocks"));
    Held { blocks, limit }
}

/// Most registers of a thread if this many blocks are to be resident.
#[must_use]
pub fn registers_for(target: Target, threads: u32, wanted: u32) -> u32 {
    let row = target.row();
    let step = row.register_unit / 32;
    (1..=row.registers_per_thread / step)
        .rev()
        .map(|n| n * step)
        .chain([row.registers_per_thread])
        .filter(|r| blocks(target, threads, *r, 0, 1).blocks >= wanted)
        .max()
        .unwrap_or(0)
}

/// Registers of each thread when a block whose roles set their own begins: an equal share of the file among the threads
/// of the blocks that are to be resident, in steps of 8.
#[must_use]
pub fn registers_at_entry(target: Target, threads: u32, wanted: u32) -> u32 {
    let row = target.row();
    let all = threads.max(1) * wanted.max(1);
    (row.registers_per_sm / all / 8 * 8).min(row.registers_per_thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_limit_as_the_hardware_does() {
        let t = Target::default_target();
        assert_eq!(blocks(t, 256, 32, 0, 1).blocks, 8);
        assert_eq!(blocks(t, 256, 33, 0, 1).blocks, 6);
        assert_eq!(blocks(t, 256, 255, 0, 1).blocks, 1);
        assert_eq!(blocks(t, 1024, 72, 0, 1).blocks, 0);
        assert_eq!(
            blocks(t, 128, 32, 80 * 1024, 1),
            Held {
                blocks: 2,
                limit: "shared memory"
            }
        );
        assert_eq!(registers_for(t, 256, 2), 128);
        assert_eq!(registers_for(t, 1024, 1), 64);
        assert_eq!(registers_at_entry(t, 384, 1), 168);
        assert_eq!(registers_at_entry(t, 384, 2), 80);
    }
}
