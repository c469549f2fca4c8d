//! Which registers hold a value that is still wanted, at every point of a function.
//!
//! Backward data flow to a fixed point, loops included. A write under a guard does not end a value's
//! life before it: where the guard is false, the old value stays. Pressure counts 32-bit registers
//! (a 64-bit one is two, a 16-bit one is one) and predicates apart; a value written but never read
//! still takes its register at that point.

use super::{Function, Imm, Inst, Label, Operand, Reg, Regs, Stmt, verify::targets};
use crate::isa::row::Kind;
use crate::isa::{Ty, effects::Flow};
use std::cell::OnceCell;
use std::collections::HashMap;

/// Registers at one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub struct Pressure {
    /// 32-bit registers.
    pub words: u32,
    /// Predicates.
    pub predicates: u32,
}

/// Liveness of a function.
#[derive(Debug)]
pub struct Liveness {
    /// Sets of registers, one of `width` words before each statement.
    before: Vec<u64>,
    /// And one after each that another than the next may follow: which of these is a statement's own.
    after: Vec<u64>,
    own: Vec<Option<usize>>,
    width: usize,
    tys: Vec<Ty>,
    written: Vec<Regs>,
    /// Counted when somebody asks: most want to know what lives, not how much.
    at: OnceCell<Vec<Pressure>>,
}

/// Of a statement.
struct Facts {
    reads: Regs,
    /// The writes are certain.
    kills: bool,
    /// The statement after it may follow.
    falls: bool,
    /// Statements that may follow besides.
    jumps: Vec<usize>,
    /// The number of its set after it, if it is not the next statement's.
    own: Option<usize>,
}

/// 32-bit registers that a register of this type takes; predicates take none.
#[must_use]
pub fn words(t: Ty) -> u32 {
    if t == Ty::Pred {
        0
    } else {
        t.bits().div_ceil(32)
    }
}

/// Registers an instruction reads and writes: see [`each_read`].
#[must_use]
pub fn reads_and_writes(inst: &Inst) -> (Regs, Regs) {
    let (mut reads, mut writes) = (Regs::default(), Regs::default());
    each_read(inst, |r| reads.push(r));
    each_write(inst, |r| writes.push(r));
    (reads, writes)
}

/// Goes through the registers that an instruction reads; guards and parts of addresses are read. A sum whose condition
/// is the constant false begins at zero: what it updates is not read.
pub fn each_read(inst: &Inst, mut read: impl FnMut(Reg)) {
    if let Some(guard) = &inst.guard {
        read(guard.reg);
    }
    let form = inst.op.row.form();
    let zero = |o: &Operand| matches!(o, Operand::Imm(Imm::Int(0)));
    let mut operands = inst.operands.iter().zip(&form.pats);
    let anew = form.conditional && operands.any(|(o, p)| p.kind == Kind::Condition && zero(o));
    for (o, pat) in inst.operands.iter().zip(&form.pats) {
        let whole = pat.read && !(pat.write && anew);
        o.visit(&mut |r, in_address| {
            if whole || in_address {
                read(r);
            }
        });
    }
}

/// Goes through the registers that an instruction writes.
pub fn each_write(inst: &Inst, mut write: impl FnMut(Reg)) {
    for (o, pat) in inst.operands.iter().zip(&inst.op.row.form().pats) {
        if pat.write {
            o.visit(&mut |r, in_address| {
                if !in_address {
                    write(r);
                }
            });
        }
    }
}

/// Finds it.
#[must_use]
pub fn run(f: &Function) -> Liveness {
    let body: &[Stmt] = f.body.as_deref().unwrap_or(&[]);
    let width = f.regs.len().div_ceil(64);
    let places: HashMap<u32, usize> = body
        .iter()
        .enumerate()
        .filter_map(|(i, s)| {
            if let Stmt::Label(l) = s {
                Some((l.0, i))
            } else {
                None
            }
        })
        .collect();
    let mut written = Vec::with_capacity(body.len());
    let mut facts = Vec::with_capacity(body.len());
    let mut apart = 0;
    for s in body {
        let (reads, writes, kills, falls, jumps) = match s {
            Stmt::Inst(inst) => {
                let (reads, writes) = reads_and_writes(inst);
                let falls = matches!(inst.op.row.effects.flow, Flow::Next | Flow::Call)
                    || inst.guard.is_some();
                let place = |l: &Label| places.get(&l.0).copied();
                let jumps = targets(f, inst).iter().filter_map(place).collect();
                (reads, writes, inst.guard.is_none(), falls, jumps)
            }
            _ => (Regs::default(), Regs::default(), true, true, vec![]),
        };
        let own = (!falls || !jumps.is_empty()).then(|| {
            apart += 1;
            apart - 1
        });
        written.push(writes);
        facts.push(Facts {
            reads,
            kills,
            falls,
            jumps,
            own,
        });
    }
    let mut before = vec![0u64; width * (body.len() + 1)];
    let mut after = vec![0u64; width * apart];
    let (mut changed, mut set) = (true, vec![0u64; width]);
    while changed {
        changed = false;
        set.fill(0);
        for i in (0..body.len()).rev() {
            let fact = &facts[i];
            // Else the set is what is wanted before the next statement, which alone follows.
            if let Some(own) = fact.own {
                let falls = fact.falls.then_some(i + 1);
                set.fill(0);
                for n in fact.jumps.iter().copied().chain(falls) {
                    for (a, b) in set.iter_mut().zip(&before[width * n..width * (n + 1)]) {
                        *a |= b;
                    }
                }
                after[width * own..width * (own + 1)].copy_from_slice(&set);
            }
            if fact.kills {
                for r in &written[i] {
                    set[r.0 as usize / 64] &= !(1 << (r.0 % 64));
                }
            }
            for r in &fact.reads {
                set[r.0 as usize / 64] |= 1 << (r.0 % 64);
            }
            let here = &mut before[width * i..width * (i + 1)];
            if set != *here {
                here.copy_from_slice(&set);
                changed = true;
            }
        }
    }
    Liveness {
        before,
        after,
        own: facts.into_iter().map(|f| f.own).collect(),
        width,
        tys: f.regs.clone(),
        written,
        at: OnceCell::new(),
    }
}

/// The members of a set of registers, a bit each, in order.
pub fn members(set: &[u64]) -> impl Iterator<Item = Reg> {
    let mut words = set.iter().copied().enumerate();
    let (mut base, mut bits) = (0, 0_u64);
    std::iter::from_fn(move || {
        while bits == 0 {
            let (at, word) = words.next()?;
            (base, bits) = (at as u32 * 64, word);
        }
        let r = Reg(base + bits.trailing_zeros());
        bits &= bits - 1;
        Some(r)
    })
}

fn pressure(tys: &[Ty], set: &[u64]) -> Pressure {
    members(set).fold(Pressure::default(), |p, r| {
        let t = tys[r.0 as usize];
        Pressure {
            words: p.words + words(t),
            predicates: p.predicates + u32::from(t == Ty::Pred),
        }
    })
}

impl Liveness {
    /// Registers wanted just before a statement, as a set: a bit each, in words.
    #[must_use]
    pub fn set_before(&self, stmt: usize) -> &[u64] {
        &self.before[self.width * stmt..self.width * (stmt + 1)]
    }
    /// Registers wanted just after a statement, as a set.
    #[must_use]
    pub fn set_after(&self, stmt: usize) -> &[u64] {
        match self.own[stmt] {
            Some(own) => &self.after[self.width * own..self.width * (own + 1)],
            None => self.set_before(stmt + 1),
        }
    }
    /// Registers wanted just before a statement.
    pub fn before(&self, stmt: usize) -> impl Iterator<Item = Reg> {
        members(self.set_before(stmt))
    }
    /// Registers wanted just after a statement.
    pub fn after(&self, stmt: usize) -> impl Iterator<Item = Reg> {
        members(self.set_after(stmt))
    }
    /// Whether a register is wanted just before a statement.
    #[must_use]
    pub fn wanted_before(&self, stmt: usize, r: Reg) -> bool {
        self.set_before(stmt)[r.0 as usize / 64] >> (r.0 % 64) & 1 == 1
    }
    /// Whether a register is wanted just after a statement.
    #[must_use]
    pub fn wanted_after(&self, stmt: usize, r: Reg) -> bool {
        self.set_after(stmt)[r.0 as usize / 64] >> (r.0 % 64) & 1 == 1
    }
    /// Pressure at a statement: the larger of before and after, with what it writes.
    #[must_use]
    pub fn at(&self, stmt: usize) -> Pressure {
        self.all()[stmt]
    }
    fn all(&self) -> &[Pressure] {
        self.at.get_or_init(|| {
            let mut out = vec![0; self.width];
            (self.written.iter().enumerate())
                .map(|(stmt, written)| {
                    out.copy_from_slice(self.set_after(stmt));
                    for r in written {
                        out[r.0 as usize / 64] |= 1 << (r.0 % 64);
                    }
                    let before = self.set_before(stmt);
                    let (a, b) = (pressure(&self.tys, before), pressure(&self.tys, &out));
                    Pressure {
                        words: a.words.max(b.words),
                        predicates: a.predicates.max(b.predicates),
                    }
                })
                .collect()
        })
    }
    /// The statement where most 32-bit registers are live, that pressure, and the registers live there.
    #[must_use]
    pub fn peak(&self) -> Option<(usize, Pressure, Vec<Reg>)> {
        let at = self.all();
        let stmt = (0..at.len()).max_by_key(|i| (at[*i].words, std::cmp::Reverse(*i)))?;
        let (b, a) = (self.set_before(stmt), self.set_after(stmt));
        let set = if pressure(&self.tys, a).words >= pressure(&self.tys, b).words {
            a
        } else {
            b
        };
        Some((stmt, at[stmt], members(set).collect()))
    }
    /// Types of the registers, for those who itemise.
    #[must_use]
    pub fn ty(&self, r: Reg) -> Ty {
        self.tys[r.0 as usize]
    }
}
