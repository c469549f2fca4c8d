use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let y = if thread_idx() == 0 { 1.0f32 } else { 1u32 };
}

fn main() {}
