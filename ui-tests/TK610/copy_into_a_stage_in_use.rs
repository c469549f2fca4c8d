use tiki::prelude::*;

#[tiki::kernel(target = "sm_90a", warpgroups = 2, grid = [1])]
fn k(x: &Global<f16>, out: &mut Global<f16>) {
    let a_s = Shared::<f16>::stages(3, Layout::k_major::<f16>([64, 64]));
    let pipe = Pipeline::tma(3, 1);
    let steps = x.dim(1).div_ceil(64);
    if warpgroup_idx() == 0 {
        if elect_one() {
            let load = Load::tma();
            for k in 0..steps {
                let s = pipe.acquire();
                load.copy_into(&x.tile([64, 64], [0, k]), a_s.stage(s), &pipe, s);
            }
        }
    } else {
        let s = pipe.wait();
        if elect_one() {
            Load::tma().copy_into(&x.tile([64, 64], [0, 0]), a_s.stage(s), &pipe, s);
        }
    }
}

fn main() {}
