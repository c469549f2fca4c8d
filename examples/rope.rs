//! Rotary position embedding of queries or keys, `[token, head, D]`, by tables of `[token, D / 2]` cosines and sines.
//!
//! Each pair (a, b) becomes (a cos - b sin, a sin + b cos). The pairs are elements i and i + D / 2 (`rope_halves`) or
//! elements 2i and 2i + 1 (`rope_pairs`, which takes the same memory as `[token, head, D / 2, 2]`). With `BACK` the
//! rotation is undone, which is its gradient. Computed in f32, each product and sum rounded once.
//!
//! Of halves, one block 32 heads of a token, which reads the tables once, and asks the second-level cache to keep what it
//! reads (on an H200 3% faster); of pairs, a thread each.
//!
//! `cargo run --release --example rope`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;

#[tiki::kernel(threads = 256, grid = [x.dim(0), x.dim(1).div_ceil(32)], build(
    (E = f32, H = 32, BACK = false), (E = f32, H = 32, BACK = true), (E = f32, H = 64, BACK = false),
    (E = f16, H = 32, BACK = false), (E = f16, H = 64, BACK = false),
    (E = bf16, H = 32, BACK = false), (E = bf16, H = 64, BACK = false),
))]
pub fn rope_halves<E: Element, const H: usize, const BACK: bool>(
    x: &Global<E, 3>,
    cosine: &Global<f32>,
    sine: &Global<f32>,
    out: &mut Global<E, 3>,
) {
    require!(out.shape() == x.shape() && x.dim(2) == 2 * H && sine.shape() == cosine.shape());
    require!(cosine.dim(0) == x.dim(0) && cosine.dim(1) == H);
    let (token, heads) = (block_idx().x, block_idx().y);
    let map = ThreadMap::linear(256).vector_up_to(16 / E::BYTES);
    let from = x.at([token]);
    let half = |i: usize| from.tile([32, H], [heads, i]).evict_last();
    let a = half(0).load(map).cast::<f32>();
    let b = half(1).load(map).cast::<f32>();
    let (across, down) = (cosine.at([token]), sine.at([token]));
    let c = across.tile([H], [0]).load_like(&a.col_vector(0.0));
    let s = down.tile([H], [0]).load_like(&a.col_vector(0.0));
    let s = s.map(|s| if BACK { -s } else { s });
    let first = a.cols(&c, |a, c| a * c) - b.cols(&s, |b, s| b * s);
    let second = a.cols(&s, |a, s| a * s) + b.cols(&c, |b, c| b * c);
    out.at_mut([token])
        .tile_mut([32, H], [heads, 0])
        .store(&first.cast::<E>());
    out.at_mut([token])
        .tile_mut([32, H], [heads, 1])
        .store(&second.cast::<E>());
}

#[tiki::kernel(threads = 256, grid = [x.dim(0), (x.dim(1) * H).div_ceil(256)], build(
    (E = f32, H = 32, BACK = false), (E = f32, H = 32, BACK = true), (E = f32, H = 64, BACK = false),
    (E = f16, H = 32, BACK = false), (E = f16, H = 64, BACK = false),
    (E = bf16, H = 32, BACK = false), (E = bf16, H = 64, BACK = false),
))]
pub fn rope_pairs<E: Element, const H: usize, const BACK: bool>(
    x: &Global<E, 4>,
    cosine: &Global<f32>,
    sine: &Global<f32>,
    out: &mut Global<E, 4>,
) {
    require!(out.shape() == x.shape() && x.dim(2) == H && x.dim(3) == 2);
    require!(cosine.dim(0) == x.dim(0) && cosine.dim(1) == H && sine.shape() == cosine.shape());
    // A thread a pair; past the last head nothing is read and nothing written.
    let token = block_idx().x;
    let pair = block_idx().y * 256 + thread_idx();
    let (head, i) = (pair / H, pair % H);
    let a = x.get([token, head, i, 0]).cast::<f32>();
    let b = x.get([token, head, i, 1]).cast::<f32>();
    let c = cosine.get([token, i]);
    let s = sine.get([token, i]);
    let s = if BACK { -s } else { s };
    out.set([token, head, i, 0], (a * c - b * s).cast::<E>());
    out.set([token, head, i, 1], (a * s + b * c).cast::<E>());
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let (tokens, heads, half) = (5, 6, 32);
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let count = tokens * heads * 2 * half;
    let x: Vec<f32> = (0..count)
        .map(|i| (i * 7919 % 1009) as f32 / 504.0 - 1.0)
        .collect();
    let angle = |i: usize| (i / half) as f64 * 10_000f64.powf(-((i % half) as f64) / half as f64);
    let table = |f: fn(f64) -> f64| -> Vec<f32> {
        (0..tokens * half).map(|i| f(angle(i)) as f32).collect()
    };
    let cosine = device.tensor_from(&table(f64::cos), [tokens, half])?;
    let sine = device.tensor_from(&table(f64::sin), [tokens, half])?;
    let input = device.tensor_from(&x, [tokens, heads, 2 * half])?;
    let mut turned = device.zeros::<f32, 3>([tokens, heads, 2 * half])?;
    let mut back = device.zeros::<f32, 3>([tokens, heads, 2 * half])?;
    rope_halves::<f32, 32, false>::launch(&stream, &input, &cosine, &sine, &mut turned)?;
    rope_halves::<f32, 32, true>::launch(&stream, &turned, &cosine, &sine, &mut back)?;
    let pairs = back.to_vec()?;
    let furthest = pairs
        .iter()
        .zip(&x)
        .map(|(a, b)| f64::from((a - b).abs()))
        .fold(0.0, program::further);
    println!(
        "{}: turned and back, at most {furthest:.1e} off",
        device.name()
    );
    println!("{}", rope_halves::<f32, 32, false>::REPORT);
    Ok(furthest < 1e-6)
}

fn main() -> ExitCode {
    program::end(run())
}
