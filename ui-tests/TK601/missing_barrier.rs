use tiki::prelude::*;

#[tiki::kernel(threads = 64, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let s = Shared::<f32>::new(Layout::row_major([64]));
    s.set([thread_idx()], 1.0);
    let y = s.get([63 - thread_idx()]);
    out.set([thread_idx()], y);
}

fn main() {}
