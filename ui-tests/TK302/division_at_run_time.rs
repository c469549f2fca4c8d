use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(out: &mut Global<u32, 1>, n: u32) {
    let y = n / 0;
    out.set([thread_idx()], y);
}

fn main() {}
