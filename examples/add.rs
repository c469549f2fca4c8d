//! Elementwise addition: `out = x + y`, of any length.
//!
//! A tile of 1024 elements a block, vectors of four elements an access. The last tile may be partial:
//! its whole vectors are still accessed as vectors, the rest element by element.
//!
//! `cargo run --release --example add -- [LENGTH]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;

#[tiki::kernel(threads = 256, grid = [x.dim(0).div_ceil(1024)])]
pub fn add(x: &Global<f32, 1>, y: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    require!(x.dim(0) == y.dim(0) && x.dim(0) == out.dim(0));
    let map = ThreadMap::linear(256).vector_up_to(4);
    let at = [block_idx().x];
    let sum = x.tile([1024], at).load(map) + y.tile([1024], at).load(map);
    out.tile_mut([1024], at).store(&sum);
}

/// Elements this program is willing to make.
const MOST: usize = 1 << 28;

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let n = program::number(1, "a length", 1_000_003)?;
    if n > MOST {
        return Err(format!("`{n}` is not a length of at most {MOST}").into());
    }
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let x: Vec<f32> = (0..n).map(|i| (i % 8191) as f32 * 0.25 - 1000.0).collect();
    let y: Vec<f32> = (0..n).map(|i| (i % 127) as f32 / 3.0).collect();
    let (dx, dy) = (device.tensor_from(&x, [n])?, device.tensor_from(&y, [n])?);
    let mut out = device.zeros::<f32, 1>([n])?;
    add::launch(&stream, &dx, &dy, &mut out)?;
    let result = out.to_vec()?;
    let wrong = result
        .iter()
        .zip(x.iter().zip(&y))
        .filter(|(r, (x, y))| **r != *x + *y)
        .count();
    println!("{}: add of {n} elements, {wrong} wrong", device.name());
    println!("{}", add::REPORT);
    Ok(wrong == 0)
}

fn main() -> ExitCode {
    program::end(run())
}
