use tiki::prelude::*;

#[tiki::device]
fn over<const N: usize>(x: f32) -> f32 {
    x / N as f32
}

#[tiki::kernel(threads = 32, grid = [1])]
fn mean(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let v = x.tile([64], [0]).load(ThreadMap::linear(32));
    out.tile_mut([64], [0]).store(&v.map(over));
}

fn main() {}
