//! The compiler's passes behind the checker, on the machine: kernels written by hand as typed programs
//! compute what Rust computes on the host.
//!
//! Exact where every operation is; within the documented bound where the hardware approximates (the
//! machine rounds those correctly, so that what is measured is our part of the error).

#[path = "../../tiki-kernel/tests/by_hand/mod.rs"]
mod by_hand;

use half::{bf16, f16};
use tiki_kernel::ast::Places;
use tiki_kernel::compile::{Instance, Output, emit};
use tiki_kernel::diag::Sink;
use tiki_kernel::dtype::{Class, DType};
use tiki_kernel::ir::{Binary, Edge, Kernel, ReduceOp, Unary, Xor};
use tiki_launch::vm::{Arg, Checks, Options, Vm};

fn build(name: &str, kernel: Kernel) -> Output {
    let mut sink = Sink::new();
    let out = emit(
        kernel,
        &Instance { args: vec![] },
        &Places::default(),
        &mut sink,
        &mut |_, _, _| {},
    );
    let told: Vec<String> = sink
        .take()
        .iter()
        .map(|d| d.text(&Places::default()))
        .collect();
    assert!(told.is_empty(), "{name}: {}", told.join("\n"));
    out.unwrap_or_else(|| panic!("{name}: no output"))
}

/// A tensor argument: bytes and shape.
struct Tensor {
    bytes: Vec<u8>,
    shape: Vec<u32>,
}

enum Given {
    Tensor(Tensor),
    F32(f32),
}

/// Runs a kernel; gives all tensors back.
fn run(name: &str, kernel: Kernel, grid: [u32; 3], args: Vec<Given>) -> Vec<Vec<u8>> {
    let out = build(name, kernel);
    let vm = Vm::new();
    let program = vm
        .load(&out.ptx)
        .unwrap_or_else(|e| panic!("{name}: {e:?}\n{}", out.ptx));
    let mut list = Vec::new();
    let mut at = Vec::new();
    for a in &args {
        match a {
            Given::Tensor(t) => {
                let address = vm.alloc(t.bytes.len() as u64, "tensor").unwrap();
                vm.write(address, &t.bytes).unwrap();
                list.push(Arg::Address(address));
                list.extend(t.shape.iter().map(|n| Arg::U32(*n)));
                at.push((address, t.bytes.len()));
            }
            Given::F32(f) => list.push(Arg::F32(*f)),
        }
    }
    let options = Options {
        checks: Checks::All,
        threads: 1,
        ..Options::default()
    };
    let report = vm
        .launch(
            &program,
            &out.entry,
            grid,
            out.threads,
            out.dynamic_shared,
            &list,
            &options,
        )
        .unwrap_or_else(|f| panic!("{name}: {f:?}\n{}", out.ptx));
    assert!(report.findings.is_empty(), "{name}: {:?}", report.findings);
    at.into_iter()
        .map(|(address, n)| {
            let mut bytes = vec![0; n];
            vm.read(address, &mut bytes).unwrap();
            bytes
        })
        .collect()
}

/// Bytes of a value given as f64 (floats, rounded once) or i128 (integers).
fn put(t: DType, x: f64, i: i128) -> Vec<u8> {
    match t {
        DType::F32 => (x as f32).to_le_bytes().to_vec(),
        DType::F64 => x.to_le_bytes().to_vec(),
        DType::F16 => f16::from_f64(x).to_le_bytes().to_vec(),
        DType::BF16 => bf16::from_f64(x).to_le_bytes().to_vec(),
        DType::BOOL => vec![u8::from(i != 0)],
        _ => i.to_le_bytes()[..t.bytes() as usize].to_vec(),
    }
}

fn get(t: DType, b: &[u8]) -> f64 {
    match t {
        DType::F32 => f32::from_le_bytes(b.try_into().unwrap()).into(),
        DType::F64 => f64::from_le_bytes(b.try_into().unwrap()),
        DType::F16 => f16::from_le_bytes(b.try_into().unwrap()).to_f64(),
        DType::BF16 => bf16::from_le_bytes(b.try_into().unwrap()).to_f64(),
        _ => get_int(t, b) as f64,
    }
}

fn get_int(t: DType, b: &[u8]) -> i128 {
    let mut word = [0; 16];
    word[..b.len()].copy_from_slice(b);
    if t.row().class == Class::Signed && b[b.len() - 1] & 0x80 != 0 {
        word[b.len()..].fill(0xff);
    }
    i128::from_le_bytes(word)
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    /// In [-1, 1].
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
    /// Any finite exponent that the type has, and the special values.
    fn any(&mut self, t: DType) -> Vec<u8> {
        let bits = self.next();
        match t {
            DType::BOOL => vec![bits as u8 & 1],
            _ => bits.to_le_bytes()[..t.bytes() as usize].to_vec(),
        }
    }
}

fn tensor(bytes: Vec<u8>, shape: &[u32]) -> Given {
    Given::Tensor(Tensor {
        bytes,
        shape: shape.to_vec(),
    })
}

fn random(t: DType, n: u32, seed: u64) -> Vec<u8> {
    let mut r = Random(seed);
    (0..n)
        .flat_map(|_| {
            let x = r.unit();
            put(t, 4.0 * x, (1000.0 * x) as i128)
        })
        .collect()
}

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

fn elements(t: DType, bytes: &[u8]) -> Vec<f64> {
    bytes
        .chunks(t.bytes() as usize)
        .map(|b| get(t, b))
        .collect()
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

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

/// Distance in units in the last place of f32 from the exact value.
fn ulps(got: f64, exact: f64) -> f64 {
    if got == exact
        || (got.is_nan() && exact.is_nan())
        || (exact.abs() > f64::from(f32::MAX) && got == exact.signum() * f64::INFINITY)
    {
        return 0.0;
    }
    let exponent = exact.abs().log2().floor().max(-126.0);
    ((got - exact) / 2_f64.powf(exponent - 23.0)).abs()
}

#[test]
fn functions_are_within_their_bounds() {
    type Row = (Unary, fn(f64) -> f64, f64, f64, f64);
    // Function, reference, range, bound in ulp.
    let rows: [Row; 12] = [
        (Unary::Exp, f64::exp, -104.0, 89.0, 2.0),
        (Unary::Exp2, f64::exp2, -150.0, 128.0, 2.0),
        (Unary::Sqrt, f64::sqrt, 0.0, 1e30, 0.5),
        (Unary::Rsqrt, |x| 1.0 / x.sqrt(), 1e-20, 1e20, 1.0),
        (Unary::Recip, |x| 1.0 / x, 1e-20, 1e20, 1.0),
        (Unary::Tanh, f64::tanh, -12.0, 12.0, 4.0),
        (Unary::Floor, f64::floor, -1e5, 1e5, 0.0),
        (Unary::Ceil, f64::ceil, -1e5, 1e5, 0.0),
        (Unary::Round, f64::round_ties_even, -1e5, 1e5, 0.0),
        (Unary::Trunc, f64::trunc, -1e5, 1e5, 0.0),
        (Unary::Abs, f64::abs, -1e5, 1e5, 0.0),
        (Unary::Neg, |x| -x, -1e5, 1e5, 0.0),
    ];
    let n = 16384_u32;
    for (f, reference, lo, hi, bound) in rows {
        let mut x: Vec<f32> = (0..n - 8)
            .map(|i| (lo + (hi - lo) * f64::from(i) / f64::from(n - 9)) as f32)
            .collect();
        x.extend([0.0, -0.0, f32::NAN, 1e-3, 1e-8, 0.5, 1.0, 2.0]);
        if lo < 0.0 {
            x[0] = f32::INFINITY;
            x[1] = f32::NEG_INFINITY;
        }
        let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
        let all = run(
            &format!("{f:?}"),
            by_hand::unary(f, DType::F32),
            [n / 128, 1, 1],
            vec![
                tensor(bytes.clone(), &[n]),
                tensor(vec![0; bytes.len()], &[n]),
            ],
        );
        let mut worst = (0.0, 0.0);
        for (x, got) in x.iter().zip(elements(DType::F32, &all[1])) {
            let u = ulps(got, reference((*x).into()));
            if u > worst.0 || u.is_nan() {
                worst = (u, *x);
            }
        }
        println!("{f:?}: {:.2} ulp at {:?}", worst.0, worst.1);
        assert!(worst.0 <= bound, "{f:?}: {} ulp at {:?}", worst.0, worst.1);
    }
    for (f, reference, bound) in [
        (Unary::Sin, f64::sin as fn(f64) -> f64, 2_f64.powi(-20)),
        (Unary::Cos, f64::cos, 2_f64.powi(-20)),
    ] {
        let x: Vec<f32> = (0..n)
            .map(|i| (f64::from(i) * 4.1 - 33000.0) as f32)
            .collect();
        let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
        let all = run(
            &format!("{f:?}"),
            by_hand::unary(f, DType::F32),
            [n / 128, 1, 1],
            vec![
                tensor(bytes.clone(), &[n]),
                tensor(vec![0; bytes.len()], &[n]),
            ],
        );
        let worst = x
            .iter()
            .zip(elements(DType::F32, &all[1]))
            .map(|(x, got)| (got - reference(f64::from(*x))).abs())
            .fold(0.0, f64::max);
        println!("{f:?}: 2^{:.1}", worst.log2());
        assert!(worst <= bound, "{f:?}: {worst}");
    }
}

#[test]
fn sixteen_bit_functions_round_the_f32_result() {
    for t in [DType::F16, DType::BF16] {
        for (f, reference) in [
            (Unary::Sqrt, f64::sqrt as fn(f64) -> f64),
            (Unary::Neg, |x| -x),
            (Unary::Abs, f64::abs),
            (Unary::Floor, f64::floor),
            (Unary::Round, f64::round_ties_even),
        ] {
            let n = 65536;
            let x: Vec<u8> = (0..n).flat_map(|i| (i as u16).to_le_bytes()).collect();
            let all = run(
                &format!("{f:?} {t}"),
                by_hand::unary(f, t),
                [n / 128, 1, 1],
                vec![tensor(x.clone(), &[n]), tensor(vec![0; x.len()], &[n])],
            );
            for (x, got) in elements(t, &x).into_iter().zip(elements(t, &all[1])) {
                let want = get(t, &put(t, reference(x), 0));
                assert!(
                    same(got, want),
                    "{f:?} {t}: {x:?} gives {got:?}, not {want:?}"
                );
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

#[test]
fn rows_are_normalised() {
    for t in FLOATS {
        for (width, threads) in [
            (1, 32),
            (31, 32),
            (129, 64),
            (576, 96),
            (1024, 128),
            (4096, 256),
        ] {
            let name = format!("rms_norm {t} {width}");
            let rows = 3;
            let (x, w) = (random(t, rows * width, 11), random(t, width, 13));
            let eps = 1e-6_f32;
            let all = run(
                &name,
                by_hand::rms_norm(t, width, threads),
                [rows, 1, 1],
                vec![
                    tensor(x.clone(), &[rows, width]),
                    tensor(w.clone(), &[width]),
                    tensor(vec![0; x.len()], &[rows, width]),
                    Given::F32(eps),
                ],
            );
            let (x, w, got) = (elements(t, &x), elements(t, &w), elements(t, &all[2]));
            for row in 0..rows as usize {
                let r = &x[row * width as usize..(row + 1) * width as usize];
                let mean = r.iter().map(|x| x * x).sum::<f64>() / f64::from(width);
                let inv = 1.0 / (mean + f64::from(eps)).sqrt();
                for (i, x) in r.iter().enumerate() {
                    let want = x * inv * w[i];
                    let error = (got[row * width as usize + i] - want).abs();
                    let unit = 2_f64.powi(-(t.row().significand as i32)) * want.abs() + 1e-30;
                    assert!(
                        error <= unit * if t == DType::F32 { 4.0 } else { 1.0 },
                        "{name}: {i}: {error}"
                    );
                }
            }
        }
    }
}

#[test]
fn rows_become_probabilities() {
    for t in FLOATS {
        for (width, threads) in [
            (1, 32),
            (31, 32),
            (129, 64),
            (576, 96),
            (1024, 128),
            (4096, 256),
        ] {
            for known in [true, false] {
                let name = format!("softmax {t} {width} {known}");
                // A partial row is narrower than its tile, by whole vectors.
                let vector = if width % (16 / t.bytes()) == 0 {
                    16 / t.bytes()
                } else {
                    1
                };
                let n = if known || width <= vector {
                    width
                } else {
                    width - vector
                };
                let mut x = random(t, 4 * n, 17);
                let low = put(t, f64::NEG_INFINITY, 0);
                let row = (n * t.bytes()) as usize;
                for e in x[row..2 * row].chunks_mut(t.bytes() as usize) {
                    e.copy_from_slice(&low);
                }
                x[2 * row..2 * row + t.bytes() as usize].copy_from_slice(&put(t, f64::NAN, 0));
                let all = run(
                    &name,
                    by_hand::softmax(t, width, threads, known),
                    [4, 1, 1],
                    vec![
                        tensor(x.clone(), &[4, n]),
                        tensor(vec![0xff; x.len()], &[4, n]),
                    ],
                );
                let (x, got) = (elements(t, &x), elements(t, &all[1]));
                let n = n as usize;
                assert!(
                    got[n..2 * n].iter().all(|p| *p == 0.0),
                    "{name}: a masked row"
                );
                assert!(
                    got[2 * n..3 * n].iter().all(|p| p.is_nan()),
                    "{name}: a row with NaN"
                );
                for r in [0, 3] {
                    let row = &x[r * n..(r + 1) * n];
                    let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let sum: f64 = row.iter().map(|x| (x - top).exp()).sum();
                    for (i, x) in row.iter().enumerate() {
                        let want = (x - top).exp() / sum;
                        let error = (got[r * n + i] - want).abs();
                        let unit = 2_f64.powi(-(t.row().significand as i32)) * want + 6e-8;
                        assert!(
                            error <= unit * if t == DType::F32 { 8.0 } else { 1.0 },
                            "{name}: {i}: {error}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn places_of_extremes_are_exact() {
    for t in [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::F64,
        DType::I32,
        DType::U32,
        DType::I64,
    ] {
        for op in [ReduceOp::ArgMax, ReduceOp::ArgMin] {
            for (rows, per, width, n) in [
                (4, 32, 100, 100),
                (1, 128, 1000, 990),
                (4, 24, 100, 77),
                (8, 8, 64, 64),
                (4, 32, 100, 1),
            ] {
                let name = format!("{op:?} {t} {rows} x {per}");
                let count = 3 * rows - 1;
                let mut r = Random(23);
                let mut x: Vec<u8> = (0..count * n)
                    .flat_map(|_| {
                        let k = r.next() % 50;
                        put(t, k as f64 - 25.0, k.into())
                    })
                    .collect();
                let w = t.bytes() as usize;
                if t.is_float() {
                    // A NaN, signed zeros, infinities.
                    for (i, v) in [f64::NAN, -0.0, 0.0, f64::NEG_INFINITY, f64::INFINITY]
                        .iter()
                        .enumerate()
                    {
                        let at = (i as u32 * 37 % (count * n)) as usize;
                        x[at * w..(at + 1) * w].copy_from_slice(&put(t, *v, 0));
                    }
                }
                let all = run(
                    &name,
                    by_hand::arg(t, op, rows, per, width),
                    [count.div_ceil(rows), 1, 1],
                    vec![
                        tensor(x.clone(), &[count, n]),
                        tensor(vec![0; 4 * count as usize], &[count]),
                    ],
                );
                let x = elements(t, &x);
                for (row, got) in all[1].chunks(4).enumerate() {
                    let r = &x[row * n as usize..(row + 1) * n as usize];
                    let nan = r.iter().position(|x| x.is_nan());
                    let best = |a: f64, b: f64| if op == ReduceOp::ArgMax { b > a } else { b < a };
                    let want = nan.unwrap_or_else(|| {
                        (1..r.len()).fold(0, |k, i| if best(r[k], r[i]) { i } else { k })
                    });
                    assert_eq!(
                        u32::from_le_bytes(got.try_into().unwrap()),
                        want as u32,
                        "{name}: row {row}"
                    );
                }
            }
        }
    }
}

#[test]
fn columns_are_summed() {
    for t in [DType::I32, DType::U32, DType::I64, DType::F32, DType::F64] {
        let (rows, cols) = (61, 72);
        let mut r = Random(31);
        let x: Vec<u8> = (0..rows * cols)
            .flat_map(|_| {
                let k = r.next() % 100;
                put(t, k as f64, k.into())
            })
            .collect();
        let all = run(
            &format!("column sum {t}"),
            by_hand::column_sum(t),
            [3, 1, 1],
            vec![
                tensor(x.clone(), &[rows, cols]),
                tensor(vec![0; (cols * t.bytes()) as usize], &[cols]),
            ],
        );
        let x = elements(t, &x);
        for (c, got) in elements(t, &all[1]).into_iter().enumerate() {
            let want: f64 = (0..rows as usize).map(|r| x[r * cols as usize + c]).sum();
            assert_eq!(got, want, "{t} column {c}");
        }
    }
}

#[test]
fn tiles_are_transposed() {
    for t in [DType::F32, DType::F16] {
        for x in [
            None,
            Some(Xor {
                bits: 5,
                base: 0,
                shift: 5,
            }),
            Some(Xor {
                bits: 3,
                base: 2,
                shift: 3,
            }),
        ] {
            let (rows, cols) = (50_u32, 97_u32);
            let data = random(t, rows * cols, 19);
            let all = run(
                "transpose",
                by_hand::transpose(t, x, true),
                [cols.div_ceil(32), rows.div_ceil(32), 1],
                vec![
                    tensor(data.clone(), &[rows, cols]),
                    tensor(vec![0; data.len()], &[cols, rows]),
                ],
            );
            let (x, y) = (elements(t, &data), elements(t, &all[1]));
            for r in 0..rows as usize {
                for c in 0..cols as usize {
                    assert_eq!(y[c * rows as usize + r], x[r * cols as usize + c]);
                }
            }
        }
    }
}

#[test]
fn loops_branches_and_atomics_work_together() {
    let n = 1000;
    let x: Vec<i32> = (0..n).map(|i| i * 7 - 3000).collect();
    let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
    let all = run(
        "scalars",
        by_hand::scalars(),
        [1, 1, 1],
        vec![
            tensor(bytes, &[n as u32]),
            tensor(vec![0; 4], &[1]),
            tensor(vec![0; 4], &[1]),
        ],
    );
    let odd: Vec<i32> = x.into_iter().filter(|x| x & 1 == 1).collect();
    assert_eq!(
        i32::from_le_bytes(all[1][..].try_into().unwrap()),
        odd.iter().sum::<i32>()
    );
    assert_eq!(
        u32::from_le_bytes(all[2][..].try_into().unwrap()),
        odd.len() as u32
    );
}
