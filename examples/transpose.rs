//! Transpose through a swizzled shared tile: both sides of the copy touch whole lines of global memory,
//! and neither side of the shared tile has a bank conflict (`deny(bank_conflicts)` proves it).
//!
//! `V` is the width of the global accesses, in elements. With 4, a thread reads 16 bytes of a row, and gathers
//! 16 bytes of a column from shared memory: in a warp 8 groups of 4 rows and 4 columns, which the XOR of row bits 2 to 4
//! onto the 16-byte chunk spreads over all banks. Blocks go down the columns first, so that those which run
//! together write neighbouring lines.
//!
//! `cargo run --release --example transpose -- [ROWS COLUMNS]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;

#[tiki::kernel(
    threads = 256,
    grid = [x.dim(0).div_ceil(64), x.dim(1).div_ceil(64)],
    deny(bank_conflicts),
    build((V = 1), (V = 4))
)]
pub fn transpose<const V: usize>(x: &Global<f32>, out: &mut Global<f32>) {
    require!(out.dim(0) == x.dim(1) && out.dim(1) == x.dim(0));
    require!(x.dim(0).is_multiple_of(V) && x.dim(1).is_multiple_of(V));
    let b = block_idx();
    let (swizzle, down) = if V == 4 {
        let groups = ThreadMap::new(layout!((32, 8):(8, 1)), layout!((1, 4):(4, 1)));
        (Swizzle::new(3, 2, 6), groups)
    } else {
        let singles = ThreadMap::new(layout!((4, 64):(64, 1)), layout!((1, 1):(1, 1)));
        (Swizzle::new(5, 0, 6), singles)
    };
    let tile = Shared::<f32>::new(layout!((64, 64):(64, 1)).swizzle(swizzle));
    let across = ThreadMap::linear(256).vector_up_to(V);
    tile.store(&x.tile([64, 64], [b.x, b.y]).load(across));
    sync_block();
    out.tile_mut([64, 64], [b.y, b.x])
        .store(&tile.t().load(down));
}

/// Elements this program is willing to make.
const MOST: usize = 1 << 28;

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let extent = |nth: usize, default: usize| program::number(nth, "an extent", default);
    let (rows, columns) = (extent(1, 300)?, extent(2, 517)?);
    if rows.checked_mul(columns).is_none_or(|n| n > MOST) {
        return Err(format!("{rows} x {columns} are more than {MOST} elements").into());
    }
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let host: Vec<f32> = (0..rows * columns).map(|i| i as f32).collect();
    let x = device.tensor_from(&host, [rows, columns])?;
    let mut out = device.zeros::<f32, 2>([columns, rows])?;
    if rows % 4 == 0 && columns % 4 == 0 {
        transpose::<4>::launch(&stream, &x, &mut out)?;
    } else {
        transpose::<1>::launch(&stream, &x, &mut out)?;
    }
    let result = out.to_vec()?;
    let wrong = (0..rows * columns)
        .filter(|i| result[(i % columns) * rows + i / columns] != host[*i])
        .count();
    println!(
        "{}: transpose of {rows} x {columns}, {wrong} wrong",
        device.name()
    );
    println!("{}", transpose::<4>::REPORT);
    Ok(wrong == 0)
}

fn main() -> ExitCode {
    program::end(run())
}
