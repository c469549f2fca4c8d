use tiki::prelude::*;

#[tiki::kernel(target = "sm_90a", threads = 128, cluster = 2, grid = [2])]
fn k(n: u32, out: &mut Global<f32, 1>) {
    let s = Shared::<f32>::new(layout!((128):(1)));
    let t = thread_idx();
    s.set([t], 1.0);
    if n > 4 {
        cluster_sync();
    }
    out.set([t], s.peer(1).get([t]));
    cluster_sync();
}

fn main() {}
