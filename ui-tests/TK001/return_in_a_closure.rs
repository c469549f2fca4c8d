use tiki::prelude::*;

#[tiki::device]
fn step(n: f32) -> f32 {
    let mut m = n;
    match n > 2.0 {
        true => return 7.0,
        false => m += 1.0,
    }
    m
}

#[tiki::kernel(threads = 64, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let map = ThreadMap::linear(64);
    let v = x.tile([4, 32], [0, 0]).load(map);
    out.tile_mut([4, 32], [0, 0]).store(&v.map(|e| step(e)));
}

fn main() {}
