//! Products by warpgroups (sm_90a).
//!
//! `hopper`: one warpgroup fills a ring of stages through the tensor memory accelerator, two or three multiply 64
//! of the tile's rows each; a persistent grid takes tile after tile, and each result leaves through shared
//! memory while the next tile's stages are filled. An operand whose rows run along M or N (`TA`, `TB`) lies
//! in shared memory as it lies in global memory, and is read transposed.
//!
//! `few`: for few rows of A. The roles of the operands change: the tensor core's 64 rows are columns of the
//! result, so that B, which is most of the traffic, is read once by as many blocks as there are
//! multiprocessors, and leaves the second-level cache first.
//!
//! Of 8-bit types a tile takes so few cycles that those of two divisions count: where a tile stands is computed
//! while its first product runs. A block of one small tile has nothing else to do while it waits for its first stage, and loses
//! by that.
//!
//! `tf32`: as `hopper`, of f32 whose lowest 13 bits are ignored. [`super::uneven`] has it for results whose last round of
//! tiles can be filled up.

use super::epilogue::finished;
use super::schedule::{fill_stages, in_groups, multiply_meanwhile, multiply_stages, stage_slab};
use crate::prelude::*;

#[tiki::kernel(target = "sm_90a", warpgroups = 1 + BM / 64, registers = if BM == 192 { 128 } else { 168 }, shared = "227 KiB", grid = persistent,
    build(
    (E = f16, O = f16, BM = 128, BN = 256, BK = 64, STAGES = 4, SLAB = 64, GROUP = 12, TA = 0, TB = 0, EPI = 0),
    (E = bf16, O = bf16, BM = 128, BN = 256, BK = 64, STAGES = 4, SLAB = 64, GROUP = 12, TA = 0, TB = 0, EPI = 0),
    (E = f16, O = f16, BM = 128, BN = 224, BK = 64, STAGES = 4, SLAB = 56, GROUP = 12, TA = 0, TB = 0, EPI = 0),
    (E = bf16, O = bf16, BM = 128, BN = 224, BK = 64, STAGES = 4, SLAB = 56, GROUP = 12, TA = 0, TB = 0, EPI = 0),
    (E = f16, O = f16, BM = 128, BN = 192, BK = 64, STAGES = 4, SLAB = 64, GROUP = 8, TA = 0, TB = 0, EPI = 0),
    (E = bf16, O = bf16, BM = 128, BN = 192, BK = 64, STAGES = 4, SLAB = 64, GROUP = 8, TA = 0, TB = 0, EPI = 0),
    (E = f16, O = f16, BM = 192, BN = 192, BK = 64, STAGES = 4, SLAB = 32, GROUP = 8, TA = 0, TB = 0, EPI = 0),
    (E = bf16, O = bf16, BM = 192, BN = 192, BK = 64, STAGES = 4, SLAB = 32, GROUP = 8, TA = 0, TB = 0, EPI = 0),
    (E = f16, O = f16, BM = 128, BN = 144, BK = 64, STAGES = 6, SLAB = 24, GROUP = 8, TA = 0, TB = 0, EPI = 0),
    (E = bf16, O = bf16, BM = 128, BN = 144, BK = 64, STAGES = 6, SLAB = 24, GROUP = 8, TA = 0, TB = 0, EPI = 0),
    (E = f16, O = f16, BM = 128, BN = 112, BK = 64, STAGES = 6, SLAB = 56, GROUP = 2, TA = 0, TB = 0, EPI = 0),
    (E = bf16, O = bf16, BM = 128, BN = 112, BK = 64, STAGES = 6, SLAB = 56, GROUP = 2, TA = 0, TB = 0, EPI = 0),
    (E = f16, O = f16, BM = 128, BN = 128, BK = 64, STAGES = 6, SLAB = 64, GROUP = 16, TA = 0, TB = 0, EPI = 0),
    (E = bf16, O = bf16, BM = 128, BN = 128, BK = 64, STAGES = 6, SLAB = 64, GROUP = 16, TA = 0, TB = 0, EPI = 0),
    (E = f16, O = f16, BM = 128, BN = 64, BK = 64, STAGES = 8, SLAB = 64, GROUP = 2, TA = 0, TB = 0, EPI = 0),
    (E = bf16, O = bf16, BM = 128, BN = 64, BK = 64, STAGES = 8, SLAB = 64, GROUP = 2, TA = 0, TB = 0, EPI = 0),
    (E = f16, O = f16, BM = 128, BN = 256, BK = 64, STAGES = 4, SLAB = 64, GROUP = 12, TA = 1, TB = 0, EPI = 0),
    (E = bf16, O = bf16, BM = 128, BN = 256, BK = 64, STAGES = 4, SLAB = 64, GROUP = 12, TA = 1, TB = 0, EPI = 0),
    (E = f16, O = f16, BM = 128, BN = 256, BK = 64, STAGES = 4, SLAB = 64, GROUP = 12, TA = 0, TB = 1, EPI = 0),
    (E = bf16, O = bf16, BM = 128, BN = 256, BK = 64, STAGES = 4, SLAB = 64, GROUP = 12, TA = 0, TB = 1, EPI = 0),
    (E = f16, O = f16, BM = 128, BN = 256, BK = 64, STAGES = 4, SLAB = 64, GROUP = 12, TA = 1, TB = 1, EPI = 0),
    (E = bf16, O = bf16, BM = 128, BN = 256, BK = 64, STAGES = 4, SLAB = 64, GROUP = 12, TA = 1, TB = 1, EPI = 0),
    (E = f16, O = f16, BM = 128, BN = 128, BK = 64, STAGES = 6, SLAB = 64, GROUP = 16, TA = 0, TB = 0, EPI = 1),
    (E = bf16, O = bf16, BM = 128, BN = 128, BK = 64, STAGES = 6, SLAB = 64, GROUP = 16, TA = 0, TB = 0, EPI = 1),
    (E = e4m3, O = f16, BM = 128, BN = 256, BK = 128, STAGES = 4, SLAB = 64, GROUP = 16, TA = 0, TB = 0, EPI = 0),
    (E = e4m3, O = bf16, BM = 128, BN = 256, BK = 128, STAGES = 4, SLAB = 64, GROUP = 16, TA = 0, TB = 0, EPI = 0),
    (E = e5m2, O = bf16, BM = 128, BN = 256, BK = 128, STAGES = 4, SLAB = 64, GROUP = 16, TA = 0, TB = 0, EPI = 0),
    (E = e4m3, O = e4m3, BM = 128, BN = 256, BK = 128, STAGES = 4, SLAB = 128, GROUP = 8, TA = 0, TB = 0, EPI = 0),
    (E = e5m2, O = e5m2, BM = 128, BN = 256, BK = 128, STAGES = 4, SLAB = 128, GROUP = 8, TA = 0, TB = 0, EPI = 0),
), deny(bank_conflicts, spills))]
/// `c = act(alpha a @ b.T + bias) + beta d` (with `EPI = 0`, `c = a @ b.T`).
#[allow(clippy::too_many_arguments)]
pub fn hopper<
    E: Element,
    O: Element,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const STAGES: usize,
    const SLAB: usize,
    const GROUP: usize,
    const TA: usize,
    const TB: usize,
    const EPI: usize,
>(
    a: &Global<E, 2, Strided>,
    b: &Global<E, 2, Strided>,
    c: &mut Global<O, 2, Strided>,
    bias: &Global<O, 1>,
    d: &Global<O, 2, Strided>,
    alpha: f32,
    beta: f32,
    activation: u32,
) {
    // Warpgroups of 64 rows; a step at least.
    require!((BM == 128 || BM == 192) && BN % SLAB == 0);
    require!(a.dim(0) >= 1 && a.dim(1) >= 1 && b.dim(0) >= 1 && b.dim(1) >= 1);
    require!((TA == 0 && a.dim(0) == c.dim(0)) || (TA == 1 && a.dim(1) == c.dim(0)));
    require!((TB == 0 && b.dim(0) == c.dim(1)) || (TB == 1 && b.dim(1) == c.dim(1)));
    require!(a.dim(1 - TA) == b.dim(1 - TB));
    // What lies along the rows of shared memory is contiguous in global memory.
    let a_s = Shared::<E>::stages(
        STAGES,
        Layout::k_major::<E>(if TA == 1 { [BK, BM] } else { [BM, BK] }),
    );
    let b_s = Shared::<E>::stages(
        STAGES,
        Layout::k_major::<E>(if TB == 1 { [BK, BN] } else { [BN, BK] }),
    );
    // Rows of an odd number of 16 bytes meet in no bank as they are.
    let out_s = Shared::<O>::stages(
        BM / 32,
        if SLAB * O::BYTES % 32 == 16 {
            Layout::row_major([64, SLAB])
        } else {
            Layout::k_major::<O>([64, SLAB])
        },
    );
    let pipe = Pipeline::tma(STAGES, BM / 64);
    let (rows, columns) = (c.dim(0).div_ceil(BM), c.dim(1).div_ceil(BN));
    let tiles = Tiles::persistent([rows, columns]).grouped(GROUP);
    let numbers = Tiles::persistent([rows * columns, 1]);
    let steps = if TA == 1 { a.dim(0) } else { a.dim(1) }.div_ceil(BK);
    if warpgroup_idx() == 0 {
        set_registers(if BM == 192 { 32 } else { 40 });
        if elect_one() {
            let load = Load::tma();
            let fill = |m: usize, n: usize| {
                fill_stages(&pipe, steps, |k: usize, s: usize| {
                    if TA == 1 {
                        load.copy_into(&a.tile([BK, BM], [k, m]), a_s.stage(s), &pipe, s);
                    } else {
                        load.copy_into(&a.tile([BM, BK], [m, k]), a_s.stage(s), &pipe, s);
                    }
                    if TB == 1 {
                        load.copy_into(&b.tile([BK, BN], [k, n]), b_s.stage(s), &pipe, s);
                    } else {
                        load.copy_into(&b.tile([BN, BK], [n, k]), b_s.stage(s), &pipe, s);
                    }
                });
            };
            if E::BYTES == 1 {
                for [t, _] in numbers {
                    let [m, n] = in_groups(t, rows, columns, GROUP);
                    fill(m, n);
                }
            } else {
                for [m, n] in tiles {
                    fill(m, n);
                }
            }
        }
    } else {
        set_registers(if BM == 192 { 160 } else { 232 });
        let band = warpgroup_idx() - 1;
        let gemm = Gemm::<E>::warpgroup(Warp::new(4, 1));
        let (store, bar) = (Store::tma(), Barrier::named(128));
        let left = |s: usize| {
            if TA == 1 {
                a_s.stage(s).t().tile([64, BK], [band, 0])
            } else {
                a_s.stage(s).tile([64, BK], [band, 0])
            }
        };
        let right = |s: usize| {
            if TB == 1 {
                b_s.stage(s).t()
            } else {
                b_s.stage(s)
            }
        };
        let shape = [64, BN];
        let mut leave = |sums: &Register<f32>, m: usize, n: usize| {
            #[unroll]
            for slab in 0..BN / SLAB {
                let staged = out_s.stage(2 * band + slab % 2);
                let at = [BM / 64 * m + band, n * (BN / SLAB) + slab];
                stage_slab(&store, &bar, slab, staged, || {
                    let part = sums.tile([64, SLAB], [0, slab]);
                    if EPI == 1 {
                        let columns = bias.tile([SLAB], [at[1]]);
                        let old = d.tile([64, SLAB], at).load_like(&part);
                        finished(&part, &columns, &old, alpha, beta, activation).cast::<O>()
                    } else {
                        part.cast::<O>()
                    }
                });
                if elect_one() {
                    store.copy(staged, c.tile_mut([64, SLAB], at));
                    store.commit();
                }
            }
        };
        if E::BYTES == 1 {
            for [t, _] in numbers {
                let place = || in_groups(t, rows, columns, GROUP);
                let (sums, held, [m, n]) =
                    multiply_meanwhile(&gemm, &pipe, steps, shape, &left, &right, place);
                pipe.release(held);
                leave(&sums, m, n);
            }
        } else {
            for [m, n] in tiles {
                let (sums, held) = multiply_stages(&gemm, &pipe, steps, shape, &left, &right);
                pipe.release(held);
                leave(&sums, m, n);
            }
        }
        if elect_one() {
            store.wait_read(0); // the block's memory goes with it
        }
    }
}

#[tiki::kernel(target = "sm_90a", warpgroups = 2, shared = "227 KiB",
    grid = [b.dim(0).div_ceil(BN), a.dim(0).div_ceil(BM)],
    build(
    (E = f16, O = f16, BM = 16, BN = 64, BK = 128, STAGES = 10),
    (E = bf16, O = bf16, BM = 16, BN = 64, BK = 128, STAGES = 10),
    (E = f16, O = f16, BM = 64, BN = 64, BK = 64, STAGES = 12),
    (E = bf16, O = bf16, BM = 64, BN = 64, BK = 64, STAGES = 12),
    (E = f16, O = f16, BM = 128, BN = 64, BK = 64, STAGES = 8),
    (E = bf16, O = bf16, BM = 128, BN = 64, BK = 64, STAGES = 8),
), deny(bank_conflicts, spills))]
/// `c = a @ b.T` of few rows.
pub fn few<
    E: Element,
    O: Float,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const STAGES: usize,
>(
    a: &Global<E, 2, Strided>,
    b: &Global<E, 2, Strided>,
    c: &mut Global<O, 2, Strided>,
) {
    require!(a.dim(1) == b.dim(1) && c.dim(0) == a.dim(0) && c.dim(1) == b.dim(0));
    require!(a.dim(1) >= 1);
    let a_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BM, BK]));
    let b_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BN, BK]));
    let pipe = Pipeline::tma(STAGES, 1);
    let steps = a.dim(1).div_ceil(BK);
    let (m, n) = (block_idx().y, block_idx().x);
    if warpgroup_idx() == 0 {
        if elect_one() {
            let load = Load::tma();
            fill_stages(&pipe, steps, |k: usize, s: usize| {
                let columns = b.tile([BN, BK], [n, k]).evict_first();
                load.copy_into(&columns, b_s.stage(s), &pipe, s);
                load.copy_into(&a.tile([BM, BK], [m, k]), a_s.stage(s), &pipe, s);
            });
        }
    } else {
        let gemm = Gemm::<E>::warpgroup(Warp::new(4, 1));
        let (left, right) = (|s: usize| b_s.stage(s), |s: usize| a_s.stage(s));
        // The last stage is not released: nobody waits for it.
        let (sums, _) = multiply_stages(&gemm, &pipe, steps, [BN, BM], left, right);
        let out = sums.cast::<O>();
        c.tile_mut([BM, BN], [m, n]).t().store(&out);
    }
}

#[tiki::kernel(target = "sm_90a", warpgroups = 3, registers = 168, shared = "227 KiB", grid = persistent,
    build((BM = 128, BN = 256, BK = 32, STAGES = 4, GROUP = 12), (BM = 128, BN = 192, BK = 32, STAGES = 4, GROUP = 12)), deny(spills))]
/// `c = a @ b.T` by tf32.
pub fn tf32<
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const STAGES: usize,
    const GROUP: usize,
>(
    a: &Global<f32, 2, Strided>,
    b: &Global<f32, 2, Strided>,
    c: &mut Global<f32, 2, Strided>,
) {
    require!(a.dim(1) == b.dim(1) && c.dim(0) == a.dim(0) && c.dim(1) == b.dim(0));
    require!(BM == 128 && BN % 32 == 0 && a.dim(1) >= 1);
    let a_s = Shared::<f32>::stages(STAGES, Layout::k_major::<f32>([BM, BK]));
    let b_s = Shared::<f32>::stages(STAGES, Layout::k_major::<f32>([BN, BK]));
    let out_s = Shared::<f32>::stages(4, Layout::k_major::<f32>([64, 32]));
    let pipe = Pipeline::tma(STAGES, 2);
    let tiles = Tiles::persistent([a.dim(0).div_ceil(BM), b.dim(0).div_ceil(BN)]).grouped(GROUP);
    let steps = a.dim(1).div_ceil(BK);
    if warpgroup_idx() == 0 {
        set_registers(40);
        if elect_one() {
            let load = Load::tma();
            for [m, n] in tiles {
                fill_stages(&pipe, steps, |k: usize, s: usize| {
                    load.copy_into(&a.tile([BM, BK], [m, k]), a_s.stage(s), &pipe, s);
                    load.copy_into(&b.tile([BN, BK], [n, k]), b_s.stage(s), &pipe, s);
                });
            }
        }
    } else {
        set_registers(232);
        let half = warpgroup_idx() - 1;
        let gemm = Gemm::<f32>::warpgroup_tf32(Warp::new(4, 1));
        let (store, bar) = (Store::tma(), Barrier::named(128));
        let left = |s: usize| a_s.stage(s).tile([64, BK], [half, 0]);
        let right = |s: usize| b_s.stage(s);
        for [m, n] in tiles {
            let (sums, held) = multiply_stages(&gemm, &pipe, steps, [64, BN], &left, &right);
            pipe.release(held);
            #[unroll]
            for slab in 0..BN / 32 {
                let staged = out_s.stage(2 * half + slab % 2);
                // Two rows of a warp meet in a bank: still faster than past the accelerator.
                stage_slab(&store, &bar, slab, staged, || {
                    sums.tile([64, 32], [0, slab])
                });
                if elect_one() {
                    let at = [2 * m + half, n * (BN / 32) + slab];
                    store.copy(staged, c.tile_mut([64, 32], at));
                    store.commit();
                }
            }
        }
        if elect_one() {
            store.wait_read(0); // the block's memory goes with it
        }
    }
}
