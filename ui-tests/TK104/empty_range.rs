use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], build((N = 64..64), (M = [1, 2], N = 1)))]
pub fn k<const N: usize>(out: &mut Global<f32, 1>) {
    let _ = (N, out);
}

fn main() {}
