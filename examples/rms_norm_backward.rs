//! The gradients of RMSNorm: of its input, and of its weight.
//!
//! With `r = 1 / sqrt(mean(x * x) + eps)` and `s = d_out * weight`:
//! `d_x = r * (s - x * r * r * mean(s * x))`, and `d_weight = sum over the rows of d_out * x * r`.
//!
//! 1. `rms_norm_backward`: as many blocks as `parts` has rows, chosen by the caller (two a multiprocessor fill the
//!    card). Block b takes the rows b, b + blocks, ..; it loads the next row before it reduces the present one, so that loads
//!    are always in flight, and adds up the weight's gradient in registers, in f32.
//!    `rms_norm_backward_ring`: the next `S - 1` rows come by asynchronous copies, and products are fused with sums; the
//!    second-level cache is asked to keep what is read, which is read once (on an H200 2% faster). For widths in which a row is whole accesses of 16 bytes.
//! 2. `column_sum` adds the blocks' parts in a fixed order: a result is reproducible bit for bit.
//!
//! `cargo run --release --example rms_norm_backward -- [ROWS]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;
use tiki::rows::walk::{added_to_64, over};

#[tiki::kernel(threads = T, grid = [parts.dim(0)], build(
    (E = f16, N = 576, T = 96),
    (E = bf16, N = 576, T = 96),
    (E = f32, N = 576, T = 96),
    (E = f16, N = 4096, T = 256),
    (E = bf16, N = 4096, T = 256),
    (E = f32, N = 4096, T = 512),
))]
pub fn rms_norm_backward<E: Element, const N: usize, const T: usize>(
    x: &Global<E>,
    weight: &Global<E, 1>,
    d_out: &Global<E>,
    d_x: &mut Global<E>,
    parts: &mut Global<f32>,
    eps: f32,
) {
    require!(x.dim(1) == N && weight.dim(0) == N && parts.dim(1) == N);
    require!(d_out.shape() == x.shape() && d_x.shape() == x.shape());
    let map = ThreadMap::linear(T).vector_up_to(16 / E::BYTES);
    let (first, blocks) = (block_idx().x, parts.dim(0));
    let w = weight.tile([N], [0]).load(map);
    let mut xs = x.tile([1, N], [first, 0]).load(map);
    let mut gs = d_out.tile([1, N], [first, 0]).load(map);
    let mut total = xs.cast::<f32>().map(|_| 0.0f32);
    for k in 0..x.dim(0).div_ceil(blocks) {
        let row = first + k * blocks;
        let (v, g) = (xs.cast::<f32>(), gs.cast::<f32>());
        // Rows past the last read as zeros, and add nothing.
        let x_next = x.tile([1, N], [row + blocks, 0]).load(map);
        let g_next = d_out.tile([1, N], [row + blocks, 0]).load(map);
        let s = g.cols(&w.cast::<f32>(), |g, w| g * w);
        let r = (&v * &v).row_sum().map(|q| rsqrt(over::<N>(q) + eps));
        let slope = (&s * &v).row_sum().zip(&r, |d, r| over::<N>(d * r * r));
        let across = v.rows(&slope, |v, k| v * k);
        let d = s.zip(&across, |s, a| s - a).rows(&r, |d, r| d * r);
        d_x.tile_mut([1, N], [row, 0]).store(&d.cast::<E>());
        total = &total + &(&g * &v).rows(&r, |t, r| t * r);
        xs = x_next;
        gs = g_next;
    }
    parts.tile_mut([1, N], [first, 0]).store(&total);
}

#[tiki::kernel(contract, threads = T, grid = [parts.dim(0)], build(
    (E = f16, N = 4096, T = 256, S = 3),
    (E = bf16, N = 4096, T = 256, S = 3),
    (E = f32, N = 4096, T = 256, S = 2),
))]
pub fn rms_norm_backward_ring<E: Element, const N: usize, const T: usize, const S: usize>(
    x: &Global<E>,
    weight: &Global<E, 1>,
    d_out: &Global<E>,
    d_x: &mut Global<E>,
    parts: &mut Global<f32>,
    eps: f32,
) {
    require!(x.dim(1) == N && weight.dim(0) == N && parts.dim(1) == N);
    require!(d_out.shape() == x.shape() && d_x.shape() == x.shape());
    let map = ThreadMap::linear(T).vector_up_to(16 / E::BYTES);
    let (first, blocks) = (block_idx().x, parts.dim(0));
    let x_s = Shared::<E>::stages(S, layout!((1, N):(N, 1)));
    let g_s = Shared::<E>::stages(S, layout!((1, N):(N, 1)));
    let (pipe, load) = (Pipeline::cp_async(S), Load::cp_async(T));
    // Rows past the last are zeros, and add nothing.
    let fetch = |k: usize| {
        let (s, row) = (pipe.acquire(), first + k * blocks);
        load.copy(&x.tile([1, N], [row, 0]).evict_last(), x_s.stage(s));
        load.copy(&d_out.tile([1, N], [row, 0]).evict_last(), g_s.stage(s));
        pipe.commit();
    };
    let w = weight.tile([N], [0]).load(map);
    for k in 0..S - 1 {
        fetch(k);
    }
    let mut total = w.cast::<f32>().map(|_| 0.0f32);
    for k in 0..x.dim(0).div_ceil(blocks) {
        let s = pipe.wait();
        fetch(k + S - 1);
        let v = x_s.stage(s).load(map).cast::<f32>();
        let g = g_s.stage(s).load(map).cast::<f32>();
        let s = g.cols(&w.cast::<f32>(), |g, w| g * w);
        let squares = (&v * &v).row_sum();
        let dot = (&s * &v).row_sum();
        let r = squares.map(|q| rsqrt(over::<N>(q) + eps));
        let slope = dot.zip(&r, |d, r| over::<N>(d * r * r));
        let across = v.rows(&slope, |v, k| v * k);
        let d = s.zip(&across, |s, a| s - a).rows(&r, |d, r| d * r);
        d_x.tile_mut([1, N], [first + k * blocks, 0])
            .store(&d.cast::<E>());
        total = &total + &(&g * &v.rows(&r, |v, r| v * r)).col_sum();
    }
    parts.at_mut([first]).tile_mut([N], [0]).store(&total);
}

#[tiki::kernel(threads = 256, grid = [parts.dim(1).div_ceil(32)], build((E = f16), (E = bf16), (E = f32)))]
pub fn column_sum<E: Element>(parts: &Global<f32>, sum: &mut Global<E, 1>) {
    require!(sum.dim(0) == parts.dim(1) && parts.dim(0) > 0);
    let at = block_idx().x;
    let total = added_to_64(parts, at);
    sum.tile_mut([32], [at]).store(&total.col_sum().cast::<E>());
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let rows = program::number(1, "a number of rows", 64)?;
    const N: usize = 576;
    const EPS: f64 = 1e-5;
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let series = |count: usize, step: usize| -> Vec<f32> {
        (0..count)
            .map(|i| ((i * step) % 1009) as f32 / 504.0 - 1.0)
            .collect()
    };
    let (x, g, w) = (
        series(rows * N, 7919),
        series(rows * N, 613),
        series(N, 211),
    );
    let mut d_x = device.zeros::<f32, 2>([rows, N])?;
    let mut d_w = device.zeros::<f32, 1>([N])?;
    let mut parts = device.zeros::<f32, 2>([8, N])?;
    rms_norm_backward::<f32, N, 96>::launch(
        &stream,
        &device.tensor_from(&x, [rows, N])?,
        &device.tensor_from(&w, [N])?,
        &device.tensor_from(&g, [rows, N])?,
        &mut d_x,
        &mut parts,
        EPS as f32,
    )?;
    column_sum::<f32>::launch(&stream, &parts, &mut d_w)?;
    let (mut want_x, mut want_w) = (Vec::new(), vec![0.0; N]);
    for (x, g) in x.chunks(N).zip(g.chunks(N)) {
        let wide = |v: &[f32]| v.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
        let (x, g, w) = (wide(x), wide(g), wide(&w));
        let r = 1.0 / (x.iter().map(|v| v * v).sum::<f64>() / N as f64 + EPS).sqrt();
        let mean = (0..N).map(|i| g[i] * w[i] * x[i]).sum::<f64>() / N as f64;
        want_x.extend((0..N).map(|i| r * (g[i] * w[i] - x[i] * r * r * mean)));
        (0..N).for_each(|i| want_w[i] += g[i] * x[i] * r);
    }
    let off = |got: Vec<f32>, want: &[f64]| {
        let pairs = got.iter().zip(want);
        pairs
            .map(|(g, w)| (f64::from(*g) - w).abs())
            .fold(0.0, program::further)
    };
    let (off_x, off_w) = (off(d_x.to_vec()?, &want_x), off(d_w.to_vec()?, &want_w));
    println!(
        "{}: rms_norm_backward of {rows} x {N}, at most {off_x:.1e} and {off_w:.1e} off",
        device.name()
    );
    println!("{}", rms_norm_backward::<f32, N, 96>::REPORT);
    Ok(off_x < 1e-5 && off_w < 1e-4)
}

fn main() -> ExitCode {
    program::end(run())
}
