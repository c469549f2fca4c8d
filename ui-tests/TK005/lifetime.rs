use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k<'a>(x: &'a Global<f32, 1>) {}

fn main() {}
