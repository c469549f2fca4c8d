use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], registers = 64)]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let y = x.tile([4096], [0]).load(ThreadMap::linear(32).vector_up_to(4));
    out.tile_mut([4096], [0]).store(&y);
}

fn main() {}
