//! Removes what the lowering repeats. Each pass keeps the meaning of the text to the bit, in any order.
//!
//! Registers with one unguarded definition are values: the lowering defines a value before its uses and
//! in a block around them, so every use sees that definition. Registers with several definitions
//! (variables, loop counters, loads over a fill) are followed within a basic block only.
//!
//! 1. [`propagate_copies`]: a copy's uses read its source; a value made only to be copied into a
//!    variable is made there.
//! 2. [`fold_constants`]: integer operations on constants and neutral operands; products and quotients
//!    by powers of two become shifts.
//! 3. [`share_values`]: what was computed before, in a block that dominates, is not computed again.
//! 4. [`fold_addresses`]: constants added to an address move into the access.
//! 5. [`contract_products`]: if the author allows it, a product used once by a sum is fused with it.
//! 6. [`pair_conversions`]: two conversions to 16 bits that are packed, or to 8 bits that are stored side by side, are one
//!    conversion of a pair.
//! 7. [`remove_dead`]: what nobody reads.
//! 8. [`sink_past_loops`]: what only later blocks use is computed there, not before the loops between.
//! 9. [`sink_to_uses`]: cheap values are computed next to their first use, where that shortens lives.

pub mod contract_products;
mod flow;
pub mod fold_addresses;
pub mod fold_constants;
pub mod pair_conversions;
pub mod propagate_copies;
pub mod remove_dead;
pub mod share_values;
pub mod sink_past_loops;
pub mod sink_to_uses;

use crate::ptx::{Function, Module};

/// One pass over a function; whether it changed anything.
pub type Pass = fn(&mut Function) -> bool;

/// The passes that run to a fixed point, named, in order.
pub static PASSES: [(&str, Pass); 6] = [
    ("propagate_copies", propagate_copies::run),
    ("fold_constants", fold_constants::run),
    ("share_values", share_values::run),
    ("fold_addresses", fold_addresses::run),
    ("pair_conversions", pair_conversions::run),
    ("remove_dead", remove_dead::run),
];

/// Rounds of all passes at most; a round without a change ends it.
const ROUNDS: usize = 6;

/// Simplifies every function; `contract` allows fusing products and sums. `seen` is told each pass that
/// changed something. Returns how many products were fused.
pub fn run(module: &mut Module, contract: bool, seen: &mut dyn FnMut(&str, &Module)) -> usize {
    let mut fused = 0;
    // Changes so far, and of each pass after how many it last found nothing to do: until the next it will find nothing.
    let (mut changes, mut idle) = (0_u32, [None; PASSES.len()]);
    for round in 0..ROUNDS {
        let mut changed = false;
        for ((name, pass), idle) in PASSES.iter().zip(&mut idle) {
            if *idle == Some(changes) {
                continue;
            }
            let mut now = false;
            for f in &mut module.functions {
                now |= pass(f);
            }
            if now {
                seen(name, module);
                changes += 1;
            } else {
                *idle = Some(changes);
            }
            changed |= now;
        }
        if contract && round == 0 {
            for f in &mut module.functions {
                fused += contract_products::run(f);
            }
            seen("contract_products", module);
            changes += 1;
            changed |= fused > 0;
        }
        if !changed {
            break;
        }
    }
    for f in &mut module.functions {
        sink_past_loops::run(f);
    }
    seen("sink_past_loops", module);
    for f in &mut module.functions {
        if sink_to_uses::run(f) {
            remove_dead::run(f);
        }
    }
    seen("sink_to_uses", module);
    fused
}
