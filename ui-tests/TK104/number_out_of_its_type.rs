use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], build((N = -32), (N = 5_000_000_000), (n = 1)))]
fn k<const N: u32>(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    out.tile_mut([32], [0]).store(&x.tile([32], [0]).load(ThreadMap::linear(32)));
}

fn main() {}
