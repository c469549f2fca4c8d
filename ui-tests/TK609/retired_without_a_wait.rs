use tiki::prelude::*;

#[tiki::kernel(target = "sm_90a", warpgroups = 1, grid = [1])]
fn k(x: &Global<f16>, out: &mut Global<f16>) {
    let a_s = Shared::<f16>::new(Layout::k_major::<f16>([64, 64]));
    let map = ThreadMap::linear(128).vector_up_to(8);
    a_s.store(&x.tile([64, 64], [0, 0]).load(map));
    fence_async();
    sync_block();
    let gemm = Gemm::<f16>::warpgroup(Warp::new(4, 1));
    let acc = gemm.issue(a_s, a_s, gemm.zeros([64, 64]));
    let done = acc.retire();
    out.tile_mut([64, 64], [0, 0]).store(&done.cast::<f16>());
}

fn main() {}
