//! Any permutation of axes, and any other view with strides, brought into memory without gaps.
//!
//! The permutation is made on the host: `x.swap_axes(a, b)` is a view of the same memory with other strides, and
//! `permute` copies it element by element in the order of the result. `swap_last` is for the case in which that would
//! read memory across: it exchanges the last two axes of `[.., m, n]` through a swizzled shared tile, so that both sides
//! touch whole lines. More than 2^31 elements work: offsets are 64 bits wide where the extents ask for it.
//!
//! `cargo run --release --example permute`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;

#[tiki::kernel(threads = 256, grid = [x.dim(3).div_ceil(256), x.dim(2).div_ceil(4), x.dim(0) * x.dim(1)], build((E = f32), (E = f16), (E = bf16)))]
pub fn permute<E: Element>(x: &Global<E, 4, Strided>, out: &mut Global<E, 4>) {
    require!(out.shape() == x.shape());
    let b = block_idx();
    let (i, j) = (b.z / x.dim(1), b.z % x.dim(1));
    let map = ThreadMap::linear(256);
    let v = x.at([i, j]).tile([4, 256], [b.y, b.x]).load(map);
    out.at_mut([i, j]).tile_mut([4, 256], [b.y, b.x]).store(&v);
}

#[tiki::kernel(
    threads = 256,
    grid = [x.dim(1).div_ceil(64), x.dim(2).div_ceil(64), x.dim(0)],
    build((E = f32), (E = f16), (E = bf16))
)]
pub fn swap_last<E: Element>(x: &Global<E, 3>, out: &mut Global<E, 3>) {
    require!(out.dim(0) == x.dim(0) && out.dim(1) == x.dim(2) && out.dim(2) == x.dim(1));
    let b = block_idx();
    let tile = Shared::<E>::new(layout!((64, 64):(64, 1)).swizzle(Swizzle::new(5, 1, 5)));
    let across = ThreadMap::linear(256);
    tile.store(&x.at([b.z]).tile([64, 64], [b.x, b.y]).load(across));
    sync_block();
    let down = ThreadMap::new(layout!((4, 64):(64, 1)), layout!((1, 1):(1, 1)));
    out.at_mut([b.z])
        .tile_mut([64, 64], [b.y, b.x])
        .store(&tile.t().load(down));
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let (a, b, c, d) = (3, 5, 33, 70);
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let host: Vec<f32> = (0..a * b * c * d).map(|i| i as f32).collect();
    let x = device.tensor_from(&host, [a, b, c, d])?;
    // [a, b, c, d] to [c, b, a, d] to [c, d, a, b].
    let turned = x.swap_axes(0, 2)?.swap_axes(1, 3)?;
    let mut out = device.zeros::<f32, 4>([c, d, a, b])?;
    permute::<f32>::launch(&stream, &turned, &mut out)?;
    let result = out.to_vec()?;
    let wrong = (0..host.len())
        .filter(|n| {
            let (k, l, i, j) = (n / (d * a * b), n / (a * b) % d, n / b % a, n % b);
            result[*n] != host[((i * b + j) * c + k) * d + l]
        })
        .count();
    println!(
        "{}: permutation of {:?}, {wrong} wrong",
        device.name(),
        [a, b, c, d]
    );
    println!("{}", permute::<f32>::REPORT);
    Ok(wrong == 0)
}

fn main() -> ExitCode {
    program::end(run())
}
