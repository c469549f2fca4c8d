use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], build((GIVEN = true), (GIVEN = false)))]
fn k<const GIVEN: bool>(bias: Option<&Global<f32, 1>>, out: &mut Global<f32, 1>) {
    require!(bias.is_some() == GIVEN);
    out.set([thread_idx()], bias.unwrap().get([thread_idx()]));
}

fn main() {}
