use tiki::prelude::*;

#[tiki::kernel(target = "sm_90a", warpgroups = 2, grid = [1])]
fn k(x: &Global<f16>, out: &mut Global<f16>) {
    let a_s = Shared::<f16>::stages(3, Layout::k_major::<f16>([64, 64]));
    let pipe = Pipeline::tma(3, 1);
    let steps = x.dim(1).div_ceil(64);
    if warpgroup_idx() == 0 {
        if elect_one() {
            for _ in 0..steps {
                let s = pipe.acquire();
            }
        }
    } else {
        let gemm = Gemm::<f16>::warpgroup(Warp::new(4, 1));
        let mut held = pipe.wait();
        let mut acc = gemm.issue(a_s.stage(held), a_s.stage(held), gemm.zeros([64, 64]));
        for _ in 1..steps {
            let s = pipe.wait();
            acc = acc.issue(a_s.stage(s), a_s.stage(s));
            warpgroup_wait(1);
            pipe.release(held);
            held = s;
        }
        warpgroup_wait(0);
        out.tile_mut([64, 64], [0, 0]).store(&acc.retire().cast::<f16>());
    }
}

fn main() {}
