use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], build((E = f32, N = 8), (E = f16, N = 16)))]
fn fill<E: Element, const N: usize>(out: &mut Global<E, 1>) {
    out.tile_mut([N], [0]).store(&out.tile([N], [0]).load(ThreadMap::linear(32)));
}

fn main() {
    let dev = tiki::Device::open_default().unwrap();
    let mut out = dev.zeros::<f32, 1>([8]).unwrap();
    fill::<f32, 9>::launch(&dev.stream(), &mut out).unwrap();
}
