use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], workspace(x = [1], state = [8, 2], other = [1], 7))]
fn k(x: &Global<f32, 1>, state: &mut Global<u64, 1>) {

}

fn main() {}
