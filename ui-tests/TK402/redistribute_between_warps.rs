use tiki::prelude::*;

#[tiki::kernel(threads = 64, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let v = x.tile([32, 32], [0, 0]).load(ThreadMap::rows(64, 8).vector_up_to(4));
    let w = v.redistribute(ThreadMap::new(layout!((2, 32):(32, 1)), layout!((16, 1):(1, 16))));
    out.tile_mut([32, 32], [0, 0]).store(&w);
}

fn main() {}
