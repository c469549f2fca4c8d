//! Uses of a copy read its source.

use super::flow::{Defs, blocks, copied, uses};
use crate::ptx::liveness::{each_write, reads_and_writes};
use crate::ptx::{Function, Imm, Inst, Operand, Reg, Stmt};
use std::collections::HashMap;

/// Propagates copies; whether anything changed.
pub fn run(f: &mut Function) -> bool {
    let mut changed = values(f);
    changed |= within_blocks(f);
    changed |= into_variables(f);
    changed
}

/// A copy of a value is the value.
fn values(f: &mut Function) -> bool {
    let defs = Defs::of(f);
    let mut source: Vec<Option<Operand>> = vec![None; f.regs.len()];
    for (i, inst) in f.insts() {
        if let Some((d, s)) = copied(inst)
            && defs.single(d) == Some(i)
        {
            let stable = match s {
                Operand::Reg(r) => defs.single(*r).is_some() && f.ty(*r) == f.ty(d),
                // 16-bit floats have no immediates.
                _ => f.ty(d) != crate::isa::Ty::Pred && f.ty(d).bits() >= 32,
            };
            if stable {
                source[d.0 as usize] = Some(s.clone());
            }
        }
    }
    let mut changed = false;
    for s in f.body.iter_mut().flatten() {
        if let Stmt::Inst(inst) = s {
            changed |= replace(inst, &|r| {
                let mut o = source[r.0 as usize].as_ref()?;
                while let Operand::Reg(r) = o
                    && let Some(next) = &source[r.0 as usize]
                {
                    o = next;
                }
                Some(o.clone())
            });
        }
    }
    changed
}

/// Within a block, until either side is written again.
fn within_blocks(f: &mut Function) -> bool {
    let ranges = blocks(f).ranges;
    let tys = f.regs.clone();
    let mut changed = false;
    let Some(body) = f.body.as_mut() else {
        return false;
    };
    for (first, last) in ranges {
        let mut source: HashMap<Reg, Reg> = HashMap::new();
        for s in &mut body[first..last] {
            let Stmt::Inst(inst) = s else { continue };
            changed |= replace(inst, &|r| source.get(&r).map(|s| Operand::Reg(*s)));
            if !source.is_empty() {
                each_write(inst, |w| source.retain(|d, s| *d != w && *s != w));
            }
            if let Some((d, Operand::Reg(s))) = copied(inst)
                && d != *s
                && tys[d.0 as usize] == tys[s.0 as usize]
            {
                source.insert(d, *s);
            }
        }
    }
    changed
}

/// `t = ..; v = t`, where `t` is used for nothing else and `v` is not touched between: `v = ..`.
fn into_variables(f: &mut Function) -> bool {
    let (defs, uses) = (Defs::of(f), uses(f));
    let ranges = blocks(f).ranges;
    let tys = f.regs.clone();
    let Some(body) = f.body.as_mut() else {
        return false;
    };
    let mut changed = false;
    for (first, last) in ranges {
        for at in first..last {
            let Stmt::Inst(inst) = &body[at] else {
                continue;
            };
            let Some((v, Operand::Reg(t))) = copied(inst) else {
                continue;
            };
            let t = *t;
            let Some(made) = defs.single(t) else { continue };
            let fits = tys[v.0 as usize] == tys[t.0 as usize] && uses[t.0 as usize] == 1;
            if !fits || made < first || made >= at || v == t {
                continue;
            }
            let touched = body[made + 1..at].iter().any(|s| match s {
                Stmt::Inst(i) => {
                    let (reads, writes) = reads_and_writes(i);
                    reads.contains(&v) || writes.contains(&v)
                }
                _ => false,
            });
            let Stmt::Inst(maker) = &mut body[made] else {
                continue;
            };
            let twice = reads_and_writes(maker)
                .1
                .iter()
                .filter(|r| **r == t)
                .count()
                != 1;
            if touched || twice || maker.operands.iter().skip(1).any(|o| mentions(o, t)) {
                continue;
            }
            for o in &mut maker.operands {
                o.map(&mut |r| if r == t { v } else { r });
            }
            body[at] = Stmt::Comment(String::new());
            changed = true;
        }
    }
    if changed {
        body.retain(|s| !matches!(s, Stmt::Comment(c) if c.is_empty()));
    }
    changed
}

fn mentions(o: &Operand, r: Reg) -> bool {
    let mut found = false;
    o.visit(&mut |x, _| found |= x == r);
    found
}

/// Replaces registers that are only read. A constant goes where the text can take one.
fn replace(inst: &mut Inst, to: &dyn Fn(Reg) -> Option<Operand>) -> bool {
    let mut changed = false;
    if let Some(g) = &mut inst.guard
        && let Some(Operand::Reg(r)) = to(g.reg)
    {
        changed |= g.reg != r;
        g.reg = r;
    }
    let pats = &inst.op.row.form().pats;
    let immediates = inst.is_pure() && *inst.op.row != crate::isa::rows::moves::PACK2;
    for (o, pat) in inst.operands.iter_mut().zip(pats) {
        let written = pat.write;
        match o {
            Operand::Reg(r) if !written => match to(*r) {
                Some(Operand::Reg(s)) => {
                    changed |= *r != s;
                    *r = s;
                }
                Some(imm) if immediates && takes(&inst.op, pat, &imm) => {
                    changed = true;
                    *o = imm;
                }
                _ => {}
            },
            Operand::Not(r) => {
                if let Some(Operand::Reg(s)) = to(*r) {
                    changed |= *r != s;
                    *r = s;
                }
            }
            Operand::Addr {
                base: crate::ptx::Base::Reg(r),
                ..
            } => {
                if let Some(Operand::Reg(s)) = to(*r) {
                    changed |= *r != s;
                    *r = s;
                }
            }
            Operand::Vec(list) if !written => {
                for o in list {
                    if let Operand::Reg(r) = o
                        && let Some(Operand::Reg(s)) = to(*r)
                    {
                        changed |= *r != s;
                        *r = s;
                    }
                }
            }
            _ => {}
        }
    }
    changed
}

/// Whether the text can have the constant there: integers for integers and bits, floats for floats of
/// their width.
fn takes(op: &crate::isa::Op, pat: &crate::isa::row::Pat, o: &Operand) -> bool {
    let ty = op.resolve(pat.ty);
    pat.kind == crate::isa::row::Kind::Value
        && match o {
            Operand::Imm(Imm::Int(_)) => {
                ty.is_some_and(|t| t.bits() >= 32 && !t.is_float() && t != crate::isa::Ty::Pred)
            }
            Operand::Imm(Imm::F32(_)) => ty == Some(crate::isa::Ty::F32),
            Operand::Imm(Imm::F64(_)) => ty == Some(crate::isa::Ty::F64),
            _ => false,
        }
}
