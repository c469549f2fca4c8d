use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    require!(x.dimm(0) == 32);
    out.tile_mut([32], [0]).store(&x.tile([32], [0]).load(ThreadMap::linear(32)));
}

fn main() {}
