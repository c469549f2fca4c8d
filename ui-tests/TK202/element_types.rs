use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let map = ThreadMap::linear(32);
    let h = x.tile([32], [0]).load(map).cast::<f16>();
    out.tile_mut([32], [0]).store(&h);
}

fn main() {}
