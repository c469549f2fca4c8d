//! The gates of a transformer's feed-forward layer: `out = silu(gate) * up` with `silu(x) = x / (1 + exp(-x))`, and
//! `out = gelu(gate) * up` with gelu's form by tanh, `x / (1 + exp(-2 u))`, `u = sqrt(2 / pi) (x + 0.044715 x^3)`.
//!
//! The second-level cache is asked to keep what is read, which is read once: on an H200 1% faster. Computed in f32, rounded once; from `exp(-|x|)`, which cannot overflow. At minus infinity the formulas say
//! NaN, and the result here is 0, their limit.
//!
//! `cargo run --release --example silu -- [FILE]` reads `gate` and `up` of a safetensors file.

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;

/// `1 / (1 + exp(-x))`, of full relative accuracy on both sides; for results of 16 bits by the hardware's
/// exponential and reciprocal, which keep the subnormal tail.
#[tiki::device]
pub fn sigmoid<E: Element>(x: f32) -> f32 {
    if E::BYTES == 2 {
        let e = exp2(-abs(x) * std::f32::consts::LOG2_E);
        (if x < 0.0 { e } else { 1.0 }) * recip(1.0 + e)
    } else {
        let e = exp(-abs(x));
        (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
    }
}

/// `x / (1 + exp(-2 u))` for results of 16 bits, in few instructions. Both terms below the line carry a factor of 2^-10, so
/// that the exponential overflows only where the result is less than half of the least that bf16 has.
#[tiki::device]
pub fn half_gelu(x: f32) -> f32 {
    // -2 u log2(e) = -sqrt(8 / pi) log2(e) (x + 0.044715 x^3)
    let inner = fma(-0.102_943_24 * x, x, -2.302_208_2);
    let least = 0.000_976_562_5;
    x * least * recip(least + exp2_fast(fma(x, inner, -10.0)))
}

#[tiki::kernel(threads = 128, grid = [gate.dim(0).div_ceil(2048 / E::BYTES)], build((E = f16), (E = bf16), (E = f32)))]
pub fn silu_mul<E: Element>(gate: &Global<E, 1>, up: &Global<E, 1>, out: &mut Global<E, 1>) {
    require!(gate.dim(0) == up.dim(0) && gate.dim(0) == out.dim(0));
    let map = ThreadMap::linear(128).vector_up_to(16 / E::BYTES);
    let (n, at) = (2048 / E::BYTES, [block_idx().x]);
    let g = gate.tile([n], at).evict_last().load(map).cast::<f32>();
    let u = up.tile([n], at).evict_last().load(map).cast::<f32>();
    let y = g.zip(&u, |g, u| {
        let silu = g * sigmoid::<E>(g);
        (if g == f32::NEG_INFINITY { 0.0 } else { silu }) * u
    });
    out.tile_mut([n], at).store(&y.cast::<E>());
}

#[tiki::kernel(threads = 128, grid = [gate.dim(0).div_ceil(2048 / E::BYTES)], build((E = f16), (E = bf16), (E = f32)))]
pub fn gelu_mul<E: Element>(gate: &Global<E, 1>, up: &Global<E, 1>, out: &mut Global<E, 1>) {
    require!(gate.dim(0) == up.dim(0) && gate.dim(0) == out.dim(0));
    let map = ThreadMap::linear(128).vector_up_to(16 / E::BYTES);
    let (n, at) = (2048 / E::BYTES, [block_idx().x]);
    let g = gate.tile([n], at).evict_last().load(map).cast::<f32>();
    let u = up.tile([n], at).evict_last().load(map).cast::<f32>();
    let y = g.zip(&u, |g, u| {
        let gelu = if E::BYTES == 2 {
            half_gelu(g)
        } else {
            // 2 sqrt(2 / pi) (g + 0.044715 g^3)
            g * sigmoid::<E>(1.595_769_1 * g * fma(0.044_715 * g, g, 1.0))
        };
        (if g == f32::NEG_INFINITY { 0.0 } else { gelu }) * u
    });
    out.tile_mut([n], at).store(&y.cast::<E>());
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let file = program::tensors()?;
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let (gate, up) = (file.read::<f16>("gate")?, file.read::<f16>("up")?);
    let n = gate.values.len();
    let (g, u) = (
        device.tensor_from(&gate.values, [n])?,
        device.tensor_from(&up.values, [up.values.len()])?,
    );
    let mut out = device.zeros::<f16, 1>([n])?;
    silu_mul::<f16>::launch(&stream, &g, &u, &mut out)?;
    let pairs = gate.values.iter().zip(&up.values);
    let expected: Vec<f64> = pairs
        .map(|(g, u)| (g.to_f64(), u.to_f64()))
        .map(|(g, u)| g / (1.0 + (-g).exp()) * u)
        .collect();
    let comparison = tiki::report::compare(&out.to_vec()?, &expected)?;
    println!("{}: silu(gate) * up of {:?}", device.name(), gate.shape);
    println!("{comparison}");
    println!("{}", silu_mul::<f16>::REPORT);
    Ok(comparison.holds(0.999, 2))
}

fn main() -> ExitCode {
    program::end(run())
}
