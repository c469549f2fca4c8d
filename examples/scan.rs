//! Scans along rows: sums and greatest so far; inclusive or exclusive, in either direction, in one pass over the data.
//! (Down columns: `scan_columns`; of recurrences: `recurrence`.)
//!
//! A tile of a row is scanned by a block in registers; what comes before it is looked back for in what other blocks have
//! published ([`tiki::rows::look_back`]), so that tiles load and store at the same time.
//!
//! - `scan`: a block a tile; rows whose width is a multiple of `V`, with 1 of any width. The one for many rows.
//! - `scan_ring`: the one for a long row, of a multiple of `V`. Blocks that stay take tile after tile, by asynchronous copies into
//!   a ring of `S` stages. Nobody waits for a block that waits: a tile's total is published as soon as it has come; what
//!   comes before it is looked back for, and its results are stored, `W` tiles later, when other blocks have published
//!   theirs. With one tile of delay groups still wait for groups, which short rows do not have; with two, what comes
//!   before a tile in its group is known a tile before the rest. Its values wait in their stage.
//!
//! Tiles are numbered by a counter: whoever waits, waits for blocks that already run. What is combined with what depends
//! on a tile's number alone: a result is the same bits on every run.
//!
//! Sums accumulate in f32. After a NaN everything is NaN, in the greatest so far as well.
//!
//! `cargo run --release --example scan -- [LENGTH]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;
use tiki::rows::look_back::{
    SUM, asked_groups, asked_tiles, before_in_group, before_tile, before_with_groups, joined,
    nothing, publish,
};

/// What a tile comes to, of its scan and its values: in all lanes of the warp that holds the last element in the order of
/// the scan.
#[tiki::device]
pub fn tile_total<const OP: usize, const EXCLUSIVE: bool, const REVERSE: bool>(
    sums: &Register<f32>,
    values: &Register<f32>,
) -> f32 {
    let (lane, place) = if REVERSE {
        (0, 0)
    } else {
        (31, values.raw().len() - 1)
    };
    let last = if EXCLUSIVE {
        joined::<OP>(sums.raw()[place], values.raw()[place])
    } else {
        sums.raw()[place]
    };
    shuffle(last, lane)
}

#[tiki::kernel(threads = T, blocks_per_sm = B, grid = [x.dim(0) * x.dim(1).div_ceil(N)],
    workspace(ticket = [1], state = [x.dim(0), 2 * x.dim(1).div_ceil(N)]), build(
    (E = f32, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 4096, V = 1, T = 256, B = 2),
    (E = f32, OP = 0, EXCLUSIVE = true, REVERSE = false, N = 4096, V = 1, T = 256, B = 2),
    (E = f32, OP = 0, EXCLUSIVE = false, REVERSE = true, N = 4096, V = 1, T = 256, B = 2),
    (E = f32, OP = 0, EXCLUSIVE = true, REVERSE = true, N = 4096, V = 1, T = 256, B = 2),
    (E = f32, OP = 1, EXCLUSIVE = false, REVERSE = false, N = 4096, V = 1, T = 256, B = 2),
    (E = f32, OP = 1, EXCLUSIVE = true, REVERSE = true, N = 4096, V = 1, T = 256, B = 2),
    (E = f16, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 4096, V = 1, T = 256, B = 2),
    (E = bf16, OP = 1, EXCLUSIVE = false, REVERSE = true, N = 4096, V = 1, T = 256, B = 2),
    (E = f32, OP = 0, EXCLUSIVE = false, REVERSE = true, N = 128, V = 1, T = 32, B = 2),
    (E = f32, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 8192, V = 4, T = 128, B = 3),
    (E = f16, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 8192, V = 8, T = 128, B = 3),
    (E = bf16, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 8192, V = 8, T = 128, B = 3),
))]
pub fn scan<
    E: Element,
    const OP: usize,
    const EXCLUSIVE: bool,
    const REVERSE: bool,
    const N: usize,
    const V: usize,
    const T: usize,
    const B: usize,
>(
    x: &Global<E>,
    out: &mut Global<E>,
    ticket: &mut Global<u32, 1>,
    state: &mut Global<u64>,
) {
    require!(out.shape() == x.shape() && x.dim(1).is_multiple_of(V));
    let number = Shared::<u32>::new(layout!((1):(1)));
    let carry = Shared::<f32>::new(layout!((1):(1)));
    if thread_idx() == 0 {
        let taken = ticket.atom_add([0], 1, Order::Relaxed, Scope::Device);
        number.set([0], taken);
    }
    sync_block();
    let tiles = x.dim(1).div_ceil(N);
    let mine = number.get([0]) as usize;
    let (row, nth) = (mine / tiles, mine % tiles);
    let at = [row, if REVERSE { tiles - 1 - nth } else { nth }];
    let map = ThreadMap::linear(T).vector_up_to(V);
    let v = x.tile([1, N], at).load(map).cast::<f32>();
    let sums = if OP == 0 {
        v.row_scan_sum(EXCLUSIVE, REVERSE)
    } else {
        v.row_scan_max_propagate_nan(EXCLUSIVE, REVERSE)
    };
    let warp = if REVERSE { 0 } else { T / 32 - 1 };
    if warp_idx() == warp {
        let total = tile_total::<OP, EXCLUSIVE, REVERSE>(&sums, &v);
        let before = before_tile::<OP>(state, row, nth, tiles, total);
        if lane_idx() == 0 {
            carry.set([0], before);
        }
    }
    sync_block();
    let before = carry.get([0]);
    let y = sums.map(|a| joined::<OP>(before, a));
    out.tile_mut([1, N], at).store(&y.cast::<E>());
}

/// A tile's values; past the end of a row, where a stage holds zeros, what changes nothing.
#[tiki::device]
pub fn tile_values<const OP: usize, const REVERSE: bool>(
    v: &Register<f32>,
    left: usize,
) -> Register<f32> {
    if REVERSE {
        v.mask(|[_, c]| c < left, nothing::<OP>())
    } else {
        // What comes last changes no result.
        v.map(|a| a)
    }
}

#[tiki::kernel(threads = T, grid = persistent,
    workspace(ticket = [1], state = [x.dim(0), 2 * x.dim(1).div_ceil(N)]), build(
    (E = f32, OP = 0, EXCLUSIVE = true, REVERSE = true, N = 2048, V = 4, T = 128, S = 5, W = 2),
    (E = f32, OP = 1, EXCLUSIVE = false, REVERSE = true, N = 2048, V = 4, T = 128, S = 3, W = 1),
    (E = f32, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 128, V = 4, T = 32, S = 4, W = 2),
    (E = f32, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 4096, V = 4, T = 128, S = 4, W = 2),
    (E = f16, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 8192, V = 8, T = 128, S = 4, W = 2),
    (E = bf16, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 8192, V = 8, T = 128, S = 4, W = 2),
    (E = f32, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 4096, V = 4, T = 256, S = 3, W = 1),
    (E = f16, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 8192, V = 8, T = 128, S = 3, W = 1),
    (E = bf16, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 8192, V = 8, T = 128, S = 3, W = 1),
))]
pub fn scan_ring<
    E: Element,
    const OP: usize,
    const EXCLUSIVE: bool,
    const REVERSE: bool,
    const N: usize,
    const V: usize,
    const T: usize,
    const S: usize,
    const W: usize,
>(
    x: &Global<E>,
    out: &mut Global<E>,
    ticket: &mut Global<u32, 1>,
    state: &mut Global<u64>,
) {
    require!(out.shape() == x.shape() && x.dim(1).is_multiple_of(V));
    let ring = Shared::<E>::stages(S, layout!((1, N):(N, 1)));
    let numbers = Shared::<u32>::new(layout!((S):(1)));
    let carry = Shared::<f32>::new(layout!((1):(1)));
    // The tiles of `W` stages wait, the others are on their way.
    let (pipe, load) = (Pipeline::cp_async(S - W), Load::cp_async(T));
    let map = ThreadMap::linear(T).vector_up_to(V);
    // One of nothing, if a row is empty.
    let tiles = if x.dim(1) > 0 {
        x.dim(1).div_ceil(N)
    } else {
        1
    };
    let count = x.dim(0) * tiles;
    let place = |number: usize| {
        let nth = number % tiles;
        [number / tiles, if REVERSE { tiles - 1 - nth } else { nth }]
    };
    // The tile's place among its row's in the order of the scan; past the last tile, one that waits for nothing.
    let order = |number: usize| if number < count { number % tiles } else { 0 };
    let values = |number: usize, stage: usize| {
        let v = ring.stage(stage).load(map).cast::<f32>();
        tile_values::<OP, REVERSE>(&v, x.dim(1) - place(number)[1] * N)
    };
    // Past the last tile: nothing is read.
    let fetch = |stage: usize| {
        let _ = pipe.acquire();
        let number = numbers.get([stage]) as usize;
        load.copy(&x.tile([1, N], place(number)), ring.stage(stage));
        pipe.commit();
    };
    #[unroll]
    for k in 0..S - 1 - W {
        if thread_idx() == 0 {
            let taken = ticket.atom_add([0], 1, Order::Relaxed, Scope::Device);
            numbers.set([k], taken);
        }
        sync_block();
        fetch(k);
    }
    if thread_idx() == 0 {
        let taken = ticket.atom_add([0], 1, Order::Relaxed, Scope::Device);
        numbers.set([S - 1 - W], taken);
    }
    // One warp looks back.
    let keeper = warp_idx() == T / 32 - 1;
    let mut slot = 0;
    let mut mine = numbers.get([0]) as usize;
    let (mut late, mut late_total) = (count, 0.0f32);
    let (mut held, mut held_total, mut held_within) = (count, 0.0f32, 0.0f32);
    let mut left = W;
    while left > 0 {
        let _ = pipe.wait();
        fetch((slot + S - 1 - W) % S);
        let first = (slot + S - W) % S;
        // What is asked for here is needed after the present tile's total.
        let mut taken = 0u32;
        if thread_idx() == 0 {
            taken = ticket.atom_add([0], 1, Order::Relaxed, Scope::Device);
        }
        if W == 1 {
            held = late;
            held_total = late_total;
        }
        let (row, nth) = (held / tiles, order(held));
        let (late_row, late_nth) = (late / tiles, order(late));
        let (mut near, mut far) = (0u64, (0u64, 0u64));
        if keeper {
            near = asked_tiles(state, late_row, late_nth, tiles);
            far = asked_groups(state, row, nth, tiles);
        }
        let v = values(mine, slot);
        let all = if OP == 0 {
            v.row_sum()
        } else {
            v.row_max_propagate_nan()
        };
        let total = all.raw()[0];
        let mut within = 0.0f32;
        if keeper {
            if lane_idx() == 0 {
                publish(state, mine / tiles, order(mine), total);
            }
            // The oldest first: nothing of a tile may wait for one that comes after it.
            if W == 1 {
                held_within =
                    before_in_group::<OP>(state, late_row, late_nth, tiles, late_total, near);
            }
            let before =
                before_with_groups::<OP>(state, row, nth, tiles, held_total, held_within, far);
            if lane_idx() == 0 {
                carry.set([0], before);
            }
            if W == 2 {
                within = before_in_group::<OP>(state, late_row, late_nth, tiles, late_total, near);
            }
        }
        if thread_idx() == 0 {
            numbers.set([first], taken);
        }
        if held < count {
            let v = values(held, first);
            let sums = if OP == 0 {
                v.row_scan_sum(EXCLUSIVE, REVERSE)
            } else {
                v.row_scan_max_propagate_nan(EXCLUSIVE, REVERSE)
            };
            sync_block();
            let before = carry.get([0]);
            let y = sums.map(|a| joined::<OP>(before, a));
            out.tile_mut([1, N], place(held)).store(&y.cast::<E>());
        }
        if mine >= count {
            left -= 1;
        }
        held = late;
        held_total = late_total;
        if W == 2 {
            held_within = within;
        }
        late = mine;
        late_total = total;
        slot = if slot == S - 1 { 0 } else { slot + 1 };
        mine = numbers.get([slot]) as usize;
    }
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let n = program::number(1, "a length", 100_003)?;
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let x: Vec<f32> = (0..n).map(|i| ((i * 7919) % 17) as f32 - 8.0).collect();
    let mut out = device.zeros::<f32, 2>([1, n])?;
    let input = device.tensor_from(&x, [1, n])?;
    if n.is_multiple_of(4) {
        scan_ring::<f32, SUM, false, false, 4096, 4, 128, 4, 2>::launch(&stream, &input, &mut out)?;
    } else {
        scan::<f32, SUM, false, false, 4096, 1, 256, 2>::launch(&stream, &input, &mut out)?;
    }
    let mut sum = 0.0;
    let wrong = out
        .to_vec()?
        .iter()
        .zip(&x)
        .filter(|(r, x)| {
            sum += **x;
            **r != sum
        })
        .count();
    println!(
        "{}: sums of {n} elements so far, {wrong} wrong",
        device.name()
    );
    println!(
        "{}",
        scan_ring::<f32, SUM, false, false, 4096, 4, 128, 4, 2>::REPORT
    );
    Ok(wrong == 0)
}

fn main() -> ExitCode {
    program::end(run())
}
