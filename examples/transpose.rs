//! Transpose through a swizzled shared tile: both sides of the copy touch whole lines of global memory,
//! and neither side of the shared tile has a bank conflict (`deny(bank_conflicts)` proves it).
//!
//! `cargo run --release --example transpose -- [ROWS COLUMNS]`

use std::process::ExitCode;
use tiki::prelude::*;

#[tiki::kernel(threads = 256, grid = [x.dim(1).div_ceil(32), x.dim(0).div_ceil(32)], deny(bank_conflicts))]
pub fn transpose(x: &Global<f32>, out: &mut Global<f32>) {
    require!(out.dim(0) == x.dim(1) && out.dim(1) == x.dim(0));
    let b = block_idx();
    let tile = Shared::<f32>::new(layout!((32, 32):(32, 1)).swizzle(Swizzle::new(5, 0, 5)));
    let map = ThreadMap::new(layout!((8, 32):(32, 1)), layout!((4, 1):(1, 0)));
    tile.store(&x.tile([32, 32], [b.y, b.x]).load(map));
    sync_block();
    out.tile_mut([32, 32], [b.x, b.y])
        .store(&tile.t().load(map));
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let mut extent = |default: usize| match args.next() {
        Some(text) => text
            .parse()
            .map_err(|_| format!("`{text}` is not an extent")),
        None => Ok(default),
    };
    let (rows, columns) = (extent(300)?, extent(517)?);
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let host: Vec<f32> = (0..rows * columns).map(|i| i as f32).collect();
    let x = device.tensor_from(&host, [rows, columns])?;
    let mut out = device.zeros::<f32, 2>([columns, rows])?;
    transpose::launch(&stream, &x, &mut out)?;
    let result = out.to_vec()?;
    let wrong = (0..rows * columns)
        .filter(|i| result[(i % columns) * rows + i / columns] != host[*i])
        .count();
    println!(
        "{}: transpose of {rows} x {columns}, {wrong} wrong",
        device.name()
    );
    println!("{}", transpose::REPORT);
    Ok(wrong == 0)
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
