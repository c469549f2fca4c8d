use tiki::prelude::*;

#[tiki::kernel(target = "sm_90a", warpgroups = 1, grid = [1])]
fn k(x: &Global<f16>, out: &mut Global<f16>) {
    let pipe = Pipeline::cp_async(3);
    pipe.commit();
}

fn main() {}
