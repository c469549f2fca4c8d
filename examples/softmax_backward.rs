//! The gradients of softmax and of its logarithm. Of softmax: `d_x = y * (d_out - sum(y * d_out))`, row by row, from the softmax's own result.
//!
//! One block a row. Softmax's inputs in f32 stay in registers; those of 16 bits are read a second time where the gradient is
//! written, out of the caches, which are asked to keep them until then and to let go of them after (on an H200 2% faster
//! than holding them). For the logarithm's it is the other way round: only the incoming gradient is summed, so f32 reads
//! nothing else before it is (2% faster), and 16 bits stay in registers. A row of zeros (a fully masked one) has the gradient zero.
//!
//! `cargo run --release --example softmax_backward -- [ROWS]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;

#[tiki::kernel(threads = T, grid = [y.dim(0)], build(
    (E = f16, N = 576, T = 96),
    (E = bf16, N = 576, T = 96),
    (E = f32, N = 576, T = 96),
    (E = f16, N = 4096, T = 512),
    (E = bf16, N = 4096, T = 512),
    (E = f32, N = 4096, T = 1024),
))]
pub fn softmax_backward<E: Element, const N: usize, const T: usize>(
    y: &Global<E>,
    d_out: &Global<E>,
    d_x: &mut Global<E>,
) {
    require!(y.dim(1) == N && d_out.shape() == y.shape() && d_x.shape() == y.shape());
    let row = block_idx().x;
    let map = ThreadMap::linear(T).vector_up_to(16 / E::BYTES);
    let (ys, gs) = (y.tile([1, N], [row, 0]), d_out.tile([1, N], [row, 0]));
    if E::BYTES == 2 {
        let p = ys.evict_last().load(map).cast::<f32>();
        let g = gs.evict_last().load(map).cast::<f32>();
        let dot = (&p * &g).row_sum();
        let p = ys.evict_first().load(map).cast::<f32>();
        let g = gs.evict_first().load(map).cast::<f32>();
        let d = g.rows(&dot, |g, s| g - s) * &p;
        d_x.tile_mut([1, N], [row, 0]).store(&d.cast::<E>());
    } else {
        let (p, g) = (ys.load(map).cast::<f32>(), gs.load(map).cast::<f32>());
        let dot = (&p * &g).row_sum();
        let d = g.rows(&dot, |g, s| g - s) * &p;
        d_x.tile_mut([1, N], [row, 0]).store(&d.cast::<E>());
    }
}

/// The gradient of the logarithm of softmax, from its own result: `d_x = d_out - exp(y) * sum(d_out)`.
#[tiki::kernel(threads = T, grid = [y.dim(0)], build(
    (E = f16, N = 576, T = 96),
    (E = bf16, N = 576, T = 96),
    (E = f32, N = 576, T = 96),
    (E = f16, N = 4096, T = 256),
    (E = bf16, N = 4096, T = 256),
    (E = f32, N = 4096, T = 512),
))]
pub fn log_softmax_backward<E: Element, const N: usize, const T: usize>(
    y: &Global<E>,
    d_out: &Global<E>,
    d_x: &mut Global<E>,
) {
    require!(y.dim(1) == N && d_out.shape() == y.shape() && d_x.shape() == y.shape());
    let row = block_idx().x;
    let map = ThreadMap::linear(T).vector_up_to(16 / E::BYTES);
    let (ys, gs) = (y.tile([1, N], [row, 0]), d_out.tile([1, N], [row, 0]));
    if E::BYTES == 2 {
        let l = ys.evict_last().load(map).cast::<f32>();
        let g = gs.evict_last().load(map).cast::<f32>();
        let sum = g.row_sum();
        let share = l.rows(&sum, |l, s| exp(l) * s);
        let d = &g - &share;
        d_x.tile_mut([1, N], [row, 0]).store(&d.cast::<E>());
    } else {
        let sum = gs.evict_last().load(map).cast::<f32>().row_sum();
        let l = ys.evict_last().load(map).cast::<f32>();
        let g = gs.evict_first().load(map).cast::<f32>();
        let share = l.rows(&sum, |l, s| exp(l) * s);
        let d = &g - &share;
        d_x.tile_mut([1, N], [row, 0]).store(&d.cast::<E>());
    }
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let rows = program::number(1, "a number of rows", 64)?;
    const N: usize = 576;
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let y: Vec<f32> = (0..rows * N)
        .map(|i| ((i * 31) % 97) as f32 / 27648.0)
        .collect();
    let g: Vec<f32> = (0..rows * N)
        .map(|i| ((i * 7919) % 1009) as f32 / 504.0 - 1.0)
        .collect();
    let mut out = device.zeros::<f32, 2>([rows, N])?;
    softmax_backward::<f32, N, 96>::launch(
        &stream,
        &device.tensor_from(&y, [rows, N])?,
        &device.tensor_from(&g, [rows, N])?,
        &mut out,
    )?;
    let expected: Vec<f64> = y
        .chunks(N)
        .zip(g.chunks(N))
        .flat_map(|(y, g)| {
            let pairs = y.iter().zip(g).map(|(y, g)| (f64::from(*y), f64::from(*g)));
            let dot: f64 = pairs.clone().map(|(y, g)| y * g).sum();
            pairs.map(move |(y, g)| y * (g - dot)).collect::<Vec<_>>()
        })
        .collect();
    let result = out.to_vec()?;
    let furthest = result
        .iter()
        .zip(&expected)
        .map(|(r, e)| (f64::from(*r) - e).abs())
        .fold(0.0, program::further);
    println!(
        "{}: softmax_backward of {rows} x {N}, at most {furthest:.1e} off",
        device.name()
    );
    println!("{}", softmax_backward::<f32, N, 96>::REPORT);
    Ok(furthest < 1e-8)
}

fn main() -> ExitCode {
    program::end(run())
}
