use tiki::prelude::*;

#[tiki::kernel(target = "sm_90a", threads = 128, grid = [2])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let s = Shared::<f32>::new(layout!((128):(1)));
    let map = ThreadMap::linear(128);
    s.store(&x.tile([128], [0]).load(map));
    out.tile_mut([128], [0]).store(&s.peer(1).load(map));
}

fn main() {}
