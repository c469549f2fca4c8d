use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(n: u32) {
    let s = Shared::<f32>::new(Layout::row_major([n as usize, 32]));
}

fn main() {}
