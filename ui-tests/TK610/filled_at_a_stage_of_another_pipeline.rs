use tiki::prelude::*;

#[tiki::kernel(target = "sm_90a", warpgroups = 2, grid = [1])]
fn k(x: &Global<f16>, out: &mut Global<f16>) {
    let a_s = Shared::<f16>::stages(3, Layout::k_major::<f16>([64, 64]));
    let b_s = Shared::<f16>::stages(3, Layout::k_major::<f16>([64, 64]));
    let other = Pipeline::tma(3, 1);
    let pipe = Pipeline::tma(3, 1);
    let steps = x.dim(1).div_ceil(64);
    if warpgroup_idx() == 0 {
        if elect_one() {
            let load = Load::tma();
            for k in 0..steps {
                let s = pipe.acquire();
                load.copy_into(&x.tile([64, 64], [0, k]), a_s.stage(s), &pipe, s);
                let t = other.acquire();
                load.copy_into(&x.tile([64, 64], [1, k]), b_s.stage(s), &other, s);
            }
        }
    } else {
        let gemm = Gemm::<f16>::warpgroup(Warp::new(4, 1));
        let (s, t) = (pipe.wait(), other.wait());
        let acc = gemm.issue(a_s.stage(s), b_s.stage(t), gemm.zeros([64, 64]));
        warpgroup_wait(0);
        pipe.release(s);
        other.release(t);
        out.tile_mut([64, 64], [0, 0]).store(&acc.retire().cast::<f16>());
    }
}

fn main() {}
