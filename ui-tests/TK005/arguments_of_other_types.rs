use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [x.dim(0)])]
fn k(x: Global<f16>, name: &str, list: [f32; 4], (a, b): (f32, f32), wide: &Global<Wide>, out: &mut Global<f16>) {
    let y = x.tile([1, 32], [0, 0]).load(ThreadMap::linear(32));
    out.tile_mut([1, 32], [0, 0]).store(&y);
}

#[tiki::kernel(threads = 32, grid = [1])]
const fn l(x: &Global<f32, 1>, out: &mut Global<f32, 1>) -> f32 {
    out.tile_mut([32], [0]).store(&x.tile([32], [0]).load(ThreadMap::linear(32)));
    1.0
}

fn callers(stream: &tiki::Stream, x: &tiki::Tensor<f16, 2>, out: &mut tiki::Tensor<f16, 2>) {
    let _ = k::launch(stream, x, "name", [0.0; 4], (1.0, 2.0), x, out);
}

fn main() {}
