use tiki::prelude::*;

#[tiki::kernel(threads = 256, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let s = Shared::<f32>::new(Layout::row_major([32, 32]));
    let map = ThreadMap::linear(256);
    s.store(&x.tile([32, 32], [0, 0]).load(map));
    out.tile_mut([32, 32], [0, 0]).store(&s.t().load(map));
}

fn main() {}
