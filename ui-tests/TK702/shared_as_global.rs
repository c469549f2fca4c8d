use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = thread_idx();
    let s = Shared::<u32>::new(Layout::row_major([32]));
    let d = ptx!("ld.global.u32 d, [p];", out d: u32, in p: u64 = x.address([i]), reads(s));
    out.set([i], d);
}

fn main() {}
