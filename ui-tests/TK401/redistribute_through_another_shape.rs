use tiki::prelude::*;

#[tiki::kernel(threads = 64, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let map = ThreadMap::linear(64);
    let v = x.tile([32, 32], [0, 0]).load(map);
    let buffer = Shared::<f32>::new(Layout::row_major([16, 32]));
    let w = v.redistribute_through(&buffer, map);
    out.tile_mut([32, 32], [0, 0]).store(&w);
}

fn main() {}
