use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    #[unroll]
    for i in 0..10_000_000 {
        sync_warp();
    }
}

fn main() {}
