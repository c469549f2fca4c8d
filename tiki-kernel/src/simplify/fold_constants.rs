//! Integer operations on constants, neutral operands, and products by powers of two.

use super::flow::{Defs, inst};
use crate::isa::rows::int;
use crate::isa::{self, Class, Op, Ty};
use crate::ptx::{Function, Imm, Inst, Operand, Stmt};

/// Folds; whether anything changed.
pub fn run(f: &mut Function) -> bool {
    let mut changed = sums_of_sums(f);
    let tys = f.regs.clone();
    for s in f.body.iter_mut().flatten() {
        if let Stmt::Inst(i) = s
            && i.is_pure()
            && let Some(Operand::Reg(d)) = i.operands.first()
            && let Some(new) = simpler(i, tys[d.0 as usize])
        {
            (i.op, i.operands) = new;
            changed = true;
        }
    }
    changed
}

fn int_of(o: &Operand) -> Option<i64> {
    match o {
        Operand::Imm(Imm::Int(i)) => Some(*i),
        _ => None,
    }
}

fn truncate(t: Ty, x: i128) -> i64 {
    match (t.bits(), t.is_signed()) {
        (16, true) => i64::from(x as i16),
        (16, false) => i64::from(x as u16),
        (32, true) => i64::from(x as i32),
        (32, false) => i64::from(x as u32),
        _ => x as i64,
    }
}

/// The value that a type reads in an immediate.
fn read(t: Ty, x: i64) -> i128 {
    let low = truncate(t, x.into());
    if t.bits() == 64 && !t.is_signed() {
        i128::from(low as u64)
    } else {
        low.into()
    }
}

fn simpler(i: &Inst, d: Ty) -> Option<(Op, Vec<Operand>)> {
    let row = i.op.row;
    let t = i.op.ty("t")?;
    if !matches!(t.class(), Class::Bits | Class::Signed | Class::Unsigned) {
        return None;
    }
    let o = &i.operands;
    let moved = |from: Operand| Some((isa::mov(d), vec![o[0].clone(), from]));
    let made = |x: i128| moved(Operand::Imm(Imm::Int(truncate(t, x))));
    let (a, b) = (o.get(1).and_then(int_of), o.get(2).and_then(int_of));
    let (x, y) = (a.map(|a| read(t, a)), b.map(|b| read(t, b)));
    let power = |n: i128| (n > 1 && n.count_ones() == 1).then(|| Operand::int(n.trailing_zeros()));
    let low = i.op.get("half") != Some("hi");
    if *row == int::ADD {
        return match (x, y) {
            (Some(x), Some(y)) => made(x + y),
            (Some(0), None) => moved(o[2].clone()),
            (None, Some(0)) => moved(o[1].clone()),
            _ => None,
        };
    }
    if *row == int::SUB {
        return match (x, y) {
            (Some(x), Some(y)) => made(x - y),
            (None, Some(0)) => moved(o[1].clone()),
            _ => None,
        };
    }
    if *row == int::MUL && low {
        return match (x, y) {
            (Some(x), Some(y)) => made(x.wrapping_mul(y)),
            (Some(0), _) | (_, Some(0)) => made(0),
            (Some(1), None) => moved(o[2].clone()),
            (None, Some(1)) => moved(o[1].clone()),
            (None, Some(y)) => power(y).map(|n| (isa::shl(t), vec![o[0].clone(), o[1].clone(), n])),
            (Some(x), None) => power(x).map(|n| (isa::shl(t), vec![o[0].clone(), o[2].clone(), n])),
            _ => None,
        };
    }
    if *row == int::MAD && low {
        let (c, zero) = (o[3].clone(), int_of(&o[3]) == Some(0));
        return match (x, y) {
            (Some(x), Some(y)) => Some((
                isa::add(t),
                vec![
                    o[0].clone(),
                    c,
                    Operand::Imm(Imm::Int(truncate(t, x.wrapping_mul(y)))),
                ],
            )),
            (Some(0), _) | (_, Some(0)) => moved(c),
            (Some(1), _) => Some((isa::add(t), vec![o[0].clone(), o[2].clone(), c])),
            (_, Some(1)) => Some((isa::add(t), vec![o[0].clone(), o[1].clone(), c])),
            _ if zero => Some((isa::mul(t), o[..3].to_vec())),
            _ => None,
        };
    }
    if (*row == int::DIV || *row == int::REM) && !t.is_signed() {
        let divide = *row == int::DIV;
        return match (x, y) {
            (Some(x), Some(y)) if y != 0 => made(if divide { x / y } else { x % y }),
            (None, Some(1)) => {
                if divide {
                    moved(o[1].clone())
                } else {
                    made(0)
                }
            }
            (None, Some(y)) => {
                let n = power(y)?;
                Some(if divide {
                    (isa::shr(t), vec![o[0].clone(), o[1].clone(), n])
                } else {
                    (
                        isa::and(t),
                        vec![
                            o[0].clone(),
                            o[1].clone(),
                            Operand::Imm(Imm::Int(y as i64 - 1)),
                        ],
                    )
                })
            }
            _ => None,
        };
    }
    if *row == int::AND || *row == int::OR || *row == int::XOR {
        let zero = x == Some(0) || y == Some(0);
        let rest = if x == Some(0) {
            o[2].clone()
        } else {
            o[1].clone()
        };
        return match (x, y) {
            (Some(x), Some(y)) if *row == int::AND => made(x & y),
            (Some(x), Some(y)) if *row == int::OR => made(x | y),
            (Some(x), Some(y)) => made(x ^ y),
            _ if zero && *row == int::AND => made(0),
            _ if zero => moved(rest),
            _ => None,
        };
    }
    if *row == int::SHL || *row == int::SHR {
        let by = b.map(|b| b as u32);
        return match (x, by) {
            (_, Some(0)) => moved(o[1].clone()),
            (Some(x), Some(n)) if n < t.bits() => {
                made(if *row == int::SHL { x << n } else { x >> n })
            }
            _ => None,
        };
    }
    if *row == int::MIN || *row == int::MAX {
        return match (x, y) {
            (Some(x), Some(y)) => made(if *row == int::MIN { x.min(y) } else { x.max(y) }),
            _ => None,
        };
    }
    if *row == int::NOT {
        return x.and_then(|x| made(!x));
    }
    None
}

/// `(x + a) + b` is `x + (a + b)` where the inner sum is a value.
fn sums_of_sums(f: &mut Function) -> bool {
    let defs = Defs::of(f);
    let mut found = Vec::new();
    for (at, i) in f.insts() {
        let [d, Operand::Reg(x), Operand::Imm(Imm::Int(b))] = i.operands.as_slice() else {
            continue;
        };
        if *i.op.row != int::ADD || i.guard.is_some() {
            continue;
        }
        let Some(inner) = defs.single(*x).and_then(|at| inst(f, at)) else {
            continue;
        };
        if inner.op != i.op {
            continue;
        }
        if let [_, Operand::Reg(y), Operand::Imm(Imm::Int(a))] = inner.operands.as_slice()
            && defs.single(*y).is_some()
            && let Some(t) = i.op.ty("t")
        {
            let sum = truncate(t, i128::from(*a) + i128::from(*b));
            found.push((
                at,
                vec![d.clone(), Operand::Reg(*y), Operand::Imm(Imm::Int(sum))],
            ));
        }
    }
    for (at, operands) in &found {
        if let Some(i) = super::flow::inst_mut(f, *at) {
            i.operands.clone_from(operands);
        }
    }
    !found.is_empty()
}
