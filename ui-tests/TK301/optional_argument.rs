use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(bias: Option<&Global<f32, 1>>, out: &mut Global<f32, 1>) {
    let mut sum = 1.0f32;
    if let Some(bias) = bias {
        sum += bias.get([0]);
    }
    out.set([thread_idx()], sum);
}

fn main() {}
