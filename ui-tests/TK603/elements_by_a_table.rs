use tiki::prelude::*;

// Where the table points is known when it runs: nobody can promise that there are no conflicts.
#[tiki::kernel(threads = 32, grid = [1], deny(bank_conflicts))]
fn k(x: &Global<f32, 1>, at: &Global<u32, 1>, out: &mut Global<f32, 1>) {
    let s = Shared::<f32>::new(Layout::row_major([32]));
    s.store(&x.tile([32], [0]).load(ThreadMap::linear(32)));
    sync_block();
    let i = thread_idx();
    out.set([i], s.get([at.get([i]).min(31) as usize]));
}

fn main() {}
