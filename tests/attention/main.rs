//! Attention on the virtual machine, against an f64 reference that knows no tiles.
//!
//! Invariant: outputs, log-sum-exps and gradients lie within a forward bound of the definition's, whatever the
//! lengths, heads, masks, element type and schedule. Witness: shapes and options drawn at random, and the edges by name.

mod backward;
mod decode;
mod edges;
mod forward;
mod held;
mod memory;
mod mutants;
mod packed;
mod reference;
mod scores;
mod spare;
mod sweep;

use tiki::Device;
use tiki::compiler::target::Target;
use tiki::vm::Options;

/// A virtual machine of the first target of this capability: Ampere's schedules are run by (8, 0), Hopper's by (9, 0).
fn machine(capability: (u32, u32), options: Options) -> Device {
    let target = Target::all().find(|t| t.row().capability == capability);
    Device::vm_with(target.expect("a target"), options).expect("the virtual machine opens")
}

/// Both schedules, each on its machine.
fn machines() -> [Device; 2] {
    [(8, 0), (9, 0)].map(|capability| machine(capability, Options::default()))
}
