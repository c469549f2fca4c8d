use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = thread_idx();
    let mut d = x.get([i]);
    if d > 3 {
        d = ptx!("shfl.sync.bfly.b32 d, e, 1, 31, -1;", out d: u32, in e: u32 = d);
    }
    out.set([i], d);
}

fn main() {}
