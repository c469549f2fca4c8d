use tiki::prelude::*;

#[tiki::kernel(target = "sm_90a", warpgroups = 1, grid = [1])]
fn k(x: &Global<f16>, out: &mut Global<f16>) {
    let tile = Shared::<f16>::new(Layout::k_major::<f16>([64, 64]));
    let (store, bar) = (Store::tma(), Barrier::named(128));
    let v = x.tile([64, 64], [0, 0]).load(ThreadMap::linear(128).vector_up_to(8));
    tile.store(&v);
    fence_async();
    bar.sync();
    if elect_one() {
        store.copy(tile, out.tile_mut([64, 64], [0, 0]));
        store.commit();
    }
    tile.store(&v);
}

fn main() {}
