//! What a block takes of the machine, before the assembler sees it: shared memory exactly, registers as
//! an upper bound, and how many blocks an SM holds at that.
//!
//! 1. [`shared_memory`]: allocations against the target's and the author's limit (TK501).
//! 2. [`registers`]: live registers of the simplified text, itemised by what they hold, against the
//!    author's budget and what the wanted residency leaves (TK502, TK503).
//! 3. [`occupancy`]: resident blocks.
//! 4. [`residency`]: what the assembler is told of them.

mod account;
pub mod occupancy;
pub mod registers;
pub mod residency;
pub mod roles;
pub mod shared_memory;
mod weights;

use crate::artifact::Usage;
use crate::diag::{Diag, Sink, codes};
use crate::ir::{Barrier, Kernel, StmtKind, visit};
use crate::lower::Lowered;
use crate::report::Report;

/// Holds a kernel against its budgets, and says what it uses.
pub fn run(kernel: &Kernel, lowered: &Lowered, sink: &mut Sink, report: &mut Report) -> Usage {
    threads(kernel, sink);
    let memory = shared_memory::check(kernel, sink, report);
    let bound = registers::check(kernel, lowered, sink, report);
    let mut barriers = 1;
    visit::each(&kernel.body, &mut |s| {
        if let StmtKind::Barrier(Barrier::Named { id, .. }) = s.kind {
            barriers = barriers.max(id + 1);
        }
    });
    let usage = Usage {
        registers: bound,
        shared: memory.bytes,
        barriers,
        threads: kernel.threads,
        blocks_per_sm: occupancy::blocks(
            kernel.target,
            kernel.threads,
            bound,
            memory.bytes,
            barriers,
        )
        .blocks,
    };
    let held = occupancy::blocks(kernel.target, kernel.threads, bound, memory.bytes, barriers);
    report
        .add(
            "occupancy",
            kernel.span,
            &kernel.entry,
            format!(
                "{} blocks of {} threads an SM ({} of {} warps); limited by {}",
                held.blocks,
                kernel.threads,
                held.blocks * kernel.threads.div_ceil(32),
                kernel.target.row().warps_per_sm,
                held.limit
            ),
        )
        .number("blocks_per_sm", held.blocks.into());
    usage
}

fn threads(kernel: &Kernel, sink: &mut Sink) {
    let row = kernel.target.row();
    let n = kernel.threads;
    if n == 0 || n > row.threads_per_block || !n.is_multiple_of(32) {
        let whole = n.div_ceil(32).clamp(1, row.threads_per_block / 32) * 32;
        sink.push(
            Diag::error(
                codes::THREADS,
                kernel.span,
                format!(
                    "a block of {n} threads; {} takes whole warps of 32, up to {}",
                    row.name, row.threads_per_block
                ),
            )
            .help(format!("threads = {whole}")),
        );
    }
}
