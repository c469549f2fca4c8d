use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], build((GIVEN = true)))]
fn k<const GIVEN: bool>(out: Option<&mut Global<f32, 1>>) {
    require!(out.is_some() == GIVEN);
}

fn main() {}
