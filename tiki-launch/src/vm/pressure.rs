//! Registers that a thread may have, against those that the text keeps alive.
//!
//! An estimate: the bound of [`tiki_kernel::budget::registers`], under which the assembler spills nothing. What a thread
//! may have is the launch's share of the file, or less where the text says so, and in a role of a warpgroup what it set.

use super::fault::{Code, Fault};
use super::launch::Env;
use super::program::Act;
use crate::vm::meaning::Ask;
use tiki_kernel::budget::{occupancy, registers};
use tiki_kernel::ptx::Directive;
use tiki_kernel::target::Target;

/// Findings about the registers of a launch.
pub(super) fn findings(env: &Env<'_>) -> Vec<Fault> {
    let kernel = env.kernel;
    let bounds = kernel
        .registers
        .get_or_init(|| registers::bounds(&kernel.text, &[]));
    let threads: u32 = env.block.iter().product();
    let share = occupancy::registers_for(Target::default_target(), threads, 1);
    let said = kernel.directives.iter().find_map(|d| match d {
        Directive::MaxNreg(n) => Some(*n),
        _ => None,
    });
    let mut out = vec![];
    for (role, bound) in bounds {
        let may = role.unwrap_or(said.unwrap_or(share).min(share));
        if bound.registers <= may {
            continue;
        }
        let sets = |act: &Act| matches!(act, Act::Ask(Ask::SetRegisters));
        let step = kernel.code.iter().find(|step| match role {
            Some(n) => sets(&step.act) && step.args.imm == i64::from(*n),
            None => true,
        });
        let Some(step) = step else { continue };
        let text = format!(
            "about {} registers are alive at once, a thread has {may}",
            bound.registers
        );
        out.push(*env.fault_at(Code::Registers, text, step, [0; 3], 0, 0));
    }
    out
}
