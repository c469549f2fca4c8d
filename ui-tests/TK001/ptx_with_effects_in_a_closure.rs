use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<u32>, out: &mut Global<u32>) {
    let map = ThreadMap::linear(32);
    let v = x.tile([4, 32], [0, 0]).load(map);
    let w = v.map(|e| ptx!("shfl.sync.bfly.b32 d, e, 1, 31, -1;", out d: u32, in e: u32 = e));
    out.tile_mut([4, 32], [0, 0]).store(&w);
}

fn main() {}
