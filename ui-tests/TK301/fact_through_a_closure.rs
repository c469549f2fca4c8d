use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let twice = |n: usize| 2 * n;
    require!(twice(x.dim(0)) == out.dim(0));
}

fn main() {}
