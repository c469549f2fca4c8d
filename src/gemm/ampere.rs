//! Products by single warps (sm_80 and everything after).
//!
//! `ampere`: tiles come by asynchronous copies through a ring of stages; past the edges they are zero.
//! `whole`: as `ampere`, of whole tiles only. That nothing is past an edge is proven from what the kernel requires, so
//! a step is straight code in which copies stand between products.
//! `any`, `single`, `bytes` and (sm_90a) `narrow`: tiles come through registers, with whatever strides the
//! operands have; for what the copies cannot take. They multiply batches, by matrices that a table may name
//! for each 128 rows, and parts of K: `c` is (parts, batch, M, N). All but `bytes` end in the same epilogue,
//! `act(alpha a @ b.T + bias) + beta d`; `d` is `c` itself if `own` says so.

use super::epilogue::finished;
use super::schedule::{matrix_of, multiply_copied, multiply_ring, multiply_whole, place};
use crate::prelude::*;

#[tiki::kernel(target = "sm_80", warps = 4, registers = 224, shared = "100 KiB",
    grid = [b.dim(0).div_ceil(BN), a.dim(0).div_ceil(BM)], build(
    (E = f16, BM = 128, BN = 128, BK = 64, STAGES = 3, EPI = 0),
    (E = bf16, BM = 128, BN = 128, BK = 64, STAGES = 3, EPI = 0),
    (E = f16, BM = 64, BN = 64, BK = 64, STAGES = 3, EPI = 1),
    (E = bf16, BM = 64, BN = 64, BK = 64, STAGES = 3, EPI = 1),
), deny(bank_conflicts, spills))]
/// `c = act(alpha a @ b.T + bias) + beta d` (with `EPI = 0`, `c = a @ b.T`); K and N are multiples of 8.
#[allow(clippy::too_many_arguments)]
pub fn ampere<
    E: Half,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const STAGES: usize,
    const EPI: usize,
>(
    a: &Global<E>,
    b: &Global<E>,
    c: &mut Global<E>,
    bias: &Global<E, 1>,
    d: &Global<E>,
    alpha: f32,
    beta: f32,
    activation: u32,
) {
    require!(
        a.dim(1) == b.dim(1)
            && c.dim(0) == a.dim(0)
            && c.dim(1) == b.dim(0)
            && a.dim(1) % 8 == 0
            && c.dim(1) % 8 == 0
    );
    let (m, n) = (block_idx().y, block_idx().x);
    let a_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BM, BK]));
    let b_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BN, BK]));
    let load = Load::cp_async(128);
    let pipe = Pipeline::cp_async(STAGES);
    let gemm = Gemm::<E>::new(Warp::new(2, 2));
    let steps = a.dim(1).div_ceil(BK);
    let fetch = |k: usize| {
        let s = pipe.acquire();
        load.copy(&a.tile([BM, BK], [m, k]), a_s.stage(s)); // past the last step: zero fill, no traffic
        load.copy(&b.tile([BN, BK], [n, k]), b_s.stage(s));
        pipe.commit();
    };
    let acc = multiply_ring(&gemm, &pipe, STAGES, steps, fetch, a_s, b_s, [BM, BN]);
    if EPI == 0 {
        c.tile_mut([BM, BN], [m, n]).store(&acc.cast::<E>());
    } else {
        let (columns, old) = (
            bias.tile([BN], [n]),
            d.tile([BM, BN], [m, n]).load_like(&acc),
        );
        let y = finished(&acc, &columns, &old, alpha, beta, activation);
        c.tile_mut([BM, BN], [m, n]).store(&y.cast::<E>());
    }
}

#[tiki::kernel(target = "sm_80", warps = 4, registers = 224, shared = "100 KiB",
    grid = [b.dim(0).div_ceil(BN), a.dim(0).div_ceil(BM)], build(
    (E = f16, BM = 128, BN = 128, BK = 64, STAGES = 3),
    (E = bf16, BM = 128, BN = 128, BK = 64, STAGES = 3),
), deny(bank_conflicts, spills))]
/// `c = a @ b.T` of whole tiles and at least `STAGES` steps.
pub fn whole<E: Half, const BM: usize, const BN: usize, const BK: usize, const STAGES: usize>(
    a: &Global<E>,
    b: &Global<E>,
    c: &mut Global<E>,
) {
    require!(a.dim(1) == b.dim(1) && c.dim(0) == a.dim(0) && c.dim(1) == b.dim(0));
    require!(a.dim(0) % BM == 0 && b.dim(0) % BN == 0);
    require!(a.dim(1) % BK == 0 && a.dim(1) >= STAGES * BK);
    let (m, n) = (block_idx().y, block_idx().x);
    let a_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BM, BK]));
    let b_s = Shared::<E>::stages(STAGES, Layout::k_major::<E>([BN, BK]));
    let load = Load::cp_async(128);
    let pipe = Pipeline::cp_async(STAGES);
    let gemm = Gemm::<E>::new(Warp::new(2, 2));
    let steps = a.dim(1) / BK;
    let left = |k: usize, s: usize| load.copy(&a.tile([BM, BK], [m, k]), a_s.stage(s));
    let right = |k: usize, s: usize| load.copy(&b.tile([BN, BK], [n, k]), b_s.stage(s));
    let shape = [BM, BN, BK];
    let acc = multiply_whole(&gemm, &pipe, STAGES, steps, left, right, a_s, b_s, shape);
    c.tile_mut([BM, BN], [m, n]).store(&acc.cast::<E>());
}

#[tiki::kernel(target = "sm_80", warps = 4,
    grid = [c.dim(0) * c.dim(1) * c.dim(2).div_ceil(64) * c.dim(3).div_ceil(64)], build(
    (E = f16, O = f16), (E = bf16, O = bf16), (E = f16, O = f32), (E = bf16, O = f32)), deny(spills))]
/// `c = act(alpha a @ b.T + bias) + beta d`, any extents and strides.
#[allow(clippy::too_many_arguments)]
pub fn any<E: Half, O: Element>(
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
    require!(a.dim(2) == b.dim(2) && c.dim(1) == a.dim(0) && b.dim(0) >= 1);
    require!(c.dim(2) == a.dim(1) && c.dim(3) == b.dim(1) && c.dim(0) >= 1);
    let (rows, columns) = (c.dim(2).div_ceil(64), c.dim(3).div_ceil(64));
    let [z, p, m, n] = place(block_idx().x, c.dim(0), rows, columns);
    let of = matrix_of(groups, z, m, 64, b.dim(0));
    let a_s = Shared::<E>::new(Layout::k_major::<E>([64, 32]));
    let b_s = Shared::<E>::new(Layout::k_major::<E>([64, 32]));
    let map = ThreadMap::linear(128).vector_up_to(8);
    let gemm = Gemm::<E>::new(Warp::new(2, 2));
    let steps = a.dim(2).div_ceil(32);
    let each = steps.div_ceil(c.dim(0));
    let left = |k: usize| a.at([z]).tile([64, 32], [m, p * each + k]);
    let right = |k: usize| b.at([of]).tile([64, 32], [n, p * each + k]);
    let acc = multiply_copied(&gemm, each, map, a_s, b_s, left, right, [64, 64]);
    let columns = bias.tile([64], [n]);
    let old = if own {
        c.at([p, z]).tile([64, 64], [m, n]).load_like(&acc)
    } else {
        d.at([z]).tile([64, 64], [m, n]).load_like(&acc)
    };
    let y = finished(&acc, &columns, &old, alpha, beta, activation);
    c.at_mut([p, z])
        .tile_mut([64, 64], [m, n])
        .store(&y.cast::<O>());
}

#[tiki::kernel(target = "sm_80", warps = 4,
    grid = [c.dim(0) * c.dim(1) * c.dim(2).div_ceil(64) * c.dim(3).div_ceil(64)], build((THRICE = 0), (THRICE = 1)), deny(spills))]
/// The same of f32 by tf32, or (`THRICE = 1`) by three products of tf32.
#[allow(clippy::too_many_arguments)]
pub fn single<const THRICE: usize>(
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
    require!(a.dim(2) == b.dim(2) && c.dim(1) == a.dim(0) && b.dim(0) >= 1);
    require!(c.dim(2) == a.dim(1) && c.dim(3) == b.dim(1) && c.dim(0) >= 1);
    let (rows, columns) = (c.dim(2).div_ceil(64), c.dim(3).div_ceil(64));
    let [z, p, m, n] = place(block_idx().x, c.dim(0), rows, columns);
    let of = matrix_of(groups, z, m, 64, b.dim(0));
    let a_s = Shared::<f32>::new(Layout::k_major::<f32>([64, 32]));
    let b_s = Shared::<f32>::new(Layout::k_major::<f32>([64, 32]));
    let map = ThreadMap::linear(128).vector_up_to(4);
    let gemm = if THRICE == 1 {
        Gemm::<f32>::tf32x3(Warp::new(2, 2))
    } else {
        Gemm::<f32>::tf32(Warp::new(2, 2))
    };
    let steps = a.dim(2).div_ceil(32);
    let each = steps.div_ceil(c.dim(0));
    let left = |k: usize| a.at([z]).tile([64, 32], [m, p * each + k]);
    let right = |k: usize| b.at([of]).tile([64, 32], [n, p * each + k]);
    let acc = multiply_copied(&gemm, each, map, a_s, b_s, left, right, [64, 64]);
    let columns = bias.tile([64], [n]);
    let old = if own {
        c.at([p, z]).tile([64, 64], [m, n]).load_like(&acc)
    } else {
        d.at([z]).tile([64, 64], [m, n]).load_like(&acc)
    };
    let y = finished(&acc, &columns, &old, alpha, beta, activation);
    c.at_mut([p, z]).tile_mut([64, 64], [m, n]).store(&y);
}

#[tiki::kernel(target = "sm_80", warps = 4,
    grid = [c.dim(0) * c.dim(1) * c.dim(2).div_ceil(64) * c.dim(3).div_ceil(64)], deny(spills))]
/// `c = a @ b.T` of bytes, summed in `i32`.
#[allow(clippy::too_many_arguments)]
pub fn bytes(
    a: &Global<i8, 3, Strided>,
    b: &Global<i8, 3, Strided>,
    c: &mut Global<i32, 4, Strided>,
    groups: &Global<u32, 1>,
) {
    require!(a.dim(2) == b.dim(2) && c.dim(1) == a.dim(0) && b.dim(0) >= 1);
    require!(c.dim(2) == a.dim(1) && c.dim(3) == b.dim(1) && c.dim(0) >= 1);
    let (rows, columns) = (c.dim(2).div_ceil(64), c.dim(3).div_ceil(64));
    let [z, p, m, n] = place(block_idx().x, c.dim(0), rows, columns);
    let of = matrix_of(groups, z, m, 64, b.dim(0));
    let a_s = Shared::<i8>::new(Layout::k_major::<i8>([64, 64]));
    let b_s = Shared::<i8>::new(Layout::k_major::<i8>([64, 64]));
    let map = ThreadMap::linear(128).vector_up_to(16);
    let gemm = Gemm::<i8, i8, i32>::new(Warp::new(2, 2));
    let steps = a.dim(2).div_ceil(64);
    let each = steps.div_ceil(c.dim(0));
    let left = |k: usize| a.at([z]).tile([64, 64], [m, p * each + k]);
    let right = |k: usize| b.at([of]).tile([64, 64], [n, p * each + k]);
    let acc = multiply_copied(&gemm, each, map, a_s, b_s, left, right, [64, 64]);
    c.at_mut([p, z]).tile_mut([64, 64], [m, n]).store(&acc);
}

#[tiki::kernel(target = "sm_90a", warps = 4,
    grid = [c.dim(0) * c.dim(1) * c.dim(2).div_ceil(64) * c.dim(3).div_ceil(64)], build(
    (E = e4m3, O = f16), (E = e4m3, O = bf16), (E = e4m3, O = f32),
    (E = e5m2, O = f16), (E = e5m2, O = bf16), (E = e5m2, O = f32),
    (E = e4m3, O = e4m3), (E = e5m2, O = e5m2)), deny(spills))]
/// The same of 8-bit floats, which multiply on sm_90.
#[allow(clippy::too_many_arguments)]
pub fn narrow<E: Element, O: Element>(
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
    require!(a.dim(2) == b.dim(2) && c.dim(1) == a.dim(0) && b.dim(0) >= 1);
    require!(c.dim(2) == a.dim(1) && c.dim(3) == b.dim(1) && c.dim(0) >= 1);
    let (rows, columns) = (c.dim(2).div_ceil(64), c.dim(3).div_ceil(64));
    let [z, p, m, n] = place(block_idx().x, c.dim(0), rows, columns);
    let of = matrix_of(groups, z, m, 64, b.dim(0));
    let a_s = Shared::<E>::new(Layout::k_major::<E>([64, 64]));
    let b_s = Shared::<E>::new(Layout::k_major::<E>([64, 64]));
    let map = ThreadMap::linear(128).vector_up_to(16);
    let gemm = Gemm::<E>::new(Warp::new(2, 2));
    let steps = a.dim(2).div_ceil(64);
    let each = steps.div_ceil(c.dim(0));
    let left = |k: usize| a.at([z]).tile([64, 64], [m, p * each + k]);
    let right = |k: usize| b.at([of]).tile([64, 64], [n, p * each + k]);
    let acc = multiply_copied(&gemm, each, map, a_s, b_s, left, right, [64, 64]);
    let columns = bias.tile([64], [n]);
    let old = if own {
        c.at([p, z]).tile([64, 64], [m, n]).load_like(&acc)
    } else {
        d.at([z]).tile([64, 64], [m, n]).load_like(&acc)
    };
    let y = finished(&acc, &columns, &old, alpha, beta, activation);
    c.at_mut([p, z])
        .tile_mut([64, 64], [m, n])
        .store(&y.cast::<O>());
}
