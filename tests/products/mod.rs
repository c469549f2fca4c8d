//! Products of the library on any device, each held against f64: what the tests of the machine and of a GPU
//! share.
//!
//! A result may differ from the exact sum by the forward bound of an f32 sum of K exact products (a unit of
//! f32 a step, of the sum of magnitudes), and by half a unit in the last place of its own type. NaN and
//! infinities follow IEEE. Sums of 8-bit floats are kept less exactly by the tensor core itself. Outputs are poisoned before.

#![allow(dead_code)]

pub mod list;

use std::fmt::Debug;
use tiki::gemm::{Activation, Epilogue, Precision, Product, product};
use tiki::prelude::{bf16, e4m3, e5m2, f16};
use tiki::{Device, Tensor};

/// What a product left: its name, the bits, and whether they are right.
pub struct Outcome {
    pub name: String,
    pub bytes: Vec<u8>,
    pub verdict: Result<(), String>,
    /// An approximate unit took part, in an activation: another device may give other bits.
    pub approximate: bool,
    /// Each result, and how far another device's may lie from it.
    results: Vec<(f64, f64)>,
}

/// Error of an activation's device function, relative to its value and at least to 1: the unit's own (a few units in the last
/// place of f32) and the roundings around it.
const SOFT: f64 = 1.0 / 524_288.0;

impl Outcome {
    /// Whether the other device's results are the same: bit for bit, or where an approximate unit took part as far apart as two
    /// results of that unit may be.
    pub fn agrees(&self, other: &Outcome) -> Result<(), String> {
        if self.bytes == other.bytes {
            return Ok(());
        }
        if !self.approximate {
            let apart = self.bytes.iter().zip(&other.bytes);
            let apart = apart.filter(|(a, b)| a != b).count();
            let of = self.bytes.len();
            return Err(format!("{}: {apart} of {of} bytes differ", self.name));
        }
        for (i, ((a, far), (b, _))) in self.results.iter().zip(&other.results).enumerate() {
            let same = a == b || (a.is_nan() && b.is_nan());
            if !same && ((a - b).abs() > *far || a.is_nan() || b.is_nan()) {
                let name = &self.name;
                return Err(format!(
                    "{name}, element {i}: {a} and {b}, at most {far:.2e} apart"
                ));
            }
        }
        Ok(())
    }
}

pub trait Real: tiki::Element + Debug {
    /// Half a unit in the last place, relative, and of the least subnormal.
    const HALF: (f64, f64);
    const MAX: f64;
    fn of(x: f64) -> Self;
    fn wide(self) -> f64;
    fn bytes(self) -> Vec<u8>;
}

macro_rules! real {
    ($($t:ty: $half:expr, $tiny:expr, $max:expr, $of:expr, $wide:expr;)*) => {$(
        impl Real for $t {
            const HALF: (f64, f64) = ($half, $tiny);
            const MAX: f64 = $max;
            fn of(x: f64) -> Self { let of: fn(f64) -> Self = $of; of(x) }
            fn wide(self) -> f64 { let wide: fn(Self) -> f64 = $wide; wide(self) }
            fn bytes(self) -> Vec<u8> { self.to_le_bytes().to_vec() }
        }
    )*};
}
real! {
    f16: 4.882_812_5e-4, 2.980_232_238_769_531_3e-8, 65504.0, f16::from_f64, f16::to_f64;
    bf16: 3.906_25e-3, 1e-40, 3.389_531_389_251_535_5e38, bf16::from_f64, bf16::to_f64;
    f32: 5.960_464_477_539_063e-8, 1e-45, 3.402_823_466_385_288_6e38, |x| x as f32, f64::from;
    i32: 0.0, 0.0, 2_147_483_647.0, |x| x as i32, f64::from;
    i8: 0.0, 0.0, 127.0, |x| x as i8, f64::from;
}
macro_rules! eight {
    ($($t:ty: $half:expr, $tiny:expr, $max:expr;)*) => {$(
        impl Real for $t {
            const HALF: (f64, f64) = ($half, $tiny);
            const MAX: f64 = $max;
            fn of(x: f64) -> Self { <$t>::from_f32(x as f32) }
            fn wide(self) -> f64 { f64::from(self.to_f32()) }
            fn bytes(self) -> Vec<u8> { vec![self.to_bits()] }
        }
    )*};
}
eight! {
    e4m3: 0.0625, 9.765_625e-4, 448.0;
    e5m2: 0.125, 7.629_394_531_25e-6, 57344.0;
}

/// Values of about one, some far from it.
pub fn values<E: Real>(count: usize, seed: u64) -> Vec<E> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let whole = E::HALF.0 == 0.0;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let x = (state >> 11) as f64 / (1_u64 << 53) as f64 * 2.0 - 1.0;
            E::of(match state % 97 {
                _ if whole => (x * 127.0).round(),
                0 => x * 30.0,
                1 => x / 1000.0,
                2 => 0.0,
                _ => x,
            })
        })
        .collect()
}

/// A call: extents, how the operands lie, the epilogue.
#[derive(Debug, Clone, Copy, Default)]
pub struct Call {
    pub extents: (usize, usize, usize),
    /// Contiguous along M (N) instead of K.
    pub across: [bool; 2],
    /// Elements between the rows of every tensor beyond their own.
    pub gap: usize,
    pub alpha: Option<f32>,
    pub beta: f32,
    pub bias: bool,
    pub activation: Activation,
    pub precision: Precision,
    pub special: bool,
    /// What is added last is the result as it was.
    pub own: bool,
}

/// A tensor (rows, columns) of these values, lying as asked.
fn placed<E: Real>(
    device: &Device,
    v: &[E],
    (r, c): (usize, usize),
    across: bool,
    gap: usize,
) -> Tensor<E, 2> {
    let (outer, inner) = if across { (c, r) } else { (r, c) };
    let pitch = inner + gap;
    let mut all = vec![E::of(1.0); outer * pitch];
    for i in 0..r {
        for j in 0..c {
            let (o, n) = if across { (j, i) } else { (i, j) };
            all[o * pitch + n] = v[i * c + j];
        }
    }
    let whole = device.tensor_from(&all, [outer, pitch]).expect("a tensor");
    let part = whole.slice(1, 0..inner).expect("a view");
    if across { part.transpose() } else { part }
}

fn tf32(x: f64) -> f64 {
    f64::from(f32::from_bits((x as f32).to_bits() & 0xffff_e000))
}

fn activate(x: f64, kind: Activation) -> f64 {
    match kind {
        Activation::None => x,
        Activation::Relu if x.is_nan() => x,
        Activation::Relu => x.max(0.0),
        Activation::Gelu => {
            0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)).tanh())
        }
        Activation::Silu => x / (1.0 + (-x).exp()),
    }
}

fn coprime(a: usize, b: usize) -> bool {
    if b == 0 { a == 1 } else { coprime(b, a % b) }
}

/// Runs a product and judges it.
pub fn run<E: Real + Product<O>, O: Real>(device: &Device, call: Call) -> Outcome {
    let (m, n, k) = call.extents;
    let (mut a, mut b) = (values::<E>(m * k, 1), values::<E>(n * k, 2));
    if call.special && m >= 8 && n >= 2 && k >= 3 {
        // A NaN, infinities of both signs (also in one sum), subnormals, and the greatest finite value.
        for (i, x) in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-7, E::MAX]
            .into_iter()
            .enumerate()
        {
            a[i * k] = E::of(x);
        }
        (a[6 * k], a[6 * k + 1]) = (E::of(f64::INFINITY), E::of(f64::INFINITY));
        (b[0], b[1], b[k + 2]) = (E::of(1.0), E::of(-1.0), E::of(6e-8));
    }
    let d = values::<O>(m * n, 3);
    let c = if call.own {
        d.clone()
    } else {
        vec![O::of(-77.0); m * n]
    };
    let bias = values::<O>(n, 4);
    let da = placed(device, &a, (m, k), call.across[0], call.gap);
    let db = placed(device, &b, (n, k), call.across[1], call.gap);
    let mut dc = placed(device, &c, (m, n), false, call.gap);
    let dd = placed(device, &d, (m, n), false, call.gap);
    let dbias = device.tensor_from(&bias, [n]).expect("a bias");
    let epilogue = Epilogue {
        alpha: call.alpha.unwrap_or(1.0),
        beta: call.beta,
        bias: call.bias.then_some(&dbias),
        residual: (call.beta != 0.0 && !call.own).then_some(&dd),
        activation: call.activation,
        precision: call.precision,
    };
    let chosen = product(&device.stream(), &da, &db, &mut dc, &epilogue);
    let chosen = chosen.unwrap_or_else(|e| panic!("{call:?}: {e}"));
    let got = dc.to_vec().expect("a result");
    let name = format!(
        "{} in {} {m} x {n} x {k} {} {:?}",
        chosen.instance,
        chosen.parts,
        E::DTYPE,
        call.across
    );
    judge(name, call, [&a, &b], [&d, &bias], &got)
}

/// Holds what a product left against f64: of these operands, residual (or the result as it was) and bias.
pub fn judge<E: Real, O: Real>(
    name: String,
    call: Call,
    [a, b]: [&[E]; 2],
    [d, bias]: [&[O]; 2],
    got: &[O],
) -> Outcome {
    let (m, n, k) = call.extents;
    let bytes = got.iter().flat_map(|x| x.bytes()).collect();
    let approximate = matches!(call.activation, Activation::Gelu | Activation::Silu);
    let soft = if approximate { SOFT } else { 0.0 };
    // Two devices are each that far from the function's value, and each round to the result's type.
    let results = got.iter().zip(d).map(|(got, d)| {
        let (got, added) = (got.wide(), f64::from(call.beta) * d.wide());
        let rounding = got.abs() * O::HALF.0 * 1.01 + O::HALF.1;
        (got, 2.0 * (soft * ((got - added).abs() + 1.0) + rounding))
    });
    let results = results.collect();
    // Of a large product a sample that comes to every column.
    let step = (((m * n * k) >> 19).max(1)..)
        .find(|&s| coprime(s, n))
        .unwrap_or(1);
    let verdict = (0..m * n).step_by(step).try_for_each(|i| {
        let (row, column) = (
            &a[i / n * k..(i / n + 1) * k],
            &b[i % n * k..(i % n + 1) * k],
        );
        let (mut sum, mut size) = (0.0, 0.0);
        let thrice = E::DTYPE.name() == "f32" && call.precision == Precision::Tf32x3;
        for (x, y) in row.iter().zip(column) {
            let (x, y) = match (E::DTYPE.name(), call.precision) {
                ("f32", Precision::Tf32) => (tf32(x.wide()), tf32(y.wide())),
                _ => (x.wide(), y.wide()),
            };
            // Of an infinity by three products, the rest of the factor is NaN.
            let infinite = thrice && (x.is_infinite() || y.is_infinite());
            sum += if infinite { f64::NAN } else { x * y };
            size += (x * y).abs();
        }
        let alpha = f64::from(call.alpha.unwrap_or(1.0));
        let mut want = sum * alpha;
        let mut slack = (k as f64 + 8.0) * 2f64.powi(-23) * size * alpha.abs();
        if size_of::<E>() == 1 {
            // Of 8-bit floats the tensor core keeps 13 bits behind the greatest term, 32 terms at a time.
            slack += (k as f64 / 32.0 + 2.0) * 2f64.powi(-13) * size;
        }
        if thrice {
            slack += 2f64.powi(-20) * size;
        }
        if call.bias {
            want += bias[i % n].wide();
            slack += 2f64.powi(-22) * (want.abs() + bias[i % n].wide().abs());
        }
        want = activate(want, call.activation);
        slack += soft * (want.abs() + 1.0);
        if call.beta != 0.0 {
            let more = f64::from(call.beta) * d[i].wide();
            want += more;
            slack += 2f64.powi(-22) * (want.abs() + more.abs());
        }
        // An activation's slope is at most 1.13 (GELU), and a rounding of what is slightly larger is slightly larger.
        // Conversions into 8-bit floats give the largest for what is past it.
        let eight = size_of::<O>() == 1;
        let nearest = if eight {
            want.clamp(-O::MAX, O::MAX)
        } else {
            want
        };
        let bound = slack * 1.2 + nearest.abs() * O::HALF.0 * 1.01 + O::HALF.1;
        let got = got[i].wide();
        let right = match want {
            w if w.is_nan() => got.is_nan(),
            w if w.is_infinite() && eight => got == nearest,
            _ if eight => (got - nearest).abs() <= bound,
            w if w.is_infinite() => got == w,
            w if w.abs() + bound >= O::MAX * (1.0 + O::HALF.0) => {
                got == w
                    || (got.is_infinite() && got.signum() == w.signum())
                    || (got - w).abs() <= bound
            }
            w => (got - w).abs() <= bound,
        };
        if right {
            return Ok(());
        }
        Err(format!(
            "{name}, element {i}: {got} for {want}, bound {bound:.2e}"
        ))
    });
    Outcome {
        name,
        bytes,
        verdict,
        approximate,
        results,
    }
}

/// Shapes around the edges of every tile.
pub const SHAPES: [(usize, usize, usize); 20] = [
    (1, 8, 8),
    (8, 8, 8),
    (16, 64, 128),
    (16, 72, 136),
    (3, 200, 264),
    (64, 64, 64),
    (65, 72, 72),
    (128, 128, 64),
    (127, 136, 200),
    (129, 264, 72),
    (130, 72, 200),
    (257, 136, 72),
    (200, 200, 200),
    (256, 256, 64),
    (300, 8, 520),
    (40, 520, 40),
    (128, 256, 128),
    (192, 192, 192),
    (385, 264, 136),
    (17, 24, 1032),
];

/// Every product of the library that this device runs.
pub fn all(device: &Device, hopper: bool) -> Vec<Outcome> {
    let mut out = Vec::new();
    let at = |extents| Call {
        extents,
        ..Call::default()
    };
    for s in SHAPES {
        out.push(run::<f16, f16>(device, at(s)));
        out.push(run::<bf16, bf16>(device, at(s)));
        out.push(run::<f16, f16>(
            device,
            Call {
                special: true,
                ..at(s)
            },
        ));
    }
    for across in [[false, true], [true, false], [true, true]] {
        for s in [(64, 64, 64), (136, 264, 72), (257, 136, 200)] {
            out.push(run::<f16, f16>(device, Call { across, ..at(s) }));
            out.push(run::<bf16, bf16>(
                device,
                Call {
                    across,
                    gap: 8,
                    ..at(s)
                },
            ));
        }
    }
    for (gap, s) in [
        (8, (130, 72, 200)),
        (1, (33, 35, 37)),
        (3, (70, 9, 11)),
        (0, (5, 7, 0)),
        (8, (66, 70, 0)),
    ] {
        out.push(run::<f16, f16>(device, Call { gap, ..at(s) }));
        out.push(run::<bf16, bf16>(device, Call { gap, ..at(s) }));
    }
    for activation in [
        Activation::None,
        Activation::Relu,
        Activation::Gelu,
        Activation::Silu,
    ] {
        for s in [(136, 136, 72), (33, 35, 37)] {
            let call = Call {
                alpha: Some(0.5),
                beta: -2.0,
                bias: true,
                activation,
                ..at(s)
            };
            out.push(run::<f16, f16>(device, call));
            out.push(run::<bf16, bf16>(device, Call { gap: 8, ..call }));
            out.push(run::<f32, f32>(device, call));
        }
    }
    for precision in [Precision::Tf32, Precision::Tf32x3] {
        for s in [
            (128, 256, 64),
            (70, 136, 104),
            (33, 35, 37),
            (1, 4, 4),
            (300, 132, 36),
        ] {
            out.push(run::<f32, f32>(device, Call { precision, ..at(s) }));
        }
    }
    for s in [
        (64, 64, 64),
        (70, 36, 104),
        (33, 35, 37),
        (1, 1, 1),
        (130, 70, 0),
    ] {
        out.push(run::<i8, i32>(device, at(s)));
    }
    // One row of a length that is no multiple of 16 bytes; the result as it was; K in parts; K = 0; nothing.
    for s in [
        (1, 57, 64),
        (1, 64, 57),
        (136, 72, 40),
        (33, 35, 37),
        (16, 24, 2048),
        (70, 35, 1030),
        (9, 8, 0),
        (0, 8, 8),
        (8, 0, 8),
    ] {
        let call = Call {
            bias: true,
            ..at(s)
        };
        let own = Call {
            own: true,
            beta: 0.5,
            alpha: Some(-1.5),
            activation: Activation::Relu,
            ..call
        };
        for call in [at(s), call, own, Call { gap: 5, ..own }] {
            out.push(run::<f16, f16>(device, call));
            out.push(run::<bf16, bf16>(device, call));
            out.push(run::<f32, f32>(device, call));
            let call = Call {
                precision: Precision::Tf32,
                ..call
            };
            out.push(run::<f32, f32>(device, call));
            if hopper {
                out.push(run::<e4m3, f16>(device, call));
                out.push(run::<e4m3, bf16>(device, call));
                out.push(run::<e4m3, f32>(device, call));
                out.push(run::<e5m2, f16>(device, call));
                out.push(run::<e5m2, bf16>(device, call));
                out.push(run::<e5m2, f32>(device, call));
                out.push(run::<e4m3, e4m3>(device, call));
                out.push(run::<e5m2, e5m2>(device, call));
            }
        }
        out.push(run::<i8, i32>(device, at(s)));
    }
    if hopper {
        for s in [(128, 256, 128), (70, 136, 208), (257, 264, 48)] {
            out.push(run::<e4m3, f16>(device, at(s)));
            out.push(run::<e4m3, bf16>(device, at(s)));
            out.push(run::<e5m2, bf16>(device, at(s)));
            out.push(run::<e4m3, e4m3>(device, at(s)));
            out.push(run::<e5m2, e5m2>(device, at(s)));
        }
        let special = Call {
            special: true,
            ..at((128, 256, 128))
        };
        out.push(run::<e4m3, bf16>(device, special));
        out.push(run::<e4m3, e4m3>(device, special));
        out.push(run::<e5m2, e5m2>(device, special));
        out.push(run::<e5m2, f32>(
            device,
            Call {
                bias: true,
                ..special
            },
        ));
    }
    if hopper {
        // Rows in eights, and a last round of tiles that is filled up: on a GPU, and on the machine.
        for s in [(1152, 3844, 36), (384, 4100, 36)] {
            let call = Call {
                precision: Precision::Tf32,
                ..at(s)
            };
            out.push(run::<f32, f32>(device, call));
        }
    }
    for precision in [Precision::Tf32, Precision::Tf32x3] {
        for bias in [false, true] {
            let call = Call {
                special: true,
                precision,
                bias,
                ..at((64, 64, 64))
            };
            out.push(run::<f32, f32>(device, call));
        }
    }
    out.extend(list::all(device));
    out
}
