//! Instructions that the author wrote: each in its place, with registers of the function for its own.

use super::Lower;
use crate::ir::{Value, Written};
use crate::ptx::{Guard, Operand, Reg};

impl Lower<'_> {
    /// Emits a fragment; gives its results.
    pub(super) fn written(&mut self, fragment: &Written, inputs: &[Value]) -> Vec<Operand> {
        let mut registers: Vec<Reg> = Vec::with_capacity(fragment.registers.len());
        let first = fragment.outputs as usize;
        for (i, ty) in fragment.registers.iter().enumerate() {
            let input = i.checked_sub(first).and_then(|i| inputs.get(i));
            registers.push(match input {
                Some(v) => {
                    let o = self.scalar(*v);
                    self.register(&o, *ty)
                }
                None => self.reg(*ty),
            });
        }
        let own = |r: Reg| registers[r.0 as usize];
        for inst in &fragment.body {
            let guard = inst.guard.map(|g| Guard {
                reg: own(g.reg),
                ..g
            });
            let mut operands = inst.operands.clone();
            operands.iter_mut().for_each(|o| o.map(&mut |r| own(r)));
            self.ins(guard, inst.op, operands);
        }
        registers[..first].iter().map(|r| (*r).into()).collect()
    }
}
