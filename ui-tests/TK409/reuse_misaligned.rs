use tiki::prelude::*;

#[tiki::kernel(threads = 64, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let first = Shared::<f32>::new(Layout::row_major([64]));
    let second = first.tile([2], [3]).reuse_as::<f32>(Layout::row_major([2]));
    second.set([thread_idx() % 2], 1.0);
    out.set([0, thread_idx()], x.get([0, 0]));
}

fn main() {}
