//! The quick way of summing products against the model itself.
//!
//! Invariant: equal bits, for every type, generation and CPU level, whether operands come from registers or
//! from memory. Witness: random tiles of seven kinds: ordinary numbers, any bits, exponents far apart,
//! subnormal numbers, hardly anything but zeros, the largest numbers, and a few infinities and NaN.

use super::super::dispatch::{Checked, Level};
use super::*;
use crate::vm::meaning::tensor::{Generation, model};

/// A generator of 64-bit numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Bits of sign, exponent and fraction of a type.
fn fields(t: Ty) -> (u32, u32) {
    match t {
        Ty::F16 => (5, 10),
        Ty::BF16 => (8, 7),
        Ty::TF32 | Ty::F32 => (8, 23),
        Ty::E4M3 => (4, 3),
        _ => (5, 2),
    }
}

fn number(r: &mut Random, t: Ty, kind: u64) -> u32 {
    let (exponents, fraction) = fields(t);
    let top = (1u64 << exponents) - 1;
    let middle = top / 2;
    let any = r.next() & ((1 << (exponents + fraction + 1)) - 1);
    let with = |e: u64| (any & !(top << fraction) | e << fraction) as u32;
    match kind {
        0 => with(middle - 3 + any % 6),
        1 => any as u32,
        2 => with(if any.is_multiple_of(3) {
            middle + 5
        } else {
            middle - any % middle.min(28)
        }),
        3 => with(any % 2),
        4 => {
            if r.below(7) == 0 {
                with(middle)
            } else {
                ((any & 1) << (exponents + fraction)) as u32
            }
        }
        5 => with(top - 1 - any % 3),
        _ => match r.below(40) {
            0 => (top << fraction) as u32,
            1 => (top << fraction | 1 << (exponents + fraction)) as u32,
            2 => with(top),
            _ => with(middle + any % 2),
        },
    }
}

struct Case {
    shape: Multiply,
    model: Model,
    registers: bool,
    negate: bool,
}

fn shape(a: Ty, b: Ty, sums: Ty, k: u32, n: u32) -> Multiply {
    Multiply {
        m: 16,
        n,
        k,
        a,
        b,
        sums,
        clamp: false,
    }
}

/// Accumulator `i` of a block, in a lane of its plane.
fn accumulator(
    words: &[Plane],
    planes: &[u32],
    half: bool,
    block: usize,
    i: usize,
    lane: usize,
) -> u32 {
    if half {
        words[planes[2 * block + i / 2] as usize].0[lane] >> (16 * (i % 2)) & 0xffff
    } else {
        words[planes[4 * block + i] as usize].0[lane]
    }
}

fn hold(c: &Case, level: Level, rounds: usize) {
    let x = &c.shape;
    let (n, depth) = (x.n as usize, x.k as usize);
    let half = x.sums == Ty::F16;
    let blocks = n / 8;
    let (ra, rb) = (
        16 * depth / (32 * per_word(x.a)),
        (8 * depth / (32 * per_word(x.b))).max(1),
    );
    let planes: Vec<u32> = (0..(ra + rb + 4 * blocks) as u32).collect();
    let (pa, rest) = planes.split_at(ra);
    let (pb, pc) = rest.split_at(rb);
    let mut r = Random(0x9e37_79b9_7f4a_7c15);
    let mut p = Products::default();
    for round in 0..rounds {
        let kind = round as u64 % 7;
        let mut words = vec![Plane::splat(0); planes.len()];
        let sums = if half { Ty::F16 } else { Ty::F32 };
        for plane in pc {
            for w in &mut words[*plane as usize].0 {
                let k = if r.below(9) == 0 { 1 } else { kind };
                *w = number(&mut r, sums, k);
                if half {
                    *w |= number(&mut r, sums, kind) << 16;
                }
            }
        }
        let mut a: Vec<u32> = (0..16 * depth).map(|_| number(&mut r, x.a, kind)).collect();
        let mut b: Vec<u32> = (0..n * depth).map(|_| number(&mut r, x.b, kind)).collect();
        if c.registers {
            for lane in 0..LANES {
                for (i, plane) in pa.iter().enumerate() {
                    for e in 0..per_word(x.a) {
                        let (row, k) = place_a(x.a, lane, i, e);
                        words[*plane as usize].0[lane] |=
                            a[row * depth + k] << (e as u32 * x.a.bits());
                    }
                }
                for (i, plane) in pb.iter().enumerate() {
                    for e in 0..per_word(x.b) {
                        let (k, col) = place_b(x.b, lane, i, e);
                        words[*plane as usize].0[lane] |=
                            b[col * depth + k] << (e as u32 * x.b.bits());
                    }
                }
            }
        } else {
            p.a_bits.clone_from(&a);
            p.b_bits.clone_from(&b);
        }
        let before = words.clone();
        let job = Job {
            shape: *x,
            model: c.model,
            a: if c.registers {
                From::Planes(pa)
            } else {
                From::Bits
            },
            b: if c.registers {
                From::Planes(pb)
            } else {
                From::Bits
            },
            c: pc,
            d: pc,
            accumulate: round % 5 != 4,
            negate: c.negate,
        };
        Checked::new(level).products(&mut p, &job, &mut words);
        if x.a == Ty::TF32 {
            a.iter_mut().chain(&mut b).for_each(|v| *v &= !0x1fff);
        }
        let nums = |t: Ty, v: &[u32], flip: bool| -> Vec<Num> {
            v.iter()
                .map(|v| {
                    let n = take_apart(t, *v);
                    let sig = if flip { -n.sig } else { n.sig };
                    Num { sig, ..n }
                })
                .collect()
        };
        let (an, bn) = (nums(x.a, &a, c.negate), nums(x.b, &b, false));
        for block in 0..blocks {
            for i in 0..4 {
                for lane in 0..LANES {
                    let (row, col) = place_c(lane, i);
                    let (u, v) = (
                        &an[row * depth..][..depth],
                        &bn[(8 * block + col) * depth..][..depth],
                    );
                    let old = accumulator(&before, pc, half, block, i, lane);
                    let old = if job.accumulate { old } else { 0 };
                    let want = if half {
                        dot_f16(c.model, u, v, old as u16).into()
                    } else {
                        dot_f32(c.model, u, v, old)
                    };
                    let got = accumulator(&words, pc, half, block, i, lane);
                    assert_eq!(
                        got, want,
                        "{x:?} {:?} {level:?} kind {kind} round {round} row {row} column {col} block {block}: \
                         {got:#x}, the model gives {want:#x} from {old:#x}",
                        c.model
                    );
                }
            }
        }
    }
}

const TYPES: [(Ty, Ty, Ty, u32); 9] = [
    (Ty::F16, Ty::F16, Ty::F32, 16),
    (Ty::F16, Ty::F16, Ty::F16, 16),
    (Ty::F16, Ty::F16, Ty::F32, 8),
    (Ty::BF16, Ty::BF16, Ty::F32, 16),
    (Ty::BF16, Ty::BF16, Ty::F32, 8),
    (Ty::TF32, Ty::TF32, Ty::F32, 8),
    (Ty::E4M3, Ty::E4M3, Ty::F32, 32),
    (Ty::E5M2, Ty::E4M3, Ty::F32, 32),
    (Ty::E4M3, Ty::E5M2, Ty::F16, 32),
];

#[test]
fn products_of_registers_follow_the_model() {
    for level in [Level::Base, Level::detect()] {
        for (a, b, sums, k) in TYPES {
            for g in [Generation::Ampere, Generation::Hopper] {
                let case = Case {
                    shape: shape(a, b, sums, k, 8),
                    model: model(g, a, false),
                    registers: true,
                    negate: false,
                };
                hold(&case, level, 350);
            }
        }
    }
}

#[test]
fn products_of_memory_follow_the_model() {
    for level in [Level::Base, Level::detect()] {
        for (a, b, sums, k) in TYPES.into_iter().filter(|t| t.0.bits() * t.3 == 256) {
            for negate in [false, true] {
                let case = Case {
                    shape: shape(a, b, sums, k, 24),
                    model: model(Generation::Hopper, a, true),
                    registers: false,
                    negate,
                };
                hold(&case, level, 140);
            }
        }
    }
}

#[test]
fn products_of_bytes_are_sums() {
    let mut r = Random(7);
    for (a, b, clamp) in [
        (Ty::S8, Ty::S8, false),
        (Ty::U8, Ty::S8, true),
        (Ty::S8, Ty::U8, true),
        (Ty::U8, Ty::U8, false),
    ] {
        let shape = Multiply {
            clamp,
            ..shape(a, b, Ty::S32, 32, 16)
        };
        for _ in 0..200 {
            let mut bytes = || (0..512).map(|_| r.below(256) as u32).collect();
            let mut p = Products {
                a_bits: bytes(),
                b_bits: bytes(),
                ..Products::default()
            };
            let planes: Vec<u32> = (0..8).collect();
            let mut words = vec![Plane::splat(0); 8];
            for plane in &mut words {
                for w in &mut plane.0 {
                    *w = match r.below(3) {
                        0 => i32::MAX as u32 - r.below(1000) as u32,
                        1 => i32::MIN as u32 + r.below(1000) as u32,
                        _ => r.next() as u32,
                    };
                }
            }
            let before = words.clone();
            let job = Job {
                shape,
                model: model(Generation::Hopper, a, true),
                a: From::Bits,
                b: From::Bits,
                c: &planes,
                d: &planes,
                accumulate: true,
                negate: false,
            };
            let level = [Level::Base, Level::detect()][r.below(2) as usize];
            Checked::new(level).products(&mut p, &job, &mut words);
            let int = |t: Ty, v: u32| {
                if t == Ty::S8 {
                    i64::from(v as u8 as i8)
                } else {
                    i64::from(v)
                }
            };
            for (i, plane) in words.iter().enumerate() {
                for lane in 0..LANES {
                    let (row, col) = place_c(lane, i % 4);
                    let (u, v) = (
                        &p.a_bits[row * 32..][..32],
                        &p.b_bits[(i / 4 * 8 + col) * 32..][..32],
                    );
                    let products = u.iter().zip(v).map(|(u, v)| int(a, *u) * int(b, *v));
                    let sum = i64::from(before[i].0[lane] as i32) + products.sum::<i64>();
                    let want = if clamp {
                        sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32
                    } else {
                        sum as u32
                    };
                    assert_eq!(plane.0[lane], want);
                }
            }
        }
    }
}
