use tiki::prelude::*;

#[tiki::device]
fn first(n: u32) -> u32 {
    for i in 0..n {
        if i * i > n {
            return i;
        }
    }
    n
}

#[tiki::kernel(threads = 32, grid = [1])]
fn k(n: u32, out: &mut Global<u32, 1>) {
    out.set([thread_idx()], first(n));
}

fn main() {}
