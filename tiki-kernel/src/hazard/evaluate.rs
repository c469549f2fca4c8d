//! Integers as functions of the thread number: a table, one entry a thread, plus symbols times constants
//! for what is the same in all threads of the block but unknown at build time.

use crate::dtype::{Class, DType};
use crate::ir::visit::each;
use crate::ir::{
    Binary, Block, Compare, Const, Kernel, Op, Special, StmtKind, Unary, Uniform, Value, Var,
};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// An unknown that all threads of the block share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbol {
    /// A block coordinate.
    Block(u8),
    /// Blocks along a dimension.
    Grid(u8),
    /// An extent.
    Extent(usize, usize),
    /// A scalar argument.
    Param(usize),
    /// A variable between two assignments.
    Var(Var, u32),
    /// A value, in the n-th walk through its loop.
    Value(Value, u32),
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub struct Sum {
    /// Symbols and their factors.
    pub symbols: BTreeMap<Symbol, i64>,
    /// The rest, by thread.
    pub table: Vec<i64>,
}

impl Sum {
    /// Whether it is known for each thread.
    #[must_use]
    pub fn known(&self) -> bool {
        self.symbols.is_empty()
    }
    /// The one number it is in all threads.
    #[must_use]
    pub fn constant(&self) -> Option<i64> {
        let first = *self.table.first()?;
        (self.known() && self.table.iter().all(|x| *x == first)).then_some(first)
    }
    /// Whether it is the same in all lanes of each warp.
    #[must_use]
    pub fn same_in_warps(&self) -> bool {
        self.table.chunks(32).all(|w| w.iter().all(|x| *x == w[0]))
    }
    /// Whether it is the same in all threads.
    #[must_use]
    pub fn same(&self) -> bool {
        self.table.iter().all(|x| *x == self.table[0])
    }
}

/// The threads on each side of a condition.
#[derive(Debug)]
pub struct Sides {
    /// Where it holds, and where not: by thread.
    pub on: [Vec<bool>; 2],
    /// Known, but for what all threads of the block share.
    pub exact: bool,
}

/// Evaluates values of one kernel.
#[derive(Debug)]
pub struct Evaluator<'a> {
    kernel: &'a Kernel,
    defs: HashMap<Value, &'a Op>,
    memo: HashMap<Value, Option<Rc<Sum>>>,
    bound: HashMap<Value, Symbol>,
    versions: HashMap<Var, u32>,
    walks: HashMap<Value, u32>,
}

impl<'a> Evaluator<'a> {
    /// Of a kernel.
    #[must_use]
    pub fn new(kernel: &'a Kernel) -> Evaluator<'a> {
        let mut defs = HashMap::new();
        each(&kernel.body, &mut |s| {
            if let StmtKind::Let(v, op) = &s.kind {
                defs.insert(*v, op);
            }
        });
        Evaluator {
            kernel,
            defs,
            memo: HashMap::new(),
            bound: HashMap::new(),
            versions: HashMap::new(),
            walks: HashMap::new(),
        }
    }
    /// What a walk in program order must tell: a variable is assigned.
    pub fn assign(&mut self, var: Var) {
        *self.versions.entry(var).or_default() += 1;
    }
    /// What a walk in program order must tell: a variable is read into a value.
    pub fn read(&mut self, v: Value, var: Var) {
        let version = self.versions.get(&var).copied().unwrap_or(0);
        self.bound.insert(v, Symbol::Var(var, version));
        self.memo.clear();
    }
    /// What a walk in program order must tell: a loop is entered again; what it defines is new.
    pub fn again(&mut self, index: Option<Value>, body: &Block) {
        let mut new: Vec<Value> = index.into_iter().collect();
        each(body, &mut |s| match &s.kind {
            StmtKind::Let(v, _) => new.push(*v),
            StmtKind::For { index, .. } => new.push(*index),
            _ => {}
        });
        each(body, &mut |s| {
            if let StmtKind::Set(var, _) = &s.kind {
                self.assign(*var);
            }
        });
        for v in new {
            *self.walks.entry(v).or_default() += 1;
        }
        self.memo.clear();
    }

    /// The value, if it can be followed.
    pub fn value(&mut self, v: Value) -> Option<Rc<Sum>> {
        if let Some(known) = self.memo.get(&v) {
            return known.clone();
        }
        let result = self.compute(v).map(Rc::new);
        self.memo.insert(v, result.clone());
        result
    }

    /// Which of the threads `here` take each side of a condition: all of them, where it cannot be followed.
    pub fn sides(&mut self, cond: Value, here: &[bool]) -> Sides {
        let table = self.value(cond).filter(|s| s.known());
        let same = self.kernel.values[cond.0 as usize].uniform == Uniform::Block;
        let on = |wanted: bool| match &table {
            Some(s) => here
                .iter()
                .zip(&s.table)
                .map(|(h, c)| *h && (*c != 0) == wanted)
                .collect(),
            None => here.to_vec(),
        };
        Sides {
            on: [on(true), on(false)],
            exact: same || table.is_some(),
        }
    }

    fn table(&self, f: impl Fn(i64) -> i64) -> Sum {
        Sum {
            symbols: BTreeMap::new(),
            table: (0..i64::from(self.kernel.threads)).map(f).collect(),
        }
    }

    fn symbol(&self, s: Symbol) -> Sum {
        let mut sum = self.table(|_| 0);
        sum.symbols.insert(s, 1);
        sum
    }

    fn opaque(&self, v: Value) -> Option<Sum> {
        let same = self.kernel.values[v.0 as usize].uniform == Uniform::Block;
        let walk = self.walks.get(&v).copied().unwrap_or(0);
        same.then(|| self.symbol(Symbol::Value(v, walk)))
    }

    fn compute(&mut self, v: Value) -> Option<Sum> {
        let t = self.kernel.values[v.0 as usize].ty.dtype();
        if !matches!(t.row().class, Class::Signed | Class::Unsigned | Class::Bool) {
            return self.opaque(v);
        }
        let Some(op) = self.defs.get(&v).copied() else {
            return self.opaque(v);
        };
        let found = match op {
            Op::Const(Const::Int(i)) => {
                let i = i64::try_from(*i).ok()?;
                Some(self.table(|_| i))
            }
            Op::Const(Const::Bool(b)) => Some(self.table(|_| i64::from(*b))),
            Op::Special(Special::Thread) => Some(self.table(|t| t)),
            Op::Special(Special::Lane) => Some(self.table(|t| t % 32)),
            Op::Special(Special::Warp) => Some(self.table(|t| t / 32)),
            Op::Special(Special::Warpgroup) => Some(self.table(|t| t / 128)),
            Op::Special(Special::Block(d)) => Some(self.symbol(Symbol::Block(*d))),
            Op::Special(Special::Grid(d)) => Some(self.symbol(Symbol::Grid(*d))),
            Op::Extent(p, a) => Some(self.symbol(Symbol::Extent(*p, *a))),
            Op::Param(p) => Some(self.symbol(Symbol::Param(*p))),
            Op::Get(_) => match self.bound.get(&v) {
                Some(s) if self.kernel.values[v.0 as usize].uniform == Uniform::Block => {
                    Some(self.symbol(*s))
                }
                _ => None,
            },
            Op::Cast(a, _) if self.is_int(*a) => self.value(*a).map(|s| (*s).clone()),
            Op::Unary(Unary::Not, a) if t == DType::BOOL => {
                let a = self.value(*a)?;
                a.known().then(|| Sum {
                    symbols: BTreeMap::new(),
                    table: a.table.iter().map(|x| 1 - x).collect(),
                })
            }
            Op::Binary(f, a, b) => self.binary(*f, *a, *b),
            Op::Compare(f, a, b) if self.is_int(*a) => {
                let (a, b) = (self.value(*a)?, self.value(*b)?);
                (a.symbols == b.symbols)
                    .then(|| zip(&a, &b, |x, y| Some(i64::from(compare(*f, x, y)))))
                    .flatten()
            }
            Op::Select(c, a, b) => {
                let (c, a, b) = (self.value(*c)?, self.value(*a)?, self.value(*b)?);
                (c.known() && a.symbols == b.symbols).then(|| Sum {
                    symbols: a.symbols.clone(),
                    table: (0..c.table.len())
                        .map(|i| {
                            if c.table[i] != 0 {
                                a.table[i]
                            } else {
                                b.table[i]
                            }
                        })
                        .collect(),
                })
            }
            _ => None,
        };
        found.or_else(|| self.opaque(v))
    }

    fn is_int(&self, v: Value) -> bool {
        let t = self.kernel.values[v.0 as usize].ty.dtype();
        matches!(t.row().class, Class::Signed | Class::Unsigned | Class::Bool)
    }

    fn binary(&mut self, f: Binary, a: Value, b: Value) -> Option<Sum> {
        let (a, b) = (self.value(a)?, self.value(b)?);
        match f {
            Binary::Add | Binary::Sub => {
                let sign = if f == Binary::Add { 1 } else { -1 };
                let mut sum = zip(&a, &b, |x, y| x.checked_add(sign * y))?;
                sum.symbols = a.symbols.clone();
                for (s, n) in &b.symbols {
                    *sum.symbols.entry(*s).or_default() += sign * n;
                }
                sum.symbols.retain(|_, n| *n != 0);
                Some(sum)
            }
            Binary::Mul => {
                let (x, c) = match (a.constant(), b.constant()) {
                    (_, Some(c)) => (&a, c),
                    (Some(c), _) => (&b, c),
                    _ if a.known() && b.known() => return zip(&a, &b, i64::checked_mul),
                    _ => return None,
                };
                Some(Sum {
                    symbols: x
                        .symbols
                        .iter()
                        .map(|(s, n)| (*s, n * c))
                        .filter(|(_, n)| *n != 0)
                        .collect(),
                    table: x
                        .table
                        .iter()
                        .map(|v| v.checked_mul(c))
                        .collect::<Option<_>>()?,
                })
            }
            _ if !a.known() || !b.known() => None,
            Binary::Div => zip(&a, &b, i64::checked_div),
            Binary::Rem => zip(&a, &b, i64::checked_rem),
            Binary::Min => zip(&a, &b, |x, y| Some(x.min(y))),
            Binary::Max => zip(&a, &b, |x, y| Some(x.max(y))),
            Binary::And => zip(&a, &b, |x, y| Some(x & y)),
            Binary::Or => zip(&a, &b, |x, y| Some(x | y)),
            Binary::Xor => zip(&a, &b, |x, y| Some(x ^ y)),
            Binary::Shl => zip(&a, &b, |x, y| x.checked_shl(u32::try_from(y).ok()?)),
            Binary::Shr => zip(&a, &b, |x, y| x.checked_shr(u32::try_from(y).ok()?)),
            Binary::DivFast | Binary::MinNan | Binary::MaxNan => None,
        }
    }
}

fn zip(a: &Sum, b: &Sum, f: impl Fn(i64, i64) -> Option<i64>) -> Option<Sum> {
    Some(Sum {
        symbols: BTreeMap::new(),
        table: a
            .table
            .iter()
            .zip(&b.table)
            .map(|(x, y)| f(*x, *y))
            .collect::<Option<_>>()?,
    })
}

fn compare(f: Compare, x: i64, y: i64) -> bool {
    match f {
        Compare::Eq => x == y,
        Compare::Ne => x != y,
        Compare::Lt => x < y,
        Compare::Le => x <= y,
        Compare::Gt => x > y,
        Compare::Ge => x >= y,
    }
}
