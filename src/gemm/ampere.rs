//! Products by single warps (sm_80 and everything after).
//!
//! `ampere`: tiles come by asynchronous copies through a ring of stages; past the edges they are zero.
//! `any`: tiles come through registers, with whatever strides the operands have; for what the copies cannot
//! take. Both end in the same epilogue: `c = act(alpha a @ b.T + bias) + beta d`.

use super::epilogue::finished;
use super::schedule::{multiply_copied, multiply_ring};
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
        let (columns, old) = (bias.tile([BN], [n]), d.tile([BM, BN], [m, n]));
        let y = finished(&acc, &columns, &old, alpha, beta, activation);
        c.tile_mut([BM, BN], [m, n]).store(&y.cast::<E>());
    }
}

#[tiki::kernel(target = "sm_80", warps = 4, grid = [b.dim(0).div_ceil(64), a.dim(0).div_ceil(64)],
    build((E = f16), (E = bf16)), deny(spills))]
/// `c = act(alpha a @ b.T + bias) + beta d`, any extents and strides.
#[allow(clippy::too_many_arguments)]
pub fn any<E: Half>(
    a: &Global<E, 2, Strided>,
    b: &Global<E, 2, Strided>,
    c: &mut Global<E, 2, Strided>,
    bias: &Global<E, 1>,
    d: &Global<E, 2, Strided>,
    alpha: f32,
    beta: f32,
    activation: u32,
) {
    require!(a.dim(1) == b.dim(1) && c.dim(0) == a.dim(0) && c.dim(1) == b.dim(0));
    let (m, n) = (block_idx().y, block_idx().x);
    let a_s = Shared::<E>::new(Layout::k_major::<E>([64, 32]));
    let b_s = Shared::<E>::new(Layout::k_major::<E>([64, 32]));
    let map = ThreadMap::linear(128).vector_up_to(8);
    let gemm = Gemm::<E>::new(Warp::new(2, 2));
    let left = |k: usize| a.tile([64, 32], [m, k]);
    let right = |k: usize| b.tile([64, 32], [n, k]);
    let steps = a.dim(1).div_ceil(32);
    let acc = multiply_copied(&gemm, steps, map, a_s, b_s, left, right, [64, 64]);
    let (columns, old) = (bias.tile([64], [n]), d.tile([64, 64], [m, n]));
    let y = finished(&acc, &columns, &old, alpha, beta, activation);
    c.tile_mut([64, 64], [m, n]).store(&y.cast::<E>());
}

#[tiki::kernel(target = "sm_80", warps = 4, grid = [b.dim(0).div_ceil(64), a.dim(0).div_ceil(64)],
    build((THRICE = 0), (THRICE = 1)), deny(spills))]
/// `c = act(alpha a @ b.T + bias) + beta d` of f32 by tf32, or (`THRICE = 1`) by three products of tf32.
#[allow(clippy::too_many_arguments)]
pub fn single<const THRICE: usize>(
    a: &Global<f32, 2, Strided>,
    b: &Global<f32, 2, Strided>,
    c: &mut Global<f32, 2, Strided>,
    bias: &Global<f32, 1>,
    d: &Global<f32, 2, Strided>,
    alpha: f32,
    beta: f32,
    activation: u32,
) {
    require!(a.dim(1) == b.dim(1) && c.dim(0) == a.dim(0) && c.dim(1) == b.dim(0));
    let (m, n) = (block_idx().y, block_idx().x);
    let a_s = Shared::<f32>::new(Layout::k_major::<f32>([64, 32]));
    let b_s = Shared::<f32>::new(Layout::k_major::<f32>([64, 32]));
    let map = ThreadMap::linear(128).vector_up_to(4);
    let gemm = if THRICE == 1 {
        Gemm::<f32>::tf32x3(Warp::new(2, 2))
    } else {
        Gemm::<f32>::tf32(Warp::new(2, 2))
    };
    let left = |k: usize| a.tile([64, 32], [m, k]);
    let right = |k: usize| b.tile([64, 32], [n, k]);
    let steps = a.dim(1).div_ceil(32);
    let acc = multiply_copied(&gemm, steps, map, a_s, b_s, left, right, [64, 64]);
    let (columns, old) = (bias.tile([64], [n]), d.tile([64, 64], [m, n]));
    let y = finished(&acc, &columns, &old, alpha, beta, activation);
    c.tile_mut([64, 64], [m, n]).store(&y);
}

#[tiki::kernel(target = "sm_80", warps = 4, grid = [b.dim(0).div_ceil(64), a.dim(0).div_ceil(64)], deny(spills))]
/// `c = a @ b.T` of bytes, summed in `i32`.
pub fn bytes(
    a: &Global<i8, 2, Strided>,
    b: &Global<i8, 2, Strided>,
    c: &mut Global<i32, 2, Strided>,
) {
    require!(a.dim(1) == b.dim(1) && c.dim(0) == a.dim(0) && c.dim(1) == b.dim(0));
    let (m, n) = (block_idx().y, block_idx().x);
    let a_s = Shared::<i8>::new(Layout::k_major::<i8>([64, 64]));
    let b_s = Shared::<i8>::new(Layout::k_major::<i8>([64, 64]));
    let map = ThreadMap::linear(128).vector_up_to(16);
    let gemm = Gemm::<i8, i8, i32>::new(Warp::new(2, 2));
    let left = |k: usize| a.tile([64, 64], [m, k]);
    let right = |k: usize| b.tile([64, 64], [n, k]);
    let steps = a.dim(1).div_ceil(64);
    let acc = multiply_copied(&gemm, steps, map, a_s, b_s, left, right, [64, 64]);
    c.tile_mut([64, 64], [m, n]).store(&acc);
}
