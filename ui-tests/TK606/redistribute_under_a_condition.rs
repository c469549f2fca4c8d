use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let mut v = x.tile([4, 32], [0, 0]).load(ThreadMap::linear(32));
    if thread_idx() % 2 == 0 {
        let rows = v.redistribute(ThreadMap::linear(32).vector(4));
        v = rows.redistribute_like(&v);
    }
    out.tile_mut([4, 32], [0, 0]).store(&v);
}

fn main() {}
