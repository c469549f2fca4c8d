//! Products of a list whose shapes all differ, in one kernel.
//!
//! The tiles of all products stand in one row: those of the first, those of the second, and so on. A persistent grid deals
//! them out; who takes a tile looks up in `sizes` which product it belongs to, and makes windows of that product's operands
//! and result out of `begins`. Both tables are [`super::members`]'s.
//!
//! ```text
//! begins (G, 6 or 9)  where a, b and c begin, and their strides
//! sizes (G + 1, 4)    M, N, K, and the tiles before it; the last row only says how many tiles there are
//! ```
//!
//! `list_ring`: warps, by asynchronous copies (sm_80 and after). `list_group`: warpgroups (sm_90a), whose threads copy themselves:
//! the accelerator takes a map for each tensor, and maps are arguments of a launch. For these two N, K and `begins` count eights
//! of elements. `list_each`, `list_single`: any strides and extents, through registers.
//! `c = act(alpha a @ b.T) + beta c`; with `beta` 0, nothing is read of `c`.

use super::epilogue::{act, residual};
use super::schedule::{in_groups, multiply_copied, multiply_ring};
use crate::prelude::*;

/// The product that tile `t` belongs to; no product before `from` does.
#[tiki::device]
fn product_of(sizes: &Global<u32, 2>, t: usize, from: usize) -> usize {
    let mut g = from;
    while sizes.get([g + 1, 3]) as usize <= t {
        g += 1;
    }
    g
}

/// Product `g`'s operands and result, where N, K, places and pitches are given in eights.
#[tiki::device]
fn windows_of<E: Half>(
    a: &Global<E, 1>,
    b: &Global<E, 1>,
    c: &mut Global<E, 1>,
    begins: &Global<u64, 2>,
    sizes: &Global<u32, 2>,
    g: usize,
) -> (
    Global<E, 2, Strided>,
    Global<E, 2, Strided>,
    Global<E, 2, Strided>,
) {
    let eights = |i: usize| begins.get([g, i]) as usize * 8;
    let rows = sizes.get([g, 0]) as usize;
    let columns = sizes.get([g, 1]) as usize * 8;
    let depth = sizes.get([g, 2]) as usize * 8;
    (
        a.window(eights(0), [rows, depth], [eights(3), 1]),
        b.window(eights(1), [columns, depth], [eights(4), 1]),
        c.window_mut(eights(2), [rows, columns], [eights(5), 1]),
    )
}

/// `act(alpha sums) + beta c` of a tile's sums, `old` being what the tile of `c` holds.
#[tiki::device]
fn ended<O: Element>(
    sums: &Register<f32>,
    old: &Register<O>,
    alpha: f32,
    beta: f32,
    activation: u32,
) -> Register<f32> {
    let y = sums.map(|x| act(x * alpha, activation));
    y.zip(&old.cast::<f32>(), |y, d| residual(y, d, beta))
}

#[tiki::kernel(target = "sm_80", warps = 4, registers = 224, shared = "100 KiB", grid = persistent, build(
    (E = f16, BM = 128, BN = 128, BK = 64, STAGES = 3, EPI = 0),
    (E = bf16, BM = 128, BN = 128, BK = 64, STAGES = 3, EPI = 0),
    (E = f16, BM = 64, BN = 64, BK = 64, STAGES = 3, EPI = 1),
    (E = bf16, BM = 64, BN = 64, BK = 64, STAGES = 3, EPI = 1),
), deny(bank_conflicts, spills))]
/// By warps: K, N and all pitches are multiples of 8, and given in eights.
#[allow(clippy::too_many_arguments)]
pub fn list_ring<
    E: Half,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const STAGES: usize,
    const EPI: usize,
>(
    a: &Global<E, 1>,
    b: &Global<E, 1>,
    c: &mut Global<E, 1>,
    begins: &Global<u64, 2>,
    sizes: &Global<u32, 2>,
    tiles: u32,
    alpha: f32,
    beta: f32,
    activation: u32,
) {
    require!(begins.dim(1) == 6 && sizes.dim(1) == 4 && sizes.dim(0) == begins.dim(0) + 1);
    let a_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BM, BK]));
    let b_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BN, BK]));
    let load = Load::cp_async(128);
    let pipe = Pipeline::cp_async(STAGES);
    let gemm = Gemm::<E>::new(Warp::new(2, 2));
    let mut g: usize = 0;
    for [t, _] in Tiles::persistent([tiles as usize, 1]) {
        g = product_of(sizes, t, g);
        let (left, right, mut out) = windows_of(a, b, c, begins, sizes, g);
        let (rows, columns, depth) = (left.dim(0), right.dim(0), left.dim(1));
        let nth = t - sizes.get([g, 3]) as usize;
        let [m, n] = in_groups(nth, rows.div_ceil(BM), columns.div_ceil(BN), 8);
        let fetch = |k: usize| {
            let s = pipe.acquire();
            load.copy(&left.tile([BM, BK], [m, k]), a_s.stage(s)); // past the last step: zero fill, no traffic
            load.copy(&right.tile([BN, BK], [n, k]), b_s.stage(s));
            pipe.commit();
        };
        let steps = depth.div_ceil(BK);
        let acc = multiply_ring(&gemm, &pipe, STAGES, steps, fetch, a_s, b_s, [BM, BN]);
        if EPI == 0 {
            out.tile_mut([BM, BN], [m, n]).store(&acc.cast::<E>());
        } else {
            let old = if beta == 0.0 {
                acc.map(|_| 0.0).cast::<E>()
            } else {
                out.tile([BM, BN], [m, n]).load_like(&acc)
            };
            let y = ended(&acc, &old, alpha, beta, activation);
            out.tile_mut([BM, BN], [m, n]).store(&y.cast::<E>());
        }
        #[unroll]
        for _ in 0..STAGES - 1 {
            pipe.wait(); // what was started past the last step: the next tile's copies go there
        }
    }
}

#[tiki::kernel(target = "sm_90a", warpgroups = 2, registers = (BN - 16).max(128), shared = "227 KiB", blocks_per_sm = 256 / BN, grid = persistent, build(
    (E = f16, BN = 256, STAGES = 4, EPI = 0),
    (E = bf16, BN = 256, STAGES = 4, EPI = 0),
    (E = f16, BN = 128, STAGES = 3, EPI = 0),
    (E = bf16, BN = 128, STAGES = 3, EPI = 0),
    (E = f16, BN = 128, STAGES = 3, EPI = 1),
    (E = bf16, BN = 128, STAGES = 3, EPI = 1),
), deny(bank_conflicts, spills))]
/// By warpgroups, of 64 rows each, under the conditions of [`list_ring`]. All threads copy. Of tiles
/// of 128 columns a multiprocessor has two blocks, of which one multiplies while the other waits. `EPI = 1` scales and adds, and applies no function.
#[allow(clippy::too_many_arguments)]
pub fn list_group<E: Half, const BN: usize, const STAGES: usize, const EPI: usize>(
    a: &Global<E, 1>,
    b: &Global<E, 1>,
    c: &mut Global<E, 1>,
    begins: &Global<u64, 2>,
    sizes: &Global<u32, 2>,
    tiles: u32,
    alpha: f32,
    beta: f32,
) {
    require!(begins.dim(1) == 6 && sizes.dim(1) == 4 && sizes.dim(0) == begins.dim(0) + 1);
    let a_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([128, 64]));
    let b_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BN, 64]));
    let load = Load::cp_async(256);
    let pipe = Pipeline::cp_async(STAGES);
    let gemm = Gemm::<E>::warpgroup(Warp::new(4, 1));
    let half = warpgroup_idx();
    let mut g: usize = 0;
    for [t, _] in Tiles::persistent([tiles as usize, 1]) {
        g = product_of(sizes, t, g);
        let (left, right, mut out) = windows_of(a, b, c, begins, sizes, g);
        let (rows, columns, depth) = (left.dim(0), right.dim(0), left.dim(1));
        let nth = t - sizes.get([g, 3]) as usize;
        let [m, n] = in_groups(nth, rows.div_ceil(128), columns.div_ceil(BN), 8);
        let fetch = |k: usize| {
            let s = pipe.acquire();
            load.copy(&left.tile([128, 64], [m, k]), a_s.stage(s)); // past the last step: zero fill, no traffic
            load.copy(&right.tile([BN, 64], [n, k]), b_s.stage(s));
            pipe.commit();
        };
        for k in 0..STAGES - 1 {
            fetch(k);
        }
        // The first step is multiplied even if K is 0: zeros.
        let s = pipe.wait();
        fence_async();
        sync_block();
        let rows_s = a_s.stage(s).tile([64, 64], [half, 0]);
        let mut acc = gemm.issue(rows_s, b_s.stage(s), gemm.zeros([64, BN]));
        fetch(STAGES - 1);
        for k in 1..depth.div_ceil(64) {
            warpgroup_wait(0);
            let s = pipe.wait();
            fence_async();
            sync_block(); // both have multiplied the stage before: copies may go there
            acc = acc.issue(a_s.stage(s).tile([64, 64], [half, 0]), b_s.stage(s));
            fetch(k + STAGES - 1);
        }
        warpgroup_wait(0);
        let acc = acc.retire();
        #[unroll]
        for i in 0..BN / 32 {
            let (sums, at) = (
                acc.tile([64, 32], [0, i]),
                [2 * m + half, n * (BN / 32) + i],
            );
            if EPI == 0 {
                out.tile_mut([64, 32], at).store(&sums.cast::<E>());
            } else {
                let old = if beta == 0.0 {
                    sums.map(|_| 0.0).cast::<E>()
                } else {
                    out.tile([64, 32], at).load_like(&sums)
                };
                let y = ended(&sums, &old, alpha, beta, 0);
                out.tile_mut([64, 32], at).store(&y.cast::<E>());
            }
        }
        #[unroll]
        for _ in 0..STAGES - 1 {
            pipe.wait(); // what was started past the last step: the next tile's copies go there
        }
    }
}

/// The kernels for any extents and strides: tiles of 64 x 64, steps of 32.
#[tiki::device]
#[allow(clippy::too_many_arguments)]
fn through_registers<E: Element>(
    a: &Global<E, 1>,
    b: &Global<E, 1>,
    c: &mut Global<E, 1>,
    begins: &Global<u64, 2>,
    sizes: &Global<u32, 2>,
    tiles: u32,
    alpha: f32,
    beta: f32,
    activation: u32,
    multiplier: impl Fn() -> Gemm<E>,
) {
    let a_s = Shared::<E>::new(Layout::k_major::<E>([64, 32]));
    let b_s = Shared::<E>::new(Layout::k_major::<E>([64, 32]));
    let map = ThreadMap::linear(128).vector_up_to(16 / E::BYTES);
    let gemm = multiplier();
    let mut g: usize = 0;
    for [t, _] in Tiles::persistent([tiles as usize, 1]) {
        g = product_of(sizes, t, g);
        let number = |i: usize| begins.get([g, i]) as usize;
        let size = |i: usize| sizes.get([g, i]) as usize;
        let (rows, columns, depth) = (size(0), size(1), size(2));
        let left = a.window(number(0), [rows, depth], [number(3), number(4)]);
        let right = b.window(number(1), [columns, depth], [number(5), number(6)]);
        let mut out = c.window_mut(number(2), [rows, columns], [number(7), number(8)]);
        let [m, n] = in_groups(t - size(3), rows.div_ceil(64), columns.div_ceil(64), 8);
        let (steps, shape) = (depth.div_ceil(32), [64, 64]);
        let a_at = |k: usize| left.tile([64, 32], [m, k]);
        let b_at = |k: usize| right.tile([64, 32], [n, k]);
        let acc = multiply_copied(&gemm, steps, map, a_s, b_s, a_at, b_at, shape);
        let old = if beta == 0.0 {
            acc.map(|_| 0.0).cast::<E>()
        } else {
            out.tile(shape, [m, n]).load_like(&acc)
        };
        let y = ended(&acc, &old, alpha, beta, activation);
        out.tile_mut(shape, [m, n]).store(&y.cast::<E>());
    }
}

#[tiki::kernel(target = "sm_80", warps = 4, grid = persistent, build((E = f16), (E = bf16)), deny(spills))]
/// By warps, any extents and strides.
#[allow(clippy::too_many_arguments)]
pub fn list_each<E: Half>(
    a: &Global<E, 1>,
    b: &Global<E, 1>,
    c: &mut Global<E, 1>,
    begins: &Global<u64, 2>,
    sizes: &Global<u32, 2>,
    tiles: u32,
    alpha: f32,
    beta: f32,
    activation: u32,
) {
    require!(begins.dim(1) == 9 && sizes.dim(1) == 4 && sizes.dim(0) == begins.dim(0) + 1);
    through_registers::<E>(
        a,
        b,
        c,
        begins,
        sizes,
        tiles,
        alpha,
        beta,
        activation,
        || Gemm::<E>::new(Warp::new(2, 2)),
    );
}

#[tiki::kernel(target = "sm_80", warps = 4, grid = persistent, build((THRICE = 0), (THRICE = 1)), deny(spills))]
/// The same of f32 by tf32, or (`THRICE = 1`) by three products of tf32.
#[allow(clippy::too_many_arguments)]
pub fn list_single<const THRICE: usize>(
    a: &Global<f32, 1>,
    b: &Global<f32, 1>,
    c: &mut Global<f32, 1>,
    begins: &Global<u64, 2>,
    sizes: &Global<u32, 2>,
    tiles: u32,
    alpha: f32,
    beta: f32,
    activation: u32,
) {
    require!(begins.dim(1) == 9 && sizes.dim(1) == 4 && sizes.dim(0) == begins.dim(0) + 1);
    through_registers::<f32>(
        a,
        b,
        c,
        begins,
        sizes,
        tiles,
        alpha,
        beta,
        activation,
        || {
            if THRICE == 1 {
                Gemm::<f32>::tf32x3(Warp::new(2, 2))
            } else {
                Gemm::<f32>::tf32(Warp::new(2, 2))
            }
        },
    );
}
