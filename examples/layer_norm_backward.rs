//! The gradients of LayerNorm: of its input, its weight and its bias.
//!
//! With `u = (x - mean) * r`, `r = 1 / sqrt(variance + eps)` and `s = d_out * weight`:
//! `d_x = r * (s - mean(s) - u * mean(s * u))`, `d_weight = sum over the rows of d_out * u`, `d_bias = sum of d_out`.
//!
//! 1. `layer_norm_backward`: as many blocks as `parts` has pairs of rows, chosen by the caller. Block b takes the rows
//!    b, b + blocks, ..; it loads the next row before it reduces the present one, and adds up both gradients in registers,
//!    in f32: row b of `parts` is the weight's share, row b + blocks the bias's.
//!    `layer_norm_backward_ring`: block b takes the pairs of rows b, b + blocks, ..; the next `S - 1` come by asynchronous
//!    copies, products are fused with sums, and what only waits for the means is summed at once: `mean(s * u)` is
//!    `r * mean(s * (x - mean))`. A step is three barriers for two rows. For widths in which a row is whole accesses of 16
//!    bytes.
//! 2. `column_sums` adds the blocks' parts in a fixed order: a result is reproducible bit for bit.
//!
//! `cargo run --release --example layer_norm_backward -- [ROWS]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;
use tiki::rows::walk::{added_to_64, four_sums, over, own_dot, own_sum};

#[tiki::kernel(threads = T, grid = [parts.dim(1)], build(
    (E = f16, N = 576, T = 96),
    (E = bf16, N = 576, T = 96),
    (E = f32, N = 576, T = 96),
    (E = f16, N = 4096, T = 512),
    (E = bf16, N = 4096, T = 512),
    (E = f32, N = 4096, T = 512),
))]
pub fn layer_norm_backward<E: Element, const N: usize, const T: usize>(
    x: &Global<E>,
    weight: &Global<E, 1>,
    d_out: &Global<E>,
    d_x: &mut Global<E>,
    parts: &mut Global<f32, 3>,
    eps: f32,
) {
    require!(x.dim(1) == N && weight.dim(0) == N && parts.dim(0) == 2 && parts.dim(2) == N);
    require!(d_out.shape() == x.shape() && d_x.shape() == x.shape());
    let map = ThreadMap::linear(T).vector_up_to(16 / E::BYTES);
    let (first, blocks) = (block_idx().x, parts.dim(1));
    let w = weight.tile([N], [0]).load(map);
    let mut xs = x.tile([1, N], [first, 0]).load(map);
    let mut gs = d_out.tile([1, N], [first, 0]).load(map);
    let mut d_weight = xs.cast::<f32>().map(|_| 0.0f32);
    let mut d_bias = xs.cast::<f32>().map(|_| 0.0f32);
    for k in 0..x.dim(0).div_ceil(blocks) {
        let row = first + k * blocks;
        let (v, g) = (xs.cast::<f32>(), gs.cast::<f32>());
        // Rows past the last read as zeros, and add nothing.
        let x_next = x.tile([1, N], [row + blocks, 0]).load(map);
        let g_next = d_out.tile([1, N], [row + blocks, 0]).load(map);
        let mean = v.row_sum().map(over::<N>);
        let centred = v.rows(&mean, |a, m| a - m);
        let r = (&centred * &centred)
            .row_sum()
            .map(|s| rsqrt(over::<N>(s) + eps));
        let unit = centred.rows(&r, |a, r| a * r);
        let s = g.cols(&w.cast::<f32>(), |g, w| g * w);
        let level = s.row_sum().map(over::<N>);
        let slope = (&s * &unit).row_sum().map(over::<N>);
        let across = unit.rows(&slope, |u, k| u * k);
        let d = s.rows(&level, |s, m| s - m) - &across;
        d_x.tile_mut([1, N], [row, 0])
            .store(&d.rows(&r, |d, r| d * r).cast::<E>());
        d_weight = &d_weight + &(&g * &unit);
        d_bias = &d_bias + &g;
        xs = x_next;
        gs = g_next;
    }
    parts
        .at_mut([0])
        .tile_mut([1, N], [first, 0])
        .store(&d_weight);
    parts
        .at_mut([1])
        .tile_mut([1, N], [first, 0])
        .store(&d_bias);
}

#[tiki::kernel(contract, threads = T, grid = [parts.dim(1)], build(
    (E = f16, N = 4096, T = 512, S = 3),
    (E = bf16, N = 4096, T = 512, S = 3),
    (E = f32, N = 4096, T = 512, S = 2),
))]
pub fn layer_norm_backward_ring<E: Element, const N: usize, const T: usize, const S: usize>(
    x: &Global<E>,
    weight: &Global<E, 1>,
    d_out: &Global<E>,
    d_x: &mut Global<E>,
    parts: &mut Global<f32, 3>,
    eps: f32,
) {
    require!(x.dim(1) == N && weight.dim(0) == N && parts.dim(0) == 2 && parts.dim(2) == N);
    require!(d_out.shape() == x.shape() && d_x.shape() == x.shape());
    let map = ThreadMap::linear(T).vector_up_to(16 / E::BYTES);
    let (first, blocks) = (block_idx().x, parts.dim(1));
    let over = 1.0 / N as f32;
    let x_s = Shared::<E>::stages(S, layout!((2, N):(N, 1)));
    let g_s = Shared::<E>::stages(S, layout!((2, N):(N, 1)));
    let warps = T / 32;
    let first_s = Shared::<f32>::new(layout!((4, warps):(1, 4)));
    let second_s = Shared::<f32>::new(layout!((4, warps):(1, 4)));
    let (pipe, load) = (Pipeline::cp_async(S), Load::cp_async(T));
    // Rows past the last are zeros, and add nothing.
    let fetch = |k: usize| {
        let (s, pair) = (pipe.acquire(), first + k * blocks);
        load.copy(&x.tile([2, N], [pair, 0]).evict_last(), x_s.stage(s));
        load.copy(&d_out.tile([2, N], [pair, 0]).evict_last(), g_s.stage(s));
        pipe.commit();
    };
    let w = weight.tile([N], [0]).load(map);
    for k in 0..S - 1 {
        fetch(k);
    }
    let mut d_weight = w.cast::<f32>().map(|_| 0.0f32);
    let mut d_bias = w.cast::<f32>().map(|_| 0.0f32);
    for k in 0..x.dim(0).div_ceil(2 * blocks) {
        let st = pipe.wait();
        fetch(k + S - 1);
        let row = |t: Shared<E>, i: usize| t.tile([1, N], [i, 0]).load(map);
        let scaled = |g: &Register<f32>| g.cols(&w.cast::<f32>(), |g, w| g * w);
        let (v0, v1) = (row(x_s.stage(st), 0), row(x_s.stage(st), 1));
        let (g0, g1) = (
            row(g_s.stage(st), 0).cast::<f32>(),
            row(g_s.stage(st), 1).cast::<f32>(),
        );
        let (s0, s1) = (scaled(&g0), scaled(&g1));
        let (v0, v1) = (v0.cast::<f32>(), v1.cast::<f32>());
        let (a, b, c, d) = four_sums::<T>(
            first_s,
            own_sum(&v0),
            own_sum(&s0),
            own_sum(&v1),
            own_sum(&s1),
        );
        let (mean0, level0, mean1, level1) = (a * over, b * over, c * over, d * over);
        let (c0, c1) = (v0.map(|v| v - mean0), v1.map(|v| v - mean1));
        let (a, b, c, d) = four_sums::<T>(
            second_s,
            own_dot(&c0, &c0),
            own_dot(&s0, &c0),
            own_dot(&c1, &c1),
            own_dot(&s1, &c1),
        );
        let (r0, r1) = (rsqrt(a * over + eps), rsqrt(c * over + eps));
        let pair = first + k * blocks;
        d_x.tile_mut([1, N], [2 * pair, 0])
            .store(&slopes(&s0, &c0, r0, level0, b * over).cast::<E>());
        d_x.tile_mut([1, N], [2 * pair + 1, 0])
            .store(&slopes(&s1, &c1, r1, level1, d * over).cast::<E>());
        d_weight = &d_weight + &(&g0 * &c0.map(|c| c * r0)).col_sum();
        d_weight = &d_weight + &(&g1 * &c1.map(|c| c * r1)).col_sum();
        d_bias = &d_bias + &(&g0 + &g1).col_sum();
    }
    parts.at_mut([0, first]).tile_mut([N], [0]).store(&d_weight);
    parts.at_mut([1, first]).tile_mut([N], [0]).store(&d_bias);
}

/// `r * (s - level - c * r * r * dot)` of a row.
#[tiki::device]
fn slopes(s: &Register<f32>, c: &Register<f32>, r: f32, level: f32, dot: f32) -> Register<f32> {
    let (fall, base) = (-dot * r * r * r, -level * r);
    s.zip(c, |s, c| fma(s, r, fma(c, fall, base)))
}

/// The sums of `parts` over its middle axis.
#[tiki::kernel(threads = 256, grid = [parts.dim(2).div_ceil(32), parts.dim(0)], build((E = f16), (E = bf16), (E = f32)))]
pub fn column_sums<E: Element>(parts: &Global<f32, 3>, sums: &mut Global<E>) {
    require!(sums.dim(0) == parts.dim(0) && sums.dim(1) == parts.dim(2) && parts.dim(1) > 0);
    let (at, which) = (block_idx().x, block_idx().y);
    let total = added_to_64(&parts.at([which]), at);
    sums.at_mut([which])
        .tile_mut([32], [at])
        .store(&total.col_sum().cast::<E>());
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let rows = program::number(1, "a number of rows", 64)?;
    const N: usize = 576;
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
    let mut d_w = device.zeros::<f32, 2>([2, N])?;
    let mut parts = device.zeros::<f32, 3>([2, 8, N])?;
    layer_norm_backward::<f32, N, 96>::launch(
        &stream,
        &device.tensor_from(&x, [rows, N])?,
        &device.tensor_from(&w, [N])?,
        &device.tensor_from(&g, [rows, N])?,
        &mut d_x,
        &mut parts,
        1e-5,
    )?;
    column_sums::<f32>::launch(&stream, &parts, &mut d_w)?;
    // The rows of a LayerNorm do not change if a constant is added: their gradients sum to nothing.
    let sums = d_x.to_vec()?;
    let sums = sums
        .chunks(N)
        .map(|row| row.iter().map(|v| f64::from(*v)).sum::<f64>());
    let off_x = sums.map(f64::abs).fold(0.0, program::further);
    let bias: Vec<f64> = (0..N)
        .map(|c| (0..rows).map(|r| f64::from(g[r * N + c])).sum())
        .collect();
    let got = d_w.to_vec()?;
    let pairs = got[N..].iter().zip(&bias);
    let off_b = pairs
        .map(|(a, b)| (f64::from(*a) - b).abs())
        .fold(0.0, program::further);
    println!(
        "{}: layer_norm_backward of {rows} x {N}, at most {off_x:.1e} and {off_b:.1e} off",
        device.name()
    );
    println!("{}", layer_norm_backward::<f32, N, 96>::REPORT);
    Ok(off_x < 1e-3 && off_b < 1e-4)
}

fn main() -> ExitCode {
    program::end(run())
}
