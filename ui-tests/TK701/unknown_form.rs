use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = thread_idx();
    let d = ptx!("mul.high.u32 d, a, b;", out d: u32, in a: u32 = x.get([i]), in b: u32 = 3);
    out.set([i], d);
}

fn main() {}
