use tiki::prelude::*;

mod config {
    pub const N: usize = 64;
}

#[tiki::kernel(threads = 32, grid = [1], assume(config::N == 128))]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let n = config::N;
}

fn main() {}
