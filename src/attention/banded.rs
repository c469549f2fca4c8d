//! The kernels of one length: query `r` sees the keys from `r + shift - before` to `r + shift + after`, where `shift` is keys less
//! queries.
//!
//! A kernel is its facts, its instances and three small functions around an algorithm: which keys a tile of queries sees (or
//! which queries see a tile of keys), and the mask of a tile that is seen in part.

use super::backward_ampere::attend_backward_ampere;
use super::backward_hopper::attend_backward;
use super::forward_ampere::attend_ampere;
use super::forward_hopper::attend;
use super::place::{Place, band_of, limit, limit_turned};
use tiki::prelude::*;

/// Forward, on Hopper.
#[tiki::kernel(target = "sm_90a", warpgroups = 1 + WG, shared = "227 KiB", grid = persistent, build(
    (E = [f16, bf16], D = 64, BN = 128, WG = [2, 3], QS = 2, OS = 1),
    (E = [f16, bf16], D = 96, BN = 128, WG = 2, QS = 2, OS = 3),
    (E = [f16, bf16], D = 128, BN = 128, WG = 2, QS = 2, OS = 2),
    (E = [f16, bf16], D = 192, BN = 96, WG = 2, QS = 1, OS = 1),
    (E = [f16, bf16], D = 256, BN = 64, WG = 2, QS = 1, OS = 2),
))]
pub fn attention_hopper<
    E: Half,
    const D: usize,
    const BN: usize,
    const WG: usize,
    const QS: usize,
    const OS: usize,
>(
    q: &Global<E, 4>,
    k: &Global<E, 4>,
    v: &Global<E, 4>,
    out: &mut Global<E, 4>,
    lse: &mut Global<f32, 3>,
    scale_log2: f32,
    before: u32,
    after: u32,
) {
    require!(q.dim(3) == D && k.dim(3) == D && v.shape() == k.shape() && out.shape() == q.shape());
    require!(lse.dim(0) == q.dim(0) && lse.dim(1) == q.dim(1) && lse.dim(2) == q.dim(2));
    require!(k.dim(0) == q.dim(0) && k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0 && k.dim(2) >= 1);
    let band = || band_of(q.dim(2), k.dim(2), before, after);
    let seen = |row: i32| (row + band().left, row + 64 * WG as i32 + band().right);
    let scored = |x: Register<f32>, at: Place, outer: bool| limit::<BN>(band(), x, at, outer);
    attend::<E, D, BN, WG, QS, OS>(q, k, v, out, lse, scale_log2, seen, scored);
}

/// Forward, from Ampere on.
#[tiki::kernel(target = "sm_80", warps = 4, grid = [q.dim(2).div_ceil(64), q.dim(1), q.dim(0)], build(
    (E = [f16, bf16], D = [64, 96, 128], BN = 64),
    (E = [f16, bf16], D = [192, 256], BN = 32),
))]
pub fn attention_ampere<E: Half, const D: usize, const BN: usize>(
    q: &Global<E, 4>,
    k: &Global<E, 4>,
    v: &Global<E, 4>,
    out: &mut Global<E, 4>,
    lse: &mut Global<f32, 3>,
    scale_log2: f32,
    before: u32,
    after: u32,
) {
    require!(q.dim(3) == D && k.dim(3) == D && v.shape() == k.shape() && out.shape() == q.shape());
    require!(lse.dim(0) == q.dim(0) && lse.dim(1) == q.dim(1) && lse.dim(2) == q.dim(2));
    require!(k.dim(0) == q.dim(0) && k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0 && k.dim(2) >= 1);
    let band = || band_of(q.dim(2), k.dim(2), before, after);
    let seen = |row: i32| (row + band().left, row + 64 + band().right);
    let scored = |x: Register<f32>, at: Place, outer: bool| limit::<BN>(band(), x, at, outer);
    attend_ampere::<E, D, BN>(q, k, v, out, lse, scale_log2, seen, scored);
}

/// Backward, on Hopper.
#[tiki::kernel(target = "sm_90a", warpgroups = 3, shared = "227 KiB",
    grid = [k.dim(1) * k.dim(0) * k.dim(2).div_ceil(128)], build(
    (E = [f16, bf16], D = 64, BM = 128, ORDERED = [0, 1]),
    (E = [f16, bf16], D = 128, BM = 64, ORDERED = [0, 1]),
))]
pub fn attention_backward_hopper<E: Half, const D: usize, const BM: usize, const ORDERED: usize>(
    q: &Global<E, 4>,
    k: &Global<E, 4>,
    v: &Global<E, 4>,
    d_out: &Global<E, 4>,
    top: &Global<f32, 3>,
    delta: &Global<f32, 3>,
    sums: &mut Global<f32, 4>,
    turns: &mut Global<u32, 3>,
    dk: &mut Global<E, 4>,
    dv: &mut Global<E, 4>,
    scale: f32,
    scale_log2: f32,
    before: u32,
    after: u32,
) {
    require!(
        q.dim(3) == D && k.dim(3) == D && v.shape() == k.shape() && d_out.shape() == q.shape()
    );
    require!(dk.shape() == k.shape() && dv.shape() == k.shape() && delta.shape() == top.shape());
    require!(top.dim(0) == q.dim(0) && top.dim(1) == q.dim(1) && top.dim(2) >= q.dim(2));
    require!(sums.dim(0) == q.dim(0) && sums.dim(1) == q.dim(1) && sums.dim(3) == 128);
    require!(k.dim(0) == q.dim(0) && k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0 && q.dim(2) >= 1);
    let band = || band_of(q.dim(2), k.dim(2), before, after);
    let seen_from = |key: i32| key - band().right;
    let seen_to = |key: i32| key + 128 - band().left;
    let limited = |x: Register<f32>, at: Place| limit_turned::<BM>(band(), x, at);
    attend_backward::<E, D, BM, ORDERED>(
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
        scale_log2,
        seen_from,
        seen_to,
        limited,
        |score, _| score.map(|x| x),
        |ds, _, _, _| ds,
    );
}

/// Backward, from Ampere on.
#[tiki::kernel(target = "sm_80", warps = 8, grid = [k.dim(2).div_ceil(64), k.dim(1), k.dim(0)], build(
    (E = [f16, bf16], D = [64, 96, 128], BM = 64),
    (E = [f16, bf16], D = [192, 256], BM = 32),
))]
pub fn attention_backward_ampere<E: Half, const D: usize, const BM: usize>(
    q: &Global<E, 4>,
    k: &Global<E, 4>,
    v: &Global<E, 4>,
    d_out: &Global<E, 4>,
    top: &Global<f32, 3>,
    delta: &Global<f32, 3>,
    sums: &mut Global<f32, 4>,
    turns: &mut Global<u32, 3>,
    dk: &mut Global<E, 4>,
    dv: &mut Global<E, 4>,
    scale: f32,
    scale_log2: f32,
    before: u32,
    after: u32,
) {
    require!(
        q.dim(3) == D && k.dim(3) == D && v.shape() == k.shape() && d_out.shape() == q.shape()
    );
    require!(dk.shape() == k.shape() && dv.shape() == k.shape() && delta.shape() == top.shape());
    require!(top.dim(0) == q.dim(0) && top.dim(1) == q.dim(1) && top.dim(2) >= q.dim(2));
    require!(sums.shape() == q.shape() && k.dim(0) == q.dim(0) && q.dim(2) >= 1);
    require!(k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0);
    let band = || band_of(q.dim(2), k.dim(2), before, after);
    let seen_from = |key: i32| key - band().right;
    let seen_to = |key: i32| key + 64 - band().left;
    let first = |row: i32| row + band().left;
    let limited = |x: Register<f32>, at: Place| limit::<64>(band(), x, at, false);
    attend_backward_ampere::<E, D, BM>(
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
        scale_log2,
        seen_from,
        seen_to,
        first,
        limited,
        |score, _| score.map(|x| x),
        |ds, _, _, _| ds,
    );
}
