use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], shared = "96 kb")]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {

}

fn main() {}
