use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let y = x.tile([64], [0]).load(ThreadMap::linear(64));
}

fn main() {}
