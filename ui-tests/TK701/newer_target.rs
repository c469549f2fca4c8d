use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = thread_idx();
    let d = ptx!("max.bf16x2 d, a, a;", out d: u32, in a: u32 = x.get([i]));
    let e = ptx!("redux.sync.min.abs.f32 e, b, -1;", out e: f32, in b: f32 = 1.0);
    out.set([i], d + e as u32);
}

fn main() {}
