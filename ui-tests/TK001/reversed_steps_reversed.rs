use tiki::prelude::*;

#[tiki::kernel(threads = 64, grid = [1])]
fn k(n: u32, out: &mut Global<u32, 1>) {
    let mut sum = 0u32;
    for i in (0..n).rev().step_by(2).rev() {
        sum += i;
    }
    for i in (0..n).step_by(2).rev().step_by(3) {
        sum += i;
    }
    out.set([thread_idx()], sum);
}

fn main() {}
