use tiki::prelude::*;

#[tiki::kernel(threads = 256, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let s = Shared::<f32>::new(layout!((32, 32):(32, 1)));
    if warp_idx() >= 4 {
        s.store(&x.tile([32, 32], [0, 0]).load(ThreadMap::linear(128)));
        let turned = s.t().load(ThreadMap::linear(128));
        out.tile_mut([32, 32], [0, 0]).store(&turned);
    }
}

fn main() {}
