use tiki::prelude::*;

#[tiki::kernel(target = "sm_90a", threads = 256, cluster = 2, grid = [2])]
fn k(out: &mut Global<f32, 1>) {
    let s = Shared::<f32>::new(layout!((256):(1)));
    let t = thread_idx();
    s.set([t], 1.0);
    if warpgroup_idx() == 0 {
        cluster_sync();
    } else {
        out.set([t], s.get([t - 128]));
        cluster_sync();
    }
}

fn main() {}
