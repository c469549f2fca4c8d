//! Tensors of more than 2^31 elements, and views with strides into them, on an NVIDIA GPU.
//!
//! Invariant: an element's place is right wherever it lies: results are those of the formula, bit for bit where nothing
//! is computed. Witness: elements on both sides of offset 2^31, the first and the last, and every 9973rd.
//! Needs about 9 GiB of the card's memory.
#![cfg(feature = "gpu")]
#![allow(dead_code, reason = "examples bring their programs along")]

#[path = "../examples/permute.rs"]
mod permute;
#[path = "../examples/rms_norm.rs"]
mod rms_norm;

use tiki::Device;
use tiki::prelude::*;

/// Elements repeat with a prime period, so that a place that is off by a power of two shows.
const PERIOD: usize = 65_521;

fn value(i: usize) -> f16 {
    f16::from_f32(((i % PERIOD) as f32 - 32_760.0) / 1024.0)
}

fn filled(len: usize) -> Vec<f16> {
    let period: Vec<f16> = (0..PERIOD).map(value).collect();
    let mut all = Vec::with_capacity(len);
    while all.len() < len {
        all.extend_from_slice(&period[..PERIOD.min(len - all.len())]);
    }
    all
}

/// Places worth a look in a tensor of `len` elements.
fn places(len: usize) -> impl Iterator<Item = usize> {
    let edge = 1 << 31;
    (0..len)
        .step_by(9973)
        .chain(edge - 300..edge + 300)
        .chain(len - 300..len)
}

#[test]
fn a_permutation_beyond_2_to_the_31() {
    let gpu = Device::cuda(0).expect("an NVIDIA GPU");
    let [a, b, c, d] = [2, 33, 8192, 4096];
    let len = a * b * c * d;
    assert!(len > 1 << 31);
    let x = gpu.tensor_from(&filled(len), [a, b, c, d]).expect("memory");
    let turned = x.swap_axes(0, 1).expect("two axes");
    let mut out = gpu.zeros::<f16, 4>([b, a, c, d]).expect("memory");
    permute::permute::<f16>::launch(&gpu.stream(), &turned, &mut out).expect("it runs");
    let result = out.to_vec().expect("it is read");
    for n in places(len) {
        let (i, j, within) = (n / (a * c * d), n / (c * d) % a, n % (c * d));
        let from = (j * b + i) * c * d + within;
        assert_eq!(result[n].to_bits(), value(from).to_bits(), "element {n}");
    }
}

#[test]
fn a_norm_beyond_2_to_the_31() {
    const N: usize = 4096;
    const EPS: f32 = 1e-5;
    let gpu = Device::cuda(0).expect("an NVIDIA GPU");
    let rows = (1 << 31) / N + 100;
    let x = gpu
        .tensor_from(&filled(rows * N), [rows, N])
        .expect("memory");
    let weight = gpu.tensor_from(&filled(N), [N]).expect("memory");
    let mut out = gpu.zeros::<f16, 2>([rows, N]).expect("memory");
    rms_norm::rms_norm::<f16, N, 256>::launch(&gpu.stream(), &x, &weight, &mut out, EPS)
        .expect("it runs");
    let result = out.to_vec().expect("it is read");
    let edge = (1 << 31) / N;
    let looked_at = (0..rows)
        .step_by(9973)
        .chain(edge - 2..edge + 2)
        .chain(rows - 2..rows);
    for row in looked_at {
        let row_of = |i: usize| f64::from(value(row * N + i));
        let squares: f64 = (0..N).map(|i| row_of(i) * row_of(i)).sum();
        let inverse = (squares / N as f64 + f64::from(EPS)).sqrt().recip();
        let wanted: Vec<f64> = (0..N)
            .map(|i| row_of(i) * inverse * f64::from(value(i)))
            .collect();
        let got = &result[row * N..][..N];
        let distance = tiki::report::compare(got, &wanted).expect("as long");
        assert!(distance.holds(0.999, 2), "row {row}: {distance}");
    }
}
