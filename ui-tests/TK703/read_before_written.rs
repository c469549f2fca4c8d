use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = thread_idx();
    let d = ptx!("{ .reg .b32 t; add.u32 d, t, 1; }", out d: u32);
    out.set([i], d);
}

fn main() {}
