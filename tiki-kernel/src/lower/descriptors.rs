//! How a warpgroup's product names a matrix in shared memory.
//!
//! A descriptor has a start, two distances and a swizzle of W bytes (16: none). With T elements in 16
//! bytes, element (mn, k) of a matrix (M or N, K) lies, before the swizzle, at
//!
//! ```text
//! K contiguous, W     (mn % 8) W + (mn / 8) stride + k size
//! K contiguous, none  (mn % 8) 16 + (mn / 8) stride + (k / T) leading + (k % T) size
//! K strided, W        (mn size) % W + (mn size / W) leading + (k % 8) W + (k / 8) stride       16 bits only
//! K strided, none     (mn % T) size + (mn / T) stride + (k % 8) 16 + (k / 8) leading           16 bits only
//! ```
//!
//! from its start; the swizzle then XORs bits of the absolute address. A view is a matrix if its own
//! digits say the same for every element of every step of K (32 bytes), which is checked one by one, and if
//! each step starts in the first row of a pattern.
//!
//! The run-time part of the start is the same for all lanes of a warp, and is made of what the assembler
//! can see to be so.

use super::Lower;
use super::asynchronous::WARPGROUP;
use super::emit::Once;
use crate::ir::SharedView;
use crate::isa::descriptor::{Descriptor, FIELD, REACH, UNIT};
use crate::isa::{self, Ty};
use crate::ptx::{Imm, Operand};

/// A matrix in shared memory, as descriptors name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Matrix {
    /// Bytes from the first step's start to each step's.
    pub steps: Vec<i64>,
    /// K is not the contiguous axis.
    pub transposed: bool,
    /// Byte offset of the first step in the allocation, without its run-time part.
    start: i64,
    leading: i64,
    stride: i64,
    width: i64,
}

impl Matrix {
    /// Reads a view (rows, K) of elements of this many bytes; its first `rows` rows count.
    pub fn of(view: &SharedView, rows: u32, size: u32) -> Option<Matrix> {
        let width = match view.swizzle.filter(|x| x.bits > 0) {
            None => 16,
            Some(x) if x.base + size.ilog2() == 4 && x.shift == 3 && x.bits <= 3 => 16 << x.bits,
            Some(_) => return None,
        };
        let shape = view.shape();
        let depth = 32 / size;
        let place = |mn: u32, k: u32| view.linear(&[mn, k]) * i64::from(size);
        let first = place(0, 0);
        let count = shape[1] / depth;
        if count == 0 || !shape[1].is_multiple_of(depth) || shape[0] < rows {
            return None;
        }
        let steps: Vec<i64> = (0..count).map(|s| place(0, s * depth) - first).collect();
        let apart = |mn: u32, k: u32| {
            let inside = mn < rows && k < depth;
            if inside { place(mn, k) - first } else { 16 }
        };
        let (w, b) = (width, i64::from(size));
        let t = 16 / size;
        let wide = (w / b) as u32;
        for transposed in [false, true] {
            let (leading, stride) = match (transposed, w) {
                (false, 16) => (apart(0, t), apart(8, 0)),
                (false, _) => (16, apart(8, 0)),
                (true, 16) => (apart(0, 8), apart(t, 0)),
                (true, _) => (apart(wide, 0), apart(0, 8)),
            };
            let formula = |mn: i64, k: i64| {
                let t = i64::from(t);
                match (transposed, w) {
                    (false, 16) => (mn % 8) * 16 + mn / 8 * stride + k / t * leading + (k % t) * b,
                    (false, _) => (mn % 8) * w + mn / 8 * stride + k * b,
                    (true, 16) => (mn % t) * b + mn / t * stride + (k % 8) * 16 + k / 8 * leading,
                    (true, _) => (mn * b) % w + mn * b / w * leading + (k % 8) * w + k / 8 * stride,
                }
            };
            let fits = (!transposed || size == 2)
                && (0..rows).all(|mn| {
                    (0..depth).all(|k| {
                        steps.iter().enumerate().all(|(s, start)| {
                            let at = place(mn, s as u32 * depth + k) - first - start;
                            at == formula(mn.into(), k.into())
                        })
                    })
                });
            let near = |d: i64| d % 16 == 0 && (0..=REACH as i64).contains(&d);
            let pattern = if w == 16 { 16 } else { 8 * w };
            let begins = |at: i64| at % 16 == 0 && at.rem_euclid(pattern) < w;
            let dynamic = (view.dynamic.iter()).all(|(_, step)| (step * b) % pattern == 0);
            if fits
                && near(leading)
                && near(stride)
                && dynamic
                && steps.iter().all(|s| begins(first + s))
            {
                return Some(Matrix {
                    steps,
                    transposed,
                    start: first,
                    leading,
                    stride,
                    width,
                });
            }
        }
        None
    }

    /// Bytes after which the swizzle repeats: the allocation is aligned to them.
    pub fn pattern(&self) -> i64 {
        8 * self.width
    }

    /// The words without a start: what the leading distance says in the lower, stride and swizzle in the upper.
    fn words(&self) -> [i64; 2] {
        let distances = Descriptor {
            start: 0,
            leading: self.leading as u64,
            stride: self.stride as u64,
            width: self.width as u64,
        };
        let bits = distances.bits().expect("distances were checked");
        [bits & u64::from(u32::MAX), bits >> 32].map(|word| word as i64)
    }
}

impl Lower<'_> {
    /// The descriptor of a matrix's first step. With `rows_apart`, each warpgroup of the role has a
    /// matrix of its own, that many bytes after the one before it.
    pub(super) fn descriptor(
        &mut self,
        view: &SharedView,
        matrix: &Matrix,
        rows_apart: Option<(u32, i64)>,
    ) -> Operand {
        let name = format!("descriptors of {}", self.kernel.shared[view.alloc].name);
        let bytes = i64::from(self.kernel.shared[view.alloc].dtype.bytes());
        let at = i64::from(self.shared_offsets[view.alloc]) + matrix.start;
        let [leading, high] = matrix.words();
        self.holding(&name, |l| {
            let key = Once::Descriptor(at, leading);
            let mut low = l.once(key, |l| {
                let base = l.shared_symbol();
                let start = l.add_const(base, at);
                let mut start = l.def(Ty::B32, isa::shr(Ty::U32), [start, Operand::int(UNIT)]);
                if l.kernel.cluster > 1 {
                    // Above it, an address in a cluster has the rank of its block: it would be a distance.
                    start = l.def(
                        Ty::B32,
                        isa::and(Ty::B32),
                        [start, Operand::int(FIELD as i64)],
                    );
                }
                l.def(Ty::B32, isa::or(Ty::B32), [start, Operand::int(leading)])
            });
            if let Some((groups, apart)) = rows_apart.filter(|(groups, _)| *groups > 1) {
                let mine = l.group_in_role(groups);
                low = l.def(
                    Ty::B32,
                    isa::mad(Ty::U32),
                    [mine, Operand::int(apart >> UNIT), low],
                );
            }
            for (v, step) in &view.dynamic {
                let step = (step * bytes) >> UNIT;
                low = match l.scalar(*v) {
                    Operand::Imm(Imm::Int(i)) => l.add_const(low, i * step),
                    o => {
                        let o = if l.dtype(*v).bytes() == 8 {
                            l.def(Ty::B32, isa::cvt(Ty::U32, Ty::U64), [o])
                        } else {
                            o
                        };
                        l.def(Ty::B32, isa::mad(Ty::U32), [o, Operand::int(step), low])
                    }
                };
            }
            let low = l.register(&low, Ty::B32);
            let high = l.once(Once::Word(high as u32), |l| {
                l.def(Ty::B32, isa::mov(Ty::U32), [Operand::int(high)])
            });
            l.def(
                Ty::B64,
                isa::pack(Ty::B64, 2),
                [Operand::vec([low.into(), high])],
            )
        })
    }

    /// The number of the thread's warpgroup in its role: roles begin at multiples of warpgroups, and
    /// their digits are taken modulo their count.
    fn group_in_role(&mut self, groups: u32) -> Operand {
        let mine = self.warpgroup();
        if groups * WARPGROUP >= self.kernel.threads {
            return mine;
        }
        let op = if groups.is_power_of_two() {
            (isa::and(Ty::B32), groups - 1)
        } else {
            (isa::rem(Ty::U32), groups)
        };
        self.def(Ty::B32, op.0, [mine, Operand::int(op.1)])
    }
}
