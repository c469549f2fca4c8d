use tiki::prelude::*;

#[tiki::kernel(threads = 64, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let map = ThreadMap::linear(64);
    let v = x.tile([4, 32], [0, 0]).load(map);
    let w = v.map(|e| {
        let mut sum = 0.0;
        #[unroll]
        for i in 0..4u32 {
            if e > 2.0 {
                break;
            }
            sum += e * i as f32;
        }
        sum
    });
    out.tile_mut([4, 32], [0, 0]).store(&w);
}

fn main() {}
