use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = thread_idx();
    let d = ptx!("mov.b32 d, 1;", out d: u8, in a: i8 = 1);
    out.set([i], 2);
}

fn main() {}
