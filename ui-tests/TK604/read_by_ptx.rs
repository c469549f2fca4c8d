use tiki::prelude::*;

#[tiki::kernel(threads = 64, grid = [1], deny(unproven))]
fn k(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = thread_idx();
    let s = Shared::<u32>::new(Layout::row_major([64]));
    s.set([i], x.get([i]));
    let d = ptx!("ld.shared.u32 d, [p];", out d: u32, in p: u32 = s.address([63 - i]), reads(s));
    out.set([i], d);
}

fn main() {}
