use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>, backward: bool) {
    let v = x.tile([32], [0]).load(ThreadMap::linear(32));
    out.tile_mut([32], [0]).store(&v.scan_sum(false, backward));
}

fn main() {}
