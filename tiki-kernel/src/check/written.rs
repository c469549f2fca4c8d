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

use super::value::{Num, Val};
use super::{Check, Push};
use crate::ast::{PtxEffect, PtxOperand, PtxRole, Span};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{Op, StmtKind, Touch, Touched, Uniform, Value, Written};
use crate::isa::Ty;
use crate::ptx::fragment;
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
pub(super) struct Declared {
    pub touches: Vec<Touch>,
    pub fence: bool,
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
        if self.region > 0 && (!fragment.is_pure() || fragment.is_convergent()) {
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
                        .near(other, ["reads", "writes", "fence"])
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
