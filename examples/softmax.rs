//! Softmax of each row: of any width, plain or causal; of a width known at build time; and its logarithm.
//!
//! The row stays in registers between its reading and its writing. Where the width is known at build time
//! (`softmax_rows`, `log_softmax_rows`), accesses are 16 bytes wide and nothing is guarded; the second-level cache is asked to
//! keep what is read (on an H200 1 to 4% faster) and, of rows of up to 4 KiB, what is written. In `softmax` the row's width is a run-time value up to `MAX`; missing columns read as minus infinity. With
//! `causal`, row r keeps columns 0 to r (counted from the bottom right corner if the widths differ). A
//! row in which everything is masked, or is minus infinity, gives zeros, never NaN. NaN or plus infinity
//! in a kept place makes the row NaN; in a masked place it does not leak.
//!
//! `cargo run --release --example softmax -- [FILE]` reads `scores` of a safetensors file and compares
//! with its `softmax_expected`.

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;

/// Each row's exponentials over their sum: zeros where the row is minus infinity throughout.
///
/// Results of 16 bits need no better exponential than the hardware's.
#[tiki::device]
pub fn normalised<E: Element>(v: &Register<f32>) -> Register<f32> {
    let top = v.row_max_propagate_nan();
    let safe = top.map(|m| if m == f32::NEG_INFINITY { 0.0 } else { m });
    let weight = v.rows(&safe, |a, m| {
        if E::BYTES == 2 {
            exp_fast(a - m)
        } else {
            exp(a - m)
        }
    });
    let inverse = weight
        .row_sum()
        .map(|s| if s == 0.0 { 0.0 } else { 1.0 / s });
    weight.rows(&inverse, |w, i| w * i)
}

#[tiki::kernel(threads = T, grid = [x.dim(0)], build(
    (E = f32, MAX = 128, T = 32),
    (E = f16, MAX = 128, T = 32),
    (E = bf16, MAX = 128, T = 32),
    (E = f32, MAX = 1024, T = 128),
    (E = f16, MAX = 1024, T = 128),
    (E = bf16, MAX = 1024, T = 128),
    (E = f32, MAX = 4096, T = 256),
    (E = f16, MAX = 4096, T = 256),
    (E = bf16, MAX = 4096, T = 256),
))]
pub fn softmax<E: Float, const MAX: usize, const T: usize>(
    x: &Global<E>,
    out: &mut Global<E>,
    causal: bool,
) {
    require!(out.shape() == x.shape() && x.dim(1) <= MAX && x.dim(1) > 0);
    let row = block_idx().x;
    let map = ThreadMap::linear(T).vector_up_to(16 / E::BYTES);
    let mut v = x
        .tile([1, MAX], [row, 0])
        .fill(E::NEG_INFINITY)
        .load(map)
        .cast::<f32>();
    if causal {
        // The last row sees every column, whatever the shape.
        let last = row + x.dim(1);
        v = v.mask(|[_, c]| c + x.dim(0) <= last, f32::NEG_INFINITY);
    }
    let y = normalised::<E>(&v);
    out.tile_mut([1, MAX], [row, 0]).store(&y.cast::<E>());
}

#[tiki::kernel(threads = T, grid = [x.dim(0)], build(
    (E = f16, N = 1024, T = 64),
    (E = bf16, N = 1024, T = 64),
    (E = f32, N = 1024, T = 64),
    (E = f16, N = 4096, T = 128),
    (E = bf16, N = 4096, T = 128),
    (E = f32, N = 4096, T = 512),
    (E = f16, N = 8192, T = 256),
    (E = bf16, N = 8192, T = 256),
    (E = f32, N = 8192, T = 512),
    (E = f16, N = 16384, T = 256),
    (E = bf16, N = 16384, T = 256),
    (E = f32, N = 16384, T = 256),
))]
pub fn softmax_rows<E: Float, const N: usize, const T: usize>(x: &Global<E>, out: &mut Global<E>) {
    require!(out.shape() == x.shape() && x.dim(1) == N);
    let row = block_idx().x;
    let map = ThreadMap::linear(T).vector_up_to(16 / E::BYTES);
    let tile = x.tile([1, N], [row, 0]).evict_last();
    let y = normalised::<E>(&tile.load(map).cast::<f32>()).cast::<E>();
    let to = out.tile_mut([1, N], [row, 0]);
    if N * E::BYTES <= 4096 {
        to.evict_last().store(&y);
    } else {
        to.store(&y);
    }
}

#[tiki::kernel(threads = T, grid = [x.dim(0)], build(
    (E = f16, N = 1024, T = 64),
    (E = bf16, N = 1024, T = 64),
    (E = f32, N = 1024, T = 64),
    (E = f16, N = 4096, T = 128),
    (E = bf16, N = 4096, T = 128),
    (E = f32, N = 4096, T = 512),
))]
pub fn log_softmax_rows<E: Float, const N: usize, const T: usize>(
    x: &Global<E>,
    out: &mut Global<E>,
) {
    require!(out.shape() == x.shape() && x.dim(1) == N);
    let row = block_idx().x;
    let map = ThreadMap::linear(T).vector_up_to(16 / E::BYTES);
    let tile = x.tile([1, N], [row, 0]).evict_last();
    let v = tile.load(map).cast::<f32>();
    let top = v.row_max_propagate_nan();
    let sum = v.rows(&top, |a, m| exp(a - m)).row_sum();
    // Never below 1: the greatest itself is in the sum.
    let shift = top.zip(&sum, |m, s| m + log(s));
    let y = v.rows(&shift, |a, s| a - s).cast::<E>();
    let to = out.tile_mut([1, N], [row, 0]);
    if N * E::BYTES <= 4096 {
        to.evict_last().store(&y);
    } else {
        to.store(&y);
    }
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let file = program::tensors()?;
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let x = file.load::<f32, 2>(&device, "scores")?;
    let shape = x.shape();
    let mut out = device.zeros::<f32, 2>(shape)?;
    softmax::<f32, 128, 32>::launch(&stream, &x, &mut out, true)?;
    let expected = file.read_as::<f64>("softmax_expected", &shape)?;
    // The bound is stated for results in f16.
    let half: Vec<f16> = out.to_vec()?.into_iter().map(f16::from_f32).collect();
    let comparison = tiki::report::compare(&half, &expected)?;
    println!("{}: causal softmax of {shape:?}", device.name());
    println!("{comparison}");
    println!("{}", softmax::<f32, 128, 32>::REPORT);
    Ok(comparison.holds(0.999, 2))
}

fn main() -> ExitCode {
    program::end(run())
}
