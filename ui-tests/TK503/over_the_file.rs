use tiki::prelude::*;

#[tiki::kernel(threads = 1024, grid = [1], registers = 128)]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {

}

fn main() {}
