use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let map = ThreadMap::new(layout!((32, 1):(1, 0)), layout!((1, 4):(0, 1))).vector(4);
    let s = Shared::<f32>::new(Layout::col_major([32, 4]));
    s.store(&x.tile([32, 4], [0, 0]).load(map));
}

fn main() {}
