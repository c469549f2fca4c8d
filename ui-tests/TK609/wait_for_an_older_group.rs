use tiki::prelude::*;

#[tiki::kernel(target = "sm_90a", warpgroups = 1, grid = [1])]
fn k(x: &Global<f16>, out: &mut Global<f16>) {
    let a_s = Shared::<f16>::new(Layout::k_major::<f16>([64, 64]));
    a_s.store(&x.tile([64, 64], [0, 0]).load(ThreadMap::linear(128).vector_up_to(8)));
    fence_async();
    sync_block();
    let gemm = Gemm::<f16>::warpgroup(Warp::new(4, 1));
    let first = gemm.issue(a_s, a_s, gemm.zeros([64, 64]));
    let second = gemm.issue(a_s, a_s, gemm.zeros([64, 64]));
    warpgroup_wait(1);
    out.tile_mut([64, 64], [0, 0]).store(&first.retire().cast::<f16>());
    out.tile_mut([64, 64], [0, 1]).store(&second.retire().cast::<f16>());
}

fn main() {}
