//! Kernels that run forms of the instruction table on many lanes.
//!
//! Inputs are 64-bit words, one array an operand; outputs too, one array a form and result. A word is cut to
//! the operand's type on the way in and widened with zeros on the way out.

use tiki_kernel::isa::row::{Count, Kind, Pat};
use tiki_kernel::isa::{self, Cmp, Op, Row, Space, Special, Ty};
use tiki_kernel::ptx::{Directive, FnBuilder, Module, Operand, Reg};
use tiki_kernel::target::Target;
use tiki_launch::vm::meaning::{Meaning, meaning};

/// Results of a form: the value, and a predicate or carry.
pub const RESULTS: usize = 2;

/// Whether a row computes from registers to registers, whatever the lane and the launch.
pub fn testable(row: &Row) -> bool {
    let address = [
        "cvta",
        "isspacep",
        "mapa",
        "getctarank",
        "createpolicy",
        "elect",
    ];
    matches!(meaning(row), Some(Meaning::Lanes(_))) && !address.contains(&row.head())
}

/// All choices of a row's modifiers.
pub fn choices(row: &'static Row) -> Vec<Op> {
    let mut list = vec![Op::new(row)];
    for s in row.form().slots.iter().filter(|s| s.modifier || s.optional) {
        list = list
            .into_iter()
            .flat_map(|op| {
                let none = s.optional.then(|| op.unset(s.name));
                none.into_iter()
                    .chain(s.values.iter().map(move |v| op.set(s.name, v)))
            })
            .collect();
    }
    let Some(Meaning::Lanes(pick)) = meaning(row) else {
        return vec![];
    };
    list.retain(|op| pick(op).is_some());
    list
}

struct Lane<'a> {
    b: &'a mut FnBuilder,
    input: Reg,
    lanes: u32,
}

/// A register type for an operand's type.
fn register(t: Ty) -> Ty {
    match t.bits() {
        _ if t == Ty::Pred || t == Ty::F32 || t == Ty::F64 => t,
        8 => Ty::B32,
        _ => t.untyped(),
    }
}

impl Lane<'_> {
    /// The `k`-th input, as a type.
    fn input(&mut self, k: usize, t: Ty) -> Reg {
        let word = self.b.reg(Ty::B64);
        self.b.emit(
            isa::ld(Space::Global, Ty::B64),
            [
                word.into(),
                Operand::addr(self.input, (k as u32 * self.lanes * 8).into()),
            ],
        );
        self.cut(word, t)
    }
    fn cut(&mut self, word: Reg, t: Ty) -> Reg {
        let t = register(t);
        if t.bits() == 64 {
            if t == Ty::F64 {
                let d = self.b.reg(t);
                self.b.emit(isa::mov(Ty::B64), [d, word]);
                return d;
            }
            return word;
        }
        if t.bits() == 128 {
            let d = self.b.reg(t);
            self.b
                .emit(isa::pack(t, 2), [d.into(), Operand::vec([word, word])]);
            return d;
        }
        let (lo, hi) = (self.b.reg(Ty::B32), self.b.reg(Ty::B32));
        self.b.emit(
            isa::unpack(Ty::B64, 2),
            [Operand::vec([lo, hi]), word.into()],
        );
        match t {
            Ty::Pred => {
                let (bit, p) = (self.b.reg(Ty::B32), self.b.reg(Ty::Pred));
                self.b
                    .emit(isa::and(Ty::B32), [bit.into(), lo.into(), Operand::int(1)]);
                self.b.emit(
                    isa::setp(Cmp::Ne, Ty::B32),
                    [p.into(), bit.into(), Operand::int(0)],
                );
                p
            }
            Ty::F32 => {
                let f = self.b.reg(Ty::F32);
                self.b.emit(isa::mov(Ty::B32), [f, lo]);
                f
            }
            _ if t.bits() == 16 => {
                let (h, g) = (self.b.reg(Ty::B16), self.b.reg(Ty::B16));
                self.b
                    .emit(isa::unpack(Ty::B32, 2), [Operand::vec([h, g]), lo.into()]);
                h
            }
            _ => lo,
        }
    }
    /// A register as a 64-bit word.
    fn widen(&mut self, r: Reg) -> Reg {
        let t = self.b.ty(r);
        let word = self.b.reg(Ty::B64);
        match t.bits() {
            64 => self.b.emit(isa::mov(Ty::B64), [word, r]),
            128 => {
                let other = self.b.reg(Ty::B64);
                self.b
                    .emit(isa::unpack(t, 2), [Operand::vec([word, other]), r.into()]);
                self.b.emit(isa::xor(Ty::B64), [word, word, other]);
            }
            1 => {
                let lo = self.b.reg(Ty::B32);
                self.b.emit(
                    isa::selp(Ty::B32),
                    [lo.into(), Operand::int(1), Operand::int(0), r.into()],
                );
                self.b.emit(
                    isa::pack(Ty::B64, 2),
                    [word.into(), Operand::Vec(vec![lo.into(), Operand::int(0)])],
                );
            }
            16 => {
                let lo = self.b.reg(Ty::B32);
                self.b.emit(
                    isa::pack(Ty::B32, 2),
                    [lo.into(), Operand::Vec(vec![r.into(), Operand::int(0)])],
                );
                self.b.emit(
                    isa::pack(Ty::B64, 2),
                    [word.into(), Operand::Vec(vec![lo.into(), Operand::int(0)])],
                );
            }
            _ => {
                let lo = self.b.reg(Ty::B32);
                self.b.emit(isa::mov(Ty::B32), [lo, r]);
                self.b.emit(
                    isa::pack(Ty::B64, 2),
                    [word.into(), Operand::Vec(vec![lo.into(), Operand::int(0)])],
                );
            }
        }
        word
    }
}

/// The types of the inputs that an operand takes.
fn operand(l: &mut Lane<'_>, op: &Op, pat: &Pat, k: &mut usize) -> Operand {
    let t = op.resolve(pat.ty).unwrap_or(Ty::B32);
    let mut next = |l: &mut Lane<'_>, t: Ty| {
        *k += 1;
        l.input(*k - 1, t)
    };
    match (pat.kind, op.count(pat.count)) {
        (Kind::Imm, _) => Operand::int(0x1d),
        (_, Some(n)) => {
            let part = part_type(op, n);
            Operand::vec((0..n).map(|_| next(l, part)).collect::<Vec<_>>())
        }
        _ => next(l, t).into(),
    }
}

fn part_type(op: &Op, n: u32) -> Ty {
    match op.ty("t").map_or(32, Ty::bits) / n {
        64 => Ty::B64,
        32 => Ty::B32,
        _ => Ty::B16,
    }
}

/// Whether the parts of a packing are registers that PTX has.
pub fn has_parts(op: &Op) -> bool {
    op.row.form().pats.iter().all(|p| match p.count {
        Count::Fixed(n) => op.ty("t").map_or(32, Ty::bits) / n >= 16,
        _ => true,
    })
}

/// Runs every form on `lanes` lanes.
pub fn module(ops: &[Op], lanes: u32, target: Target) -> Module {
    let mut b = FnBuilder::entry("forms");
    b.directive(Directive::ReqNtid([128, 1, 1]));
    let (pi, po) = (b.param("inputs", Ty::U64), b.param("outputs", Ty::U64));
    let (input, output) = (b.load_param(pi), b.load_param(po));
    let [tid, block, i] = b.regs::<3>(Ty::B32);
    b.emit(
        isa::mov(Ty::U32),
        [Operand::from(tid), Special::TID_X.into()],
    );
    b.emit(
        isa::mov(Ty::U32),
        [Operand::from(block), Special::CTAID_X.into()],
    );
    b.emit(
        isa::mad(Ty::U32),
        [i.into(), block.into(), Operand::int(128), tid.into()],
    );
    let [at, to] = b.regs::<2>(Ty::B64);
    b.emit(
        isa::mad_wide(Ty::U32),
        [at.into(), i.into(), Operand::int(8), input.into()],
    );
    b.emit(
        isa::mad_wide(Ty::U32),
        [to.into(), i.into(), Operand::int(8), output.into()],
    );
    for (n, op) in ops.iter().enumerate() {
        let mut l = Lane {
            b: &mut b,
            input: at,
            lanes,
        };
        let (mut operands, mut results, mut k) = (vec![], vec![], 0);
        let mut first = None;
        // What reads or makes a carry is given one: without it the carry in is undefined.
        let carry = ["CC", "ADDC", "SUBC", "MADC"]
            .iter()
            .any(|part| op.row.name.contains(part));
        for pat in &op.row.form().pats {
            if !pat.write {
                let o = operand(&mut l, op, pat, &mut k);
                operands.push(o);
                continue;
            }
            let t = op.resolve(pat.ty).unwrap_or(Ty::B32);
            match op.count(pat.count) {
                Some(parts) => {
                    let list: Vec<Reg> =
                        (0..parts).map(|_| l.b.reg(part_type(op, parts))).collect();
                    results.extend(list.iter().copied());
                    operands.push(Operand::vec(list));
                }
                None => {
                    let d = l.b.reg(register(t));
                    results.push(d);
                    if pat.pair {
                        let p = l.b.reg(Ty::Pred);
                        results.push(p);
                        operands.push(Operand::pair(d, p));
                    } else {
                        operands.push(d.into());
                    }
                }
            }
        }
        if carry {
            let (x, y, d) = (l.input(0, Ty::B32), l.input(2, Ty::B32), l.b.reg(Ty::B32));
            l.b.emit(Op::new(&isa::rows::int::ADD_CC).set("t", "u32"), [d, x, y]);
            first = Some(d);
        }
        l.b.emit(*op, operands);
        if carry && (op.has("cc") || op.row.name.ends_with("_CC")) {
            let c = l.b.reg(Ty::B32);
            l.b.emit(
                Op::new(&isa::rows::int::ADDC).set("t", "u32"),
                [c.into(), Operand::int(0), Operand::int(0)],
            );
            results.push(c);
        } else {
            // What makes the carry must be wanted, or the assembler drops it.
            results.extend(first);
        }
        // Of many parts, the last results are folded into one.
        let words: Vec<Reg> = results.iter().map(|r| l.widen(*r)).collect();
        for (r, w) in words.iter().enumerate().skip(RESULTS) {
            let turned = l.b.reg(Ty::B64);
            l.b.emit(
                isa::shl(Ty::B64),
                [
                    turned.into(),
                    (*w).into(),
                    Operand::int(16 * (r as i64 - 1)),
                ],
            );
            l.b.emit(isa::xor(Ty::B64), [words[1], words[1], turned]);
        }
        for (r, w) in words.iter().take(RESULTS).enumerate() {
            let place = (n * RESULTS + r) as u64 * u64::from(lanes) * 8;
            l.b.emit(
                isa::st(Space::Global, Ty::B64),
                [Operand::addr(to, place as i64), (*w).into()],
            );
        }
    }
    b.emit0(isa::ret());
    let mut m = Module::new(target);
    m.functions.push(b.build());
    m
}
