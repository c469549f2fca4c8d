use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let map = ThreadMap::new(layout!((32):(0)), layout!((1):(0)));
    out.tile_mut([32], [0]).store(&x.tile([32], [0]).load(map));
}

fn main() {}
