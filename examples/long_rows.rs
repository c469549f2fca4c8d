//! RMSNorm, LayerNorm, softmax and its logarithm of rows of any width, known at run time.
//!
//! A block walks along its row in chunks of 4096 columns: once for what the row has in common, once to write. The second
//! walk reads what the first has left in the second-level cache. (Rows of up to 16384 columns whose width is known at
//! build time stay in registers: `rms_norm`, `layer_norm`, `softmax`.)
//!
//! - The greatest and the sum of a softmax are kept together, each thread's own ([`greatest_and_sum`]): threads meet
//!   once a row. A row of minus infinity alone gives zeros, and minus infinity as logarithm.
//! - LayerNorm takes the mean first and the variance about it after, in a walk of its own: nothing cancels.
//!
//! `V` is the width of the accesses, in elements, of which the row's width must be a multiple.
//!
//! `cargo run --release --example long_rows -- [WIDTH]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;
use tiki::rows::walk::{finite, greatest_and_sum};

#[tiki::kernel(threads = 256, grid = [x.dim(0)], build(
    (E = f32, V = 1), (E = f16, V = 1), (E = bf16, V = 1),
    (E = f32, V = 4), (E = f16, V = 8), (E = bf16, V = 8),
))]
pub fn rms_norm_long<E: Element, const V: usize>(
    x: &Global<E>,
    weight: &Global<E, 1>,
    out: &mut Global<E>,
    eps: f32,
) {
    require!(out.shape() == x.shape() && weight.dim(0) == x.dim(1));
    require!(x.dim(1) > 0 && x.dim(1).is_multiple_of(V));
    let row = block_idx().x;
    let map = ThreadMap::linear(256).vector_up_to(V);
    let chunks = x.dim(1).div_ceil(4096);
    // Missing columns read as zeros.
    let first = x.tile([1, 4096], [row, 0]).load(map).cast::<f32>();
    let mut squares = &first * &first;
    for j in 1..chunks {
        let v = x.tile([1, 4096], [row, j]).load(map).cast::<f32>();
        squares = &squares + &(&v * &v);
    }
    let scale = squares.row_sum().map(|s| rsqrt(s / x.dim(1) as f32 + eps));
    for j in 0..chunks {
        let v = x.tile([1, 4096], [row, j]).load(map).cast::<f32>();
        let w = weight.tile([4096], [j]).load(map).cast::<f32>();
        let y = v.rows(&scale, |a, r| a * r).cols(&w, |a, g| a * g);
        out.tile_mut([1, 4096], [row, j]).store(&y.cast::<E>());
    }
}

#[tiki::kernel(threads = 256, grid = [x.dim(0)], build(
    (E = f32, V = 1), (E = f16, V = 1), (E = bf16, V = 1),
    (E = f32, V = 4), (E = f16, V = 8), (E = bf16, V = 8),
))]
pub fn layer_norm_long<E: Element, const V: usize>(
    x: &Global<E>,
    weight: &Global<E, 1>,
    bias: &Global<E, 1>,
    out: &mut Global<E>,
    eps: f32,
) {
    require!(out.shape() == x.shape() && weight.dim(0) == x.dim(1) && bias.dim(0) == x.dim(1));
    require!(x.dim(1) > 0 && x.dim(1).is_multiple_of(V));
    let row = block_idx().x;
    let map = ThreadMap::linear(256).vector_up_to(V);
    let (chunks, width) = (x.dim(1).div_ceil(4096), x.dim(1) as f32);
    let mut sums = x.tile([1, 4096], [row, 0]).load(map).cast::<f32>();
    for j in 1..chunks {
        sums = &sums + &x.tile([1, 4096], [row, j]).load(map).cast::<f32>();
    }
    let mean = sums.row_sum().map(|s| s / width);
    let mut squares = sums.map(|_| 0.0f32);
    for j in 0..chunks {
        let v = x.tile([1, 4096], [row, j]).load(map).cast::<f32>();
        let d = v.rows(&mean, |a, m| a - m);
        // Missing columns are as far from the mean as zero is: they do not count.
        let there = d.mask(|[_, c]| j * 4096 + c < x.dim(1), 0.0);
        squares = squares.zip(&there, |s, d| fma(d, d, s));
    }
    let scale = squares.row_sum().map(|s| rsqrt(s / width + eps));
    for j in 0..chunks {
        let v = x.tile([1, 4096], [row, j]).load(map).cast::<f32>();
        let w = weight.tile([4096], [j]).load(map).cast::<f32>();
        let b = bias.tile([4096], [j]).load(map).cast::<f32>();
        let unit = v.rows(&mean, |a, m| a - m).rows(&scale, |a, r| a * r);
        let y = unit.cols(&w, |a, g| a * g).cols(&b, |a, c| a + c);
        out.tile_mut([1, 4096], [row, j]).store(&y.cast::<E>());
    }
}

#[tiki::kernel(threads = 256, grid = [x.dim(0)], build(
    (E = f32, LOG = false, V = 1), (E = f16, LOG = false, V = 1), (E = bf16, LOG = false, V = 1),
    (E = f32, LOG = true, V = 1), (E = f16, LOG = true, V = 1), (E = bf16, LOG = true, V = 1),
    (E = f32, LOG = false, V = 4), (E = f16, LOG = false, V = 8), (E = bf16, LOG = false, V = 8),
    (E = f32, LOG = true, V = 4), (E = f16, LOG = true, V = 8), (E = bf16, LOG = true, V = 8),
))]
pub fn softmax_long<E: Float, const LOG: bool, const V: usize>(x: &Global<E>, out: &mut Global<E>) {
    require!(out.shape() == x.shape() && x.dim(1) > 0 && x.dim(1).is_multiple_of(V));
    let row = block_idx().x;
    let map = ThreadMap::linear(256).vector_up_to(V);
    let chunks = x.dim(1).div_ceil(4096);
    let (top, sum) = greatest_and_sum::<E, 4096, 256>(x, row, || chunks, map);
    let shift = finite(top);
    let scale = if LOG {
        log(sum)
    } else if sum == 0.0 {
        0.0
    } else {
        1.0 / sum
    };
    for j in 0..chunks {
        let v = x.tile([1, 4096], [row, j]).load(map).cast::<f32>();
        let y = v.map(|a| {
            let a = a - shift;
            if LOG { a - scale } else { exp(a) * scale }
        });
        out.tile_mut([1, 4096], [row, j]).store(&y.cast::<E>());
    }
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let width = program::number(1, "a width", 10_007)?;
    let device = tiki::Device::open_default()?;
    let x: Vec<f32> = (0..3 * width)
        .map(|i| (i * 7919 % 1009) as f32 / 100.0)
        .collect();
    let mut out = device.zeros::<f32, 2>([3, width])?;
    let input = device.tensor_from(&x, [3, width])?;
    softmax_long::<f32, false, 1>::launch(&device.stream(), &input, &mut out)?;
    let result = out.to_vec()?;
    let sums = result
        .chunks(width.max(1))
        .map(|row| row.iter().map(|v| f64::from(*v)).sum::<f64>());
    let furthest = sums.map(|s| (s - 1.0).abs()).fold(0.0, program::further);
    println!(
        "{}: softmax of 3 x {width}, sums at most {furthest:.1e} off 1",
        device.name()
    );
    println!("{}", softmax_long::<f32, false, 1>::REPORT);
    Ok(furthest < 1e-5)
}

fn main() -> ExitCode {
    program::end(run())
}
