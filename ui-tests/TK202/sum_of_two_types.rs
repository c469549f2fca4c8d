use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let map = ThreadMap::linear(32);
    let a = x.tile([32], [0]).load(map);
    let b = a.cast::<f16>();
    let y = a + b;
}

fn main() {}
