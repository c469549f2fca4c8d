use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    for i in 0..4 {
        let y = x.tile([32 * i], [0]).load(ThreadMap::linear(32));
    }
}

fn main() {}
