use tiki::prelude::*;

// A ring of tiles: five stages are one too many for 227 KiB.
#[tiki::kernel(target = "sm_90a", threads = 128, grid = [1], build((BM = 128, BN = 256, STAGES = 5)))]
fn k<const BM: usize, const BN: usize, const STAGES: usize>(x: &Global<f16>, out: &mut Global<f16>) {
    require!(x.dim(1) % 8 == 0);
    let a = Shared::<f16>::stages(STAGES, Layout::k_major::<f16>([BM, 64]));
    let b = Shared::<f16>::stages(STAGES, Layout::k_major::<f16>([BN, 64]));
    let load = Load::cp_async(128);
    let pipe = Pipeline::cp_async(STAGES);
    let s = pipe.acquire();
    load.copy(&x.tile([BM, 64], [0, 0]), a.stage(s));
    load.copy(&x.tile([BN, 64], [0, 0]), b.stage(s));
    pipe.commit();
    let s = pipe.wait();
    let map = ThreadMap::linear(128);
    out.tile_mut([1, 64], [0, 0]).store(&a.stage(s).tile([1, 64], [0, 0]).load(map));
}

fn main() {}
