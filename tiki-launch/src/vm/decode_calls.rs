//! Calls, resolved: which functions an entry reaches, and how arguments and results travel.
//!
//! Parameters of calls lie in a thread's own memory; a call copies arguments into the callee's, and what
//! comes back out of it. Every function has one place for them, so recursion is refused.

use super::decode::Decoder;
use super::program::Act;
use crate::vm::meaning::Ask;
use tiki_kernel::isa::effects::Flow;
use tiki_kernel::isa::row::Kind;
use tiki_kernel::ptx::{Function, Inst, Operand, Var};

/// Copies of bytes of a thread's own memory: from, to, how many.
pub(super) type Copies = Vec<(u32, u32, u32)>;

impl<'m> Decoder<'m> {
    /// Lists the functions that `f` calls, directly or not, behind it.
    pub(super) fn reach(
        &mut self,
        f: &'m Function,
        path: &mut Vec<&'m str>,
        order: &mut Vec<&'m Function>,
    ) {
        let calls: Vec<(String, u32)> = f
            .insts()
            .filter(|(_, i)| i.op.row.effects.flow == Flow::Call)
            .flat_map(|(_, i)| {
                i.operands
                    .iter()
                    .zip(&i.op.row.form().pats)
                    .filter(|(_, p)| p.kind == Kind::Func)
                    .filter_map(|(o, _)| match o {
                        Operand::Var(name, _) => Some((name.clone(), i.line)),
                        _ => None,
                    })
            })
            .collect();
        for (name, line) in calls {
            let Some(g) = self.module.function(&name) else {
                if super::outside::known(&name).is_some() {
                    continue;
                }
                self.errors
                    .push(format!("line {line}: function `{name}` has no body"));
                continue;
            };
            if path.contains(&g.name.as_str()) {
                self.errors.push(format!(
                    "line {line}: `{name}` calls itself; recursion is not supported"
                ));
                continue;
            }
            if !order.iter().any(|o| std::ptr::eq(*o, g)) {
                order.push(g);
            }
            path.push(&g.name);
            self.reach(g, path, order);
            path.pop();
        }
    }

    /// Copies of a call's arguments and result.
    pub(super) fn call_copies(
        &self,
        n: usize,
        i: &Inst,
        order: &[&'m Function],
    ) -> Result<(Copies, Copies), String> {
        let pats = &i.op.row.form().pats;
        let part = |name: &str| {
            pats.iter()
                .position(|p| p.name == name && p.kind == Kind::Params)
                .and_then(|k| i.operands.get(k))
        };
        let callee = pats
            .iter()
            .position(|p| p.kind == Kind::Func)
            .and_then(|k| match &i.operands[k] {
                Operand::Var(name, _) => order.iter().position(|g| g.name == *name),
                _ => None,
            });
        let callee = callee.ok_or("unknown function")?;
        let g = order[callee];
        let list = |o: Option<&Operand>, formal: &[Var], into: bool| -> Result<Copies, String> {
            let given: &[Operand] = match o {
                Some(Operand::Params(v)) => v,
                _ => &[],
            };
            if given.len() != formal.len() {
                return Err(format!(
                    "`{}` takes {} parameters, {} are given",
                    g.name,
                    formal.len(),
                    given.len()
                ));
            }
            given
                .iter()
                .zip(formal)
                .map(|(o, v)| {
                    let Operand::Var(name, _) = o else {
                        return Err("call parameters must be variables".to_string());
                    };
                    let here = self.own_places[n]
                        .get(name)
                        .ok_or_else(|| format!("`{name}` is not a parameter variable"))?;
                    let there = self.own_places[callee][&v.name];
                    let (a, b) = (here.address as u32, there.address as u32);
                    Ok(if into {
                        (a, b, v.bytes() as u32)
                    } else {
                        (b, a, v.bytes() as u32)
                    })
                })
                .collect()
        };
        Ok((
            list(part("a"), &g.params, true)?,
            list(part("r"), &g.returns, false)?,
        ))
    }

    /// Calls go to where functions begin.
    pub(super) fn fix_calls(&mut self, _: &[&Function]) {
        for step in &mut self.code {
            if matches!(step.act, Act::Ask(Ask::Call)) {
                step.targets[0] = self.starts[step.targets[0] as usize];
            }
        }
    }
}
