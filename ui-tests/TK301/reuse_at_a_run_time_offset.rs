use tiki::prelude::*;

#[tiki::kernel(threads = 64, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let first = Shared::<f32>::stages(2, Layout::row_major([64]));
    let at = (x.dim(0) + thread_idx()) % 2;
    let second = first.stage(at).reuse_as::<u32>(Layout::row_major([64]));
    second.set([thread_idx()], 1);
    out.set([0, thread_idx()], 2.0);
}

fn main() {}
