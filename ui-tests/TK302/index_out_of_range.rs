use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let sizes = [32, 64];
    let y = x.tile([sizes[2]], [0]);
}

fn main() {}
