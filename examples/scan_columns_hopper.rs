//! Scans down the columns of matrices on Hopper: sums or greatest so far, inclusive or exclusive, in either direction, in one
//! pass over the data. Rows are whole accesses of 16 bytes. (Of any width, and on other GPUs: `scan_columns`.)
//!
//! Three warpgroups share a block that stays, and a ring of `S` tiles of `R` rows and `C` columns. Each takes the tiles in
//! their order and waits for none of the others but through the ring: who waits for what other blocks have not told yet
//! keeps nobody from telling.
//!
//! 1. One thread takes numbers and loads, by the tensor memory accelerator. It takes a number only when a stage is free:
//!    who holds a tile that he has not begun to load makes those below it wait. Few stages do, for the same reason.
//! 2. A warpgroup adds up a tile's columns and publishes what they come to.
//! 3. A warpgroup scans the tile, puts together what comes before it of what has been told
//!    ([`tiki::rows::look_back`]: groups of `G` tiles, an order that depends on the tile alone), and adds that. Its results
//!    leave through a tile of their own.
//!
//! Tiles are gone through as in `scan_columns`, all of one height of `P` matrices before the next lower. A thread holds
//! neighbouring rows of 16 bytes; the warps of a role meet at the role's own barrier. A result is the same bits on every run.
//!
//! Sums accumulate in f32. After a NaN everything is NaN, in the greatest so far as well.
//!
//! `cargo run --release --example scan_columns_hopper -- [ROWS COLUMNS]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;
use tiki::rows::look_back::{
    asked_columns, asked_own, before_columns, column_place, column_values, first_tile, joined,
    leave_place, load_tiles, next_tile, own_column, tell_column, tell_group, tile_row,
};

#[tiki::kernel(target = "sm_90a", warpgroups = 3, shared = "227 KiB", grid = persistent,
    workspace(ticket = [1], state = [x.dim(1).div_ceil(R) + x.dim(1).div_ceil(R).div_ceil(G),
        x.dim(0) * x.dim(2).div_ceil(C) * C]), build(
    (E = f32, OP = 0, EXCLUSIVE = true, REVERSE = true, R = 128, C = 32, S = 2, G = 2, P = 2),
    (E = f32, OP = 1, EXCLUSIVE = false, REVERSE = false, R = 64, C = 64, S = 4, G = 4, P = 1),
    (E = bf16, OP = 1, EXCLUSIVE = true, REVERSE = true, R = 128, C = 64, S = 3, G = 4, P = 8),
    (E = f32, OP = 0, EXCLUSIVE = false, REVERSE = false, R = 256, C = 32, S = 4, G = 8, P = 4),
    (E = bf16, OP = 0, EXCLUSIVE = false, REVERSE = false, R = 256, C = 64, S = 4, G = 8, P = 3),
    (E = f16, OP = 0, EXCLUSIVE = false, REVERSE = false, R = 256, C = 64, S = 4, G = 8, P = 3),
))]
pub fn scan_columns_hopper<
    E: Element,
    const OP: usize,
    const EXCLUSIVE: bool,
    const REVERSE: bool,
    const R: usize,
    const C: usize,
    const S: usize,
    const G: usize,
    const P: usize,
>(
    x: &Global<E, 3>,
    out: &mut Global<E, 3>,
    ticket: &mut Global<u32, 1>,
    state: &mut Global<u32>,
) {
    require!(out.shape() == x.shape() && x.dim(2).is_multiple_of(16 / E::BYTES));
    let ring = Shared::<E>::stages(S, layout!((R, C):(C, 1)));
    let y_s = Shared::<E>::new(layout!((R, C):(C, 1)));
    // How far down a tile lies, and in which of the strips of all matrices.
    let places = Shared::<u32>::new(layout!((S, 2):(2, 1)));
    let totals = Shared::<f32>::stages(2, layout!((C):(1)));
    let carry = Shared::<f32>::stages(2, layout!((C):(1)));
    let pipe = Pipeline::tma(S, 2);
    let own = 16 / E::BYTES;
    let wide = C / own;
    let deep = 128 / wide;
    let high = R / deep;
    // Neighbouring rows of 16 bytes to each thread of a role.
    let map = || {
        ThreadMap::new(
            layout!((deep, wide):(wide, 1)),
            layout!((high, own):(own, 1)),
        )
        .vector_up_to(own)
    };
    let (tiles, strips) = (x.dim(1).div_ceil(R), x.dim(2).div_ceil(C));
    let count = x.dim(0) * strips * tiles;
    let row = |nth: usize| tile_row::<REVERSE>(nth, tiles);
    if warpgroup_idx() == 0 {
        set_registers(40);
        if elect_one() {
            let load = Load::tma();
            load_tiles(ticket, &pipe, count, |number: usize, s: usize| {
                let (nth, outer, strip) = column_place::<P>(number, x.dim(0), strips, tiles);
                leave_place(&places, s, [nth, outer * strips + strip]);
                let tile = x.at([outer]).tile([R, C], [row(nth), strip]);
                load.copy_into(&tile.evict_last(), ring.stage(s), &pipe, s);
            });
        }
    } else if warpgroup_idx() == 1 {
        set_registers(232);
        let meet = Barrier::named(128);
        let thread = thread_idx() - 128;
        let mut turn = 0;
        let (mut s, mut at) = first_tile(&pipe, &places, [tiles, 0], count);
        while at[0] < tiles {
            let [nth, across] = at;
            let v = ring.stage(s).load(map()).cast::<f32>();
            let v = column_values::<OP, REVERSE>(&v, x.dim(1) - row(nth) * R);
            let all = if OP == 0 {
                v.col_sum()
            } else {
                v.col_max_propagate_nan()
            };
            sync_warp(); // one lane releases what all have read
            pipe.release(s);
            totals.stage(turn).store(&all);
            meet.sync();
            if thread < C {
                let column = across * C + thread;
                tell_column(state, column, nth, totals.stage(turn).get([thread]));
            }
            turn = 1 - turn;
            (s, at) = next_tile::<2>(&pipe, &places);
        }
    } else {
        set_registers(232);
        let meet = Barrier::named(128);
        let store = Store::tma();
        let thread = thread_idx() - 256;
        let mut turn = 0;
        let (mut s, mut at) = first_tile(&pipe, &places, [tiles, 0], count);
        while at[0] < tiles {
            let [nth, across] = at;
            // Under way before the tile is scanned.
            let (mine, above) = if thread < C { (thread, nth) } else { (0, 0) };
            let column = across * C + mine;
            let asked = asked_columns::<G>(state, column, above, tiles);
            let alone = asked_own::<G>(state, column, above, tiles);
            let v = ring.stage(s).load(map()).cast::<f32>();
            let v = column_values::<OP, REVERSE>(&v, x.dim(1) - row(nth) * R);
            let sums = if OP == 0 {
                v.col_scan_sum(EXCLUSIVE, REVERSE)
            } else {
                v.col_scan_max_propagate_nan(EXCLUSIVE, REVERSE)
            };
            sync_warp();
            pipe.release(s);
            if elect_one() {
                store.wait_read(0); // the last tile's results
            }
            if thread < C {
                let before = before_columns::<OP, G>(state, column, nth, tiles, asked);
                let total = own_column::<OP, G>(state, column, nth, alone);
                tell_group::<OP, G>(state, column, nth, tiles, before, total);
                carry.stage(turn).set([mine], before);
            }
            meet.sync();
            let before = carry.stage(turn).load_like(&v.col_vector(0.0));
            let y = sums.cols(&before, |a, c| joined::<OP>(c, a));
            // All have met since the last results were read from here.
            y_s.store(&y.cast::<E>());
            fence_async();
            meet.sync();
            let outer = (across as u32 / strips as u32) as usize;
            let strip = across - outer * strips;
            if elect_one() {
                let to = out.at_mut([outer]).tile_mut([R, C], [row(nth), strip]);
                store.copy(y_s, to);
                store.commit();
            }
            turn = 1 - turn;
            (s, at) = next_tile::<2>(&pipe, &places);
        }
        if elect_one() {
            store.wait_read(0); // the block's memory goes with it
        }
    }
}

fn main() -> ExitCode {
    program::end(program::scans::sums_down(
        104,
        scan_columns_hopper::<f32, 0, false, false, 256, 32, 4, 8, 4>::launch,
        scan_columns_hopper::<f32, 0, false, false, 256, 32, 4, 8, 4>::REPORT,
    ))
}
