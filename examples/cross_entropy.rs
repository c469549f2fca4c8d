//! Cross entropy of rows of logits of any width, and its gradient.
//!
//! `loss = log(sum(exp(x))) - x[target]`; the kernel also writes the logarithm of the sum, with which the gradient
//! `d_x = (exp(x - log_sum) - [column = target]) * d_loss` needs one reading and one writing. A row whose target lies
//! past the last column counts for nothing: loss and gradient 0.
//!
//! One block a row, in chunks of 4096 columns. Each thread keeps the greatest and the sum of exponentials of its own
//! columns, with the next chunk under way; threads meet once a row ([`greatest_and_sum`]). Few threads with many loads
//! each do best with 16-bit logits. `V` is the width of the accesses, in elements, of which the row's width must be a
//! multiple.
//!
//! `cargo run --release --example cross_entropy -- [WIDTH]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;
use tiki::rows::walk::{finite, greatest_and_sum};

#[tiki::kernel(threads = T, blocks_per_sm = B, grid = [x.dim(0)], build(
    (E = f32, V = 1, T = 256, B = 4), (E = f16, V = 1, T = 128, B = 5), (E = bf16, V = 1, T = 128, B = 5),
    (E = f32, V = 4, T = 256, B = 4), (E = f16, V = 8, T = 128, B = 6), (E = bf16, V = 8, T = 128, B = 6),
))]
pub fn cross_entropy<E: Float, const V: usize, const T: usize, const B: usize>(
    x: &Global<E>,
    target: &Global<u32, 1>,
    loss: &mut Global<f32, 1>,
    log_sum: &mut Global<f32, 1>,
) {
    require!(target.dim(0) == x.dim(0) && loss.dim(0) == x.dim(0) && log_sum.dim(0) == x.dim(0));
    require!(x.dim(1) > 0 && x.dim(1).is_multiple_of(V));
    let row = block_idx().x;
    let map = ThreadMap::linear(T).vector_up_to(V);
    let chunks = || x.dim(1).div_ceil(4096);
    let (top, sum) = greatest_and_sum::<E, 4096, T>(x, row, chunks, map);
    if thread_idx() == 0 {
        let all = finite(top) + log(sum);
        let at = target.get([row]) as usize;
        let hit = x.get([row, at]).cast::<f32>();
        log_sum.set([row], all);
        loss.set([row], if at < x.dim(1) { all - hit } else { 0.0 });
    }
}

#[tiki::kernel(threads = 256, grid = [x.dim(1).div_ceil(2048), x.dim(0)], build(
    (E = f32, V = 1), (E = f16, V = 1), (E = bf16, V = 1),
    (E = f32, V = 4), (E = f16, V = 8), (E = bf16, V = 8),
))]
pub fn cross_entropy_backward<E: Float, const V: usize>(
    x: &Global<E>,
    target: &Global<u32, 1>,
    log_sum: &Global<f32, 1>,
    d_loss: &Global<f32, 1>,
    d_x: &mut Global<E>,
) {
    require!(target.dim(0) == x.dim(0) && log_sum.dim(0) == x.dim(0) && d_loss.dim(0) == x.dim(0));
    require!(d_x.shape() == x.shape() && x.dim(1).is_multiple_of(V));
    let (chunk, row) = (block_idx().x, block_idx().y);
    let map = ThreadMap::linear(256).vector_up_to(V);
    let at = target.get([row]) as usize;
    let (all, scale) = (log_sum.get([row]), d_loss.get([row]));
    let counts = at < x.dim(1);
    let v = x.tile([1, 2048], [row, chunk]).load(map).cast::<f32>();
    let d = v.map_at(|a, [_, c]| {
        let p = exp(a - all);
        let d = (if chunk * 2048 + c == at { p - 1.0 } else { p }) * scale;
        if counts { d } else { 0.0 }
    });
    d_x.tile_mut([1, 2048], [row, chunk]).store(&d.cast::<E>());
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let width = program::number(1, "a width", 5003)?;
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let x: Vec<f32> = (0..2 * width)
        .map(|i| (i * 7919 % 1009) as f32 / 100.0)
        .collect();
    let input = device.tensor_from(&x, [2, width])?;
    let target = device.tensor_from(&[width as u32 / 2, width as u32], [2])?;
    let mut loss = device.zeros::<f32, 1>([2])?;
    let mut sums = device.zeros::<f32, 1>([2])?;
    cross_entropy::<f32, 1, 256, 4>::launch(&stream, &input, &target, &mut loss, &mut sums)?;
    let all: f64 = x[..width]
        .iter()
        .map(|v| f64::from(*v).exp())
        .sum::<f64>()
        .ln();
    let want = all - f64::from(x[width / 2]);
    let got = loss.to_vec()?;
    println!(
        "{}: losses {got:?}, expected {want:.6} and 0",
        device.name()
    );
    println!("{}", cross_entropy::<f32, 1, 256, 4>::REPORT);
    Ok((f64::from(got[0]) - want).abs() < 1e-5 && got[1] == 0.0)
}

fn main() -> ExitCode {
    program::end(run())
}
