use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], deny(uncoalesced))]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let map = ThreadMap::new(layout!((32, 1):(1, 0)), layout!((1, 32):(0, 1)));
    out.tile_mut([32, 32], [0, 0]).store(&x.tile([32, 32], [0, 0]).load(map));
}

fn main() {}
