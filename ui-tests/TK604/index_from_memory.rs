use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], deny(unproven))]
fn k(x: &Global<f32, 1>, index: &Global<u32, 1>, out: &mut Global<f32, 1>) {
    let i = index.get([thread_idx()]);
    let y = x.get([i as usize]);
    out.set([i as usize], y);
}

fn main() {}
