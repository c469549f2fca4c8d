//! What the assembler is told of resident blocks.
//!
//! Left alone, it takes few registers so that many blocks fit, and keeps fragments of products in as few as
//! possible: loads then come right before the products that wait for them. A kernel with products by warps
//! therefore says how many blocks an SM holds at its bound and a quarter more; the assembler may use all
//! registers that this leaves. (128 x 128 x 32 of f16: 213 registers and loads far ahead instead of 168 without.)
//!
//! An author's own `registers` or `blocks_per_sm` stands.

use super::occupancy;
use crate::artifact::Usage;
use crate::ir::{Async, Kernel, StmtKind, visit};
use crate::lower::Lowered;
use crate::ptx::Directive;

/// Of so many registers of the bound there is one to spare.
const ROOM: u32 = 4;

/// Tells it, where that matters.
pub fn run(kernel: &Kernel, lowered: &mut Lowered, usage: &Usage) {
    let mut products = false;
    visit::each(&kernel.body, &mut |s| {
        products |= matches!(&s.kind, StmtKind::Async(Async::Mma(m)) if m.kind.by_warps());
    });
    let own = kernel.registers.is_some() || kernel.blocks_per_sm.is_some();
    if !products || own {
        return;
    }
    let most = kernel.target.row().registers_per_thread;
    let ample = (usage.registers + usage.registers / ROOM).min(most);
    let held = occupancy::blocks(
        kernel.target,
        kernel.threads,
        ample,
        usage.shared,
        usage.barriers,
    );
    if let Some(entry) = lowered.module.functions.last_mut() {
        let blocks = held.blocks.max(1);
        entry.directives.push(Directive::MinNctaPerSm(blocks));
    }
}
