use tiki::prelude::*;

#[tiki::kernel(threads = 64, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let map = ThreadMap::linear(64);
    let v = x.tile([32, 30], [0, 0]).load(map);
    let w = v.redistribute(map.vector(4));
    out.tile_mut([32, 30], [0, 0]).store(&w);
}

fn main() {}
