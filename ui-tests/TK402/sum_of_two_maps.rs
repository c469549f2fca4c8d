use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let a = x.tile([32, 32], [0, 0]).load(ThreadMap::linear(32));
    let b = x.tile([32, 32], [0, 0]).load(ThreadMap::rows(32, 4));
    out.tile_mut([32, 32], [0, 0]).store(&(a + b));
}

fn main() {}
