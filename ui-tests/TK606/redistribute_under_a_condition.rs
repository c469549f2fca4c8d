use tiki::prelude::*;

#[tiki::kernel(threads = 64, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let map = ThreadMap::linear(64);
    let mut v = x.tile([4, 32], [0, 0]).load(map);
    if thread_idx() % 2 == 0 {
        let rows = v.redistribute(ThreadMap::new(layout!((4, 16):(16, 1)), layout!((1, 2):(2, 1))));
        v = rows.redistribute_like(&v);
    }
    out.tile_mut([4, 32], [0, 0]).store(&v);
}

fn main() {}
