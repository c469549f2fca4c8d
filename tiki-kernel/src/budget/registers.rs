//! The register bound: what the text keeps alive at its fullest point, plus what the assembler needs for
//! itself.
//!
//! Its meaning: capped at the bound (`.maxnreg`), the assembler spills nothing. It is not the count the
//! assembler would choose when left alone, which trades registers for overlap. Values that can be
//! recomputed for one instruction anywhere (special registers, arguments in constant memory, addresses
//! of variables) do not count.
//!
//! ```text
//! bound = live 32-bit registers at the peak + registers the assembler keeps + packed predicates
//! ```
//!
//! The text computes a comparison again where its other use is far away; the assembler keeps the result
//! instead, and packs what exceeds the seven predicates of the hardware into registers.

use super::occupancy;
use crate::diag::{Diag, Sink, codes};
use crate::ir::Kernel;
use crate::isa::effects::Where;
use crate::lower::Lowered;
use crate::ptx::{Function, Operand, Reg, liveness};
use crate::report::Report;
use std::collections::{BTreeMap, BTreeSet};

/// Registers beyond the live ones: temporaries of expanded instructions and the pairing of 64-bit values.
const KEPT: u32 = 8;
/// Predicates that go into one register, as measured: fewer than its bits, for they come and go.
const PACKED: u32 = 10;
/// Predicates the hardware has.
const PREDICATES: u32 = 7;
/// The assembler raises lower caps to this.
const LEAST: u32 = 24;

/// The bound and what makes it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// Registers.
    pub registers: u32,
    /// What is live at the peak: what it holds, registers; the largest first.
    pub items: Vec<(String, u32)>,
}

/// Bounds the registers of an entry.
#[must_use]
pub fn bound(function: &Function, holds: &[String]) -> Bound {
    let free = free(function);
    let live = liveness::run(function);
    let words = |regs: &[Reg]| -> u32 {
        regs.iter()
            .filter(|r| !free.contains(r))
            .map(|r| liveness::words(function.ty(*r)))
            .sum()
    };
    let mut peak: (u32, Vec<Reg>) = (0, Vec::new());
    let mut predicates = 0;
    for (i, inst) in function.insts() {
        let (_, writes) = liveness::reads_and_writes(inst);
        let mut out: BTreeSet<Reg> = live.after(i).collect();
        out.extend(writes);
        for set in [
            live.before(i).collect::<Vec<_>>(),
            out.into_iter().collect(),
        ] {
            let n = words(&set);
            if n > peak.0 {
                peak = (n, set.into_iter().filter(|r| !free.contains(r)).collect());
            }
        }
        predicates = predicates.max(live.at(i).predicates);
    }
    let mut items: BTreeMap<&str, u32> = BTreeMap::new();
    for r in &peak.1 {
        let name = holds.get(r.0 as usize).map_or("", String::as_str);
        let name = if name.is_empty() { "temporaries" } else { name };
        *items.entry(name).or_default() += liveness::words(function.ty(*r));
    }
    let mut items: Vec<(String, u32)> = items
        .into_iter()
        .filter(|i| i.1 > 0)
        .map(|(n, w)| (n.to_string(), w))
        .collect();
    items.sort_by_key(|i| std::cmp::Reverse(i.1));
    let packed = repeated(function)
        .saturating_sub(PREDICATES)
        .div_ceil(PACKED);
    let kept = KEPT + packed.max(predicates.saturating_sub(PREDICATES).div_ceil(PACKED));
    items.push(("kept by the assembler".into(), kept));
    Bound {
        registers: (peak.0 + kept).max(LEAST),
        items,
    }
}

/// Predicates that are computed in more than one place.
fn repeated(function: &Function) -> u32 {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for (_, inst) in function.insts() {
        let pure = inst.op.row.effects.is_pure() && inst.guard.is_none();
        if let Some(Operand::Reg(r)) = inst.operands.first()
            && pure
            && function.ty(*r) == crate::isa::Ty::Pred
        {
            *seen
                .entry(format!("{} {:?}", inst.op, &inst.operands[1..]))
                .or_default() += 1;
        }
    }
    seen.values().filter(|n| **n > 1).count() as u32
}

/// Registers that hold what can be had again for one instruction.
fn free(function: &Function) -> BTreeSet<Reg> {
    let mut writes: BTreeMap<Reg, u32> = BTreeMap::new();
    let mut cheap = BTreeSet::new();
    for (_, inst) in function.insts() {
        let (_, written) = liveness::reads_and_writes(inst);
        let param = inst.op.row.effects.reads != Where::Nothing
            && matches!(
                inst.op.space(),
                crate::isa::Space::Param | crate::isa::Space::ParamEntry
            );
        let special = inst.op.row.effects.is_pure()
            && inst.operands.len() == 2
            && matches!(
                inst.operands[1],
                Operand::Special(_) | Operand::Var(..) | Operand::Imm(_)
            );
        for r in written {
            *writes.entry(r).or_default() += 1;
            if (param || special) && inst.guard.is_none() {
                cheap.insert(r);
            }
        }
    }
    cheap.retain(|r| writes[r] == 1);
    cheap
}

/// Holds the bound against the budgets.
pub fn check(kernel: &Kernel, lowered: &Lowered, sink: &mut Sink, report: &mut Report) -> u32 {
    let Some(function) = lowered.module.functions.last() else {
        return 0;
    };
    let bound = bound(function, &lowered.holds);
    for (name, n) in &bound.items {
        report
            .add("registers", kernel.span, name, format!("{n}"))
            .number("registers", (*n).into());
    }
    report
        .add(
            "registers",
            kernel.span,
            "",
            format!("at most {} a thread", bound.registers),
        )
        .number("bound", bound.registers.into());
    let row = kernel.target.row();
    if let Some(budget) = kernel.registers {
        let most = occupancy::registers_for(kernel.target, kernel.threads, 1);
        if budget > most {
            sink.push(
                Diag::error(
                    codes::REGISTER_BUDGET,
                    kernel.span,
                    format!(
                        "a budget of {budget} registers for {} threads; {} has {} registers and gives a thread at most {most}",
                        kernel.threads, row.name, row.registers_per_sm
                    ),
                )
                .help(format!("registers = {most}")),
            );
        }
    }
    let mut limits = vec![(
        row.registers_per_thread,
        format!("{} gives a thread at most", row.name),
    )];
    limits.extend(kernel.registers.map(|b| (b, "its budget is".to_string())));
    let wanted = kernel.blocks_per_sm.unwrap_or(1);
    let left = occupancy::registers_for(kernel.target, kernel.threads, wanted);
    limits.push((
        left,
        format!(
            "{wanted} resident blocks of {} threads leave",
            kernel.threads
        ),
    ));
    let (limit, whose) = limits
        .into_iter()
        .min_by_key(|l| l.0)
        .unwrap_or((0, String::new()));
    if bound.registers > limit {
        let list: Vec<String> = bound
            .items
            .iter()
            .map(|(name, n)| format!("{name} {n}"))
            .collect();
        let mut diag = Diag::error(
            codes::REGISTER_LIMIT,
            kernel.span,
            format!(
                "kernel `{}` may need {} registers a thread; {whose} {limit}",
                kernel.entry, bound.registers
            ),
        )
        .note(format!("live at the fullest point: {}", list.join(", ")));
        let fits = (1..wanted).rev().find(|n| {
            occupancy::registers_for(kernel.target, kernel.threads, *n) >= bound.registers
        });
        if kernel.registers.is_none_or(|b| b >= bound.registers)
            && let Some(n) = fits
        {
            diag = diag.help(format!("blocks_per_sm = {n}"));
        } else if let Some(b) = kernel.registers
            && bound.registers <= left
            && bound.registers > b
        {
            diag = diag.help(format!("registers = {}", bound.registers));
        }
        sink.push(diag);
    }
    bound.registers
}
