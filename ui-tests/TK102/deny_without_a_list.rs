use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], deny = "spills")]
fn of_a_text(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {

}

#[tiki::kernel(threads = 32, grid = [1], deny)]
fn of_nothing(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {

}

fn main() {}
