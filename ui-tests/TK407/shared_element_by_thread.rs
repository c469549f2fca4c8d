use tiki::prelude::*;

#[tiki::kernel(threads = 64, grid = [1])]
fn k(out: &mut Global<u32, 1>) {
    let s = Shared::<u32>::new(Layout::row_major([32]));
    s.set([thread_idx()], thread_idx() as u32);
    sync_block();
    out.set([thread_idx()], s.get([thread_idx() % 32]));
}

fn main() {}
