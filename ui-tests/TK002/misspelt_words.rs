use tiki::prelude::*;

#[tiki::device]
struct Pair {
    left: f32,
    right: f32,
}

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, count: &mut Global<u32, 1>, out: &mut Global<f32, 1>) {
    let map = ThreadMap::lineer(32);
    let other = TreadMap::linear(32);
    let y = x.tlie([32], [0]).load(ThreadMap::linear(32)).cast::<f23>();
    let pair = Pair { left: 1.0, rigth: 2.0 };
    let z = Pair { left: 1.0, right: 2.0 }.lefft;
    let block = block_idx().w;
    let most = f32::MAXX;
    count.set_with([0], 1, Order::Relase, Scope::Devise);
    out.tile_mut([32], [0]).store(&x.tile([32], [0]).row_sum());
}

fn main() {}
