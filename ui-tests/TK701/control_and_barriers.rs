use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = thread_idx();
    ptx!("bar.sync 0;");
    ptx!("exit;");
    ptx!("trap;");
    out.set([i], x.get([i]));
}

fn main() {}
