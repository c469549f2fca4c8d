use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
unsafe fn k(x: &Global<f32, 1>) {}

fn main() {}
