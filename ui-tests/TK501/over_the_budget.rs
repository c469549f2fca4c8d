use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], shared = "8 KiB")]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let s = Shared::<f32>::new(Layout::row_major([64, 64]));
    s.set([0, 0], 1.0);
}

fn main() {}
