//! The place of the extreme among a thread's own floats of at most 32 bits, without a key for each.
//!
//! 1. The extreme of the values themselves, NaN above all: one operation a value. Missing ones count as
//!    the infinity of the other end.
//! 2. The first value beyond the *bar*, looked for from the last to the first: a comparison and a
//!    selection a value. The bar is the float next to the extreme, towards the other end, so that
//!    exactly the extremes lie beyond it, zeros of both signs alike; the comparison is true of NaN. If the extreme is NaN,
//!    the bar is infinity: only NaN is beyond. If it is the infinity of the other end, all values are
//!    equal, and the next bits are those of a NaN: the first value that is there is taken.
//! 3. One key, of the extreme and its place; nothing at all if no value was there.

use super::Lower;
use super::guards::Guards;
use super::reduce::{Partial, Tree};
use crate::dtype::DType;
use crate::ir::{ReduceOp, Value};
use crate::isa::{self, Bool, Cmp, Ty};
use crate::ptx::Operand;

/// No place: larger than any offset in a tile.
const NOWHERE: u32 = u32::MAX;

impl Lower<'_> {
    /// Whether keys can wait until the thread's own values are reduced.
    pub(super) fn places_own(t: DType) -> bool {
        t.is_float() && t.bytes() <= 4
    }

    /// Key and place of the extreme of the thread's values of these numbers.
    pub(super) fn own_place(
        &mut self,
        value: Value,
        op: ReduceOp,
        axis: usize,
        numbers: &[usize],
        guards: &mut Guards,
    ) -> Partial {
        let t = self.tensor(value);
        let rank = t.shape.len();
        let max = op == ReduceOp::ArgMax;
        let far = self.float(
            DType::F32,
            if max {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            },
        );
        let mut numbers: Vec<(u32, usize)> = numbers
            .iter()
            .map(|&i| (t.dist.value_offset(i, rank)[axis], i))
            .collect();
        numbers.sort_unstable();
        let better = if max {
            ReduceOp::Max { nan: true }
        } else {
            ReduceOp::Min { nan: true }
        };
        let mut partial = false;
        let mut tree = Tree::default();
        for &(_, i) in &numbers {
            let x = self.wide_own(value, i);
            let there = self.present(guards, &t.dist.value_offset(i, rank));
            partial |= there.is_some();
            let x = match there {
                Some(p) => self.def(Ty::F32, isa::selp(Ty::F32), [x, far.clone(), p]),
                None => x,
            };
            self.feed(&mut tree, better, DType::F32, vec![x]);
        }
        let extreme = match self.harvest(tree, better, DType::F32) {
            Some(p) => p[0].clone(),
            None => far,
        };
        let bar = self.bar(&extreme, max);
        let beyond = if max { Cmp::Gtu } else { Cmp::Ltu };
        let first = numbers[0].0;
        let mut place = Operand::int(if partial { NOWHERE } else { first });
        for &(offset, i) in numbers.iter().skip(usize::from(!partial)).rev() {
            let x = self.wide_own(value, i);
            let p = match self.present(guards, &t.dist.value_offset(i, rank)) {
                Some(there) => self.def(
                    Ty::Pred,
                    isa::setp_bool(beyond, Bool::And, Ty::F32),
                    [x, bar.clone(), there],
                ),
                None => self.def(Ty::Pred, isa::setp(beyond, Ty::F32), [x, bar.clone()]),
            };
            place = self.def(
                Ty::B32,
                isa::selp(Ty::B32),
                [Operand::int(offset), place, p],
            );
        }
        if !partial {
            // The first one, which needs no default, is decided last.
            let x = self.wide_own(value, numbers[0].1);
            let p = self.def(Ty::Pred, isa::setp(beyond, Ty::F32), [x, bar]);
            place = self.def(Ty::B32, isa::selp(Ty::B32), [Operand::int(first), place, p]);
        }
        let base = self.thread_offset(&t.dist, axis);
        let at = self.def(Ty::B32, isa::add(Ty::U32), [base, place.clone()]);
        let key = self.keyed(op, DType::F32, extreme, at);
        if !partial {
            return key;
        }
        let there = self.def(
            Ty::Pred,
            isa::setp(Cmp::Ne, Ty::U32),
            [place, Operand::int(NOWHERE)],
        );
        vec![self.def(
            Ty::B64,
            isa::selp(Ty::B64),
            [key[0].clone(), Operand::int(0), there],
        )]
    }

    fn wide_own(&mut self, value: Value, i: usize) -> Operand {
        let t = self.dtype(value);
        let x = self.whole(value, i);
        if t.bytes() == 2 { self.widen(t, x) } else { x }
    }

    /// The float next to the extreme, away from it; infinity if it is NaN.
    fn bar(&mut self, extreme: &Operand, max: bool) -> Operand {
        let zero = self.float(DType::F32, 0.0);
        // x + 0 makes -0 into +0 and changes nothing else.
        let x = self.def(Ty::F32, isa::add(Ty::F32), [extreme.clone(), zero.clone()]);
        let word = self.def(Ty::B32, isa::mov(Ty::B32), [x.clone()]);
        // Away from zero the bits grow, whatever the sign.
        let (grow, end) = if max {
            (Cmp::Lt, f64::INFINITY)
        } else {
            (Cmp::Gt, f64::NEG_INFINITY)
        };
        let grows = self.def(
            Ty::Pred,
            isa::setp(grow, Ty::F32),
            [x.clone(), zero.clone()],
        );
        let step = self.def(
            Ty::B32,
            isa::selp(Ty::B32),
            [Operand::int(1), Operand::int(-1), grows],
        );
        let next = self.def(Ty::B32, isa::add(Ty::U32), [word, step]);
        let next = self.def(Ty::F32, isa::mov(Ty::B32), [next]);
        let is_zero = self.def(Ty::Pred, isa::setp(Cmp::Eq, Ty::F32), [x.clone(), zero]);
        // The least subnormal of the other sign.
        let least = f64::from(f32::from_bits(1));
        let least = self.float(DType::F32, if max { -least } else { least });
        let next = self.def(Ty::F32, isa::selp(Ty::F32), [least, next, is_zero]);
        let nan = self.def(Ty::Pred, isa::setp(Cmp::Nan, Ty::F32), [x.clone(), x]);
        let end = self.float(DType::F32, end);
        self.def(Ty::F32, isa::selp(Ty::F32), [end, next, nan])
    }
}
