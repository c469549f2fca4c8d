//! Products of f32 by tf32, of rows in eights (sm_90a): `tf32` of [`super::hopper`] with two losses less.
//!
//! **The last round.** Tiles of 256 columns rarely fill the rounds of a persistent grid: 512 of them on 132
//! multiprocessors are 3.88. In `cut` rows of tiles, 15 tiles of 256 columns are 16 of 240: the last
//! round is full, and its tiles, which come last, are the narrow ones. [`cut`] says in how many rows.
//!
//! **The way out.** A thread's sums are two neighbours in each row, and rows beside each other then meet in a bank. So the rows
//! of A are taken in another order, 0 2 4 6 1 3 5 7 of each eight, as a view of rank 4; the sums of the order in
//! which they are taken go to their own rows in shared memory, and no two meet.

use super::schedule::{fill_stages, in_groups, multiply_meanwhile, stage_in_ring, stage_slab};
use crate::prelude::*;

/// Columns of a wide tile, and of a narrow one; how many narrow ones take the place of one less wide.
const WIDE: usize = 256;
const NARROW: usize = 240;
const MANY: usize = 16;

/// In how many rows of tiles narrow ones stand, for a result of so many elements and so many multiprocessors.
#[must_use]
pub fn cut(m: usize, n: usize, processors: usize) -> usize {
    let (rows, columns) = (m.div_ceil(128), n.div_ceil(WIDE));
    let over = (rows * columns) % processors.max(1);
    let more = if over == 0 { 0 } else { processors - over };
    // Narrow ones for every multiprocessor, or some are as late as before.
    if columns < MANY || more.min(rows) * MANY < processors {
        return 0;
    }
    more.min(rows)
}

/// Elements of the tiles that the busiest multiprocessor takes.
#[must_use]
pub fn busiest(m: usize, n: usize, processors: usize) -> usize {
    let (rows, columns) = (m.div_ceil(128), n.div_ceil(WIDE));
    let (processors, cut) = (processors.max(1), cut(m, n, processors));
    let wide = (rows * columns - cut * (MANY - 1) * usize::from(cut > 0)).div_ceil(processors);
    let rounds = (rows * columns + cut).div_ceil(processors);
    128 * (wide * WIDE + (rounds - wide) * NARROW)
}

#[tiki::kernel(target = "sm_90a", warpgroups = 3, registers = 168, shared = "227 KiB", grid = persistent,
    build((STAGES = 4, GROUP = 16)), deny(spills))]
/// `c = a @ b.T` by tf32; `a` is (M / 8, 2, 4, K), row `8 i + h + 2 q` at `[i, h, q]`.
pub fn uneven<const STAGES: usize, const GROUP: usize>(
    a: &Global<f32, 4, Strided>,
    b: &Global<f32, 2, Strided>,
    c: &mut Global<f32, 2, Strided>,
    cut: u32,
) {
    require!(a.dim(3) == b.dim(1) && c.dim(1) == b.dim(0) && b.dim(1) >= 1);
    require!(a.dim(1) == 2 && a.dim(2) == 4 && c.dim(0) == a.dim(0) * 8);
    require!(cut as usize <= c.dim(0).div_ceil(128));
    require!(cut == 0 || c.dim(1) > 3840);
    let lines = Swizzle::new(3, 2, 3);
    let a_s = Shared::<f32>::stages(STAGES, Layout::row_major([16, 2, 4, 32]).swizzle(lines));
    let b_s = Shared::<f32>::stages(STAGES, Layout::k_major::<f32>([256, 32]));
    let out_s = Shared::<f32>::stages(4, Layout::k_major::<f32>([64, 32]));
    let pipe = Pipeline::tma(STAGES, 2);
    let steps = b.dim(1).div_ceil(32);
    // Whole rows of wide tiles; what is wide of the others; narrow ones.
    let (rows, columns) = (c.dim(0).div_ceil(128), c.dim(1).div_ceil(256));
    let cut = cut as usize;
    let (whole, beside) = (rows - cut, columns.max(15) - 15);
    let upper = whole * columns;
    let wide = upper + cut * beside;
    let tiles = Tiles::persistent([wide + cut * 16, 1]);
    let wide_at = |t: usize| {
        if t < upper {
            in_groups(t, whole, columns, GROUP)
        } else {
            let [m, n] = in_groups(t - upper, cut, beside, GROUP);
            [m + whole, n + 15]
        }
    };
    let narrow_at = |t: usize| {
        let [m, n] = in_groups(t - wide, cut, 16, GROUP);
        [m + whole, n]
    };
    let narrow_b = |s: usize| b_s.stage(s).arranged(Layout::k_major::<f32>([240, 32]));
    if warpgroup_idx() == 0 {
        set_registers(40);
        if elect_one() {
            let load = Load::tma();
            for [t, _] in tiles {
                if t < wide {
                    let [m, n] = wide_at(t);
                    fill_stages(&pipe, steps, |k: usize, s: usize| {
                        let left = a.tile([16, 2, 4, 32], [m, 0, 0, k]);
                        load.copy_into(&left, a_s.stage(s), &pipe, s);
                        load.copy_into(&b.tile([256, 32], [n, k]), b_s.stage(s), &pipe, s);
                    });
                } else {
                    let [m, n] = narrow_at(t);
                    fill_stages(&pipe, steps, |k: usize, s: usize| {
                        let left = a.tile([16, 2, 4, 32], [m, 0, 0, k]);
                        load.copy_into(&left, a_s.stage(s), &pipe, s);
                        load.copy_into(&b.tile([240, 32], [n, k]), narrow_b(s), &pipe, s);
                    });
                }
            }
        }
    } else {
        set_registers(232);
        let half = warpgroup_idx() - 1;
        let gemm = Gemm::<f32>::warpgroup_tf32(Warp::new(4, 1));
        let (store, bar) = (Store::tma(), Barrier::named(128));
        let left = |s: usize| {
            let flat = a_s.stage(s).arranged(Layout::k_major::<f32>([128, 32]));
            flat.tile([64, 32], [half, 0])
        };
        for [t, _] in tiles {
            if t < wide {
                let place = || wide_at(t);
                let right = |s: usize| b_s.stage(s);
                let (sums, held, [m, n]) =
                    multiply_meanwhile(&gemm, &pipe, steps, [64, 256], &left, &right, place);
                pipe.release(held);
                #[unroll]
                for i in 0..8 {
                    let staged = out_s.stage(2 * half + i % 2);
                    let own = layout!(((4, 2, 8), 32):((64, 32, 256), 1)).swizzle(lines);
                    stage_slab(&store, &bar, i, staged.arranged(own), || {
                        sums.tile([64, 32], [0, i])
                    });
                    if elect_one() {
                        let at = [2 * m + half, n * 8 + i];
                        store.copy(staged, c.tile_mut([64, 32], at));
                        store.commit();
                    }
                }
            } else {
                let place = || narrow_at(t);
                let (sums, held, [m, n]) =
                    multiply_meanwhile(&gemm, &pipe, steps, [64, 240], &left, &narrow_b, place);
                pipe.release(held);
                // Half as wide: 32 does not divide 240. A warpgroup's are where its others were.
                let slabs = out_s.reuse_as::<f32>(Layout::k_major::<f32>([512, 16]));
                #[unroll]
                for i in 0..15 {
                    let staged = slabs.tile([64, 16], [4 * half + i % 4, 0]);
                    let own = layout!(((4, 2, 8), 16):((32, 16, 128), 1));
                    let own = own.swizzle(Swizzle::new(2, 2, 3));
                    stage_in_ring(&store, &bar, 4, i, staged.arranged(own), || {
                        sums.tile([64, 16], [0, i])
                    });
                    if elect_one() {
                        let at = [2 * m + half, n * 15 + i];
                        store.copy(staged, c.tile_mut([64, 16], at));
                        store.commit();
                    }
                }
            }
        }
        if elect_one() {
            store.wait_read(0); // the block's memory goes with it
        }
    }
}
