//! What a thread contributes to coordinates and addresses, as sums of digits of its number.
//!
//! A function of the thread number is tabulated for all threads of the block and read as
//! `constant + sum over digits of weight * (thread / divisor % modulus)`; the reading is checked against
//! the table, so a form is either right for every thread or not found. Digits are those of a
//! distribution, cut into prime factors; neighbours with matching weights are joined again, so that a
//! linear map costs one shift.

use super::Lower;
use super::emit::Once;
use crate::ir::Dist;
use crate::isa::{self, Ty};
use crate::ptx::Operand;

/// A sum of digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Form {
    /// Divisor, modulus, weight.
    pub digits: Vec<(u32, u32, i64)>,
    /// Value of thread 0.
    pub constant: i64,
}

/// Reads a function of the thread number as a form.
pub(super) fn read_form(dist: &Dist, f: impl Fn(usize) -> i64) -> Option<Form> {
    let threads = dist.thread_count() as usize;
    let table: Vec<i64> = (0..threads).map(f).collect();
    let constant = *table.first()?;
    let mut digits: Vec<(u32, u32, i64)> = Vec::new();
    let mut stride = 1;
    for mode in &dist.threads {
        for p in primes(mode.extent) {
            let weight = table[stride as usize] - constant;
            match digits.last_mut() {
                Some((s, e, w)) if *s * *e == stride && *w * i64::from(*e) == weight => *e *= p,
                _ => digits.push((stride, p, weight)),
            }
            stride *= p;
        }
    }
    digits.retain(|(_, _, w)| *w != 0);
    let form = Form { digits, constant };
    (0..threads)
        .all(|t| form.at(t as u32) == table[t])
        .then_some(form)
}

impl Form {
    /// Its value for a thread.
    pub fn at(&self, thread: u32) -> i64 {
        let sum: i64 = self
            .digits
            .iter()
            .map(|(s, e, w)| i64::from(thread / s % e) * w)
            .sum();
        self.constant + sum
    }
}

fn primes(mut n: u32) -> Vec<u32> {
    let mut out = Vec::new();
    let mut p = 2;
    while n > 1 {
        while n.is_multiple_of(p) {
            out.push(p);
            n /= p;
        }
        p += 1;
    }
    out
}

impl Lower<'_> {
    /// `thread / divisor % modulus`.
    pub(super) fn digit(&mut self, divisor: u32, modulus: u32) -> Operand {
        let threads = self.kernel.threads;
        let last = divisor * modulus >= threads;
        if divisor == 1 && last {
            return self.thread();
        }
        self.once(Once::Digit(divisor, modulus), |l| {
            l.holding("thread's place", |l| {
                let t = l.thread();
                if divisor.is_power_of_two() && (modulus.is_power_of_two() || last) {
                    let t = if divisor > 1 {
                        l.def(
                            Ty::B32,
                            isa::shr(Ty::U32),
                            [t, Operand::int(divisor.ilog2())],
                        )
                    } else {
                        t
                    };
                    return if last {
                        t
                    } else {
                        l.def(Ty::B32, isa::and(Ty::B32), [t, Operand::int(modulus - 1)])
                    };
                }
                let t = if divisor > 1 {
                    l.def(Ty::B32, isa::div(Ty::U32), [t, Operand::int(divisor)])
                } else {
                    t
                };
                if last {
                    t
                } else {
                    l.def(Ty::B32, isa::rem(Ty::U32), [t, Operand::int(modulus)])
                }
            })
        })
    }

    /// The value of a form, in the prologue.
    pub(super) fn form(&mut self, form: &Form) -> Operand {
        if form.digits.is_empty() {
            return Operand::int(form.constant);
        }
        if let [(s, e, 1)] = form.digits[..]
            && form.constant == 0
        {
            return self.digit(s, e);
        }
        self.once(Once::Form(form.digits.clone(), form.constant), |l| {
            l.holding("thread's place", |l| {
                let mut sum: Option<Operand> = None;
                for (s, e, w) in &form.digits {
                    let d = l.digit(*s, *e);
                    let power = *w > 0 && (*w as u64).is_power_of_two();
                    sum = Some(match sum {
                        None if *w == 1 => d,
                        None if power => {
                            l.def(Ty::B32, isa::shl(Ty::B32), [d, Operand::int(w.ilog2())])
                        }
                        None => l.def(Ty::B32, isa::mul(Ty::U32), [d, Operand::int(*w)]),
                        Some(sum) if *w == 1 => l.def(Ty::B32, isa::add(Ty::U32), [d, sum]),
                        Some(sum) => l.def(Ty::B32, isa::mad(Ty::U32), [d, Operand::int(*w), sum]),
                    });
                }
                let sum = sum.unwrap_or_else(|| Operand::int(0));
                l.add_const(sum, form.constant)
            })
        })
    }

    /// The thread's part of the coordinate along an axis.
    pub(super) fn thread_offset(&mut self, dist: &Dist, axis: usize) -> Operand {
        let form = read_form(dist, |t| {
            let rank = dist
                .threads
                .iter()
                .filter_map(|m| m.axis)
                .map(|a| a as usize + 1)
                .max()
                .unwrap_or(0);
            let at = dist.thread_offset(t, rank.max(axis + 1));
            at[axis].into()
        });
        let form = form.expect("bug: a distribution moves each axis by constants");
        self.form(&form)
    }

    /// A predicate for the first of the threads that hold the same elements; `None` if no two do.
    pub(super) fn first_holder(&mut self, dist: &Dist) -> Option<Operand> {
        let mut stride = 1;
        let mut digits = Vec::new();
        for m in &dist.threads {
            if m.axis.is_none() && m.extent > 1 {
                digits.push((stride, m.extent));
            }
            stride *= m.extent;
        }
        if digits.is_empty() {
            return None;
        }
        Some(self.once(Once::First(digits.clone()), |l| {
            l.holding("predicates", |l| {
                let mut all: Option<Operand> = None;
                for (s, e) in digits {
                    let d = l.digit(s, e);
                    all = Some(match all {
                        None => l.def(
                            Ty::Pred,
                            isa::setp(isa::Cmp::Eq, Ty::U32),
                            [d, Operand::int(0)],
                        ),
                        Some(p) => l.def(
                            Ty::Pred,
                            isa::setp_bool(isa::Cmp::Eq, isa::Bool::And, Ty::U32),
                            [d, Operand::int(0), p],
                        ),
                    });
                }
                all.expect("bug: there is a digit")
            })
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Mode;

    #[test]
    fn a_linear_map_is_one_digit_and_a_swizzle_is_none() {
        let dist = Dist {
            threads: vec![Mode::along(1, 8, 4), Mode::along(0, 12, 1)],
            values: vec![],
        };
        let f = read_form(&dist, |t| 4 * t as i64 + 3).unwrap();
        assert_eq!((f.digits, f.constant), (vec![(1, 96, 4)], 3));
        let f = read_form(&dist, |t| (t / 8) as i64).unwrap();
        assert_eq!(f.digits, [(8, 12, 1)]);
        assert!(read_form(&dist, |t| ((t / 8) ^ (t % 8)) as i64).is_none());
    }
}
