use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], deny(bank_conflicts))]
fn k(x: &Global<f32>, out: &mut Global<f32, 1>) {
    let s = Shared::<f32>::new(Layout::row_major([32, 32]));
    s.store(&x.tile([32, 32], [0, 0]).load(ThreadMap::linear(32)));
    sync_block();
    let i = thread_idx();
    // Lane i at the diagonal: no two in one bank. Lane i in row i of column 0: all in one.
    out.set([i], s.get([i, i]) + s.get([i, 0]));
}

fn main() {}
