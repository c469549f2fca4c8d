//! What `ptx!` may not: instructions held against the table, the declared effects and the flow of registers.

use super::written::Declared;
use super::{Check, Push};
use crate::ast::{PtxOperand, Span};
use crate::diag::{Diag, codes};
use crate::ir::{Touch, Touched};
use crate::isa::effects::{Async, Barrier, Flow, Where};
use crate::isa::{self, Modifier, Space};
use crate::near;
use crate::ptx::liveness::reads_and_writes;
use crate::ptx::{Function, Inst, Reg};

impl Check<'_> {
    /// Says what the reader or the verifier found.
    pub(super) fn fault(&mut self, text: &str, line: u32, fault: String, place: Span) {
        let several = text.trim().lines().count() > 1;
        let at = if several {
            format!("line {line} of this `ptx!`: ")
        } else {
            String::new()
        };
        let mut diag = self.error(codes::INSTRUCTION, place, format!("{at}{fault}"));
        let word = fault.split('`').nth(1).unwrap_or("");
        if fault.starts_with("unknown instruction") {
            let head = word.split('.').next().unwrap_or("");
            let rows = isa::named(head);
            for row in rows.iter().take(4) {
                diag = diag.note(format!("the table has `{} {}`", row.text, row.operands));
            }
            if rows.is_empty() {
                let heads = isa::all().map(isa::Row::head);
                diag = match near::question(head, heads) {
                    Some(question) => diag.help(question),
                    None => diag
                        .note("the table has no instruction of this name")
                        .help("write an instruction as PTX does, with its types and modifiers; what has no row cannot be used"),
                };
            }
        } else if let Some(row) = isa::read(word).first().map(|op| op.row) {
            diag = diag.note(format!("the table has `{} {}`", row.text, row.operands));
        } else if fault.ends_with("is not declared") {
            // An operand's name is a word of Rust.
            let operand = if word.starts_with('%') {
                String::new()
            } else {
                format!("`out {word}: u32`, `in {word}: u32 = ..`, or ")
            };
            diag = diag.help(format!(
                "declare it: {operand}`.reg .b32 {word};` in the text"
            ));
        }
        diag.push(self);
    }

    /// Whether an instruction does only what the statement says.
    pub(super) fn allowed(&mut self, inst: &Inst, declared: &Declared, place: Span) {
        let e = inst.op.row.effects;
        let instead = match (e.flow, e.barrier, e.group) {
            (Flow::Next, Barrier::No, Async::No) => None,
            (Flow::Next, Barrier::No, _) => Some((
                "starts or awaits asynchronous work",
                "`Load`, `Store`, `Pipeline` and `Gemm` do this, and keep account of it",
            )),
            (Flow::Next, ..) => Some((
                "is a barrier",
                "`sync_block()`, `sync_warp()`, `Barrier` and `Pipeline` are barriers that the compiler knows of",
            )),
            (Flow::Trap, ..) => Some(("stops the launch", "`trap()` does this")),
            _ => Some((
                "moves control",
                "branch with `if`, `match` and loops around the `ptx!`",
            )),
        };
        if let Some((does, help)) = instead {
            self.error(
                codes::INSTRUCTION,
                place,
                format!("`{}` {does}, which `ptx!` may not", inst.op),
            )
            .help(help)
            .push(self);
            return;
        }
        for (at, writes) in [(e.reads, false), (e.writes, true)] {
            let space = match at {
                Where::Nothing => continue,
                Where::In(space) => space,
                Where::Chosen => inst.op.space(),
            };
            self.declares(inst, space, writes, declared, place);
        }
        // A hint: it keeps its place like a fence, and names memory like a load.
        let address = |p: &isa::row::Pat| p.kind == isa::row::Kind::Addr;
        let plain = e.reads == Where::Nothing && e.writes == Where::Nothing;
        if e.fence && plain && inst.op.row.form().pats.iter().any(address) {
            self.declares(inst, inst.op.space(), false, declared, place);
            return;
        }
        if e.fence && !declared.fence {
            self.error(
                codes::EFFECT,
                place,
                format!(
                    "`{}` orders memory, which this `ptx!` does not say",
                    inst.op
                ),
            )
            .help("add `fence` behind its operands")
            .push(self);
        }
    }

    fn declares(
        &mut self,
        inst: &Inst,
        space: Space,
        writes: bool,
        declared: &Declared,
        place: Span,
    ) {
        let what = match space {
            Space::Global => "global memory",
            Space::Shared | Space::SharedCta | Space::SharedCluster => "shared memory",
            Space::Generic => "memory",
            other => {
                let message = format!(
                    "`{}` touches {} memory, of which a kernel has none to name",
                    inst.op,
                    other.text()
                );
                let diag = self.error(codes::INSTRUCTION, place, message);
                diag.push(self);
                return;
            }
        };
        let fits = |t: &&Touch| match t.tensor {
            Touched::Global(_) => matches!(space, Space::Global | Space::Generic),
            Touched::Shared(_) => space != Space::Global,
        };
        if declared
            .touches
            .iter()
            .filter(fits)
            .any(|t| t.writes == writes)
        {
            return;
        }
        let (verb, word) = if writes {
            ("writes", "writes")
        } else {
            ("reads", "reads")
        };
        self.error(
            codes::EFFECT,
            place,
            format!("`{}` {verb} {what}, which this `ptx!` does not say", inst.op),
        )
        .help(format!(
            "name the tensor behind its operands: `{word}(x)`; an element's address is `x.address([i, j])`"
        ))
        .push(self);
    }

    /// Outputs are written on every way, inputs never, and nothing is read before it is written.
    pub(super) fn flow_of_registers(
        &mut self,
        function: &Function,
        names: &[&PtxOperand],
        outputs: usize,
        place: Span,
    ) {
        let mut written = vec![false; function.regs.len()];
        let mut maybe = vec![false; function.regs.len()];
        written[outputs..names.len()].fill(true);
        let name = |r: Reg| {
            let own = names.get(r.0 as usize);
            own.map_or("a register of the text".to_string(), |o| {
                format!("`{}`", o.name.text)
            })
        };
        let input = |r: Reg| (outputs..names.len()).contains(&(r.0 as usize));
        let mut found: Vec<Diag> = Vec::new();
        for (_, inst) in function.insts() {
            let (reads, writes) = reads_and_writes(inst);
            for r in reads {
                if !std::mem::replace(&mut written[r.0 as usize], true) {
                    let message =
                        format!("{} is read by `{}` before it is written", name(r), inst.op);
                    found.push(self.error(codes::OPERAND, place, message));
                }
            }
            for r in writes {
                if input(r) {
                    let message = format!("`{}` writes {}, which is an input", inst.op, name(r));
                    found.push(self.error(codes::OPERAND, place, message).help(
                        "write an `out`, and copy the input into it first if it goes on from there",
                    ));
                }
                maybe[r.0 as usize] = true;
                written[r.0 as usize] |= inst.guard.is_none();
            }
        }
        for (i, operand) in names[..outputs].iter().enumerate() {
            if written[i] {
                continue;
            }
            let (text, at) = (&operand.name.text, operand.name.span);
            found.push(if maybe[i] {
                self.error(
                    codes::OPERAND,
                    at,
                    format!("the output `{text}` is written under a predicate alone"),
                )
                .help("give it a value before, without the predicate")
            } else {
                self.error(
                    codes::OPERAND,
                    at,
                    format!("the output `{text}` is never written"),
                )
            });
        }
        for diag in found {
            diag.push(self);
        }
    }
}
