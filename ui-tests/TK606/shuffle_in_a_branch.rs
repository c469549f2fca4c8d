use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    if lane_idx() < 16 {
        let y = shuffle_xor(1.0f32, 1);
        out.set([thread_idx()], y);
    }
}

fn main() {}
