//! What the operations of [`crate::ops`] do: one rule a row.

use super::Check;
use super::call::Call;
use super::value::Val;
use crate::ir::{AtomOp, Binary, Cache, ReduceOp, ScanOp, Shuffle, Special, Unary, Vote};

/// Numbers an operation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    F32,
    /// Any float.
    Float,
    /// Any number but bool.
    Number,
    /// Integers.
    Int,
    /// 32-bit integers.
    Int32,
    U32,
}

/// A rule of an operation with arguments evaluated.
pub(crate) type Apply = for<'a> fn(&mut Check<'a>, &Call<'a>) -> Val<'a>;

/// How an operation is carried out.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// A special register, and one past its greatest value (0: the block's threads or warps).
    Special(Special),
    Unary(Unary, Takes),
    Binary(Binary, Takes),
    Shuffle(Shuffle),
    Vote(Vote),
    Redux(AtomOp, Takes),
    /// An atomic with the old value.
    Atom(AtomOp),
    /// An atomic without.
    Red(AtomOp),
    Cache(Cache),
    /// A reduction along the axis; `None`: of a vector, to a scalar.
    Reduce(ReduceOp, Option<u8>),
    /// A scan along the axis; `None`: of a vector.
    Scan(ScanOp, Option<u8>),
    /// Computes only.
    Pure(Apply),
    /// Anything else.
    Do(Apply),
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("rule")
    }
}

impl<'a> Check<'a> {
    pub(crate) fn rule(&mut self, call: Call<'a>) -> Val<'a> {
        match call.row.rule {
            Rule::Special(s) => self.special(s, &call),
            Rule::Unary(f, takes) => self.scalar_unary(f, takes, &call),
            Rule::Binary(f, takes) => self.scalar_binary(f, takes, &call),
            Rule::Shuffle(mode) => self.shuffle(mode, &call),
            Rule::Vote(vote) => self.vote(vote, &call),
            Rule::Redux(op, takes) => self.redux(op, takes, &call),
            Rule::Atom(op) => self.atomic(op, true, &call),
            Rule::Red(op) => self.atomic(op, false, &call),
            Rule::Cache(cache) => match &call.recv {
                Val::View(view) => {
                    let mut view = view.clone();
                    view.cache = cache;
                    Val::View(view)
                }
                _ => Val::Poison,
            },
            Rule::Reduce(op, axis) => self.reduce(op, axis, &call),
            Rule::Scan(op, axis) => self.scan(op, axis, &call),
            Rule::Pure(f) | Rule::Do(f) => f(self, &call),
        }
    }
}
