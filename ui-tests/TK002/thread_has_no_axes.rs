use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(out: &mut Global<f32, 1>) {
    out.set([thread_idx().x], 1.0);
}

fn main() {}
