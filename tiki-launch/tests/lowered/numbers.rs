//! Operators and conversions of every element type.

use super::*;

#[test]
fn sums_of_any_length_are_exact() {
    for t in FLOATS {
        let v = 16 / t.bytes();
        for (edge, n) in [
            (Edge::Straddle, 1),
            (Edge::Straddle, 1027),
            (Edge::Whole, 1024 - 2 * v),
            (Edge::Straddle, 4096),
        ] {
            let name = format!("add {t} {edge:?} {n}");
            let (x, y) = (random(t, n, 3), random(t, n, 5));
            let blocks = n.div_ceil(256 * v);
            let out = vec![0; x.len()];
            let all = run(
                &name,
                by_hand::add(t, 256, edge),
                [blocks, 1, 1],
                vec![
                    tensor(x.clone(), &[n]),
                    tensor(y.clone(), &[n]),
                    tensor(out, &[n]),
                ],
            );
            let want: Vec<u8> = elements(t, &x)
                .iter()
                .zip(elements(t, &y))
                .flat_map(|(a, b)| put(t, a + b, 0))
                .collect();
            assert!(all[2] == want, "{name}");
        }
    }
}

#[test]
fn two_operands_are_rounded_once() {
    for t in [DType::F32, DType::F16, DType::BF16, DType::F64] {
        for f in [
            Binary::Add,
            Binary::Sub,
            Binary::Mul,
            Binary::Div,
            Binary::Min,
            Binary::Max,
            Binary::MinNan,
            Binary::MaxNan,
        ] {
            let n = 4096;
            let mut r = Random(77);
            let x: Vec<u8> = (0..n).flat_map(|_| r.any(t)).collect();
            let y: Vec<u8> = (0..n).flat_map(|_| r.any(t)).collect();
            let all = run(
                &format!("{f:?} {t}"),
                by_hand::binary(f, t),
                [n / 128, 1, 1],
                vec![
                    tensor(x.clone(), &[n]),
                    tensor(y.clone(), &[n]),
                    tensor(vec![0; x.len()], &[n]),
                ],
            );
            for ((a, b), got) in elements(t, &x)
                .into_iter()
                .zip(elements(t, &y))
                .zip(elements(t, &all[2]))
            {
                let exact = match (f, t) {
                    (Binary::Add, DType::F32) => f64::from(a as f32 + b as f32),
                    (Binary::Sub, DType::F32) => f64::from(a as f32 - b as f32),
                    (Binary::Mul, DType::F32) => f64::from(a as f32 * b as f32),
                    (Binary::Div, DType::F32) => f64::from(a as f32 / b as f32),
                    (Binary::Add, _) => a + b,
                    (Binary::Sub, _) => a - b,
                    (Binary::Mul, _) => a * b,
                    (Binary::Div, _) => a / b,
                    (Binary::Min, _) => {
                        if a == b && a == 0.0 {
                            if a.is_sign_negative() { a } else { b }
                        } else {
                            a.min(b)
                        }
                    }
                    (Binary::Max, _) => {
                        if a == b && a == 0.0 {
                            if a.is_sign_negative() { b } else { a }
                        } else {
                            a.max(b)
                        }
                    }
                    _ if a.is_nan() || b.is_nan() => f64::NAN,
                    (Binary::MinNan, _) => {
                        if a < b || (a == b && a.is_sign_negative()) {
                            a
                        } else {
                            b
                        }
                    }
                    _ => {
                        if a > b || (a == b && a.is_sign_positive()) {
                            a
                        } else {
                            b
                        }
                    }
                };
                let want = get(t, &put(t, exact, 0));
                assert!(
                    same(got, want),
                    "{f:?} {t}: {a:?}, {b:?} gives {got:?}, not {want:?}"
                );
            }
        }
    }
}

#[test]
fn integers_wrap_and_divide_as_in_rust() {
    for t in [DType::I32, DType::U32, DType::I64, DType::U64] {
        for f in [
            Binary::Add,
            Binary::Sub,
            Binary::Mul,
            Binary::Div,
            Binary::Rem,
            Binary::Min,
            Binary::Max,
            Binary::And,
            Binary::Or,
            Binary::Xor,
        ] {
            let n = 1024;
            let mut r = Random(9);
            let x: Vec<u8> = (0..n).flat_map(|_| r.any(t)).collect();
            let y: Vec<u8> = (0..n)
                .flat_map(|i| {
                    let i128 = r.next() as i128 >> (i % 60);
                    put(t, 0.0, i128.max(1))
                })
                .collect();
            let all = run(
                &format!("{f:?} {t}"),
                by_hand::binary(f, t),
                [n / 128, 1, 1],
                vec![
                    tensor(x.clone(), &[n]),
                    tensor(y.clone(), &[n]),
                    tensor(vec![0; x.len()], &[n]),
                ],
            );
            let w = t.bytes() as usize;
            for ((a, b), got) in x.chunks(w).zip(y.chunks(w)).zip(all[2].chunks(w)) {
                let (a, b) = (get_int(t, a), get_int(t, b));
                let want = match f {
                    Binary::Add => a + b,
                    Binary::Sub => a - b,
                    Binary::Mul => a.wrapping_mul(b),
                    Binary::Div if b != 0 => a / b,
                    Binary::Rem if b != 0 => a % b,
                    Binary::Min => a.min(b),
                    Binary::Max => a.max(b),
                    Binary::And => a & b,
                    Binary::Or => a | b,
                    Binary::Xor => a ^ b,
                    _ => continue,
                };
                assert_eq!(got, &put(t, 0.0, want)[..], "{f:?} {t}: {a}, {b}");
            }
        }
    }
}

#[test]
fn conversions_follow_rust() {
    let types = [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::F64,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::U64,
        DType::BOOL,
        DType::I8,
        DType::U8,
        DType::I16,
        DType::U16,
    ];
    for from in types {
        for to in types.into_iter().filter(|t| *t != from) {
            let n = 2048;
            let mut r = Random(41);
            let mut x: Vec<u8> = (0..n).flat_map(|_| r.any(from)).collect();
            if from.is_float() {
                // Half of them where integers live.
                for i in 0..n as usize / 2 {
                    let w = from.bytes() as usize;
                    let v = r.unit() * 2_f64.powi((i % 70) as i32);
                    x[i * w..(i + 1) * w].copy_from_slice(&put(from, v, 0));
                }
            }
            let all = run(
                &format!("{from} to {to}"),
                by_hand::convert(from, to),
                [n / 128, 1, 1],
                vec![
                    tensor(x.clone(), &[n]),
                    tensor(vec![0; (n * to.bytes()) as usize], &[n]),
                ],
            );
            let (w, v) = (from.bytes() as usize, to.bytes() as usize);
            for (a, got) in x.chunks(w).zip(all[1].chunks(v)) {
                let want = convert(from, to, a);
                let nan = to.is_float() && get(to, got).is_nan() && get(to, &want).is_nan();
                assert!(
                    nan || got == want,
                    "{from} to {to}: {a:?} ({}) gives {got:?}, not {want:?}",
                    get(from, a)
                );
            }
        }
    }
}

fn convert(from: DType, to: DType, a: &[u8]) -> Vec<u8> {
    if from.is_float() {
        let x = get(from, a);
        return match to {
            DType::BOOL => vec![u8::from(x != 0.0)],
            _ if to.is_float() => put(to, x, 0),
            _ => {
                let bits = 8 * to.bytes();
                let signed = to.row().class == Class::Signed;
                let (lo, hi) = if signed {
                    (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
                } else {
                    (0, (1_i128 << bits) - 1)
                };
                let i = if x.is_nan() {
                    0
                } else {
                    (x as i128).clamp(lo, hi)
                };
                put(to, 0.0, i)
            }
        };
    }
    let i = get_int(from, a);
    match to {
        DType::BOOL => vec![u8::from(i != 0)],
        DType::F32 => (i as f32).to_le_bytes().to_vec(),
        DType::F64 => (i as f64).to_le_bytes().to_vec(),
        DType::F16 | DType::BF16 => {
            // To odd in f64, so that the second rounding sees what the exact value would show.
            let near = i as f64;
            let odd = if near as i128 == i {
                near
            } else {
                let toward = if (near as i128).abs() > i.abs() {
                    f64::from_bits(near.to_bits() - 1)
                } else {
                    near
                };
                f64::from_bits(toward.to_bits() | 1)
            };
            put(to, odd, 0)
        }
        _ => put(to, 0.0, i),
    }
}
