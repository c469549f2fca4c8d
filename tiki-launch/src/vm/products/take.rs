//! Operands taken apart: float values and exponents, laid out as [`super`] says.

use super::super::matrix::per_word;
use super::super::strip::NOTHING;
use super::{From, Job, Products};
use crate::vm::meaning::{LANES, Plane};
use tiki_kernel::isa::Ty;

/// How a type's bits become a float and an exponent.
struct Form {
    bits: u32,
    /// Bits of the element once it stands at the top of a word.
    keep: u32,
    /// To where an f32's exponent begins.
    down: u32,
    /// What the exponent's bias is short of, as a power of two.
    adjust: f32,
    bias: i32,
    /// From here on, magnitudes are infinite or NaN.
    limit: u32,
    /// Exponents are those that an f16 has.
    widened: bool,
}

fn form(t: Ty, widened: bool) -> Form {
    let power = |e: u32| f32::from_bits((127 + e) << 23);
    let (bits, keep, down, adjust, bias, limit) = match t {
        Ty::F16 => (16, 0xffff_0000, 3, power(112), 15, 31 << 23),
        Ty::BF16 => (16, 0xffff_0000, 0, 1.0, 127, 255 << 23),
        Ty::TF32 => (32, 0xffff_e000, 0, 1.0, 127, 255 << 23),
        Ty::E4M3 => (8, 0xff00_0000, 4, power(120), 7, 0x7f << 20),
        _ => (8, 0xff00_0000, 3, power(112), 15, 31 << 23),
    };
    Form {
        bits,
        keep,
        down,
        adjust,
        bias,
        limit,
        widened,
    }
}

impl Form {
    /// Value and exponent of the element at a bit of a word; raises `most` to its magnitude.
    #[inline(always)]
    fn take(&self, word: u32, at: u32, flip: u32, most: &mut u32) -> (f32, i32) {
        let y = word << (32 - self.bits - at) & self.keep;
        let w = (y & 0x7fff_ffff) >> self.down;
        *most = (*most).max(w);
        let value = (f32::from_bits(w) * self.adjust).to_bits() | ((y ^ flip) & 0x8000_0000);
        let exp = if self.widened {
            ((value >> 23 & 255) as i32 - 127).max(-14)
        } else {
            ((w >> 23) as i32).max(1) - self.bias
        };
        (f32::from_bits(value), if w == 0 { NOTHING } else { exp })
    }
    /// The largest exponent, if all is finite.
    fn top(&self, most: u32) -> Option<i32> {
        (most < self.limit).then(|| ((most >> 23) as i32).max(1) - self.bias)
    }
}

impl Products {
    /// Takes A apart; its largest exponent if all is finite.
    #[inline(always)]
    pub(super) fn take_a(&mut self, job: &Job<'_>, words: &[Plane]) -> Option<i32> {
        let (t, depth) = (job.shape.a, job.shape.k as usize);
        let (f, per) = (form(t, job.model.apart), per_word(t));
        let flip = if job.negate { 0x8000_0000 } else { 0 };
        let mut most = 0;
        self.a_value.resize(8 * depth, [0.0; 8]);
        self.a_exp.resize(8 * depth, [0; 8]);
        match job.a {
            From::Planes(planes) => {
                for (r, p) in planes.iter().enumerate() {
                    let plane = &words[*p as usize].0;
                    for e in 0..per {
                        let (mut value, mut exp) = ([0.0; LANES], [0; LANES]);
                        for i in 0..LANES {
                            (value[i], exp[i]) =
                                f.take(plane[i], f.bits * e as u32, flip, &mut most);
                        }
                        for t in 0..4 {
                            let k = job.model.place(per * t + e + 4 * per * (r / 2), depth);
                            for q in 0..4 {
                                let (at, low, high) =
                                    (8 * k + 4 * (r % 2) + q, 8 * q + t, 8 * q + 4 + t);
                                self.a_value[at] = pair(value[low], value[high]);
                                self.a_exp[at] = pair(exp[low], exp[high]);
                            }
                        }
                    }
                }
            }
            From::Bits => {
                for row in 0..16 {
                    let (v, half) = (4 * (row / 8) + row % 8 / 2, 4 * (row % 2));
                    for k in 0..depth {
                        let bits = self.a_bits[row * depth + k];
                        let (value, exp) = f.take(bits, 0, flip, &mut most);
                        self.a_value[8 * k + v][half..half + 4].fill(value);
                        self.a_exp[8 * k + v][half..half + 4].fill(exp);
                    }
                }
            }
        }
        f.top(most)
    }

    /// The same of B.
    #[inline(always)]
    pub(super) fn take_b(&mut self, job: &Job<'_>, words: &[Plane], blocks: usize) -> Option<i32> {
        let (t, depth) = (job.shape.b, job.shape.k as usize);
        let (f, per) = (form(t, job.model.apart), per_word(t));
        let mut most = 0;
        match job.b {
            From::Planes(planes) => {
                self.b_value.resize(2 * depth, [0.0; 4]);
                self.b_exp.resize(2 * depth, [0; 4]);
                self.b_form = None;
                for (r, p) in planes.iter().enumerate() {
                    let plane = &words[*p as usize].0;
                    for e in 0..per {
                        let (mut value, mut exp) = ([0.0; LANES], [0; LANES]);
                        for i in 0..LANES {
                            (value[i], exp[i]) = f.take(plane[i], f.bits * e as u32, 0, &mut most);
                        }
                        for t in 0..4 {
                            let k = job.model.place(per * t + e + 4 * per * r, depth);
                            for odd in 0..2 {
                                let at = |c: usize| 4 * (2 * c + odd) + t;
                                self.b_value[odd * depth + k] =
                                    [value[at(0)], value[at(1)], value[at(2)], value[at(3)]];
                                self.b_exp[odd * depth + k] =
                                    [exp[at(0)], exp[at(1)], exp[at(2)], exp[at(3)]];
                            }
                        }
                    }
                }
            }
            From::Bits => {
                // The four warps of a group multiply by the same B.
                if self.b_form == Some((t, depth)) && self.b_made == self.b_bits {
                    return f.top(self.b_most);
                }
                self.b_value.resize(2 * blocks * depth, [0.0; 4]);
                self.b_exp.resize(2 * blocks * depth, [0; 4]);
                for (col, column) in self.b_bits.chunks_exact(depth).enumerate() {
                    let (first, t) = ((2 * (col / 8) + col % 2) * depth, col % 8 / 2);
                    for (k, bits) in column.iter().enumerate() {
                        let (value, exp) = f.take(*bits, 0, 0, &mut most);
                        self.b_value[first + k][t] = value;
                        self.b_exp[first + k][t] = exp;
                    }
                }
                self.b_form = Some((t, depth));
                self.b_most = most;
                self.b_made.clone_from(&self.b_bits);
            }
        }
        f.top(most)
    }
}

/// Four of one and four of another.
#[inline(always)]
fn pair<T: Copy>(a: T, b: T) -> [T; 8] {
    [a, a, a, a, b, b, b, b]
}
