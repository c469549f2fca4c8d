use tiki::prelude::*;

#[tiki::kernel(threads = 64, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let first = Shared::<f32>::new(Layout::row_major([64]));
    let i = thread_idx();
    first.set([63 - i], x.get([0, i]));
    sync_block();
    let v = first.get([i]);
    sync_block();
    let second = first.reuse_as::<u32>(Layout::row_major([32]));
    if i < 32 {
        second.set([i], i as u32);
    }
    sync_block();
    let late = first.get([i]);
    out.set([0, i], v + late);
}

fn main() {}
