use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = thread_idx();
    let d = ptx!("ld.global.u32 d, [p];", out d: u32, in p: u64 = x.address([i]));
    out.set([i], d);
}

fn main() {}
