use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f16>, out: &mut Global<f16>) {
    let pipe = Pipeline::cp_async(1);
}

fn main() {}
