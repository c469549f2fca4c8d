//! The register bound: what the text keeps alive at its fullest point, plus what the assembler needs for
//! itself.
//!
//! Its meaning: capped at the bound (`.maxnreg`), the assembler spills nothing. It is not the count the
//! assembler would choose when left alone, which trades registers for overlap. Values that can be
//! recomputed for one instruction anywhere (special registers, arguments in constant memory, addresses
//! of variables) do not count; where products are by warps neither does the sum of a constant and a
//! register that is alive beside it.
//!
//! ```text
//! bound = live 32-bit registers at the peak + registers the assembler keeps + packed predicates
//! ```
//!
//! Where warpgroups have products under way, their sums and operands lie in one row behind the first 24
//! registers, which serve everything else:
//!
//! ```text
//! bound = sums and operands in registers + 2 + max(24, other live registers + 6)
//! ```
//!
//! Each role (a way through the text behind its own `set_registers`) is bounded by itself.
//!
//! The text computes a comparison again where its other use is far away; the assembler keeps the result
//! instead, and packs what exceeds the seven predicates of the hardware into registers.

use super::account::{KEPT as KEPT_NAME, UNNAMED, sentences};
use super::occupancy;
use super::weights::{Need, Weights, both, count, has, insert, marks};
use crate::diag::{Diag, Sink, codes};
use crate::ir::Kernel;
use crate::isa::effects::{Async, Group, Where};
use crate::isa::rows::{int, matrix, warp};
use crate::lower::Lowered;
use crate::ptx::{Function, Loc, Operand, Reg, Stmt, liveness, targets};
use crate::report::Report;
use std::collections::{BTreeMap, BTreeSet};

/// Registers beyond the live ones: temporaries of expanded instructions and the pairing of 64-bit values.
const KEPT: u32 = 8;
/// More of them where products by warps stand alone, as measured over 250 instances: their operands take aligned
/// pairs and fours.
const ALIGNED: u32 = 2;
/// Of so many registers the assembler wants one more where products by warps and shuffles take turns, as
/// measured: it moves loads across the shuffles.
const MIXED: u32 = 10;
/// Predicates that go into one register, as measured: fewer than its bits, for they come and go.
const PACKED: u32 = 10;
/// Predicates the hardware has.
const PREDICATES: u32 = 7;
/// Registers before the first of a warpgroup's product, and temporaries beside what is live there.
const BELOW: u32 = 24;
const BESIDE: u32 = 6;
/// The assembler raises lower caps to this.
const LEAST: u32 = 24;

/// The bound and what makes it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// Registers.
    pub registers: u32,
    /// What is live at the peak: what it holds, registers; the largest first.
    pub items: Vec<(String, u32)>,
    /// Where the peak is in the source.
    pub at: Option<Loc>,
}

/// Bounds the registers of an entry: the most that any of its roles needs.
#[must_use]
pub fn bound(function: &Function, holds: &[String]) -> Bound {
    let all = bounds(function, holds);
    let most = all.into_iter().max_by_key(|(_, b)| b.registers);
    most.map(|(_, b)| b).unwrap_or(Bound {
        registers: LEAST,
        items: vec![],
        at: None,
    })
}

/// Bounds the registers of what runs with each register count: `None` is the count of the launch.
#[must_use]
pub fn bounds(function: &Function, holds: &[String]) -> BTreeMap<Option<u32>, Bound> {
    let (free, mut uniform) = free(function);
    let (looped, kind) = (in_loops(function), products(function));
    let core = core(function);
    let warpgroups = !core.is_empty();
    if warpgroups {
        uniform.extend(carried(function, &uniform));
    }
    let live = liveness::run(function);
    let roles = super::roles::run(function);
    let packed = repeated(function)
        .saturating_sub(PREDICATES)
        .div_ceil(PACKED);
    let mut peaks: BTreeMap<Option<u32>, Peak> = BTreeMap::new();
    // What counts, by whether uniform registers are apart.
    let counted = [false, true].map(|apart| {
        Weights::new(function, &core, |r| {
            !(free.contains(&r) || (apart && uniform.contains(&r)))
        })
    });
    let predicates = marks(function, |r| function.ty(r) == crate::isa::Ty::Pred);
    let mut bases = BTreeMap::new();
    if kind == Products::Alone {
        bases = moved_by_constants(function, &looped);
    }
    let again = marks(function, |r| bases.contains_key(&r));
    let (mut set, mut out) = (Vec::new(), Vec::new());
    for (i, inst) in function.insts() {
        let apart = warpgroups || (kind == Products::Alone && looped[i]);
        let counts = &counted[usize::from(apart)];
        set.clear();
        set.extend_from_slice(live.set_before(i));
        out.clear();
        out.extend_from_slice(live.set_after(i));
        liveness::each_write(inst, |r| insert(&mut out, r));
        let flags = count(&set, &predicates).max(count(&out, &predicates));
        for set in [&mut set, &mut out] {
            // What is a constant away from another that is there.
            let near = both(set, &again);
            let near = liveness::members(&near).filter(|r| has(set, bases[r]));
            for r in near.collect::<Vec<_>>() {
                set[r.0 as usize / 64] &= !(1 << (r.0 % 64));
            }
            let need = counts.need(set);
            for role in &roles[i] {
                let peak = peaks.entry(*role).or_default();
                if need.registers() > peak.need.registers() || peak.live.is_empty() {
                    peak.need = need;
                    peak.at = inst.loc;
                    peak.live = liveness::members(&both(set, &counts.all)).collect();
                }
            }
        }
        for role in &roles[i] {
            let peak = peaks.entry(*role).or_default();
            peak.predicates = peak.predicates.max(flags);
        }
    }
    let bound = |peak: Peak| {
        let mut items: BTreeMap<&str, u32> = BTreeMap::new();
        for r in &peak.live {
            let name = holds.get(r.0 as usize).map_or("", String::as_str);
            let name = if name.is_empty() { UNNAMED } else { name };
            *items.entry(name).or_default() += liveness::words(function.ty(*r));
        }
        let mut items: Vec<(String, u32)> = items
            .into_iter()
            .filter(|i| i.1 > 0)
            .map(|(n, w)| (n.to_string(), w))
            .collect();
        items.sort_by_key(|i| std::cmp::Reverse(i.1));
        let unpacked = peak.predicates.saturating_sub(PREDICATES).div_ceil(PACKED);
        let aligned = if kind == Products::Alone { ALIGNED } else { 0 };
        let mut registers = (peak.need.registers() + aligned + packed.max(unpacked)).max(LEAST);
        if kind == Products::Mixed {
            registers += registers.div_ceil(MIXED);
        }
        let held = peak.need.core + peak.need.other;
        items.push((KEPT_NAME.into(), registers - held));
        Bound {
            registers,
            items,
            at: peak.at,
        }
    };
    peaks
        .into_iter()
        .map(|(role, p)| (role, bound(p)))
        .collect()
}

/// The fullest point of a role.
#[derive(Debug, Default)]
struct Peak {
    need: Need,
    live: Vec<Reg>,
    predicates: u32,
    at: Option<Loc>,
}

impl Need {
    /// What the assembler needs for it. Products of warpgroups take registers in one row behind the first
    /// 24, which serve everything else.
    fn registers(self) -> u32 {
        if self.core == 0 {
            self.other + KEPT
        } else {
            self.core + 2 + (self.other + BESIDE).max(BELOW)
        }
    }
}

/// Words that are a constant away from another register, each written once and not in a loop: by which.
fn moved_by_constants(function: &Function, looped: &[bool]) -> BTreeMap<Reg, Reg> {
    let mut writes: BTreeMap<Reg, u32> = BTreeMap::new();
    let mut out = BTreeMap::new();
    for (i, inst) in function.insts() {
        for r in liveness::reads_and_writes(inst).1 {
            *writes.entry(r).or_default() += 1;
        }
        if !looped[i]
            && *inst.op.row == int::ADD
            && inst.guard.is_none()
            && let [Operand::Reg(to), Operand::Reg(from), Operand::Imm(_)] = inst.operands[..]
            && function.ty(to).bits() == 32
        {
            out.insert(to, from);
        }
    }
    out.retain(|to, from| writes[to] == 1 && writes.get(from) == Some(&1));
    out
}

/// Registers of products that warpgroups have under way: sums, and operands in registers.
fn core(function: &Function) -> BTreeSet<Reg> {
    let mut out = BTreeSet::new();
    for (_, inst) in function.insts() {
        if inst.op.row.effects.group == Async::Issues(Group::Multiply) {
            for o in inst
                .operands
                .iter()
                .filter(|o| matches!(o, Operand::Vec(_)))
            {
                o.visit(&mut |r, _| {
                    out.insert(r);
                });
            }
        }
    }
    out
}

/// Registers that the sums of one product of a warpgroup take, at most.
fn widest(function: &Function) -> u32 {
    let multiplies = function
        .insts()
        .filter(|(_, inst)| inst.op.row.effects.group == Async::Issues(Group::Multiply));
    let sums = multiplies.filter_map(|(_, inst)| match inst.operands.first() {
        Some(Operand::Vec(sums)) => Some(sums.len() as u32),
        _ => None,
    });
    sums.max().unwrap_or(0)
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

/// Products by warps in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Products {
    None,
    /// Without shuffles between them.
    Alone,
    /// With.
    Mixed,
}

fn products(function: &Function) -> Products {
    let mut found = [false; 2];
    for (_, inst) in function.insts() {
        let row = inst.op.row;
        let of_page = matrix::ROWS.iter().any(|r| **r == *row);
        found[0] |= of_page && row.form().pats.len() == 4;
        found[1] |= *row == warp::SHFL;
    }
    match found {
        [false, _] => Products::None,
        [true, false] => Products::Alone,
        [true, true] => Products::Mixed,
    }
}

/// Statements within a loop: between a label and a jump back to it.
fn in_loops(function: &Function) -> Vec<bool> {
    let body = function.body.as_deref().unwrap_or(&[]);
    let mut places = BTreeMap::new();
    let mut out = vec![false; body.len()];
    for (i, s) in body.iter().enumerate() {
        match s {
            Stmt::Label(l) => {
                places.insert(l.0, i);
            }
            Stmt::Inst(inst) => {
                for head in targets(function, inst)
                    .iter()
                    .filter_map(|l| places.get(&l.0))
                {
                    out[*head..=i].fill(true);
                }
            }
            _ => {}
        }
    }
    out
}

/// Registers that hold what can be had again for one instruction (special registers, arguments, addresses of
/// variables, constants); and those computed of arguments and constants alone, which the assembler holds
/// in registers of their own (uniform ones, one for a warp) through a loop of products.
fn free(function: &Function) -> (BTreeSet<Reg>, BTreeSet<Reg>) {
    let mut writes: BTreeMap<Reg, u32> = BTreeMap::new();
    for (_, inst) in function.insts() {
        for r in liveness::reads_and_writes(inst).1 {
            *writes.entry(r).or_default() += 1;
        }
    }
    let (mut cheap, mut uniform) = (BTreeSet::new(), BTreeSet::new());
    for (_, inst) in function.insts() {
        let (reads, written) = liveness::reads_and_writes(inst);
        if inst.guard.is_some() || written.iter().any(|r| writes[r] > 1) {
            continue;
        }
        let param = inst.op.row.effects.reads != Where::Nothing
            && matches!(
                inst.op.space(),
                crate::isa::Space::Param | crate::isa::Space::ParamEntry
            );
        let pure = inst.op.row.effects.is_pure();
        let source = inst.operands.get(1).filter(|_| inst.operands.len() == 2);
        let leaf = match source {
            Some(Operand::Special(s)) => Some(s.row().uniform),
            Some(Operand::Var(..) | Operand::Imm(_)) => Some(true),
            _ => None,
        };
        let whole = |r: &Reg| {
            let t = function.ty(*r);
            t == crate::isa::Ty::Pred || (t.bits() >= 32 && !t.is_float())
        };
        let of_uniform = pure
            && leaf.is_none()
            && reads.iter().all(|r| uniform.contains(r))
            && written.iter().chain(&reads).all(whole);
        if param || (pure && leaf.is_some()) {
            cheap.extend(&written);
        }
        if param || (pure && leaf == Some(true)) || of_uniform {
            uniform.extend(written);
        }
    }
    (cheap, uniform)
}

/// Integers that loops carry and that are computed of uniform values alone: stages, phases, counters. Around the
/// products of warpgroups the assembler holds them in uniform registers too.
fn carried(function: &Function, uniform: &BTreeSet<Reg>) -> BTreeSet<Reg> {
    let mut sources: BTreeMap<Reg, Option<BTreeSet<Reg>>> = BTreeMap::new();
    for (_, inst) in function.insts() {
        let (reads, written) = liveness::reads_and_writes(inst);
        let leaf = inst.operands.iter().any(|o| match o {
            Operand::Special(s) => !s.row().uniform,
            _ => false,
        });
        let pure = inst.op.row.effects.is_pure() && inst.guard.is_none() && !leaf;
        for r in written {
            let known = sources.entry(r).or_insert_with(|| Some(BTreeSet::new()));
            match known {
                Some(all) if pure => all.extend(&reads),
                _ => *known = None,
            }
        }
    }
    let integer = |r: &Reg| {
        let t = function.ty(*r);
        t == crate::isa::Ty::Pred || (t.bits() >= 32 && !t.is_float())
    };
    let mut out: BTreeSet<Reg> = sources
        .iter()
        .filter(|(r, s)| integer(r) && s.is_some())
        .map(|(r, _)| *r)
        .collect();
    loop {
        let known = |r: &Reg| out.contains(r) || uniform.contains(r);
        let kept: BTreeSet<Reg> = (out.iter().copied())
            .filter(|r| sources[r].iter().flatten().all(|s| integer(s) && known(s)))
            .collect();
        if kept.len() == out.len() {
            return out;
        }
        out = kept;
    }
}

/// Whether roles that set `count` registers may set `more`: a thread has them, and the block's share of the file does.
fn pool_holds(kernel: &Kernel, count: u32, more: u32) -> bool {
    let row = kernel.target.row();
    let wanted = kernel.blocks_per_sm.unwrap_or(1);
    let pool =
        occupancy::registers_at_entry(kernel.target, kernel.threads, wanted) * kernel.threads;
    let asked = kernel.roles.iter().map(|(threads, own)| {
        let own = if *own == count { more } else { *own };
        threads * own
    });
    more <= row.registers_per_thread && asked.sum::<u32>() <= pool
}

/// Holds the bound against the budgets.
pub fn check(kernel: &Kernel, lowered: &Lowered, sink: &mut Sink, report: &mut Report) -> u32 {
    let Some(function) = lowered.module.functions.last() else {
        return 0;
    };
    let mut all = bounds(function, &lowered.holds);
    let entry = all.remove(&None);
    let bound = entry.unwrap_or_else(|| bound(function, &lowered.holds));
    let own = !all.is_empty();
    for (count, role) in &all {
        let count = count.unwrap_or(0);
        report
            .add(
                "registers",
                kernel.span,
                &format!("set_registers({count})"),
                format!("at most {} of {count}", role.registers),
            )
            .number("bound", role.registers.into());
        if role.registers > count {
            let rounded = role.registers.div_ceil(8) * 8;
            let mut diag = Diag::error(
                codes::REGISTER_LIMIT,
                kernel.span,
                format!(
                    "kernel `{}` may need {} registers a thread behind `set_registers({count})`",
                    kernel.entry, role.registers
                ),
            )
            .notes(sentences(kernel, role, &lowered.module.files));
            if pool_holds(kernel, count, rounded) {
                diag = diag.help(format!("set_registers({rounded})"));
            }
            sink.push(diag);
        }
    }
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
        let mut diag = Diag::error(
            codes::REGISTER_LIMIT,
            kernel.span,
            format!(
                "kernel `{}` may need {} registers a thread; {whose} {limit}",
                kernel.entry, bound.registers
            ),
        )
        .notes(sentences(kernel, &bound, &lowered.module.files));
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
    if own {
        // Whatever a role sets, a single product must fit what the launch gives each thread.
        let given = kernel.registers.unwrap_or(left).min(left);
        let sums = widest(function);
        if sums > 0 && sums + 2 + BELOW > given {
            sink.push(
                Diag::error(
                    codes::REGISTER_LIMIT,
                    kernel.span,
                    format!(
                        "kernel `{}` multiplies into {sums} registers and needs {} beside them; a block of {} threads starts with {given} each",
                        kernel.entry,
                        2 + BELOW,
                        kernel.threads
                    ),
                )
                .note("the assembler holds every single product to the count of the launch, whatever its role sets"),
            );
        }
        // The launch gives every thread the same; roles then move registers among themselves.
        return kernel.registers.unwrap_or(left).min(left);
    }
    bound.registers
}
