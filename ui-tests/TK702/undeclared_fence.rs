use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = thread_idx();
    out.set([i], x.get([i]));
    ptx!("membar.gl;");
}

fn main() {}
