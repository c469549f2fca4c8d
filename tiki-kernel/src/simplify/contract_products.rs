//! Fuses a product used once with the sum that uses it, where the author allowed it: one rounding instead
//! of two. Both must be in one block, round to nearest, and saturate or flush nothing.

use super::flow::{Defs, blocks, inst, inst_mut, uses};
use crate::isa::rows::{float, half};
use crate::isa::{self, Rounding, Ty};
use crate::ptx::{Function, Inst, Operand, Reg};

/// Fuses; how many.
pub fn run(f: &mut Function) -> usize {
    let (defs, uses) = (Defs::of(f), uses(f));
    let mut fused = 0;
    for (first, last) in blocks(f).ranges {
        for at in first..last {
            let Some(sum) = inst(f, at) else { continue };
            let Some(t) = plain(
                sum,
                &[
                    &float::ADD,
                    &float::ADD64,
                    &half::ADD,
                    &float::SUB,
                    &float::SUB64,
                    &half::SUB,
                ],
            ) else {
                continue;
            };
            let minus = [&float::SUB, &float::SUB64, &half::SUB].contains(&sum.op.row);
            let product = |o: &Operand| -> Option<(usize, Operand, Operand)> {
                let Operand::Reg(r) = o else { return None };
                let made = defs.single(*r)?;
                let p = inst(f, made)?;
                let fits = made >= first && made < at && uses[r.0 as usize] == 1;
                (fits && plain(p, &[&float::MUL, &float::MUL64, &half::MUL]) == Some(t))
                    .then(|| (made, p.operands[1].clone(), p.operands[2].clone()))
            };
            let steady = |o: &Operand| !matches!(o, Operand::Reg(r) if defs.single(*r).is_none());
            let (x, y) = (sum.operands[1].clone(), sum.operands[2].clone());
            let left = product(&x).filter(|(_, a, b)| steady(a) && steady(b));
            let right = product(&y).filter(|(_, a, b)| steady(a) && steady(b));
            let d = sum.operands[0].clone();
            // x - a * b would need a negated factor, which is one more instruction: left as it is.
            let (made, operands) = match (left, right, minus) {
                (Some((made, a, b)), _, false) => (made, vec![d, a, b, y]),
                (_, Some((made, a, b)), false) => (made, vec![d, a, b, x]),
                _ => continue,
            };
            if let Some(i) = inst_mut(f, at) {
                i.op = isa::fma(t);
                i.operands = operands;
            }
            let _ = made;
            fused += 1;
        }
    }
    fused
}

/// The type of one of these rows without modifiers beyond rounding to nearest.
fn plain(i: &Inst, rows: &[&'static isa::Row]) -> Option<Ty> {
    let t = i.op.ty("t")?;
    let same = isa::Op::new(i.op.row).set("t", t.name());
    let same = same.try_with(Rounding::Rn).unwrap_or(same);
    (rows.contains(&i.op.row)
        && i.guard.is_none()
        && i.op == same
        && matches!(i.operands[0], Operand::Reg(Reg(_))))
    .then_some(t)
}
