use tiki::prelude::*;

#[tiki::__twice(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, a: f32, out: &mut Global<f32, 1>) {
    let y: u32 = a;
}

fn main() {}
