use tiki::prelude::*;

#[tiki::kernel(target = "sm_80", threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<e4m3, 1>) {
    let v = x.tile([32], [0]).load(ThreadMap::linear(32));
    out.tile_mut([32], [0]).store(&v.cast::<e4m3>());
}

fn main() {}
