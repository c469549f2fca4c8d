use tiki::prelude::*;

#[tiki::__twice(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, a: f32, out: &mut Global<f32, 1>) {
    let v = x.tile([32], [0]).load(ThreadMap::linear(32));
    let y = v.mask(|[i]| i, 0.0);
}

fn main() {}
