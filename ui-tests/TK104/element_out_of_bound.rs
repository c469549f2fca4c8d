use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], build((E = f32)))]
fn k<E: Half>(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {

}

fn main() {}
