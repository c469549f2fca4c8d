use tiki::prelude::*;

#[tiki::kernel(threads = 128, grid = persistent)]
fn k(x: &Global<f16>, y: &mut Global<f16>) {
    require!(x.dim(1) == 64 && y.dim(0) == x.dim(0) && y.dim(1) == 64);
    let ring = Shared::<f16>::stages(3, Layout::k_major::<f16>([64, 64]));
    let (load, pipe) = (Load::cp_async(128), Pipeline::cp_async(3));
    let fetch = |t: usize| {
        let s = pipe.acquire();
        load.copy(&x.tile([64, 64], [t, 0]), ring.stage(s));
        pipe.commit();
    };
    for [t, _] in Tiles::persistent([x.dim(0).div_ceil(64), 1]) {
        fetch(t);
        fetch(t + 1);
        let s = pipe.wait();
        let tile = ring.stage(s).load(ThreadMap::linear(128));
        y.tile_mut([64, 64], [t, 0]).store(&tile);
    }
}

fn main() {}
