use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let y = x.tile([32, 32], [0, 0]);
}

fn main() {}
