use tiki::prelude::*;

#[tiki::kernel(threads = 64, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let first = Shared::<f32>::new(Layout::row_major([64]));
    let second = first.reuse_as::<f16>(Layout::row_major([8, 32]));
    second.set([0, thread_idx() % 32], 1.0.cast::<f16>());
    out.set([0, thread_idx()], x.get([0, 0]));
}

fn main() {}
