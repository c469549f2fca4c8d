use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let mut y = x.tile([32], [0]).load(ThreadMap::linear(32));
    if thread_idx() == 0 {
        y = x.tile([64], [0]).load(ThreadMap::linear(32));
    }
}

fn main() {}
