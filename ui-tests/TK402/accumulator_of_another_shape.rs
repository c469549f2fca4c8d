use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f16>, out: &mut Global<f32>) {
    let s = Shared::<f16>::new(Layout::row_major([32, 16]));
    s.store(&x.tile([32, 16], [0, 0]).load(ThreadMap::linear(32)));
    sync_block();
    let gemm = Gemm::<f16>::new(Warp::new(1, 1));
    let mut y = gemm.zeros([32, 16]);
    gemm.accumulate(s, s, &mut y);
    out.tile_mut([32, 16], [0, 0]).store(&y);
}

fn main() {}
