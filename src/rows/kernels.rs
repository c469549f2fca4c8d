//! RMSNorm and softmax of rows of any width, and their gradients.
//!
//! A block walks along its row in chunks of 2048 columns: once for what the row has in common, once to write. Missing
//! columns never count. A weight's gradient is summed by columns, rows in their order: a result is the same
//! bits on every run.

use tiki::prelude::*;

/// `out = x * root * weight` with `root = 1 / sqrt(mean(x * x) + eps)` of each row, which is kept.
#[tiki::kernel(threads = 256, grid = [x.dim(0)], build((E = [f32, f16, bf16])))]
pub fn rms_norm<E: Element>(
    x: &Global<E>,
    weight: &Global<E, 1>,
    out: &mut Global<E>,
    roots: &mut Global<f32, 1>,
    eps: f32,
) {
    require!(out.shape() == x.shape() && weight.dim(0) == x.dim(1) && roots.dim(0) == x.dim(0));
    require!(x.dim(1) > 0);
    let (row, width) = (block_idx().x, x.dim(1) as f32);
    let map = ThreadMap::linear(256).vector_up_to(16 / E::BYTES);
    let chunk = |j: usize| x.tile([1, 2048], [row, j]).load(map).cast::<f32>();
    let mut squares = chunk(0).map(|v| v * v);
    for j in 1..x.dim(1).div_ceil(2048) {
        squares = &squares + &chunk(j).map(|v| v * v);
    }
    let root = squares.row_sum().map(|s| rsqrt(s / width + eps));
    roots.tile_mut([1], [row]).store(&root);
    for j in 0..x.dim(1).div_ceil(2048) {
        let v = chunk(j).rows(&root, |v, r| v * r);
        let w = weight.tile([2048], [j]).load_like(&v.col_vector(0.0));
        let y = v.cols(&w.cast::<f32>(), |v, w| v * w);
        out.tile_mut([1, 2048], [row, j]).store(&y.cast::<E>());
    }
}

/// `d_x = root * (s - x * root * root * mean(s * x))` with `s = d_out * weight`.
#[tiki::kernel(threads = 256, grid = [x.dim(0)], build((E = [f32, f16, bf16])))]
pub fn rms_norm_backward<E: Element>(
    x: &Global<E>,
    weight: &Global<E, 1>,
    roots: &Global<f32, 1>,
    d_out: &Global<E>,
    d_x: &mut Global<E>,
) {
    require!(d_out.shape() == x.shape() && d_x.shape() == x.shape() && x.dim(1) > 0);
    require!(weight.dim(0) == x.dim(1) && roots.dim(0) == x.dim(0));
    let (row, width) = (block_idx().x, x.dim(1) as f32);
    let map = ThreadMap::linear(256).vector_up_to(16 / E::BYTES);
    let chunk = |t: &Global<E>, j: usize| t.tile([1, 2048], [row, j]).load(map).cast::<f32>();
    let scaled = |j: usize| {
        let g = chunk(d_out, j);
        let w = weight.tile([2048], [j]).load_like(&g.col_vector(0.0));
        g.cols(&w.cast::<f32>(), |g, w| g * w)
    };
    let mut products = &scaled(0) * &chunk(x, 0);
    for j in 1..x.dim(1).div_ceil(2048) {
        products = &products + &(&scaled(j) * &chunk(x, j));
    }
    let root = roots.get([row]);
    let slope = products.row_sum().map(|d| d * root * root / width);
    for j in 0..x.dim(1).div_ceil(2048) {
        let across = chunk(x, j).rows(&slope, |v, k| v * k);
        let d = scaled(j).zip(&across, |s, a| (s - a) * root);
        d_x.tile_mut([1, 2048], [row, j]).store(&d.cast::<E>());
    }
}

/// `d_weight = sum over the rows of d_out * x * root`.
#[tiki::kernel(threads = 256, grid = [x.dim(1).div_ceil(32)], build((E = [f32, f16, bf16])))]
pub fn rms_norm_weight_backward<E: Element>(
    x: &Global<E>,
    roots: &Global<f32, 1>,
    d_out: &Global<E>,
    d_weight: &mut Global<E, 1>,
) {
    require!(d_out.shape() == x.shape() && roots.dim(0) == x.dim(0));
    require!(d_weight.dim(0) == x.dim(1) && x.dim(0) > 0);
    let at = block_idx().x;
    let map = ThreadMap::linear(256);
    let part = |i: usize| {
        let v = x.tile([64, 32], [i, at]).load(map).cast::<f32>();
        let g = d_out.tile([64, 32], [i, at]).load(map).cast::<f32>();
        let root = roots.tile([64], [i]).load_like(&v.row_vector(0.0));
        (&g * &v).rows(&root, |t, r| t * r)
    };
    let mut total = part(0);
    for i in 1..x.dim(0).div_ceil(64) {
        total = &total + &part(i);
    }
    let sum = total.col_sum().cast::<E>();
    d_weight.tile_mut([32], [at]).store(&sum);
}

/// Exponentials of a row over their sum; zeros where the row is minus infinity throughout.
#[tiki::kernel(threads = 256, grid = [x.dim(0)], build((E = [f32, f16, bf16])))]
pub fn softmax<E: Float>(x: &Global<E>, out: &mut Global<E>) {
    require!(out.shape() == x.shape() && x.dim(1) > 0);
    let row = block_idx().x;
    let map = ThreadMap::linear(256).vector_up_to(16 / E::BYTES);
    let chunk = |j: usize| {
        let tile = x.tile([1, 2048], [row, j]).fill(E::NEG_INFINITY);
        tile.load(map).cast::<f32>()
    };
    let finite = |m: f32| if m == f32::NEG_INFINITY { 0.0 } else { m };
    let first = chunk(0);
    let mut top = first.row_max_propagate_nan();
    let mut sum = first.rows(&top, |a, m| exp(a - finite(m))).row_sum();
    for j in 1..x.dim(1).div_ceil(2048) {
        let v = chunk(j);
        let next = top.zip(&v.row_max_propagate_nan(), |a, b| max_propagate_nan(a, b));
        let fade = top.zip(&next, |a, b| exp(a - finite(b)));
        let more = v.rows(&next, |a, m| exp(a - finite(m))).row_sum();
        sum = sum.zip(&fade, |s, f| s * f) + more;
        top = next;
    }
    let inverse = sum.map(|s| if s == 0.0 { 0.0 } else { 1.0 / s });
    for j in 0..x.dim(1).div_ceil(2048) {
        let weight = chunk(j).rows(&top, |a, m| exp(a - finite(m)));
        let y = weight.rows(&inverse, |w, i| w * i).cast::<E>();
        out.tile_mut([1, 2048], [row, j]).store(&y);
    }
}

/// `d_x = y * (d_out - sum(y * d_out))` of softmax's own result `y`.
#[tiki::kernel(threads = 256, grid = [y.dim(0)], build((E = [f32, f16, bf16])))]
pub fn softmax_backward<E: Element>(y: &Global<E>, d_out: &Global<E>, d_x: &mut Global<E>) {
    require!(d_out.shape() == y.shape() && d_x.shape() == y.shape() && y.dim(1) > 0);
    let row = block_idx().x;
    let map = ThreadMap::linear(256).vector_up_to(16 / E::BYTES);
    let chunk = |t: &Global<E>, j: usize| t.tile([1, 2048], [row, j]).load(map).cast::<f32>();
    let mut products = &chunk(y, 0) * &chunk(d_out, 0);
    for j in 1..y.dim(1).div_ceil(2048) {
        products = &products + &(&chunk(y, j) * &chunk(d_out, j));
    }
    let dot = products.row_sum();
    for j in 0..y.dim(1).div_ceil(2048) {
        let d = &chunk(d_out, j).rows(&dot, |g, s| g - s) * &chunk(y, j);
        d_x.tile_mut([1, 2048], [row, j]).store(&d.cast::<E>());
    }
}
