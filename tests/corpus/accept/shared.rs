use tiki::prelude::*;

#[tiki::kernel(threads = 256, grid = [1])]
fn transpose(x: &Global<f32>, out: &mut Global<f32>) {
    let tile = Shared::<f32>::new(layout!((32, 32):(32, 1)).swizzle(Swizzle::new(5, 0, 5)));
    let map = ThreadMap::new(layout!((8, 32):(32, 1)), layout!((4, 1):(1, 0)));
    tile.store(&x.tile([32, 32], [0, 0]).load(map));
    sync_block();
    out.tile_mut([32, 32], [0, 0]).store(&tile.t().load(map));
}

#[tiki::kernel(threads = 64, grid = [1])]
fn scalars(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = thread_idx();
    let s = Shared::<u32>::new(Layout::row_major([64]));
    s.set([i], x.get([i]));
    sync_block();
    let v = s.get([63 - i]);
    sync_block();
    s.red_add([0], v, Order::Relaxed, Scope::Block);
    let old = s.atom_add([1], v, Order::Relaxed, Scope::Block);
    out.atom_max([0], old, Order::Relaxed, Scope::Device);
    out.red_add([1], v, Order::Relaxed, Scope::Device);
    fence(Scope::Device);
}

#[tiki::kernel(threads = 64, grid = [1])]
fn warps(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let i = thread_idx();
    let v = x.get([i]);
    let a = shuffle(v, 0) + shuffle_up(v, 1) + shuffle_down(v, 1) + shuffle_xor(v, 16);
    let all = vote_all(v > 0.0);
    let any = vote_any(v > 1.0);
    let mask = ballot(v > 0.5) | match_any(v) | active_mask();
    let n = redux_add(mask) + redux_min(mask) + redux_max(mask) + redux_and(mask) + redux_or(mask) + redux_xor(mask);
    sync_warp();
    if all && any && lane_idx() == 0 && warp_idx() < grid_dim().x {
        out.set([i], a + n as f32);
    }
}

#[tiki::kernel(threads = 128, grid = [1])]
fn stages(x: &Global<f16>, out: &mut Global<f16>) {
    let ring = Shared::<f16>::stages(2, Layout::k_major::<f16>([16, 64]));
    let map = ThreadMap::linear(128).vector_up_to(8);
    for k in 0..2 {
        ring.stage(k).store(&x.tile([16, 64], [k, 0]).load(map));
    }
    sync_block();
    let v = ring.stage(1).load(map);
    out.tile_mut([16, 64], [0, 0]).store(&v);
}

fn main() {}
