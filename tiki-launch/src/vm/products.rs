//! A warp's products: 16 rows of A, any number of blocks of eight columns of B.
//!
//! A and B are taken apart once, into float values and exponents, and laid out as the accumulators lie in
//! the warp: of each plane of accumulators, lanes `8q .. 8q + 8` are rows `2q` and `2q + 1` and four columns.
//! So A is eight vectors a depth (four for rows 0 to 7, four for 8 to 15), `[row 2q; 4] [row 2q + 1; 4]`, and
//! B half a vector for every depth, block and parity of the column. [`super::strip`] then sums a plane at a time.

use super::matrix::{element, per_word, place_a, place_b, place_c};
use super::strip::{HIGH, Strip};
use crate::vm::meaning::ask::Multiply;
use crate::vm::meaning::tensor::{
    Model, Num, dot_f16, dot_f32, joined_f16, joined_f32, take_apart,
};
use crate::vm::meaning::{LANES, Plane};
use tiki_kernel::isa::Ty;

mod take;
#[cfg(test)]
mod tests;

/// The most terms that a group has.
const TERMS: usize = 32;

/// Operands, taken apart. Kept from one instruction to the next, so that none allocates.
#[derive(Debug, Default)]
pub(super) struct Products {
    /// Elements of A (16 rows) and of B (by column), where they do not come from registers.
    pub(super) a_bits: Vec<u32>,
    pub(super) b_bits: Vec<u32>,
    a_value: Vec<[f32; 8]>,
    a_exp: Vec<[i32; 8]>,
    b_value: Vec<[f32; 4]>,
    b_exp: Vec<[i32; 4]>,
    /// What `b_value` and `b_exp` were made of.
    b_made: Vec<u32>,
    b_form: Option<(Ty, usize)>,
    b_most: u32,
}

/// Where an operand comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum From<'a> {
    /// Registers, in the layout of a warp's multiply.
    Planes(&'a [u32]),
    /// The elements in [`Products`].
    Bits,
}

/// A multiply of a warp.
#[derive(Debug)]
pub(super) struct Job<'a> {
    pub(super) shape: Multiply,
    pub(super) model: Model,
    pub(super) a: From<'a>,
    pub(super) b: From<'a>,
    /// Accumulators in and out: four planes a block of columns, two of f16.
    pub(super) c: &'a [u32],
    pub(super) d: &'a [u32],
    /// The accumulators count; they are zero otherwise.
    pub(super) accumulate: bool,
    /// Products count negative.
    pub(super) negate: bool,
}

impl Products {
    /// Computes it, the sums of a plane by `strip`.
    #[inline(always)]
    pub(super) fn run(
        &mut self,
        job: &Job<'_>,
        words: &mut [Plane],
        strip: impl Fn(&Strip<'_>, &mut [u32; LANES]) -> u32,
    ) {
        let x = &job.shape;
        if x.sums == Ty::S32 {
            return self.integers(job, words);
        }
        let (depth, blocks) = (x.k as usize, x.n as usize / 8);
        let tops = (self.take_a(job, words), self.take_b(job, words, blocks));
        let fits = matches!(tops, (Some(a), Some(b)) if a + b <= HIGH);
        let half = x.sums == Ty::F16;
        let (model, group) = (job.model, job.model.group(depth));
        let per = if half { 2 } else { 4 };
        let mut out = [[0; LANES]; 4];
        for block in 0..blocks {
            let c = &job.c[per * block..per * (block + 1)];
            for i in 0..4 {
                let (plane, shift) = if half { (i / 2, 16 * (i % 2)) } else { (i, 0) };
                out[i] = if job.accumulate {
                    words[c[plane] as usize].0
                } else {
                    [0; LANES]
                };
                if half {
                    for w in &mut out[i] {
                        *w = *w >> shift & 0xffff;
                    }
                }
                let (rows, column) = (i / 2 % 2, 2 * block + i % 2);
                let before = out[i];
                if model.apart {
                    out[i] = [0; LANES];
                }
                for at in (0..depth).step_by(group) {
                    let b = column * depth + at..column * depth + at + group;
                    let left = if fits {
                        let s = Strip {
                            a_value: &self.a_value[8 * at..8 * (at + group)],
                            a_exp: &self.a_exp[8 * at..8 * (at + group)],
                            b_value: &self.b_value[b.clone()],
                            b_exp: &self.b_exp[b],
                            rows,
                            fraction: model.fraction as i32,
                            half,
                        };
                        strip(&s, &mut out[i])
                    } else {
                        u32::MAX
                    };
                    if left != 0 {
                        self.by_model(job, words, (block, i, at), left, &mut out[i]);
                    }
                }
                if model.apart {
                    for (o, c) in out[i].iter_mut().zip(before) {
                        *o = if half {
                            joined_f16(c as u16, *o as u16).into()
                        } else {
                            joined_f32(c, *o)
                        };
                    }
                }
            }
            let d = &job.d[per * block..per * (block + 1)];
            for (k, p) in d.iter().enumerate() {
                let plane = &mut words[*p as usize].0;
                if half {
                    for lane in 0..LANES {
                        plane[lane] = out[2 * k][lane] | out[2 * k + 1][lane] << 16;
                    }
                } else {
                    *plane = out[k];
                }
            }
        }
    }

    /// Lanes that the quick way leaves alone, by the model.
    #[cold]
    fn by_model(
        &self,
        job: &Job<'_>,
        words: &[Plane],
        (block, i, at): (usize, usize, usize),
        lanes: u32,
        out: &mut [u32; LANES],
    ) {
        let x = &job.shape;
        let depth = x.k as usize;
        let n = job.model.group(depth);
        let model = Model {
            terms: n,
            apart: false,
            ..job.model
        };
        for lane in (0..LANES).filter(|l| lanes >> l & 1 == 1) {
            let (row, col) = place_c(lane, i);
            let (mut p, mut q) = ([Num::default(); TERMS], [Num::default(); TERMS]);
            for k in 0..n {
                let term = job.model.term(at + k, depth);
                p[k] = take_apart(x.a, self.bits_of_a(job, words, row, term));
                if job.negate {
                    p[k].sig = -p[k].sig;
                }
                q[k] = take_apart(x.b, self.bits_of_b(job, words, 8 * block + col, term));
                if job.model.apart {
                    (p[k], q[k]) = (p[k].widened(), q[k].widened());
                }
            }
            out[lane] = if x.sums == Ty::F16 {
                dot_f16(model, &p[..n], &q[..n], out[lane] as u16).into()
            } else {
                dot_f32(model, &p[..n], &q[..n], out[lane])
            };
        }
    }

    fn bits_of_a(&self, job: &Job<'_>, words: &[Plane], row: usize, k: usize) -> u32 {
        let x = &job.shape;
        let From::Planes(planes) = job.a else {
            return self.a_bits[row * x.k as usize + k];
        };
        let per = per_word(x.a);
        let (lane, r) = (4 * (row % 8) + k / per % 4, row / 8 + 2 * (k / (4 * per)));
        debug_assert_eq!(place_a(x.a, lane, r, k % per), (row, k));
        element(x.a, words[planes[r] as usize].0[lane], k % per)
    }
    fn bits_of_b(&self, job: &Job<'_>, words: &[Plane], col: usize, k: usize) -> u32 {
        let x = &job.shape;
        let From::Planes(planes) = job.b else {
            return self.b_bits[col * x.k as usize + k];
        };
        let per = per_word(x.b);
        let (lane, r) = (4 * col + k / per % 4, k / (4 * per));
        debug_assert_eq!(place_b(x.b, lane, r, k % per), (k, col));
        element(x.b, words[planes[r] as usize].0[lane], k % per)
    }

    /// Products of bytes: sums wrap, or are clamped at the end.
    #[inline(always)]
    fn integers(&mut self, job: &Job<'_>, words: &mut [Plane]) {
        let x = &job.shape;
        let (depth, blocks) = (x.k as usize, x.n as usize / 8);
        let int = |t: Ty, v: u32| {
            if t == Ty::S8 {
                i32::from(v as u8 as i8)
            } else {
                i32::from(v as u8)
            }
        };
        self.b_form = None;
        self.a_exp.resize(8 * depth, [0; 8]);
        self.b_exp.resize(2 * blocks * depth, [0; 4]);
        for row in 0..16 {
            let (v, half) = (4 * (row / 8) + row % 8 / 2, 4 * (row % 2));
            for k in 0..depth {
                let a = int(x.a, self.bits_of_a(job, words, row, k));
                self.a_exp[8 * k + v][half..half + 4].fill(a);
            }
        }
        for col in 0..8 * blocks {
            let (first, t) = ((2 * (col / 8) + col % 2) * depth, col % 8 / 2);
            for k in 0..depth {
                self.b_exp[first + k][t] = int(x.b, self.bits_of_b(job, words, col, k));
            }
        }
        let mut out = [[0; LANES]; 4];
        for block in 0..blocks {
            for i in 0..4 {
                let (rows, column) = (i / 2, 2 * block + i % 2);
                // At most 32 products below 2^16: no sum of them overflows.
                let mut sum = [[0i32; 8]; 4];
                for k in 0..depth {
                    let b = &self.b_exp[column * depth + k];
                    for v in 0..4 {
                        let a = &self.a_exp[8 * k + 4 * rows + v];
                        for j in 0..8 {
                            sum[v][j] += a[j] * b[j % 4];
                        }
                    }
                }
                let old = words[job.c[4 * block + i] as usize].0;
                for lane in 0..LANES {
                    let c = if job.accumulate { old[lane] as i32 } else { 0 };
                    let s = sum[lane / 8][lane % 8];
                    out[i][lane] = if x.clamp {
                        c.saturating_add(s)
                    } else {
                        c.wrapping_add(s)
                    } as u32;
                }
            }
            for i in 0..4 {
                words[job.d[4 * block + i] as usize].0 = out[i];
            }
        }
    }
}
