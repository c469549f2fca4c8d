use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [x.dim(0).div_ceil(32)])]
fn k(x: &Global<f16>, out: &mut Global<f16>) {
    let ring = Shared::<f16>::stages(2, Layout::k_major::<f16>([32, 64]));
    let (load, pipe) = (Load::cp_async(32), Pipeline::cp_async(2));
    let s = pipe.acquire();
    load.copy(&x.tile([32, 64], [block_idx().x, 0]), ring.stage(s));
    pipe.commit();
}

fn main() {}
