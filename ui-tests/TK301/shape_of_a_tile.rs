use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let n = x.dim(0);
    let y = x.tile([n], [0]).load(ThreadMap::linear(32));
}

fn main() {}
