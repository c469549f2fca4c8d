use tiki::prelude::*;

#[tiki::kernel(target = "sm_90a", warpgroups = 2, grid = [sizes.dim(0)])]
fn k(x: &Global<f16, 1>, sizes: &Global<u32, 2>, out: &mut Global<f16>) {
    let ring = Shared::<f16>::stages(2, Layout::k_major::<f16>([64, 64]));
    let pipe = Pipeline::tma(2, 1);
    let g = block_idx().x;
    if warpgroup_idx() == 0 {
        if elect_one() {
            let rows = sizes.get([g, 1]) as usize;
            let own = x.window(sizes.get([g, 0]) as usize, [rows, 64], [64, 1]);
            let s = pipe.acquire();
            Load::tma().copy_into(&own.tile([64, 64], [0, 0]), ring.stage(s), &pipe, s);
        }
    } else {
        let s = pipe.wait();
        out.tile_mut([64, 64], [g, 0]).store(&ring.stage(s).load(ThreadMap::linear(128)));
        pipe.release(s);
    }
}

fn main() {}
