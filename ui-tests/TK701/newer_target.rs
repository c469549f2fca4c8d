use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = thread_idx();
    let d = ptx!("add.rn.bf16x2 d, a, a;", out d: u32, in a: u32 = x.get([i]));
    out.set([i], d);
}

fn main() {}
