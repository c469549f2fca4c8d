use tiki::prelude::*;

#[tiki::kernel(threads = 128, grid = [x.dim(0).div_ceil(32), x.dim(1).div_ceil(64)])]
fn maps(x: &Global<f32>, y: &Global<f32>, out: &mut Global<f16>) {
    let at = [block_idx().x, block_idx().y];
    let map = ThreadMap::linear(128).vector_up_to(4);
    let a = x.tile([32, 64], at).load(map);
    let b = y.tile([32, 64], at).fill(1.0).load_like(&a);
    let sum = &a + &b - &a * &b;
    let quotient = sum / (&a - &b);
    let moved = quotient.map(|v| v.max(0.0)).map_at(|v, [r, c]| if r == c { v } else { v + 1.0 });
    let kept = moved.mask(|[r, c]| r <= c, f32::NEG_INFINITY);
    let same = kept.zip(&a, |p, q| p * q).zip(&b, f32::max);
    out.tile_mut([32, 64], at).store(&(-same).cast::<f16>());
}

#[tiki::kernel(threads = 128, grid = [x.dim(0)])]
fn reductions(x: &Global<f16>, out: &mut Global<f32>, best: &mut Global<u32, 1>) {
    require!(x.dim(1) == 512 && out.dim(1) == x.dim(1) && best.dim(0) == x.dim(0));
    let row = block_idx().x;
    let v = x.tile([1, 512], [row, 0]).load(ThreadMap::linear(128).vector_up_to(8)).cast::<f32>();
    let peak = v.row_max();
    let low = v.row_min().zip(&peak, |a, b| b - a);
    let total = v.rows(&peak, |a, m| exp2(a - m)).row_sum();
    let scaled = v.rows(&total, |a, t| a / t).rows(&low, |a, l| a + l);
    let zero = scaled.row_vector(0.0);
    let place = v.row_argmax();
    best.tile_mut([1], [row]).store(&place);
    out.tile_mut([1, 512], [row, 0]).store(&scaled.rows(&zero, |a, z| a + z));
}

#[tiki::kernel(threads = 128, grid = [1])]
fn columns(x: &Global<f32>, bias: &Global<f32, 1>, out: &mut Global<f32>) {
    let v = x.tile([16, 64], [0, 0]).load(ThreadMap::linear(128));
    let b = bias.tile([64], [0]).load_like(&v.col_vector(0.0));
    let w = v.cols(&b, |a, c| a + c);
    let sums = w.col_sum();
    out.tile_mut([16, 64], [0, 0]).store(&w.cols(&sums, |a, s| a / s));
}

#[tiki::kernel(threads = 128, grid = [1])]
fn vectors(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let v = x.tile([256], [0]).load(ThreadMap::linear(128));
    let (total, peak, place) = (v.sum(), v.max(), v.argmax());
    let scaled = v.map(|a| (a - peak) / total);
    let own = scaled.raw();
    if place == 0 && own.len() == 2 {
        out.set([thread_idx()], own[0] + own[1]);
    }
}

#[tiki::kernel(threads = 64, grid = [q.dim(0)])]
fn ranks(q: &Global<f32, 4>, out: &mut Global<f32, 4>) {
    let head = q.at([block_idx().x, 1]);
    let map = ThreadMap::linear(64);
    let v = head.tile([8, 8], [0, 0]).stream().load(map);
    out.at_mut([block_idx().x, 1]).tile_mut([8, 8], [0, 0]).store(&v);
    let n = q.dim(3) + q.stride(0);
    if n == 0 {
        out.set([0, 0, 0, thread_idx()], q.get([0, 0, 0, thread_idx()]));
    }
}

#[tiki::kernel(threads = 256, grid = [x.dim(0), x.dim(1)], build((E = f32), (E = f16), (E = bf16), (E = i32), (E = u32)))]
fn any_element<E: Element>(x: &Global<E, 3>, out: &mut Global<E, 3>) {
    require!(x.shape() == out.shape());
    let at = [block_idx().x, block_idx().y];
    let map = ThreadMap::linear(256).vector_up_to(16 / E::BYTES);
    let v = x.at(at).tile([1024], [0]).load(map);
    out.at_mut(at).tile_mut([1024], [0]).store(&v);
}

fn main() {}
