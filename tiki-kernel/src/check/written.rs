//! `ptx!`: instructions of the author's own, held against the instruction table.
//!
//! ```text
//! ptx!("mul.hi.u32 d, a, b;", out d: u32, in a: u32 = x, in b: u32 = y)
//! ```
//!
//! The operands are registers that the text names; the text is read as the inside of a function that
//! declares them. Three things are decided here:
//!
//! 1. every instruction has a row, and its operands fit ([`crate::ptx`] reads and verifies);
//! 2. what it does besides computing is declared, or is something that only statements of the language
//!    may do (control flow, barriers, asynchronous work);
//! 3. outputs are written on every way through the text, inputs never.

use super::names::nearest;
use super::value::{Num, Val};
use super::{Check, Push};
use crate::ast::{PtxEffect, PtxOperand, PtxRole, Span};
use crate::diag::{Diag, codes};
use crate::dtype::DType;
use crate::ir::{Op, StmtKind, Touch, Touched, Uniform, Value, Written};
use crate::isa::effects::{Async, Barrier, Flow, Where};
use crate::isa::{self, Modifier, Space, Ty};
use crate::ptx::liveness::reads_and_writes;
use crate::ptx::{Function, Inst, Reg, fragment};
use std::sync::Arc;

/// What stands in `ptx!`.
pub(crate) struct Text<'a> {
    pub text: &'a str,
    /// Of the text.
    pub place: Span,
    pub operands: &'a [PtxOperand],
    pub effects: &'a [PtxEffect],
}

/// What the author declares of memory.
#[derive(Default)]
struct Declared {
    touches: Vec<Touch>,
    fence: bool,
}

impl<'a> Check<'a> {
    pub(crate) fn written(&mut self, source: &Text<'a>, span: Span) -> Val<'a> {
        let Some((text, types, inputs)) = self.written_operands(source) else {
            return Val::Poison;
        };
        let Some(declared) = self.declared(source.effects) else {
            return Val::Poison;
        };
        if self.flow.is_some() {
            return Val::Never;
        }
        let named = |role| move |o: &&PtxOperand| o.role == role;
        let names: Vec<&PtxOperand> = (source.operands.iter().filter(named(PtxRole::Out)))
            .chain(source.operands.iter().filter(named(PtxRole::In)))
            .collect();
        let registers: Vec<(&str, Ty)> = names
            .iter()
            .zip(&types)
            .map(|(o, t)| (o.name.text.as_str(), Ty::of_register(*t)))
            .collect();
        let function = match fragment(self.kernel.target, &registers, &text) {
            Ok(function) => function,
            Err(faults) => {
                for (line, fault) in faults {
                    self.fault(&text, line, fault, source.place);
                }
                return Val::Poison;
            }
        };
        let outputs = types.len() - inputs.len();
        let before = self.sink.len();
        for (_, inst) in function.insts() {
            self.allowed(inst, &declared, source.place);
        }
        self.flow_of_registers(&function, &names, outputs, source.place);
        if self.sink.len() > before {
            return Val::Poison;
        }
        let fragment = Written {
            text,
            outputs: outputs as u32,
            body: function.insts().map(|(_, inst)| inst.clone()).collect(),
            registers: function.regs,
            touches: declared.touches,
        };
        if self.region > 0 && !(fragment.is_pure() && !fragment.is_convergent()) {
            let diag = self
                .error(
                    codes::UNSUPPORTED,
                    span,
                    "`ptx!` with effects within an elementwise closure",
                )
                .note("the closure is evaluated once for every element and only computes");
            return self.refuse(diag);
        }
        self.emit_written(fragment, inputs, &types[..outputs], span)
    }

    fn emit_written(
        &mut self,
        fragment: Written,
        inputs: Vec<Value>,
        outputs: &[DType],
        span: Span,
    ) -> Val<'a> {
        let fragment = Arc::new(fragment);
        let Some((first_type, rest)) = outputs.split_first() else {
            self.push(StmtKind::Written(fragment, inputs), span);
            return Val::Unit;
        };
        let uniform = Uniform::Thread;
        let first = self.emit(Op::Written(fragment, inputs), *first_type, uniform, span);
        let mut results = vec![Val::Scalar(self.scalar_of(first, Num::D(*first_type)))];
        for (i, t) in rest.iter().enumerate() {
            let value = self.emit(Op::Also(first, i as u32 + 1), *t, uniform, span);
            results.push(Val::Scalar(self.scalar_of(value, Num::D(*t))));
        }
        if results.len() == 1 {
            results.remove(0)
        } else {
            Val::Tuple(results)
        }
    }

    /// The text with its numbers, the types of outputs and inputs, and the inputs' values.
    fn written_operands(&mut self, source: &Text<'a>) -> Option<(String, Vec<DType>, Vec<Value>)> {
        let mut text = source.text.to_string();
        let (mut outputs, mut inputs, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut ok = true;
        for (i, o) in source.operands.iter().enumerate() {
            let name = o.name.text.as_str();
            if source.operands[..i].iter().any(|p| p.name.text == name) {
                let message = format!("`ptx!` has two operands called `{name}`");
                self.error(codes::OPERAND, o.name.span, message).push(self);
                ok = false;
            }
            let Some(t) = self.dtype_of(&o.ty) else {
                ok = false;
                continue;
            };
            if !t.row().arithmetic {
                let message = format!("no register of `ptx!` holds a `{t}`");
                self.error(codes::OPERAND, o.ty.span, message)
                    .help("a word of bits is `u32`, half of one `f16` or `bf16`")
                    .push(self);
                ok = false;
                continue;
            }
            match (o.role, &o.value) {
                (PtxRole::Out, _) => outputs.push(t),
                (PtxRole::In, Some(value)) => {
                    let val = self.eval(value);
                    inputs.push(t);
                    match self.scalar_as(&val, Num::D(t), value.span) {
                        Some(s) => values.push(s.value),
                        None => ok = false,
                    }
                }
                (PtxRole::Const, Some(value)) => {
                    let val = self.eval(value);
                    let val = self.typed_number(val, Num::D(t), value.span);
                    match self.const_int(&val, "a number in an instruction", value.span) {
                        Some(n) => text = with_number(&text, name, n),
                        None => ok = false,
                    }
                }
                (_, None) => ok = false,
            }
        }
        outputs.extend(inputs);
        ok.then_some((text, outputs, values))
    }

    /// `reads(x)`, `writes(y)`, `fence`.
    fn declared(&mut self, effects: &'a [PtxEffect]) -> Option<Declared> {
        let mut declared = Declared::default();
        for effect in effects {
            let writes = match effect.name.text.as_str() {
                "fence" => {
                    declared.fence = true;
                    continue;
                }
                "reads" => false,
                "writes" => true,
                other => {
                    let message = format!("`ptx!` has no effect `{other}`");
                    self.error(codes::EFFECT, effect.name.span, message)
                        .note("effects are `reads(x)`, `writes(y)` and `fence`")
                        .push(self);
                    return None;
                }
            };
            for tensor in &effect.of {
                let val = self.eval(tensor);
                let tensor = match val {
                    Val::Global(g) => {
                        if writes {
                            self.writable(&g, tensor.span)?;
                        }
                        Touched::Global(g.param)
                    }
                    Val::Shared(s) => Touched::Shared(s.alloc),
                    Val::Stages(s) => Touched::Shared(s.first.alloc),
                    Val::Poison | Val::Never => return None,
                    val => {
                        let message = format!("an effect is on a tensor, not on {}", val.kind());
                        self.error(codes::EFFECT, tensor.span, message).push(self);
                        return None;
                    }
                };
                declared.touches.push(Touch { tensor, writes });
            }
        }
        Some(declared)
    }

    /// Says what the reader or the verifier found.
    fn fault(&mut self, text: &str, line: u32, fault: String, place: Span) {
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
                diag = match nearest(head, heads) {
                    Some(near) => diag.help(format!("did you mean `{near}`?")),
                    None => diag.note("the table has no instruction of this name"),
                };
            }
        } else if let Some(row) = isa::read(word).first().map(|op| op.row) {
            diag = diag.note(format!("the table has `{} {}`", row.text, row.operands));
        } else if fault.ends_with("is not declared") {
            diag = diag.help(format!(
                "declare it: `out {word}: u32`, `in {word}: u32 = ..`, or `.reg .b32 {word};` in the text"
            ));
        }
        diag.push(self);
    }

    /// Whether an instruction does only what the statement says.
    fn allowed(&mut self, inst: &Inst, declared: &Declared, place: Span) {
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
    fn flow_of_registers(
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

/// The text with a number in place of a name.
fn with_number(text: &str, name: &str, number: i128) -> String {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (head, tail) = (&rest[..at], &rest[at + name.len()..]);
        // A word of an instruction (`.name`) is no operand.
        let open = !head.ends_with(|c| part(c) || c == '.');
        let closed = !tail.starts_with(part);
        out.push_str(head);
        if open && closed {
            out.push_str(&number.to_string());
        } else {
            out.push_str(name);
        }
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::with_number;

    #[test]
    fn a_number_takes_the_place_of_its_whole_name_alone() {
        let text = "shl.b32 d, an, n; add.n x, n2, %n, n";
        assert_eq!(
            with_number(text, "n", 7),
            "shl.b32 d, an, 7; add.n x, n2, %n, 7"
        );
    }
}
