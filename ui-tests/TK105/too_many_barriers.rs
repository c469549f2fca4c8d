use tiki::prelude::*;

#[tiki::kernel(threads = 1024, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let map = ThreadMap::linear(1024);
    let (first, second) = (Barrier::named(128), Barrier::named(128));
    first.sync();
    second.sync();
    out.tile_mut([1024], [0]).store(&x.tile([1024], [0]).load(map));
}

fn main() {}
