use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let s = Shared::<f32>::new(Layout::row_major([32, 32]).swizzle(Swizzle::new(40, 0, 40)));
}

fn main() {}
