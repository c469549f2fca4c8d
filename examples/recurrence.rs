//! The recurrence `h = a * h + b` along rows, from `h = 0`: every h, or (exclusive) the one before it, in either direction,
//! in one pass over the data.
//!
//! A step is composed with the next: first by (a, b), then by (c, d) is by (a c, b c + d). Tiles of a row are scanned in
//! registers, and what comes before them is looked back for ([`tiki::rows::look_back`]).
//!
//! - `recurrence`: a block a tile; rows whose width is a multiple of `V`, with 1 of any width. (For many rows: `recurrence_rows`.)
//! - `recurrence_ring`: the one for a long row, of a multiple of `V`. Blocks that stay take tile after tile, by asynchronous copies
//!   into a ring of `S` stages, as in `scan_ring`: totals are published as soon as a tile has come, results `W` tiles
//!   later. Every block keeps the value before a group of `T` tiles and composes the totals since, `K` a thread and all at
//!   once. Each thread scans neighbours, so that few steps go through shuffles: what comes before its first goes into that,
//!   so that no products of factors are needed. Results leave through the stage.
//!
//! (On Hopper and for rows of whole lines of 128 bytes: `recurrence_hopper`, as fast, by the tensor memory accelerator.)
//!
//! Computed in f32, each step by one rounding. Products of factors must stay finite. After a NaN everything is NaN.
//!
//! `cargo run --release --example recurrence -- [LENGTH]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;
use tiki::rows::look_back::{
    asked_groups_of_steps, before_steps, composed, composed_before, composed_own, take_tile,
    taken_tile, tell_step, value_before,
};

/// What a tile comes to, of the scanned products and sums, and of the factors and values themselves: in all lanes of the
/// warp that holds the last element in the order of the scan.
#[tiki::device]
pub fn tile_steps<const EXCLUSIVE: bool, const REVERSE: bool>(
    products: &Register<f32>,
    sums: &Register<f32>,
    factors: &Register<f32>,
    values: &Register<f32>,
) -> (f32, f32) {
    let (lane, place) = if REVERSE {
        (0, 0)
    } else {
        (31, values.raw().len() - 1)
    };
    let (last_a, last_b) = (products.raw()[place], sums.raw()[place]);
    let (a, b) = if EXCLUSIVE {
        composed(last_a, last_b, factors.raw()[place], values.raw()[place])
    } else {
        (last_a, last_b)
    };
    (shuffle(a, lane), shuffle(b, lane))
}

#[tiki::kernel(threads = T, blocks_per_sm = B, grid = [b.dim(0) * b.dim(1).div_ceil(N)],
    workspace(ticket = [1], state = [b.dim(0), 3 * b.dim(1).div_ceil(N)]), build(
    (E = f32, EXCLUSIVE = false, REVERSE = false, N = 2048, V = 1, T = 256, B = 2),
    (E = f32, EXCLUSIVE = true, REVERSE = true, N = 2048, V = 1, T = 256, B = 2),
    (E = f32, EXCLUSIVE = false, REVERSE = true, N = 128, V = 1, T = 32, B = 2),
    (E = bf16, EXCLUSIVE = false, REVERSE = false, N = 4096, V = 8, T = 128, B = 2),
))]
pub fn recurrence<
    E: Element,
    const EXCLUSIVE: bool,
    const REVERSE: bool,
    const N: usize,
    const V: usize,
    const T: usize,
    const B: usize,
>(
    a: &Global<E>,
    b: &Global<E>,
    out: &mut Global<E>,
    ticket: &mut Global<u32, 1>,
    state: &mut Global<u64>,
) {
    require!(a.shape() == b.shape() && out.shape() == b.shape() && b.dim(1).is_multiple_of(V));
    let number = Shared::<u32>::new(layout!((1):(1)));
    let carry = Shared::<f32>::new(layout!((1):(1)));
    take_tile(ticket, &number, 0);
    sync_block();
    let tiles = b.dim(1).div_ceil(N);
    let mine = number.get([0]) as usize;
    let (row, nth) = (mine / tiles, mine % tiles);
    let at = [row, if REVERSE { tiles - 1 - nth } else { nth }];
    let map = ThreadMap::linear(T).vector_up_to(V);
    let factors = a.tile([1, N], at).load(map).cast::<f32>();
    let values = b.tile([1, N], at).load(map).cast::<f32>();
    let sums = values.row_scan_affine(&factors, EXCLUSIVE, REVERSE);
    let products = factors.row_scan_product(EXCLUSIVE, REVERSE);
    let warp = if REVERSE { 0 } else { T / 32 - 1 };
    if warp_idx() == warp {
        let total = tile_steps::<EXCLUSIVE, REVERSE>(&products, &sums, &factors, &values);
        let before = before_steps(state, row, nth, tiles, total);
        if lane_idx() == 0 {
            carry.set([0], before);
        }
    }
    sync_block();
    let before = carry.get([0]);
    let y = products.zip(&sums, |a, b| fma(a, before, b));
    out.tile_mut([1, N], at).store(&y.cast::<E>());
}

#[tiki::kernel(threads = T, blocks_per_sm = B, grid = persistent,
    workspace(ticket = [1], state = [b.dim(0) * b.dim(1).div_ceil(N)]), build(
    (E = f32, EXCLUSIVE = true, REVERSE = true, N = 2048, V = 4, T = 128, S = 3, W = 1, K = 1, B = 2),
    (E = f32, EXCLUSIVE = false, REVERSE = false, N = 128, V = 4, T = 32, S = 4, W = 2, K = 4, B = 2),
    (E = f32, EXCLUSIVE = false, REVERSE = false, N = 4608, V = 4, T = 128, S = 3, W = 1, K = 3, B = 2),
    (E = f16, EXCLUSIVE = false, REVERSE = true, N = 4096, V = 8, T = 64, S = 4, W = 2, K = 2, B = 2),
    (E = bf16, EXCLUSIVE = false, REVERSE = false, N = 9216, V = 8, T = 128, S = 3, W = 1, K = 4, B = 2),
))]
pub fn recurrence_ring<
    E: Element,
    const EXCLUSIVE: bool,
    const REVERSE: bool,
    const N: usize,
    const V: usize,
    const T: usize,
    const S: usize,
    const W: usize,
    const K: usize,
    const B: usize,
>(
    a: &Global<E>,
    b: &Global<E>,
    out: &mut Global<E>,
    ticket: &mut Global<u32, 1>,
    state: &mut Global<u64, 1>,
) {
    require!(a.shape() == b.shape() && out.shape() == b.shape() && b.dim(1).is_multiple_of(V));
    let (own, warps, held_parts) = (N / T, T / 32, K * T / 32);
    // An odd number of accesses a thread sends neighbours to other banks by itself.
    let bits = if own / V % 2 == 1 { 0 } else { 3 };
    let swizzle = Swizzle::new(bits, if V == 4 { 2 } else { 3 }, 3);
    let a_s = Shared::<E>::stages(S, layout!((1, N):(N, 1)).swizzle(swizzle));
    let b_s = Shared::<E>::stages(S, layout!((1, N):(N, 1)).swizzle(swizzle));
    // The same with a column for each thread.
    let a_c = |s: usize| {
        a_s.stage(s)
            .arranged(layout!((own, T):(1, own)).swizzle(swizzle))
    };
    let b_c = |s: usize| {
        b_s.stage(s)
            .arranged(layout!((own, T):(1, own)).swizzle(swizzle))
    };
    let columns =
        ThreadMap::new(layout!((1, T):(1, 1)), layout!((own, 1):(1, own))).vector_up_to(V);
    let lines = ThreadMap::linear(T).vector_up_to(V);
    let numbers = Shared::<u32>::new(layout!((S):(1)));
    let totals_a = Shared::<f32>::new(layout!((warps):(1)));
    let totals_b = Shared::<f32>::new(layout!((warps):(1)));
    let parts_a = Shared::<f32>::new(layout!((held_parts):(1)));
    let parts_b = Shared::<f32>::new(layout!((held_parts):(1)));
    let (pipe, load) = (Pipeline::cp_async(S - W), Load::cp_async(T));
    let meet = Barrier::named(T);
    let tiles = if b.dim(1) > 0 {
        b.dim(1).div_ceil(N)
    } else {
        1
    };
    let count = b.dim(0) * tiles;
    let row_of = |number: usize| (number as u32 / tiles as u32) as usize;
    let place = |row: usize, nth: usize| [row, if REVERSE { tiles - 1 - nth } else { nth }];
    // Past the last tile nothing is read; past a row's end stand zeros, by which a recurrence begins anew.
    let fetch = |stage: usize| {
        let _ = pipe.acquire();
        let number = numbers.get([stage]) as usize;
        let row = row_of(number);
        let at = place(row, number - row * tiles);
        load.copy(&a.tile([1, N], at).evict_last(), a_s.stage(stage));
        load.copy(&b.tile([1, N], at).evict_last(), b_s.stage(stage));
        pipe.commit();
    };
    #[unroll]
    for k in 0..S - 1 - W {
        take_tile(ticket, &numbers, k);
        sync_block();
        fetch(k);
    }
    take_tile(ticket, &numbers, S - 1 - W);
    let mut slot = 0;
    let mut mine = numbers.get([0]) as usize;
    let (mut late, mut late_nth, mut late_a, mut late_b) = (count, 0, 1.0f32, 0.0f32);
    let (mut held, mut held_nth, mut held_a, mut held_b) = (count, 0, 1.0f32, 0.0f32);
    // The value before the group of `T` tiles that the held tile may be in.
    let (mut start, mut group, mut value) = (count, 0, 0.0f32);
    let mut left = W;
    while left > 0 {
        let _ = pipe.wait();
        fetch((slot + S - 1 - W) % S);
        let first = (slot + S - W) % S;
        if W == 1 {
            held = late;
            held_nth = late_nth;
            held_a = late_a;
            held_b = late_b;
        }
        if held - held_nth != start {
            start = held - held_nth;
            group = 0;
            value = 0.0;
        }
        let words = asked_groups_of_steps::<T, K>(state, thread_idx(), start, held_nth, group);
        let nth = if mine < count {
            mine - row_of(mine) * tiles
        } else {
            0
        };
        let factors = a_c(slot).load(columns).cast::<f32>();
        let values = b_c(slot).load(columns).cast::<f32>();
        let own_step = composed_own::<REVERSE>(&factors, &values);
        let (upto, ahead) = composed_before::<REVERSE>(own_step.0, own_step.1);
        if lane_idx() == (if REVERSE { 0 } else { 31 }) {
            totals_a.set([warp_idx()], upto.0);
            totals_b.set([warp_idx()], upto.1);
        }
        sync_block();
        let (mut total_a, mut total_b) = (1.0f32, 0.0f32);
        let (mut front_a, mut front_b) = (1.0f32, 0.0f32);
        #[unroll]
        for k in 0..warps {
            let w = if REVERSE { warps - 1 - k } else { k };
            front_a = if w == warp_idx() { total_a } else { front_a };
            front_b = if w == warp_idx() { total_b } else { front_b };
            let next = composed(total_a, total_b, totals_a.get([w]), totals_b.get([w]));
            total_a = next.0;
            total_b = next.1;
        }
        let ahead = composed(front_a, front_b, ahead.0, ahead.1);
        if thread_idx() == 0 {
            tell_step(state, mine, (total_a, total_b));
        }
        // Late: who holds a tile that he has not begun to load makes all wait that come after it.
        let taken = taken_tile(ticket);
        let seen = (group, value);
        let parts = (&parts_a, &parts_b);
        let seen = value_before::<T, K>(
            state,
            &meet,
            thread_idx(),
            start,
            held_nth,
            seen,
            words,
            parts,
        );
        group = seen.1;
        value = seen.2;
        if held < count {
            let enter = fma(held_a, seen.0, held_b);
            let factors = a_c(first).load(columns).cast::<f32>();
            let values = b_c(first).load(columns).cast::<f32>();
            // What comes before the thread's first is put into it.
            let edge = if REVERSE { own - 1 } else { 0 };
            let entry = fma(factors.raw()[edge], enter, values.raw()[edge]);
            let values = values.map_at(|v, [i, _]| if i == edge { entry } else { v });
            let y = values.col_scan_affine(&factors, EXCLUSIVE, REVERSE);
            let y = if EXCLUSIVE {
                y.map_at(|v, [i, _]| if i == edge { enter } else { v })
            } else {
                y.map(|v| v)
            };
            b_c(first).store(&y.cast::<E>());
            sync_block();
            let y = b_s.stage(first).load(lines);
            out.tile_mut([1, N], place(row_of(held), held_nth))
                .stream()
                .store(&y);
        }
        if thread_idx() == 0 {
            numbers.set([first], taken);
        }
        if mine >= count {
            left -= 1;
        }
        held = late;
        held_nth = late_nth;
        held_a = late_a;
        held_b = late_b;
        late = mine;
        late_nth = nth;
        late_a = ahead.0;
        late_b = ahead.1;
        slot = if slot == S - 1 { 0 } else { slot + 1 };
        mine = numbers.get([slot]) as usize;
    }
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let n = program::number(1, "a length", 100_003)?;
    program::scans::recurrences(
        n,
        [1, n],
        recurrence::<f32, false, false, 2048, 1, 256, 2>::launch,
        recurrence::<f32, false, false, 2048, 1, 256, 2>::REPORT,
    )
}

fn main() -> ExitCode {
    program::end(run())
}
