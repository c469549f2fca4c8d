use tiki::prelude::*;

#[tiki::kernel(warps = 1, grid = [1])]
fn k(x: &Global<i8>, out: &mut Global<f32>) {
    let gemm = Gemm::<i8>::new(Warp::new(1, 1));
}

fn main() {}
