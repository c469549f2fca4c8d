use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32>, out: &mut Global<f32>) {
    let s = Shared::<f32>::new(Layout::k_major::<f32>([32, 3]));
}

fn main() {}
