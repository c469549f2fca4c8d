//! Scans along an axis, level by level as [`crate::ir::scan`] says.
//!
//! A total is one register, or for recurrences two: the product of the factors and the value that comes of zero. `a`
//! before `b` combines to `(a.factor * b.factor, b.factor * a.value + b.value)`.

use super::Lower;
use super::guards::guard;
use super::shared::address;
use super::tiles::Element;
use crate::dtype::{Class, DType};
use crate::ir::reduction::ThreadDigit;
use crate::ir::scan::{Level, Steps, entry_bytes, parts};
use crate::ir::{Binary, Scan, ScanOp, Value};
use crate::isa::{self, Cmp, Shfl, Space, Ty};
use crate::ptx::Operand;
use std::collections::BTreeMap;

type Total = Vec<Operand>;

/// Elements that stand next to each other, scanned among themselves.
struct Run {
    /// What comes before the first.
    before: Option<Total>,
    /// In the order of the scan: place among the thread's values, and the scan up to it.
    members: Vec<(usize, Total)>,
}

/// The runs of a thread that the levels so far have put together.
struct Group {
    runs: Vec<Run>,
    total: Total,
}

/// Groups by the digits of the thread's values that are not yet combined.
type Groups = BTreeMap<Vec<u32>, Group>;

impl Lower<'_> {
    /// Scans.
    pub(super) fn scan(&mut self, v: Value, s: &Scan) -> Vec<Element> {
        let t = self.tensor(s.value).clone();
        let Some(steps) = Steps::of(&t, s.axis as usize) else {
            unreachable!("bug: the checker refuses scans whose warps meet twice");
        };
        let name = match self.kernel.values[v.0 as usize].name.as_str() {
            "" => "sums of a scan".to_string(),
            name => name.to_string(),
        };
        self.holding(&name, |l| {
            let mut groups = l.single(s);
            let last = steps.levels.len();
            for (i, level) in steps.levels.iter().enumerate() {
                match level {
                    Level::Own(place) => groups = l.own_level(s, *place, groups),
                    Level::Lanes(digit) => {
                        for group in groups.values_mut() {
                            l.lanes_level(s, *digit, group);
                            // In scratch the last lane writes; another level needs the total in every lane.
                            let next = steps.levels.get(i + 1);
                            if i + 1 < last && !matches!(next, Some(Level::Scratch(_))) {
                                group.total = l.total_of_lanes(s, *digit, &group.total);
                            }
                        }
                    }
                    Level::Scratch(digits) => {
                        let ends = steps.levels[..i].iter().filter_map(|l| match l {
                            Level::Lanes(digit) => Some(*digit),
                            _ => None,
                        });
                        let ends: Vec<ThreadDigit> = ends.collect();
                        if steps.fits_a_warp() {
                            l.scratch_in_a_warp(s, digits, &ends, &steps, &mut groups);
                            break;
                        }
                        l.scratch_level(s, digits, &ends, &steps, &mut groups);
                    }
                }
            }
            let mut out = vec![None; t.dist.len()];
            for run in groups.into_values().flat_map(|g| g.runs) {
                l.finish_run(s, run, &mut out);
            }
            out.into_iter()
                .map(|o| Element::Whole(o.expect("bug: a scan reaches every element")))
                .collect()
        })
    }

    fn scanned_dtype(&self, s: &Scan) -> DType {
        self.tensor(s.value).dtype
    }

    /// Every element a group of its own; what is missing does not count.
    fn single(&mut self, s: &Scan) -> Groups {
        let t = self.tensor(s.value).clone();
        let rank = t.shape.len();
        let limits: Vec<Option<Operand>> = (0..rank)
            .map(|a| {
                let bound = s.bounds.get(a).copied().flatten()?;
                Some(self.limit(bound, t.shape[a]))
            })
            .collect();
        let mut guards = self.guards_of(&t, &limits, false);
        let neutral = self.nothing(s);
        let mut groups = Groups::new();
        for i in 0..t.dist.len() {
            let mut total: Total = s.factor.iter().map(|f| self.whole(*f, i)).collect();
            total.push(self.whole(s.value, i));
            if let Some(there) = self.present(&mut guards, &t.dist.value_offset(i, rank)) {
                for (x, n) in total.iter_mut().zip(&neutral) {
                    *x = self.select(t.dtype, there.clone(), x.clone(), n.clone());
                }
            }
            let mut key = Vec::new();
            let mut rest = i as u32;
            for m in &t.dist.values {
                key.push(rest % m.extent);
                rest /= m.extent;
            }
            let run = Run {
                before: None,
                members: vec![(i, total.clone())],
            };
            groups.insert(
                key,
                Group {
                    runs: vec![run],
                    total,
                },
            );
        }
        groups
    }

    /// Groups of one thread, one after the other.
    fn own_level(&mut self, s: &Scan, place: usize, groups: Groups) -> Groups {
        let mut parents: BTreeMap<Vec<u32>, Vec<Group>> = BTreeMap::new();
        for (mut key, group) in groups {
            key[place] = 0;
            parents.entry(key).or_default().push(group);
        }
        let mut out = Groups::new();
        for (key, mut children) in parents {
            if s.reverse {
                children.reverse();
            }
            let mut children = children.into_iter();
            let Some(mut all) = children.next() else {
                continue;
            };
            for child in children {
                let total = self.joined(s, &all.total, &child.total);
                let single = all.runs.len() == 1 && all.runs[0].before.is_none();
                for mut run in child.runs {
                    if single && run.before.is_none() && run.members.len() == 1 {
                        // The sum on the way is the element's own scan.
                        let (place, _) = run.members[0];
                        all.runs[0].members.push((place, total.clone()));
                        continue;
                    }
                    run.before = Some(match run.before {
                        Some(b) => self.joined(s, &all.total, &b),
                        None => all.total.clone(),
                    });
                    all.runs.push(run);
                }
                all.total = total;
            }
            out.insert(key, all);
        }
        out
    }

    /// Neighbouring lanes; afterwards the last lane holds the total.
    fn lanes_level(&mut self, s: &Scan, digit: ThreadDigit, group: &mut Group) {
        let mut total = group.total.clone();
        let mut reach = 1;
        while reach < digit.extent {
            let other = self.neighbour(s, &total, digit.stride * reach);
            let sum = self.joined(s, &other, &total);
            let there = self.not_among_first(s, digit, reach);
            total = self.chosen(s, &there, &sum, &total);
            reach *= 2;
        }
        let other = self.neighbour(s, &total, digit.stride);
        let there = self.not_among_first(s, digit, 1);
        let nothing = self.nothing(s);
        let before = self.chosen(s, &there, &other, &nothing);
        self.put_before(s, group, &before);
        group.total = total;
    }

    fn put_before(&mut self, s: &Scan, group: &mut Group, before: &Total) {
        for run in &mut group.runs {
            run.before = Some(match &run.before {
                Some(b) => self.joined(s, before, b),
                None => before.clone(),
            });
        }
    }

    /// The total of the lane so many places before this one.
    fn neighbour(&mut self, s: &Scan, total: &Total, delta: u32) -> Total {
        let mode = if s.reverse { Shfl::Down } else { Shfl::Up };
        let ty = Ty::of_register(self.scanned_dtype(s));
        total
            .iter()
            .map(|x| self.shuffle(mode, ty, x.clone(), Operand::int(delta)))
            .collect()
    }

    /// The total of the last lane along a digit, in all of them.
    fn total_of_lanes(&mut self, s: &Scan, digit: ThreadDigit, total: &Total) -> Total {
        let bits = (digit.extent - 1) * digit.stride;
        let lane = self.digit(1, 32);
        let (op, by) = if s.reverse {
            (isa::and(Ty::B32), !bits)
        } else {
            (isa::or(Ty::B32), bits)
        };
        let from = self.def(Ty::B32, op, [lane, Operand::int(by)]);
        let ty = Ty::of_register(self.scanned_dtype(s));
        total
            .iter()
            .map(|x| self.shuffle(Shfl::Idx, ty, x.clone(), from.clone()))
            .collect()
    }

    /// Whether the thread has at least `reach` before it along the digit.
    fn not_among_first(&mut self, s: &Scan, digit: ThreadDigit, reach: u32) -> Operand {
        let own = self.digit(digit.stride, digit.extent);
        let (cmp, limit) = if s.reverse {
            (Cmp::Lt, digit.extent - reach)
        } else {
            (Cmp::Ge, reach)
        };
        self.def(
            Ty::Pred,
            isa::setp(cmp, Ty::U32),
            [own, Operand::int(limit)],
        )
    }

    /// Groups of warps, through scratch: write, meet, and each combine those before its own.
    fn scratch_level(
        &mut self,
        s: &Scan,
        digits: &[ThreadDigit],
        ends: &[ThreadDigit],
        steps: &Steps,
        groups: &mut Groups,
    ) {
        let scratch = s.scratch.expect("bug: planned by the schedule");
        let t = self.tensor(s.value).clone();
        let (entry, combine) = (entry_bytes(s.op, &t), steps.combine());
        let start = i64::from(self.shared_offsets[scratch]);
        let row = i64::from(steps.groups() * combine * entry);
        let (write, read) = self.scratch_places(&t.dist, digits, &steps.kept, combine, entry);
        if s.barrier_before {
            self.barrier(&s.meet);
        }
        let writes = self.ends(s, ends);
        let ty = Ty::of_register(t.dtype);
        let part = i64::from(entry / parts(s.op));
        for (n, group) in groups.values().enumerate() {
            for (i, x) in group.total.iter().enumerate() {
                let x = self.word(ty, x.clone());
                let at = address(&write, start + n as i64 * row + i as i64 * part);
                let op = isa::st(Space::Shared, word_type(ty));
                self.ins(guard(writes.clone()), op, vec![at, x]);
            }
        }
        self.barrier(&s.meet);
        self.unpacked = None;
        let own = self.mixed_digit(digits);
        let mine: Vec<Operand> = (0..combine)
            .map(|c| {
                let is = isa::setp(Cmp::Eq, Ty::U32);
                self.def(Ty::Pred, is, [own.clone(), Operand::int(c)])
            })
            .collect();
        for (n, group) in groups.values_mut().enumerate() {
            let base = start + n as i64 * row;
            let mut entries = self.read_totals(s, &read, base, combine, ty);
            let mut order: Vec<usize> = (0..combine as usize).collect();
            if s.reverse {
                order.reverse();
            }
            let mut before = self.nothing(s);
            let mut sum: Option<Total> = None;
            for c in order {
                let got = std::mem::take(&mut entries[c]);
                sum = Some(match sum {
                    None => got,
                    Some(sum) => {
                        before = self.chosen(s, &mine[c], &sum, &before);
                        self.joined(s, &sum, &got)
                    }
                });
            }
            self.put_before(s, group, &before);
            group.total = sum.expect("bug: there is an entry");
        }
    }

    /// The lane that holds the total of those along these digits.
    fn ends(&mut self, s: &Scan, ends: &[ThreadDigit]) -> Option<Operand> {
        let mut writes = None;
        for digit in ends {
            let own = self.digit(digit.stride, digit.extent);
            let last = if s.reverse { 0 } else { digit.extent - 1 };
            let is = isa::setp(Cmp::Eq, Ty::U32);
            let p = self.def(Ty::Pred, is, [own, Operand::int(last)]);
            writes = Some(self.both(writes, p));
        }
        writes
    }

    /// The scratch and all that comes after it, where there are at most 32 totals: every warp reads them all, one a
    /// lane in the order of the scan, scans them by shuffles, and takes what comes before its own.
    fn scratch_in_a_warp(
        &mut self,
        s: &Scan,
        digits: &[ThreadDigit],
        ends: &[ThreadDigit],
        steps: &Steps,
        groups: &mut Groups,
    ) {
        let scratch = s.scratch.expect("bug: planned by the schedule");
        let t = self.tensor(s.value).clone();
        let (entry, combine) = (entry_bytes(s.op, &t), steps.combine());
        let start = i64::from(self.shared_offsets[scratch]);
        if s.barrier_before {
            self.barrier(&s.meet);
        }
        // The outermost level counts most.
        let outer: Vec<usize> = steps.levels.iter().rev().map_while(Level::own).collect();
        let mut order: Vec<Vec<u32>> = groups.keys().cloned().collect();
        order.sort_by_key(|key| outer.iter().map(|place| key[*place]).collect::<Vec<_>>());
        if s.reverse {
            order.reverse();
        }
        let mut own = self.mixed_digit(digits);
        if s.reverse {
            let last = Operand::int(combine - 1);
            own = self.def(Ty::B32, isa::sub(Ty::U32), [last, own]);
        }
        let offset = self.def(
            Ty::B32,
            isa::mul(Ty::U32),
            [own.clone(), Operand::int(entry)],
        );
        let base = self.shared_symbol();
        let write = Some(self.def(Ty::B32, isa::add(Ty::U32), [base.clone(), offset]));
        let writes = self.ends(s, ends);
        let ty = Ty::of_register(t.dtype);
        let part = i64::from(entry / parts(s.op));
        for (n, key) in order.iter().enumerate() {
            let total = groups[key].total.clone();
            for (i, x) in total.into_iter().enumerate() {
                let x = self.word(ty, x);
                let at = start + i64::from(n as u32 * combine * entry) + i as i64 * part;
                let op = isa::st(Space::Shared, word_type(ty));
                self.ins(guard(writes.clone()), op, vec![address(&write, at), x]);
            }
        }
        self.barrier(&s.meet);
        self.unpacked = None;
        let count = combine * order.len() as u32;
        let lane = self.digit(1, 32);
        // Lanes past the end read the last, which comes before nothing.
        let which = match count {
            32 => lane.clone(),
            _ => self.def(
                Ty::B32,
                isa::min(Ty::U32),
                [lane.clone(), Operand::int(count - 1)],
            ),
        };
        let offset = self.def(Ty::B32, isa::mul(Ty::U32), [which, Operand::int(entry)]);
        let read = Some(self.def(Ty::B32, isa::add(Ty::U32), [base, offset]));
        let mut total: Total = (0..parts(s.op))
            .map(|i| {
                let at = address(&read, start + i64::from(i) * part);
                let reg = if ty.bits() < 32 { Ty::B32 } else { ty };
                let x = self.def(reg, isa::ld(Space::Shared, word_type(ty)), [at]);
                if ty.bits() == 16 {
                    self.def(Ty::B16, isa::cvt(Ty::U16, Ty::U32), [x])
                } else {
                    x
                }
            })
            .collect();
        let up = |l: &mut Self, total: &Total, delta: u32| -> Total {
            let by = Operand::int(delta);
            total
                .iter()
                .map(|x| l.shuffle(Shfl::Up, ty, x.clone(), by.clone()))
                .collect()
        };
        let past = |l: &mut Self, reach: u32| {
            let is = isa::setp(Cmp::Ge, Ty::U32);
            l.def(Ty::Pred, is, [lane.clone(), Operand::int(reach)])
        };
        let mut reach = 1;
        while reach < count {
            let other = up(self, &total, reach);
            let sum = self.joined(s, &other, &total);
            let there = past(self, reach);
            total = self.chosen(s, &there, &sum, &total);
            reach *= 2;
        }
        let other = up(self, &total, 1);
        let there = past(self, 1);
        let nothing = self.nothing(s);
        let before = self.chosen(s, &there, &other, &nothing);
        for (n, key) in order.iter().enumerate() {
            let at = self.add_const(own.clone(), i64::from(n as u32 * combine));
            let mine: Total = before
                .iter()
                .map(|x| self.shuffle(Shfl::Idx, ty, x.clone(), at.clone()))
                .collect();
            let mut group = groups.remove(key).expect("bug: a key of the groups");
            self.put_before(s, &mut group, &mine);
            groups.insert(key.clone(), group);
        }
    }

    /// The thread's place among those that meet.
    fn mixed_digit(&mut self, digits: &[ThreadDigit]) -> Operand {
        let (mut sum, mut weight) = (None, 1);
        for d in digits {
            let own = self.digit(d.stride, d.extent);
            let scaled = if weight == 1 {
                own
            } else {
                self.def(Ty::B32, isa::mul(Ty::U32), [own, Operand::int(weight)])
            };
            sum = Some(match sum {
                None => scaled,
                Some(sum) => self.def(Ty::B32, isa::add(Ty::U32), [sum, scaled]),
            });
            weight *= d.extent;
        }
        sum.unwrap_or_else(|| Operand::int(0))
    }

    /// The totals of one result, as wide as their alignment allows.
    fn read_totals(
        &mut self,
        s: &Scan,
        from: &Option<Operand>,
        base: i64,
        combine: u32,
        ty: Ty,
    ) -> Vec<Total> {
        let width = ty.bits().max(32) / 8;
        let words = combine * parts(s.op);
        let mut flat: Vec<Operand> = Vec::new();
        while (flat.len() as u32) < words {
            let done = flat.len() as u32;
            let at = base + i64::from(done * width);
            let mut n = 16 / width;
            while n > 1
                && (!(words * width).is_multiple_of(n * width)
                    || at % i64::from(n * width) != 0
                    || done + n > words)
            {
                n /= 2;
            }
            let reg = if ty.bits() < 32 { Ty::B32 } else { ty };
            let regs: Vec<Operand> = (0..n).map(|_| self.reg(reg).into()).collect();
            let load = isa::ld(Space::Shared, word_type(ty));
            let (load, to) = match n {
                4 => (load.with(isa::Vec::V4), Operand::vec(regs.clone())),
                2 => (load.with(isa::Vec::V2), Operand::vec(regs.clone())),
                _ => (load, regs[0].clone()),
            };
            self.ins(None, load, vec![to, address(from, at)]);
            flat.extend(regs.into_iter().map(|r| {
                if ty.bits() == 16 {
                    self.def(Ty::B16, isa::cvt(Ty::U16, Ty::U32), [r])
                } else {
                    r
                }
            }));
        }
        flat.chunks(parts(s.op) as usize)
            .map(<[Operand]>::to_vec)
            .collect()
    }

    /// `a`, then `b`.
    fn joined(&mut self, s: &Scan, a: &Total, b: &Total) -> Total {
        let t = self.scanned_dtype(s);
        let f = match s.op {
            ScanOp::Sum => Binary::Add,
            ScanOp::Product => Binary::Mul,
            ScanOp::Max { nan: false } => Binary::Max,
            ScanOp::Max { nan: true } => Binary::MaxNan,
            ScanOp::Min { nan: false } => Binary::Min,
            ScanOp::Min { nan: true } => Binary::MinNan,
            ScanOp::Affine => {
                let factor = self.binary(Binary::Mul, t, a[0].clone(), b[0].clone());
                let value = self.multiply_add(t, b[0].clone(), a[1].clone(), b[1].clone());
                return vec![factor, value];
            }
        };
        vec![self.binary(f, t, a[0].clone(), b[0].clone())]
    }

    fn chosen(&mut self, s: &Scan, p: &Operand, yes: &Total, no: &Total) -> Total {
        let t = self.scanned_dtype(s);
        yes.iter()
            .zip(no)
            .map(|(y, n)| self.select(t, p.clone(), y.clone(), n.clone()))
            .collect()
    }

    /// What changes nothing that comes after: -0 for sums of floats, which keeps a first -0.
    fn nothing(&mut self, s: &Scan) -> Total {
        let t = self.scanned_dtype(s);
        let float = t.row().class == Class::Float;
        let number = |l: &mut Self, f: f64, i: i64| {
            if float {
                l.float(t, f)
            } else {
                Operand::int(i)
            }
        };
        match s.op {
            ScanOp::Sum => vec![number(self, -0.0, 0)],
            ScanOp::Product => vec![number(self, 1.0, 1)],
            ScanOp::Max { .. } => vec![self.extreme(t, false)],
            ScanOp::Min { .. } => vec![self.extreme(t, true)],
            ScanOp::Affine => vec![number(self, 1.0, 1), number(self, 0.0, 0)],
        }
    }

    /// What comes before a run, combined with its elements.
    fn finish_run(&mut self, s: &Scan, run: Run, out: &mut [Option<Operand>]) {
        let before = run.before;
        let mut last: Option<Total> = None;
        for (place, own) in run.members {
            let upto = if s.exclusive {
                last.replace(own)
            } else {
                Some(own)
            };
            let all = match (&before, upto) {
                (Some(b), Some(own)) => self.value_joined(s, b, &own),
                (None, Some(own)) => own.last().cloned(),
                (Some(b), None) => b.last().cloned(),
                (None, None) => self.nothing(s).last().cloned(),
            };
            out[place] = all;
        }
    }

    /// The value alone of `a`, then `b`.
    fn value_joined(&mut self, s: &Scan, a: &Total, b: &Total) -> Option<Operand> {
        if s.op == ScanOp::Affine {
            let t = self.scanned_dtype(s);
            return Some(self.multiply_add(t, b[0].clone(), a[1].clone(), b[1].clone()));
        }
        self.joined(s, a, b).pop()
    }
}

fn word_type(ty: Ty) -> Ty {
    if ty.bits() == 64 { Ty::B64 } else { Ty::B32 }
}
