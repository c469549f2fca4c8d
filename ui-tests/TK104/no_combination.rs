use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], build((N = [32, 64], T = 2..4, N * T > 1000)))]
pub fn k<const N: usize, const T: usize>(out: &mut Global<f32, 1>) {
    let _ = (N, T, out);
}

fn main() {}
