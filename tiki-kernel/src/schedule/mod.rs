//! The plans the checker leaves open: what is computed where it is used, how wide accesses are, in
//! which order loads are issued, and what reductions need of shared memory.
//!
//! 1. [`order_loads`]: in a stretch without effects, loads come before everything that does not lead
//!    to one, so that all are in flight before the first use.
//! 2. [`narrow_global`]: a global access is at most 16 bytes and within one run of the distribution.
//! 3. [`widen_shared`]: a shared access is as wide as its layout proves.
//! 4. [`plan_reductions`]: scratch for reductions over several warps and the barriers it needs.
//! 5. [`fuse_maps`]: a map used once is computed element by element in its user.
//! 6. [`alias_variables`]: a variable that is read is not copied while nobody writes it.
//!
//! [`fragments`] decides by which instructions fragments of tensor cores are loaded and stored.
//!
//! Nothing here changes a result: an element is computed by the same operations in the same order.

pub mod alias_variables;
pub mod fragments;
pub mod fuse_maps;
pub mod narrow_global;
pub mod order_loads;
pub mod plan_reductions;
pub mod widen_shared;

use crate::ir::{Kernel, Value};
use crate::report::Report;
use std::collections::BTreeSet;

/// What the lowering must know beyond the program.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Maps and splats computed element by element where they are used.
    pub deferred: BTreeSet<Value>,
    /// Reads of variables that are the variable's own registers.
    pub views: BTreeSet<Value>,
}

/// Fills in the plans.
pub fn run(kernel: &mut Kernel, report: &mut Report) -> Plan {
    order_loads::run(kernel);
    narrow_global::run(kernel, report);
    widen_shared::run(kernel, report);
    plan_reductions::run(kernel, report);
    let deferred = fuse_maps::run(kernel, report);
    let views = alias_variables::run(kernel, &deferred);
    Plan { deferred, views }
}
