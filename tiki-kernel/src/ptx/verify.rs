//! Holding a module against the table and its target.
//!
//! Checked: every instruction exists for the module's PTX version and architecture; operands have the
//! form and the types of the row's patterns; registers, labels, variables and functions exist; every label
//! is placed once. Not checked here: what depends on values.

use super::print::Names;
use super::{Base, Function, Imm, Inst, Label, Module, Operand, Reg, Stmt};
use crate::isa::row::{Kind, Pat};
use crate::isa::{Op, Ty, effects::Flow};
use std::collections::HashSet;
use std::fmt;

/// A fault of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Function.
    pub function: String,
    /// Place in the body.
    pub stmt: usize,
    /// Line of the text, 0 if it was never text.
    pub line: u32,
    /// What is wrong.
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.function)?;
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.text)
    }
}

/// All faults of a module.
#[must_use]
pub fn verify(m: &Module) -> Vec<Fault> {
    let mut out = vec![];
    for f in &m.functions {
        if f.body.is_some() {
            function(m, f, &mut out);
        }
    }
    out
}

fn function(m: &Module, f: &Function, out: &mut Vec<Fault>) {
    let mut placed = vec![0u32; f.labels.len()];
    let mut fault = |stmt: usize, line: u32, text: String| {
        out.push(Fault {
            function: f.name.clone(),
            stmt,
            line,
            text,
        });
    };
    for (i, s) in f.body.iter().flatten().enumerate() {
        if let Stmt::Label(Label(l)) = s {
            match placed.get_mut(*l as usize) {
                Some(n) => *n += 1,
                None => fault(i, 0, format!("label {l} does not exist")),
            }
        }
    }
    let known: HashSet<&str> = m
        .vars
        .iter()
        .chain(&f.vars)
        .chain(&f.params)
        .chain(&f.returns)
        .map(|v| v.name.as_str())
        .chain(m.functions.iter().map(|f| f.name.as_str()))
        .collect();
    for (i, inst) in f.insts() {
        if let Err(text) = fits(f, &inst.op, &inst.operands) {
            fault(i, inst.line, format!("{}: {text}", inst.op));
        }
        if let Some(text) = too_new(m, &inst.op) {
            fault(i, inst.line, text);
        }
        if let Some(g) = inst.guard
            && f.regs.get(g.reg.0 as usize) != Some(&Ty::Pred)
        {
            fault(
                i,
                inst.line,
                format!("{}: its guard is not a predicate", inst.op),
            );
        }
        for o in &inst.operands {
            names(o, &mut |name| {
                if !known.contains(name) {
                    fault(
                        i,
                        inst.line,
                        format!("{}: `{name}` does not exist", inst.op),
                    );
                }
            });
        }
        for l in targets(f, inst) {
            if placed.get(l.0 as usize) == Some(&0) {
                fault(
                    i,
                    inst.line,
                    format!(
                        "{}: label `{}` is placed nowhere",
                        inst.op, f.labels[l.0 as usize]
                    ),
                );
            }
        }
    }
    for (l, n) in placed.iter().enumerate().filter(|(_, n)| **n > 1) {
        fault(0, 0, format!("label `{}` is placed {n} times", f.labels[l]));
    }
}

fn too_new(m: &Module, op: &Op) -> Option<String> {
    let s = op.row.since;
    let mut needs = vec![];
    if m.version < s.ptx {
        needs.push(format!("PTX {}.{}", s.ptx.0, s.ptx.1));
    }
    if !m.target.has(s.capability, s.exact) {
        let exact = if s.exact {
            " with its specific features"
        } else {
            ""
        };
        needs.push(format!(
            "capability {}.{}{exact}",
            s.capability.0, s.capability.1
        ));
    }
    let (v, needs) = (m.version, needs.join(" and "));
    (!needs.is_empty()).then(|| {
        format!(
            "{op} needs {needs}; the module is PTX {}.{} for {}",
            v.0, v.1, m.target
        )
    })
}

fn names(o: &Operand, f: &mut impl FnMut(&str)) {
    match o {
        Operand::Var(name, _)
        | Operand::Addr {
            base: Base::Var(name),
            ..
        } => f(name),
        Operand::Vec(v) | Operand::Params(v) => v.iter().for_each(|o| names(o, f)),
        _ => {}
    }
}

/// Labels that an instruction can go to.
pub(crate) fn targets(f: &Function, inst: &Inst) -> Vec<Label> {
    let mut out = vec![];
    if matches!(inst.op.row.effects.flow, Flow::Branch | Flow::Switch) {
        for o in &inst.operands {
            match o {
                Operand::Label(l) => out.push(*l),
                Operand::Table(t) => out.extend(
                    f.tables
                        .get(*t as usize)
                        .into_iter()
                        .flat_map(|t| t.1.iter().copied()),
                ),
                _ => {}
            }
        }
    }
    out
}

/// Whether operands have the form and the types that an instruction's patterns say.
pub(super) fn fits(f: &Function, op: &Op, operands: &[Operand]) -> Result<(), String> {
    let pats = &op.row.form().pats;
    let least = pats.iter().filter(|p| !p.optional).count();
    if operands.len() < least || operands.len() > pats.len() {
        let wanted = if least == pats.len() {
            least.to_string()
        } else {
            format!("{least} to {}", pats.len())
        };
        return Err(format!("takes {wanted} operands, has {}", operands.len()));
    }
    operands
        .iter()
        .zip(pats)
        .try_for_each(|(o, p)| operand(f, op, p, o))
}

fn operand(f: &Function, op: &Op, pat: &Pat, o: &Operand) -> Result<(), String> {
    let wrong = |what: &str| {
        Err(format!(
            "operand {} must be {what}, is {}",
            pat.name,
            Names::of(f).operand(f, o)
        ))
    };
    let ty = op.resolve(pat.ty);
    match (pat.kind, o) {
        (Kind::Addr, Operand::Addr { coords, base, .. }) if coords.is_empty() => address(f, base),
        (Kind::Addr, _) => wrong("an address"),
        (Kind::Tensor, Operand::Addr { coords, base, .. }) if !coords.is_empty() => {
            let n = op.get("dim").map_or(0, crate::isa::number) as usize;
            if n != 0 && coords.len() != n {
                return wrong(&format!("a tensor map with {n} coordinates"));
            }
            coords.iter().try_for_each(|c| value(f, Ty::S32, pat, c))?;
            address(f, base)
        }
        (Kind::Tensor, _) => wrong("a tensor map with coordinates"),
        (Kind::Label, Operand::Label(l)) if (l.0 as usize) < f.labels.len() => Ok(()),
        (Kind::Label, _) => wrong("a label"),
        (Kind::Table, Operand::Table(t)) if (*t as usize) < f.tables.len() => Ok(()),
        (Kind::Table, _) => wrong("a table of labels"),
        (Kind::Func, Operand::Var(_, 0)) => Ok(()),
        (Kind::Func, _) => wrong("a function"),
        (Kind::Params, Operand::Params(_)) => Ok(()),
        (Kind::Params, _) => wrong("a list in parentheses"),
        (Kind::Imm, Operand::Imm(Imm::Int(_))) => Ok(()),
        (Kind::Imm, _) => wrong("an integer"),
        (Kind::Condition, Operand::Imm(Imm::Int(0 | 1))) => Ok(()),
        (Kind::Condition, Operand::Reg(r) | Operand::Not(r))
            if f.regs.get(r.0 as usize) == Some(&Ty::Pred) =>
        {
            Ok(())
        }
        (Kind::Condition, _) => wrong("a predicate"),
        (Kind::Value, o) => {
            let ty = ty.ok_or_else(|| format!("operand {} has no type", pat.name))?;
            match (op.count(pat.count), o) {
                (Some(n), Operand::Vec(v)) if v.len() == n as usize => {
                    v.iter().try_for_each(|o| value(f, ty, pat, o))
                }
                (Some(n), _) => wrong(&format!("{n} registers in braces")),
                (None, Operand::Pair(d, p)) if pat.pair => {
                    value(f, ty, pat, d)?;
                    value(f, Ty::Pred, pat, p)
                }
                (None, o) => value(f, ty, pat, o),
            }
        }
    }
}

fn address(f: &Function, base: &Base) -> Result<(), String> {
    match base {
        Base::Reg(r) => match f.regs.get(r.0 as usize) {
            Some(t) if t.bits() == 32 || t.bits() == 64 => Ok(()),
            Some(t) => Err(format!("an address is not a {t}")),
            None => Err("a register of an address does not exist".into()),
        },
        _ => Ok(()),
    }
}

fn value(f: &Function, ty: Ty, pat: &Pat, o: &Operand) -> Result<(), String> {
    match o {
        Operand::Reg(Reg(r)) => match f.regs.get(*r as usize) {
            Some(t) if t.fits(ty, pat.wide) => Ok(()),
            Some(t) => Err(format!(
                "operand {} is a {t} register, wanted {ty}",
                pat.name
            )),
            None => Err(format!("operand {}: register {r} does not exist", pat.name)),
        },
        Operand::Sink if pat.write => Ok(()),
        Operand::Imm(_) | Operand::Special(_) | Operand::Var(..) if !pat.write => Ok(()),
        _ => Err(format!(
            "operand {} must be {}, is {}",
            pat.name,
            if pat.write { "a register" } else { "a value" },
            Names::of(f).operand(f, o)
        )),
    }
}
