//! The recurrence `h = a * h + b` along rows on Hopper, from `h = 0`: every h, or (exclusive) the one before it, in either
//! direction, in one pass over the data. Rows are given as lines of 128 bytes: `[rows, lines, 128 / size]`. (Of any width:
//! `recurrence`.)
//!
//! Three warpgroups share a block that stays, and a ring of `S` tiles of 128 lines. Each takes the tiles in their order and
//! waits for none of the others but through the ring, so that whatever one waits for delays nothing else:
//!
//! 1. One thread takes numbers and loads, by the tensor memory accelerator. It takes a number only when a stage is free:
//!    who holds a tile that he has not begun to load makes all wait that come after it.
//! 2. A warpgroup composes a tile's steps and publishes what they come to.
//! 3. A warpgroup keeps the value before a group of 128 tiles, composes what the tiles since have published
//!    ([`tiki::rows::look_back`]), and scans. Its results leave through a tile of their own.
//!
//! A thread has a line. What is combined with what depends on a tile's number alone: a result is the same bits on every
//! run. Computed in f32, each step by one rounding. Products of factors must stay finite. After a NaN everything is NaN.
//!
//! `cargo run --release --example recurrence_hopper -- [LINES]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;
use tiki::rows::look_back::{
    asked_groups_of_steps, composed, composed_before, composed_own, first_tile, leave_place,
    load_tiles, next_tile, tell_step, value_before,
};

#[tiki::kernel(target = "sm_90a", warpgroups = 3, shared = "227 KiB", grid = persistent,
    workspace(ticket = [1], state = [b.dim(0) * b.dim(1).div_ceil(128)]), build(
    (E = f32, EXCLUSIVE = false, REVERSE = false, S = 6, K = 3),
    (E = f32, EXCLUSIVE = true, REVERSE = true, S = 2, K = 1),
    (E = f16, EXCLUSIVE = false, REVERSE = true, S = 3, K = 2),
    (E = bf16, EXCLUSIVE = false, REVERSE = false, S = 6, K = 3),
))]
pub fn recurrence_hopper<
    E: Element,
    const EXCLUSIVE: bool,
    const REVERSE: bool,
    const S: usize,
    const K: usize,
>(
    a: &Global<E, 3>,
    b: &Global<E, 3>,
    out: &mut Global<E, 3>,
    ticket: &mut Global<u32, 1>,
    state: &mut Global<u64, 1>,
) {
    let own = 128 / E::BYTES;
    require!(a.shape() == b.shape() && out.shape() == b.shape() && b.dim(2) == 128 / E::BYTES);
    let a_s = Shared::<E>::stages(S, Layout::k_major::<E>([128, own]));
    let b_s = Shared::<E>::stages(S, Layout::k_major::<E>([128, own]));
    let y_s = Shared::<E>::new(Layout::k_major::<E>([128, own]));
    let numbers = Shared::<u32>::new(layout!((S, 1):(1, 1)));
    let told_a = Shared::<f32>::stages(2, layout!((4):(1)));
    let told_b = Shared::<f32>::stages(2, layout!((4):(1)));
    let totals_a = Shared::<f32>::stages(2, layout!((4):(1)));
    let totals_b = Shared::<f32>::stages(2, layout!((4):(1)));
    let held_parts = 4 * K;
    let parts_a = Shared::<f32>::stages(2, layout!((held_parts):(1)));
    let parts_b = Shared::<f32>::stages(2, layout!((held_parts):(1)));
    let pipe = Pipeline::tma(S, 2);
    let (teller, scanner) = (Barrier::named(128), Barrier::named(128));
    let tiles = if b.dim(1) > 0 {
        b.dim(1).div_ceil(128)
    } else {
        1
    };
    let count = if b.dim(1) > 0 { b.dim(0) * tiles } else { 0 };
    let row_of = |number: usize| (number as u32 / tiles as u32) as usize;
    let place = |nth: usize| [if REVERSE { tiles - 1 - nth } else { nth }, 0];
    let edge = if REVERSE { 0 } else { 31 };
    if warpgroup_idx() == 0 {
        set_registers(40);
        if elect_one() {
            let load = Load::tma();
            // Past the last tile a copy brings zeros from nowhere.
            load_tiles(ticket, &pipe, count, |number: usize, s: usize| {
                leave_place(&numbers, s, [number]);
                let row = row_of(number);
                let at = place(number - row * tiles);
                load.copy_into(&a.at([row]).tile([128, own], at), a_s.stage(s), &pipe, s);
                load.copy_into(&b.at([row]).tile([128, own], at), b_s.stage(s), &pipe, s);
            });
        }
    } else if warpgroup_idx() == 1 {
        set_registers(184);
        let rows = ThreadMap::rows(128, 1).vector_up_to(16 / E::BYTES);
        let mut turn = 0;
        let (mut held, mut at) = first_tile(&pipe, &numbers, [count], count);
        while at[0] < count {
            let [number] = at;
            let factors = a_s.stage(held).load(rows).cast::<f32>();
            let values = b_s.stage(held).load(rows).cast::<f32>();
            let alone = composed_own::<REVERSE>(&factors, &values);
            sync_warp(); // one lane releases what all have read
            pipe.release(held);
            let (upto, _) = composed_before::<REVERSE>(alone.0, alone.1);
            if lane_idx() == edge {
                told_a.stage(turn).set([warp_idx() - 4], upto.0);
                told_b.stage(turn).set([warp_idx() - 4], upto.1);
            }
            teller.sync();
            if thread_idx() == 128 {
                let (mut total_a, mut total_b) = (1.0f32, 0.0f32);
                #[unroll]
                for k in 0..4 {
                    let w = if REVERSE { 3 - k } else { k };
                    let (c, d) = (told_a.stage(turn).get([w]), told_b.stage(turn).get([w]));
                    let next = composed(total_a, total_b, c, d);
                    total_a = next.0;
                    total_b = next.1;
                }
                tell_step(state, number, (total_a, total_b));
            }
            turn = 1 - turn;
            (held, at) = next_tile::<1>(&pipe, &numbers);
        }
    } else {
        set_registers(232);
        let rows = ThreadMap::rows(128, 1).vector_up_to(16 / E::BYTES);
        let store = Store::tma();
        let thread = thread_idx() - 256;
        let warp = warp_idx() - 8;
        let mut turn = 0;
        let (mut s, mut at) = first_tile(&pipe, &numbers, [count], count);
        let (mut start, mut group, mut value) = (count, 0, 0.0f32);
        while at[0] < count {
            let [number] = at;
            let row = row_of(number);
            let nth = number - row * tiles;
            if row * tiles != start {
                start = row * tiles;
                group = 0;
                value = 0.0;
            }
            let words = asked_groups_of_steps::<128, K>(state, thread, start, nth, group);
            let factors = a_s.stage(s).load(rows).cast::<f32>();
            let values = b_s.stage(s).load(rows).cast::<f32>();
            let alone = composed_own::<REVERSE>(&factors, &values);
            let (upto, ahead) = composed_before::<REVERSE>(alone.0, alone.1);
            if lane_idx() == edge {
                totals_a.stage(turn).set([warp], upto.0);
                totals_b.stage(turn).set([warp], upto.1);
            }
            if elect_one() {
                store.wait_read(0); // the last tile's results
            }
            let seen = (group, value);
            let parts = (&parts_a.stage(turn), &parts_b.stage(turn));
            let seen =
                value_before::<128, K>(state, &scanner, thread, start, nth, seen, words, parts);
            group = seen.1;
            value = seen.2;
            let mut enter = seen.0;
            #[unroll]
            for k in 0..4 {
                let w = if REVERSE { 3 - k } else { k };
                let on = if REVERSE { w > warp } else { w < warp };
                let next = fma(
                    totals_a.stage(turn).get([w]),
                    enter,
                    totals_b.stage(turn).get([w]),
                );
                enter = if on { next } else { enter };
            }
            enter = fma(ahead.0, enter, ahead.1);
            let again = a_s.stage(s).load(rows).cast::<f32>();
            let values = b_s.stage(s).load(rows).cast::<f32>();
            // What comes before the thread's first is put into it.
            let at_edge = if REVERSE { own - 1 } else { 0 };
            let entry = fma(again.raw()[at_edge], enter, values.raw()[at_edge]);
            let values = values.map_at(|v, [_, i]| if i == at_edge { entry } else { v });
            let y = values.row_scan_affine(&again, EXCLUSIVE, REVERSE);
            let y = if EXCLUSIVE {
                y.map_at(|v, [_, i]| if i == at_edge { enter } else { v })
            } else {
                y.map(|v| v)
            };
            sync_warp();
            pipe.release(s);
            // All have met since the last results were read from here.
            y_s.store(&y.cast::<E>());
            fence_async();
            scanner.sync();
            if elect_one() {
                store.copy(y_s, out.at_mut([row]).tile_mut([128, own], place(nth)));
                store.commit();
            }
            turn = 1 - turn;
            (s, at) = next_tile::<1>(&pipe, &numbers);
        }
        if elect_one() {
            store.wait_read(0); // the block's memory goes with it
        }
    }
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let lines = program::number(1, "a number of lines", 1000)?;
    program::scans::recurrences(
        lines * 32,
        [1, lines, 32],
        recurrence_hopper::<f32, false, false, 6, 3>::launch,
        recurrence_hopper::<f32, false, false, 6, 3>::REPORT,
    )
}

fn main() -> ExitCode {
    program::end(run())
}
