//! The functions of a score, and the kernels around the library's algorithms to which they are given.

use tiki::attention::backward_ampere::attend_backward_ampere;
use tiki::attention::backward_hopper::attend_backward;
use tiki::attention::forward_ampere::attend_ampere;
use tiki::attention::forward_hopper::attend;
use tiki::attention::place::{Place, band_of, limit, limit_turned, within};
use tiki::prelude::*;

/// Greatest size of a capped score.
#[tiki::device]
pub const CAP: f32 = 3.0;

/// 0: a bias that falls along the keys, by a slope of each head's own (ALiBi); 1: `CAP * tanh(x / CAP)`; 2: only keys of the
/// query's document, of `span` tokens each (`attention::forward_packed` has documents of any lengths).
#[tiki::device]
pub fn score<const KIND: usize>(x: f32, at: Place, scale: f32, heads: usize, span: u32) -> f32 {
    if KIND == 0 {
        let slope = exp2(-8.0 * (at.head + 1) as f32 / heads as f32);
        fma(slope / scale, (at.key - at.row) as f32, x)
    } else if KIND == 1 {
        if x == f32::NEG_INFINITY {
            x
        } else {
            tanh(x * (scale / CAP)) * (CAP / scale)
        }
    } else {
        let (own, other) = (at.row as u32 / span, at.key as u32 / span);
        if own == other { x } else { f32::NEG_INFINITY }
    }
}

/// The slope of a capped score over its product, where the probability is `p` and the row's binary log-sum-exp `top`: zero
/// where the probability is.
#[tiki::device]
pub fn slope(p: f32, top: f32) -> f32 {
    let t = max((log2(p) + top) * (std::f32::consts::LN_2 / CAP), -1.0);
    fma(-t, t, 1.0)
}

#[tiki::kernel(target = "sm_90a", warpgroups = 3, shared = "227 KiB", grid = persistent, build((KIND = [0, 1, 2])))]
pub fn scores_hopper<const KIND: usize>(
    q: &Global<f16, 4>,
    k: &Global<f16, 4>,
    v: &Global<f16, 4>,
    out: &mut Global<f16, 4>,
    lse: &mut Global<f32, 3>,
    scale: f32,
    span: u32,
    before: u32,
    after: u32,
) {
    require!(
        q.dim(3) == 128 && k.dim(3) == 128 && v.shape() == k.shape() && out.shape() == q.shape()
    );
    require!(lse.dim(0) == q.dim(0) && lse.dim(1) == q.dim(1) && lse.dim(2) == q.dim(2));
    require!(k.dim(0) == q.dim(0) && k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0 && k.dim(2) >= 1);
    let heads = q.dim(1);
    let band = band_of(q.dim(2), k.dim(2), before, after);
    let seen = |row: i32| (row + band.left, row + 128 + band.right);
    let scored = |x: Register<f32>, at: Place, outer: bool| {
        let of = |x: f32, at: Place| score::<KIND>(x, at, scale, heads, span);
        limit::<128>(band, x, at, outer).map_at(|x, [r, c]| of(x, within(at, r, c)))
    };
    let scale_log2 = scale * std::f32::consts::LOG2_E;
    attend::<f16, 128, 128, 2, 2, 2>(q, k, v, out, lse, scale_log2, seen, scored);
}

#[tiki::kernel(target = "sm_80", warps = 4, grid = [q.dim(2).div_ceil(64), q.dim(1), q.dim(0)], build((KIND = [0, 1, 2])))]
pub fn scores_ampere<const KIND: usize>(
    q: &Global<f16, 4>,
    k: &Global<f16, 4>,
    v: &Global<f16, 4>,
    out: &mut Global<f16, 4>,
    lse: &mut Global<f32, 3>,
    scale: f32,
    span: u32,
    before: u32,
    after: u32,
) {
    require!(
        q.dim(3) == 128 && k.dim(3) == 128 && v.shape() == k.shape() && out.shape() == q.shape()
    );
    require!(lse.dim(0) == q.dim(0) && lse.dim(1) == q.dim(1) && lse.dim(2) == q.dim(2));
    require!(k.dim(0) == q.dim(0) && k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0 && k.dim(2) >= 1);
    let heads = q.dim(1);
    let band = band_of(q.dim(2), k.dim(2), before, after);
    let seen = |row: i32| (row + band.left, row + 64 + band.right);
    let scored = |x: Register<f32>, at: Place, outer: bool| {
        let of = |x: f32, at: Place| score::<KIND>(x, at, scale, heads, span);
        limit::<64>(band, x, at, outer).map_at(|x, [r, c]| of(x, within(at, r, c)))
    };
    let scale_log2 = scale * std::f32::consts::LOG2_E;
    attend_ampere::<f16, 128, 64>(q, k, v, out, lse, scale_log2, seen, scored);
}

#[tiki::kernel(target = "sm_90a", warpgroups = 3, shared = "227 KiB",
    grid = [k.dim(1) * k.dim(0) * k.dim(2).div_ceil(128)], build((KIND = [0, 1, 2])))]
pub fn scores_backward_hopper<const KIND: usize>(
    q: &Global<f16, 4>,
    k: &Global<f16, 4>,
    v: &Global<f16, 4>,
    d_out: &Global<f16, 4>,
    top: &Global<f32, 3>,
    delta: &Global<f32, 3>,
    sums: &mut Global<f32, 4>,
    turns: &mut Global<u32, 3>,
    dk: &mut Global<f16, 4>,
    dv: &mut Global<f16, 4>,
    scale: f32,
    span: u32,
    before: u32,
    after: u32,
) {
    require!(
        q.dim(3) == 128 && k.dim(3) == 128 && v.shape() == k.shape() && d_out.shape() == q.shape()
    );
    require!(dk.shape() == k.shape() && dv.shape() == k.shape() && delta.shape() == top.shape());
    require!(top.dim(0) == q.dim(0) && top.dim(1) == q.dim(1) && top.dim(2) >= q.dim(2));
    require!(sums.dim(0) == q.dim(0) && sums.dim(1) == q.dim(1) && sums.dim(3) == 128);
    require!(k.dim(0) == q.dim(0) && k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0 && q.dim(2) >= 1);
    let heads = q.dim(1);
    let band = band_of(q.dim(2), k.dim(2), before, after);
    let of = |x: f32, at: Place| score::<KIND>(x, at, scale, heads, span);
    attend_backward::<f16, 128, 64, 0>(
        q,
        k,
        v,
        d_out,
        top,
        delta,
        sums,
        turns,
        dk,
        dv,
        scale,
        scale * std::f32::consts::LOG2_E,
        |key| key - band.right,
        |key| key + 128 - band.left,
        |x, at| limit_turned::<64>(band, x, at),
        |x, at| x.map_at(|x, [c, r]| of(x, within(at, r, c))),
        |ds, prob, top, _| {
            if KIND == 1 {
                ds.zip(&prob.cols(top, slope), |d, s| d * s)
            } else {
                ds
            }
        },
    );
}

#[tiki::kernel(target = "sm_80", warps = 8, grid = [k.dim(2).div_ceil(64), k.dim(1), k.dim(0)], build((KIND = [0, 1, 2])))]
pub fn scores_backward_ampere<const KIND: usize>(
    q: &Global<f16, 4>,
    k: &Global<f16, 4>,
    v: &Global<f16, 4>,
    d_out: &Global<f16, 4>,
    top: &Global<f32, 3>,
    delta: &Global<f32, 3>,
    sums: &mut Global<f32, 4>,
    turns: &mut Global<u32, 3>,
    dk: &mut Global<f16, 4>,
    dv: &mut Global<f16, 4>,
    scale: f32,
    span: u32,
    before: u32,
    after: u32,
) {
    require!(
        q.dim(3) == 128 && k.dim(3) == 128 && v.shape() == k.shape() && d_out.shape() == q.shape()
    );
    require!(dk.shape() == k.shape() && dv.shape() == k.shape() && delta.shape() == top.shape());
    require!(top.dim(0) == q.dim(0) && top.dim(1) == q.dim(1) && top.dim(2) >= q.dim(2));
    require!(sums.shape() == q.shape() && k.dim(0) == q.dim(0) && q.dim(2) >= 1);
    require!(k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0);
    let heads = q.dim(1);
    let band = band_of(q.dim(2), k.dim(2), before, after);
    let of = |x: f32, at: Place| score::<KIND>(x, at, scale, heads, span);
    attend_backward_ampere::<f16, 128, 64>(
        q,
        k,
        v,
        d_out,
        top,
        delta,
        sums,
        turns,
        dk,
        dv,
        scale,
        scale * std::f32::consts::LOG2_E,
        |key| key - band.right,
        |key| key + 64 - band.left,
        |row| row + band.left,
        |x, at| limit::<64>(band, x, at, false),
        |x, at| x.map_at(|x, [r, c]| of(x, within(at, r, c))),
        |ds, prob, top, _| {
            if KIND == 1 {
                ds.zip(&prob.rows(top, slope), |d, s| d * s)
            } else {
                ds
            }
        },
    );
}
