use tiki::prelude::*;

#[tiki::kernel(threads = 128, grid = [x.dim(0).div_ceil(N)], registers = 128, build((N = 16384)))]
fn k<const N: usize>(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let v = x.tile([N], [block_idx().x]).load(ThreadMap::linear(128));
    let total = v.sum();
    out.tile_mut([N], [block_idx().x]).store(&v.map(|a| a / total));
}

fn main() {}
