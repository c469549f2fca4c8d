//! LayerNorm: `out = (x - mean) / sqrt(variance + eps) * weight + bias`, row by row; alone, and of the sum of
//! two tensors, which is written too (the residual stream of a transformer).
//!
//! One block a row, which stays in registers: mean and variance are taken in two passes over what is held, so that
//! nothing cancels. Weight and bias are read after the reductions: in the meantime their registers are free for the loads of
//! other blocks.
//!
//! `cargo run --release --example layer_norm -- [ROWS]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;
use tiki::rows::walk::over;

/// Rows with mean 0 and variance 1.
#[tiki::device]
pub fn standardised<const N: usize>(v: &Register<f32>, eps: f32) -> Register<f32> {
    let mean = v.row_sum().map(over::<N>);
    let centred = v.rows(&mean, |a, m| a - m);
    let inverse = (&centred * &centred)
        .row_sum()
        .map(|s| rsqrt(over::<N>(s) + eps));
    centred.rows(&inverse, |a, r| a * r)
}

#[tiki::kernel(threads = T, grid = [x.dim(0)], build(
    (E = f16, N = 576, T = 96),
    (E = bf16, N = 576, T = 96),
    (E = f32, N = 576, T = 96),
    (E = f16, N = 4096, T = 128),
    (E = bf16, N = 4096, T = 128),
    (E = f32, N = 4096, T = 512),
))]
pub fn layer_norm<E: Element, const N: usize, const T: usize>(
    x: &Global<E>,
    weight: &Global<E, 1>,
    bias: &Global<E, 1>,
    out: &mut Global<E>,
    eps: f32,
) {
    require!(x.dim(1) == N && weight.dim(0) == N && bias.dim(0) == N);
    require!(out.shape() == x.shape());
    let row = block_idx().x;
    let map = ThreadMap::linear(T).vector_up_to(16 / E::BYTES);
    let tile = x.tile([1, N], [row, 0]);
    let v = tile.evict_last().load(map).cast::<f32>();
    let mean = v.row_sum().map(over::<N>);
    let centred = v.rows(&mean, |a, m| a - m);
    let inverse = (&centred * &centred)
        .row_sum()
        .map(|s| rsqrt(over::<N>(s) + eps));
    let w = weight.tile([N], [0]).evict_last().load(map).cast::<f32>();
    let b = bias.tile([N], [0]).evict_last().load(map).cast::<f32>();
    // Rows of f32 come a second time, out of the caches, which may let go of them then.
    let last = if E::BYTES == 4 {
        let again = tile.evict_first().load(map).cast::<f32>();
        again.rows(&mean, |a, m| a - m)
    } else {
        centred
    };
    let unit = last.rows(&inverse, |a, r| a * r);
    let y = unit.cols(&w, |a, g| a * g).cols(&b, |a, c| a + c);
    out.tile_mut([1, N], [row, 0]).store(&y.cast::<E>());
}

#[tiki::kernel(threads = T, grid = [x.dim(0)], build(
    (E = f16, N = 576, T = 96),
    (E = bf16, N = 576, T = 96),
    (E = f32, N = 576, T = 96),
    (E = f16, N = 4096, T = 128),
    (E = bf16, N = 4096, T = 128),
    (E = f32, N = 4096, T = 256),
))]
pub fn add_layer_norm<E: Element, const N: usize, const T: usize>(
    x: &Global<E>,
    residual: &Global<E>,
    weight: &Global<E, 1>,
    bias: &Global<E, 1>,
    sum: &mut Global<E>,
    out: &mut Global<E>,
    eps: f32,
) {
    require!(x.dim(1) == N && weight.dim(0) == N && bias.dim(0) == N);
    require!(residual.shape() == x.shape() && sum.shape() == x.shape() && out.shape() == x.shape());
    let row = block_idx().x;
    let map = ThreadMap::linear(T).vector_up_to(16 / E::BYTES);
    let (xs, rs) = (x.tile([1, N], [row, 0]), residual.tile([1, N], [row, 0]));
    let a = xs.evict_last().load(map).cast::<f32>();
    let r = rs.evict_last().load(map).cast::<f32>();
    let v = &a + &r;
    sum.tile_mut([1, N], [row, 0]).store(&v.cast::<E>());
    let unit = standardised::<N>(&v, eps);
    let w = weight.tile([N], [0]).load(map).cast::<f32>();
    let b = bias.tile([N], [0]).load(map).cast::<f32>();
    let y = unit.cols(&w, |a, g| a * g).cols(&b, |a, c| a + c);
    out.tile_mut([1, N], [row, 0]).store(&y.cast::<E>());
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let rows = program::number(1, "a number of rows", 64)?;
    const N: usize = 576;
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let x: Vec<f32> = (0..rows * N)
        .map(|i| ((i * 7919) % 1009) as f32 / 504.0 + 3.0)
        .collect();
    let w: Vec<f32> = (0..N).map(|i| 0.5 + (i % 7) as f32 / 8.0).collect();
    let b: Vec<f32> = (0..N).map(|i| (i % 5) as f32 - 2.0).collect();
    let mut out = device.zeros::<f32, 2>([rows, N])?;
    layer_norm::<f32, N, 96>::launch(
        &stream,
        &device.tensor_from(&x, [rows, N])?,
        &device.tensor_from(&w, [N])?,
        &device.tensor_from(&b, [N])?,
        &mut out,
        1e-5,
    )?;
    let expected: Vec<f64> = x
        .chunks(N)
        .flat_map(|row| {
            let mean = row.iter().map(|v| f64::from(*v)).sum::<f64>() / N as f64;
            let square = |v: &f32| (f64::from(*v) - mean).powi(2);
            let scale = (row.iter().map(square).sum::<f64>() / N as f64 + 1e-5).sqrt();
            let columns = w.iter().zip(&b);
            row.iter()
                .zip(columns)
                .map(|(v, (w, b))| (f64::from(*v) - mean) / scale * f64::from(*w) + f64::from(*b))
                .collect::<Vec<_>>()
        })
        .collect();
    let result = out.to_vec()?;
    let furthest = result
        .iter()
        .zip(&expected)
        .map(|(r, e)| (f64::from(*r) - e).abs())
        .fold(0.0, program::further);
    println!(
        "{}: layer_norm of {rows} x {N}, at most {furthest:.1e} off",
        device.name()
    );
    println!("{}", layer_norm::<f32, N, 96>::REPORT);
    Ok(furthest < 1e-5)
}

fn main() -> ExitCode {
    program::end(run())
}
