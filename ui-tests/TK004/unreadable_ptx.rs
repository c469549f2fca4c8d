use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = thread_idx();
    ptx!("st.global.u32 [p], v;", in p: u64 = out.address([i]), in v = 1);
    ptx!();
    out.set([i], x.get([i]));
}

fn main() {}
