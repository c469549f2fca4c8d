//! Many products in one kernel, by warpgroups (sm_90a): those of a batch, those of rows that belong to different
//! matrices, and parts of K.
//!
//! `c` is (parts, batch, M, N). A persistent grid deals out the tiles of all of it. Matrix `z` of `a` is multiplied by
//! matrix `z` of `b`, or by the one that `groups` names for each 128 rows. Part `p` of so many sums its share of
//! the steps of K; [`sum_parts`] then adds the parts in their order, so that a result does not depend on who
//! was first.

use super::epilogue::finished;
use super::schedule::{fill_stages, matrix_of, multiply_stages, stage_slab};
use crate::prelude::*;

/// The kernel, but for what it multiplies by: tiles of 128 rows, two warpgroups of 64.
#[tiki::device]
#[allow(clippy::too_many_arguments)]
fn products<E: Element, O: Element>(
    a: &Global<E, 3, Strided>,
    b: &Global<E, 3, Strided>,
    c: &mut Global<O, 4, Strided>,
    bias: &Global<O, 1>,
    d: &Global<O, 3, Strided>,
    groups: &Global<u32, 1>,
    own: bool,
    alpha: f32,
    beta: f32,
    activation: u32,
    [bn, bk, stages, slab, group]: [usize; 5],
    plain: bool,
    multiplier: impl Fn() -> Gemm<E>,
) {
    let a_s = Shared::<E>::stages(stages, Layout::k_major::<E>([128, bk]));
    let b_s = Shared::<E>::stages(stages, Layout::k_major::<E>([bn, bk]));
    let out_s = Shared::<O>::stages(4, Layout::k_major::<O>([64, slab]));
    let pipe = Pipeline::tma(stages, 2);
    let (parts, rows) = (c.dim(0), c.dim(2).div_ceil(128));
    let tiles = Tiles::persistent([c.dim(1) * parts * rows, c.dim(3).div_ceil(bn)]).grouped(group);
    // Steps past the last one of K multiply zeros.
    let each = a.dim(2).div_ceil(bk).div_ceil(parts);
    if warpgroup_idx() == 0 {
        set_registers(40);
        if elect_one() {
            let load = Load::tma();
            for [t, n] in tiles {
                let (y, m) = (t / rows, t % rows);
                let (z, first) = (y / parts, y % parts * each);
                let of = matrix_of(groups, z, m, 128, b.dim(0));
                fill_stages(&pipe, each, |k: usize, s: usize| {
                    let (left, right) = (a.at([z]), b.at([of]));
                    load.copy_into(
                        &left.tile([128, bk], [m, first + k]),
                        a_s.stage(s),
                        &pipe,
                        s,
                    );
                    load.copy_into(
                        &right.tile([bn, bk], [n, first + k]),
                        b_s.stage(s),
                        &pipe,
                        s,
                    );
                });
            }
        }
    } else {
        set_registers(232);
        let half = warpgroup_idx() - 1;
        let gemm = multiplier();
        let (store, bar) = (Store::tma(), Barrier::named(128));
        let left = |s: usize| a_s.stage(s).tile([64, bk], [half, 0]);
        let right = |s: usize| b_s.stage(s);
        for [t, n] in tiles {
            let (sums, held) = multiply_stages(&gemm, &pipe, each, [64, bn], &left, &right);
            pipe.release(held);
            let (y, m) = (t / rows, t % rows);
            let (z, p) = (y / parts, y % parts);
            #[unroll]
            for i in 0..bn / slab {
                let staged = out_s.stage(2 * half + i % 2);
                let at = [2 * m + half, n * (bn / slab) + i];
                stage_slab(&store, &bar, i, staged, || {
                    let part = sums.tile([64, slab], [0, i]);
                    if plain {
                        part.cast::<O>()
                    } else {
                        let columns = bias.tile([slab], [at[1]]);
                        let old = if own {
                            c.at([p, z]).tile([64, slab], at).load_like(&part)
                        } else {
                            d.at([z]).tile([64, slab], at).load_like(&part)
                        };
                        finished(&part, &columns, &old, alpha, beta, activation).cast::<O>()
                    }
                });
                if elect_one() {
                    store.copy(staged, c.at_mut([p, z]).tile_mut([64, slab], at));
                    store.commit();
                }
            }
        }
        if elect_one() {
            store.wait_read(0); // the block's memory goes with it
        }
    }
}

#[tiki::kernel(target = "sm_90a", warpgroups = 3, registers = 168, shared = "227 KiB", grid = persistent,
    build(
    (E = f16, O = f16, BN = 128, BK = 64, STAGES = 6, SLAB = 64, PLAIN = false),
    (E = bf16, O = bf16, BN = 128, BK = 64, STAGES = 6, SLAB = 64, PLAIN = false),
    (E = f16, O = f32, BN = 128, BK = 64, STAGES = 6, SLAB = 32, PLAIN = true),
    (E = bf16, O = f32, BN = 128, BK = 64, STAGES = 6, SLAB = 32, PLAIN = true),
    (E = e4m3, O = f16, BN = 128, BK = 128, STAGES = 6, SLAB = 64, PLAIN = false),
    (E = e4m3, O = bf16, BN = 128, BK = 128, STAGES = 6, SLAB = 64, PLAIN = false),
    (E = e5m2, O = f16, BN = 128, BK = 128, STAGES = 6, SLAB = 64, PLAIN = false),
    (E = e5m2, O = bf16, BN = 128, BK = 128, STAGES = 6, SLAB = 64, PLAIN = false),
    (E = e4m3, O = f32, BN = 128, BK = 128, STAGES = 6, SLAB = 32, PLAIN = false),
    (E = e5m2, O = f32, BN = 128, BK = 128, STAGES = 6, SLAB = 32, PLAIN = false),
    (E = e4m3, O = e4m3, BN = 128, BK = 128, STAGES = 6, SLAB = 64, PLAIN = false),
    (E = e5m2, O = e5m2, BN = 128, BK = 128, STAGES = 6, SLAB = 64, PLAIN = false),
), deny(spills))]
/// `c = act(alpha a @ b.T + bias) + beta d` (with `PLAIN`, `c = a @ b.T`); `d` is `c` itself if `own` says so.
#[allow(clippy::too_many_arguments)]
pub fn batch<
    E: Element,
    O: Element,
    const BN: usize,
    const BK: usize,
    const STAGES: usize,
    const SLAB: usize,
    const PLAIN: bool,
>(
    a: &Global<E, 3, Strided>,
    b: &Global<E, 3, Strided>,
    c: &mut Global<O, 4, Strided>,
    bias: &Global<O, 1>,
    d: &Global<O, 3, Strided>,
    groups: &Global<u32, 1>,
    own: bool,
    alpha: f32,
    beta: f32,
    activation: u32,
) {
    require!(a.dim(2) == b.dim(2) && c.dim(1) == a.dim(0) && b.dim(0) >= 1 && a.dim(2) >= 1);
    require!(c.dim(2) == a.dim(1) && c.dim(3) == b.dim(1) && c.dim(0) >= 1);
    require!(BN % SLAB == 0);
    products::<E, O>(
        a,
        b,
        c,
        bias,
        d,
        groups,
        own,
        alpha,
        beta,
        activation,
        [BN, BK, STAGES, SLAB, 16],
        PLAIN,
        || Gemm::<E>::warpgroup(Warp::new(4, 1)),
    );
}

#[tiki::kernel(target = "sm_90a", warpgroups = 3, registers = 168, shared = "227 KiB", grid = persistent,
    build((BN = 128, BK = 32, STAGES = 6)), deny(spills))]
/// The same of f32 by tf32.
#[allow(clippy::too_many_arguments)]
pub fn batch_tf32<const BN: usize, const BK: usize, const STAGES: usize>(
    a: &Global<f32, 3, Strided>,
    b: &Global<f32, 3, Strided>,
    c: &mut Global<f32, 4, Strided>,
    bias: &Global<f32, 1>,
    d: &Global<f32, 3, Strided>,
    groups: &Global<u32, 1>,
    own: bool,
    alpha: f32,
    beta: f32,
    activation: u32,
) {
    require!(a.dim(2) == b.dim(2) && c.dim(1) == a.dim(0) && b.dim(0) >= 1 && a.dim(2) >= 1);
    require!(c.dim(2) == a.dim(1) && c.dim(3) == b.dim(1) && c.dim(0) >= 1);
    products::<f32, f32>(
        a,
        b,
        c,
        bias,
        d,
        groups,
        own,
        alpha,
        beta,
        activation,
        [BN, BK, STAGES, 32, 16],
        false,
        || Gemm::<f32>::warpgroup_tf32(Warp::new(4, 1)),
    );
}

/// What the kernels that add parts do.
#[tiki::device]
#[allow(clippy::too_many_arguments)]
fn summed<O: Element>(
    parts: &Global<f32, 3>,
    c: &mut Global<O, 2, Strided>,
    bias: &Global<O, 1>,
    d: &Global<O, 2, Strided>,
    own: bool,
    alpha: f32,
    beta: f32,
    activation: u32,
) {
    let (m, n) = (block_idx().y, block_idx().x);
    let map = ThreadMap::linear(256).vector_up_to(4);
    let mut sums = parts.at([0]).tile([32, 64], [m, n]).load(map);
    for p in 1..parts.dim(0) {
        sums = &sums + &parts.at([p]).tile([32, 64], [m, n]).load(map);
    }
    let columns = bias.tile([64], [n]);
    let old = if own {
        c.tile([32, 64], [m, n]).load_like(&sums)
    } else {
        d.tile([32, 64], [m, n]).load_like(&sums)
    };
    let y = finished(&sums, &columns, &old, alpha, beta, activation);
    c.tile_mut([32, 64], [m, n]).store(&y.cast::<O>());
}

#[tiki::kernel(target = "sm_80", threads = 256, grid = [c.dim(1).div_ceil(64), c.dim(0).div_ceil(32)],
    build((O = f16), (O = bf16), (O = f32)), deny(spills))]
/// `c = act(alpha (the parts, first to last) + bias) + beta d`; `d` is `c` itself if `own` says so.
#[allow(clippy::too_many_arguments)]
pub fn sum_parts<O: Element>(
    parts: &Global<f32, 3>,
    c: &mut Global<O, 2, Strided>,
    bias: &Global<O, 1>,
    d: &Global<O, 2, Strided>,
    own: bool,
    alpha: f32,
    beta: f32,
    activation: u32,
) {
    require!(parts.dim(1) == c.dim(0) && parts.dim(2) == c.dim(1) && parts.dim(0) >= 1);
    summed::<O>(parts, c, bias, d, own, alpha, beta, activation);
}

#[tiki::kernel(target = "sm_90a", threads = 256, grid = [c.dim(1).div_ceil(64), c.dim(0).div_ceil(32)],
    build((O = e4m3), (O = e5m2)), deny(spills))]
/// [`sum_parts`] into 8-bit floats, whose conversions the older target lacks.
#[allow(clippy::too_many_arguments)]
pub fn sum_parts_narrow<O: Element>(
    parts: &Global<f32, 3>,
    c: &mut Global<O, 2, Strided>,
    bias: &Global<O, 1>,
    d: &Global<O, 2, Strided>,
    own: bool,
    alpha: f32,
    beta: f32,
    activation: u32,
) {
    require!(parts.dim(1) == c.dim(0) && parts.dim(2) == c.dim(1) && parts.dim(0) >= 1);
    summed::<O>(parts, c, bias, d, own, alpha, beta, activation);
}
