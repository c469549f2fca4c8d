use tiki::prelude::*;

// The loads and stores of the tile are free of conflicts; what the tensor cores read of it is not.
#[tiki::kernel(threads = 32, grid = [1], deny(bank_conflicts))]
fn k(x: &Global<f16>, out: &mut Global<f16>) {
    let s = Shared::<f16>::new(Layout::row_major([32, 32]));
    s.store(&x.tile([32, 32], [0, 0]).load(ThreadMap::linear(32).vector_up_to(8)));
    sync_block();
    let gemm = Gemm::<f16>::new(Warp::new(1, 1));
    let mut acc = gemm.zeros([32, 32]);
    gemm.accumulate(s, s, &mut acc);
    out.tile_mut([32, 32], [0, 0]).store(&acc.cast::<f16>());
}

fn main() {}
