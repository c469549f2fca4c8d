use tiki::prelude::*;

#[tiki::kernel(target = "sm_90a", warpgroups = 1, grid = [1])]
fn k(x: &Global<f16>, out: &mut Global<f16>) {
    let a_s = Shared::<f16>::new(Layout::k_major::<f16>([64, 64]));
    let gemm = Gemm::<f16>::warpgroup(Warp::new(4, 1));
    a_s.store(&x.tile([64, 64], [0, 0]).load(ThreadMap::linear(128).vector_up_to(8)));
    fence_async();
    let acc = gemm.issue(a_s, a_s, gemm.zeros([64, 64]));
    warpgroup_wait(0);
    let tile = Shared::<f16>::new(Layout::k_major::<f16>([64, 64]));
    let store = Store::tma();
    tile.store(&acc.retire().cast::<f16>());
    fence_async();
    sync_block();
    if elect_one() {
        store.copy(tile, out.tile_mut([64, 64], [0, 0]));
        store.commit();
    }
}

fn main() {}
