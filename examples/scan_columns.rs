//! Scans down the columns of matrices, along an axis that is not contiguous: sums or greatest so far, inclusive or
//! exclusive, in either direction, in one pass over the data.
//!
//! A block takes a tile of `R` rows and `C` columns, a line of memory wide. Its threads stand `C / V` side by side, each
//! with `R * C / T` values: neighbouring rows of `V` columns, so that most of the scan is additions in registers, the
//! rest a few shuffles and one meeting of the warps. All of a thread's loads are under way before the first is used.
//!
//! 1. Tiles are taken in order, from a counter, all those of one height of `P` matrices before the next lower: a tile's
//!    neighbour above was taken as many tiles ago as lie side by side. More matrices at once are read more slowly.
//! 2. What the columns' tiles above have published is asked for with the tile itself.
//! 3. The totals of the tile's columns are published, a thread a column, and what comes before them is put together
//!    ([`tiki::rows::look_back`]): in groups of `G` tiles, in an order that depends on the tile alone.
//!
//! - `scan_columns`: a block a tile, of any width with V = 1. The one for f32.
//! - `scan_columns_ring`: blocks that stay take tile after tile, which come by asynchronous copies into a ring of `S` stages:
//!   while one is scanned and waits for those above it, the next are on their way. The one for 16 bits, whose tiles are half the bytes. Rows are whole
//!   accesses of `V`. (On Hopper: `scan_columns_hopper`, faster.)
//!
//! Sums accumulate in f32. After a NaN everything is NaN, in the greatest so far as well.
//!
//! `cargo run --release --example scan_columns -- [ROWS COLUMNS]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;
use tiki::rows::look_back::{
    asked_columns, before_columns, column_place, column_tile, column_values, joined, take_tile,
    taken_tile, tell_column, tell_group, tile_row,
};

/// The totals of a tile's columns, of its scan and its values: told by the threads with the last row, in the order of the
/// scan.
#[tiki::device]
pub fn tell_totals<
    const OP: usize,
    const EXCLUSIVE: bool,
    const REVERSE: bool,
    const C: usize,
    const V: usize,
    const T: usize,
>(
    sums: &Register<f32>,
    values: &Register<f32>,
    totals: &Shared<f32>,
) {
    let wide = C / V;
    let (first, place) = if REVERSE {
        (0, 0)
    } else {
        (T - wide, sums.raw().len() - V)
    };
    if thread_idx() >= first && thread_idx() < first + wide {
        #[unroll]
        for j in 0..V {
            let last = sums.raw()[place + j];
            let total = if EXCLUSIVE {
                joined::<OP>(last, values.raw()[place + j])
            } else {
                last
            };
            totals.set([(thread_idx() - first) * V + j], total);
        }
    }
}

#[tiki::kernel(threads = T, grid = [x.dim(0) * x.dim(1).div_ceil(R) * x.dim(2).div_ceil(C)],
    workspace(ticket = [1], state = [x.dim(1).div_ceil(R) + x.dim(1).div_ceil(R).div_ceil(G),
        x.dim(0) * x.dim(2).div_ceil(C) * C]), build(
    (E = f32, OP = 0, EXCLUSIVE = false, REVERSE = false, R = 128, C = 32, V = 1, T = 256, G = 4, P = 1),
    (E = f32, OP = 0, EXCLUSIVE = true, REVERSE = true, R = 128, C = 32, V = 1, T = 256, G = 2, P = 2),
    (E = f32, OP = 1, EXCLUSIVE = false, REVERSE = false, R = 128, C = 32, V = 1, T = 256, G = 4, P = 1),
    (E = bf16, OP = 1, EXCLUSIVE = true, REVERSE = true, R = 128, C = 64, V = 8, T = 256, G = 4, P = 8),
    (E = f32, OP = 0, EXCLUSIVE = false, REVERSE = false, R = 256, C = 64, V = 4, T = 256, G = 4, P = 4),
))]
pub fn scan_columns<
    E: Element,
    const OP: usize,
    const EXCLUSIVE: bool,
    const REVERSE: bool,
    const R: usize,
    const C: usize,
    const V: usize,
    const T: usize,
    const G: usize,
    const P: usize,
>(
    x: &Global<E, 3>,
    out: &mut Global<E, 3>,
    ticket: &mut Global<u32, 1>,
    state: &mut Global<u32>,
) {
    require!(out.shape() == x.shape() && x.dim(2).is_multiple_of(V));
    let number = Shared::<u32>::new(layout!((1):(1)));
    let totals = Shared::<f32>::new(layout!((C):(1)));
    let carry = Shared::<f32>::new(layout!((C):(1)));
    take_tile(ticket, &number, 0);
    sync_block();
    let mine = number.get([0]) as usize;
    let (tiles, strips) = (x.dim(1).div_ceil(R), x.dim(2).div_ceil(C));
    let (nth, outer, strip) = column_tile::<P>(mine, x.dim(0), strips, tiles);
    let at = [if REVERSE { tiles - 1 - nth } else { nth }, strip];
    let wide = C / V;
    let deep = T / wide;
    let high = R / deep;
    let map =
        ThreadMap::new(layout!((deep, wide):(wide, 1)), layout!((high, V):(V, 1))).vector_up_to(V);
    let v = x
        .at([outer])
        .tile([R, C], at)
        .evict_last()
        .load(map)
        .cast::<f32>();
    // Both are under way before either is used.
    let (own, above) = if thread_idx() < C {
        (thread_idx(), nth)
    } else {
        (0, 0)
    };
    let column = (outer * strips + strip) * C + own;
    let asked = asked_columns::<G>(state, column, above, tiles);
    let sums = if OP == 0 {
        v.col_scan_sum(EXCLUSIVE, REVERSE)
    } else {
        v.col_scan_max_propagate_nan(EXCLUSIVE, REVERSE)
    };
    tell_totals::<OP, EXCLUSIVE, REVERSE, C, V, T>(&sums, &v, &totals);
    sync_block();
    if thread_idx() < C {
        let total = totals.get([own]);
        tell_column(state, column, nth, total);
        let before = before_columns::<OP, G>(state, column, nth, tiles, asked);
        tell_group::<OP, G>(state, column, nth, tiles, before, total);
        carry.set([own], before);
    }
    sync_block();
    let before = carry.load_like(&v.col_vector(0.0));
    let y = sums.cols(&before, |a, c| joined::<OP>(c, a));
    out.at_mut([outer])
        .tile_mut([R, C], at)
        .store(&y.cast::<E>());
}

#[tiki::kernel(threads = T, blocks_per_sm = B, grid = persistent,
    workspace(ticket = [1], state = [x.dim(1).div_ceil(R) + x.dim(1).div_ceil(R).div_ceil(G),
        x.dim(0) * x.dim(2).div_ceil(C) * C]), build(
    (E = f32, OP = 0, EXCLUSIVE = true, REVERSE = true, R = 128, C = 32, V = 1, T = 256, S = 2, B = 1, G = 2, P = 2),
    (E = f32, OP = 1, EXCLUSIVE = false, REVERSE = false, R = 128, C = 32, V = 4, T = 128, S = 3, B = 4, G = 4, P = 1),
    (E = bf16, OP = 1, EXCLUSIVE = true, REVERSE = true, R = 128, C = 64, V = 8, T = 256, S = 2, B = 1, G = 4, P = 8),
    (E = bf16, OP = 0, EXCLUSIVE = false, REVERSE = false, R = 256, C = 64, V = 8, T = 128, S = 3, B = 2, G = 8, P = 4),
    (E = f16, OP = 0, EXCLUSIVE = false, REVERSE = false, R = 256, C = 64, V = 8, T = 128, S = 3, B = 2, G = 8, P = 4),
))]
pub fn scan_columns_ring<
    E: Element,
    const OP: usize,
    const EXCLUSIVE: bool,
    const REVERSE: bool,
    const R: usize,
    const C: usize,
    const V: usize,
    const T: usize,
    const S: usize,
    const B: usize,
    const G: usize,
    const P: usize,
>(
    x: &Global<E, 3>,
    out: &mut Global<E, 3>,
    ticket: &mut Global<u32, 1>,
    state: &mut Global<u32>,
) {
    require!(out.shape() == x.shape() && x.dim(2).is_multiple_of(V));
    let ring = Shared::<E>::stages(S, layout!((R, C):(C, 1)));
    let numbers = Shared::<u32>::new(layout!((S):(1)));
    let totals = Shared::<f32>::new(layout!((C):(1)));
    let carry = Shared::<f32>::new(layout!((C):(1)));
    let (pipe, load) = (Pipeline::cp_async(S), Load::cp_async(T));
    let wide = C / V;
    let deep = T / wide;
    let high = R / deep;
    let map =
        ThreadMap::new(layout!((deep, wide):(wide, 1)), layout!((high, V):(V, 1))).vector_up_to(V);
    let (tiles, strips) = (x.dim(1).div_ceil(R), x.dim(2).div_ceil(C));
    let count = x.dim(0) * strips * tiles;
    let place = |number: usize| column_place::<P>(number, x.dim(0), strips, tiles);
    let row = |nth: usize| tile_row::<REVERSE>(nth, tiles);
    let fetch = |stage: usize| {
        let _ = pipe.acquire();
        let (nth, outer, strip) = place(numbers.get([stage]) as usize);
        let tile = x.at([outer]).tile([R, C], [row(nth), strip]);
        load.copy(&tile.evict_last(), ring.stage(stage));
        pipe.commit();
    };
    #[unroll]
    for k in 0..S - 1 {
        take_tile(ticket, &numbers, k);
        sync_block();
        fetch(k);
    }
    take_tile(ticket, &numbers, S - 1);
    let mut slot = 0;
    let mut mine = numbers.get([0]) as usize;
    while mine < count {
        let _ = pipe.wait();
        fetch((slot + S - 1) % S);
        let (nth, outer, strip) = place(mine);
        let at = [row(nth), strip];
        let (own, above) = if thread_idx() < C {
            (thread_idx(), nth)
        } else {
            (0, 0)
        };
        let column = (outer * strips + strip) * C + own;
        let asked = asked_columns::<G>(state, column, above, tiles);
        let v = column_values::<OP, REVERSE>(
            &ring.stage(slot).load(map).cast::<f32>(),
            x.dim(1) - at[0] * R,
        );
        let sums = if OP == 0 {
            v.col_scan_sum(EXCLUSIVE, REVERSE)
        } else {
            v.col_scan_max_propagate_nan(EXCLUSIVE, REVERSE)
        };
        tell_totals::<OP, EXCLUSIVE, REVERSE, C, V, T>(&sums, &v, &totals);
        // Late: who holds a tile that he has not begun to load makes those below it wait.
        let taken = taken_tile(ticket);
        sync_block();
        if thread_idx() < C {
            let total = totals.get([own]);
            tell_column(state, column, nth, total);
            let before = before_columns::<OP, G>(state, column, nth, tiles, asked);
            tell_group::<OP, G>(state, column, nth, tiles, before, total);
            carry.set([own], before);
        }
        sync_block();
        let before = carry.load_like(&v.col_vector(0.0));
        let y = sums.cols(&before, |a, c| joined::<OP>(c, a));
        out.at_mut([outer])
            .tile_mut([R, C], at)
            .store(&y.cast::<E>());
        if thread_idx() == 0 {
            numbers.set([slot], taken);
        }
        slot = if slot == S - 1 { 0 } else { slot + 1 };
        mine = numbers.get([slot]) as usize;
    }
}

fn main() -> ExitCode {
    program::end(program::scans::sums_down(
        101,
        scan_columns::<f32, 0, false, false, 128, 32, 1, 256, 4, 1>::launch,
        scan_columns::<f32, 0, false, false, 128, 32, 1, 256, 4, 1>::REPORT,
    ))
}
