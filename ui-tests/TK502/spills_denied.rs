use tiki::prelude::*;

#[tiki::kernel(target = "sm_80", warps = 4, grid = [1], registers = 96, deny(spills))]
fn k(x: &Global<f16>, out: &mut Global<f16>) {
    let a = Shared::<f16>::new(Layout::k_major::<f16>([128, 64]));
    a.store(&x.tile([128, 64], [0, 0]).load(ThreadMap::linear(128).vector_up_to(8)));
    sync_block();
    let gemm = Gemm::<f16>::new(Warp::new(2, 2));
    let acc = gemm.dot(a, a);
    out.tile_mut([128, 128], [0, 0]).store(&acc.cast::<f16>());
}

fn main() {}
