use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [x.dim(0)])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let y = x.tile([1, 128], [block_idx().x, 0]).load(ThreadMap::linear(32).vector(4));
    out.tile_mut([1, 128], [block_idx().x, 0]).store(&y);
}

fn main() {}
