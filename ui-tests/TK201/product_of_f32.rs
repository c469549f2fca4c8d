use tiki::prelude::*;

#[tiki::kernel(warps = 1, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let gemm = Gemm::<f32>::new(Warp::new(1, 1));
}

fn main() {}
