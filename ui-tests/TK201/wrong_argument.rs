use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let y = exp2(1usize);
}

fn main() {}
