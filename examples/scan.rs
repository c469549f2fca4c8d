//! Scans along rows: sums and greatest so far; inclusive or exclusive, in either direction, in one pass over the data.
//! (Down columns: `scan_columns`; of recurrences: `recurrence`.)
//!
//! A tile of a row is scanned by a block in registers; what comes before it is looked back for in what other blocks have
//! published ([`tiki::rows::look_back`]), so that tiles load and store at the same time.
//!
//! - `scan`: a block a tile; rows whose width is a multiple of `V`, with 1 of any width. The plain one.
//! - `scan_ring`: the fast one, for one long row and for many, of a multiple of `V`. Blocks that stay take tile after tile, by asynchronous copies into
//!   a ring of `S` stages. Each thread scans neighbours: most of the scan is additions in registers, the rest five
//!   shuffles a tile. A tile's total is published as soon as it has come; its results are stored `W` tiles later, when
//!   other blocks have published theirs: their values wait in their stage, and what comes before the thread's own in a
//!   register. Every block keeps what comes before its last tile and adds the totals since, `K` a thread and all at once:
//!   nobody's total waits for another's.
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
    SUM, asked_totals, before_tile, joined, nothing, take_tile, taken_tile, tell_total, warp_before,
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
    take_tile(ticket, &number, 0);
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

#[tiki::kernel(threads = T, blocks_per_sm = B, grid = persistent,
    workspace(ticket = [1], state = [x.dim(0) * x.dim(1).div_ceil(N)]), build(
    (E = f32, OP = 0, EXCLUSIVE = true, REVERSE = true, N = 2048, V = 4, T = 128, S = 5, W = 2, K = 1, B = 2),
    (E = f32, OP = 1, EXCLUSIVE = false, REVERSE = true, N = 2048, V = 4, T = 64, S = 3, W = 1, K = 2, B = 2),
    (E = f32, OP = 1, EXCLUSIVE = true, REVERSE = false, N = 128, V = 4, T = 32, S = 3, W = 1, K = 2, B = 2),
    (E = f32, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 128, V = 4, T = 32, S = 4, W = 2, K = 4, B = 2),
    (E = f32, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 4608, V = 4, T = 128, S = 4, W = 2, K = 4, B = 3),
    (E = f16, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 8192, V = 8, T = 128, S = 4, W = 2, K = 4, B = 3),
    (E = bf16, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 8192, V = 8, T = 128, S = 4, W = 2, K = 4, B = 3),
    (E = f16, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 9216, V = 8, T = 128, S = 4, W = 2, K = 4, B = 3),
    (E = bf16, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 9216, V = 8, T = 128, S = 4, W = 2, K = 4, B = 3),
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
    const K: usize,
    const B: usize,
>(
    x: &Global<E>,
    out: &mut Global<E>,
    ticket: &mut Global<u32, 1>,
    state: &mut Global<u32, 1>,
) {
    require!(out.shape() == x.shape() && x.dim(1).is_multiple_of(V));
    let (own, warps) = (N / T, T / 32);
    // An odd number of accesses a thread sends neighbours to other banks by itself.
    let bits = if own / V % 2 == 1 { 0 } else { 3 };
    let swizzle = Swizzle::new(bits, if V == 4 { 2 } else { 3 }, 3);
    let ring = Shared::<E>::stages(S, layout!((1, N):(N, 1)).swizzle(swizzle));
    // The same with a column for each thread.
    let stood = |s: usize| {
        ring.stage(s)
            .arranged(layout!((own, T):(1, own)).swizzle(swizzle))
    };
    let columns =
        ThreadMap::new(layout!((1, T):(1, 1)), layout!((own, 1):(1, own))).vector_up_to(V);
    let lines = ThreadMap::linear(T).vector_up_to(V);
    let numbers = Shared::<u32>::new(layout!((S):(1)));
    let totals = Shared::<f32>::new(layout!((warps):(1)));
    let parts = Shared::<f32>::new(layout!((warps):(1)));
    let (pipe, load) = (Pipeline::cp_async(S - W), Load::cp_async(T));
    let tiles = if x.dim(1) > 0 {
        x.dim(1).div_ceil(N)
    } else {
        1
    };
    let count = x.dim(0) * tiles;
    let row_of = |number: usize| (number as u32 / tiles as u32) as usize;
    let place = |row: usize, nth: usize| [row, if REVERSE { tiles - 1 - nth } else { nth }];
    let fetch = |stage: usize| {
        let _ = pipe.acquire();
        let number = numbers.get([stage]) as usize;
        let row = row_of(number);
        let tile = x.tile([1, N], place(row, number - row * tiles));
        load.copy(&tile.evict_last(), ring.stage(stage));
        pipe.commit();
    };
    let values = |stage: usize, nth: usize| {
        let v = stood(stage).load(columns).cast::<f32>();
        if REVERSE {
            let left = x.dim(1) - (tiles - 1 - nth) * N;
            v.mask(|[i, t]| t * own + i < left, nothing::<OP>())
        } else {
            v.map(|a| a)
        }
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
    let (mut late, mut late_nth, mut late_ahead) = (count, 0, 0.0f32);
    let (mut held, mut held_nth, mut held_ahead) = (count, 0, 0.0f32);
    let (mut start, mut group, mut sum) = (count, 0, nothing::<OP>());
    let mut left = W;
    while left > 0 {
        let _ = pipe.wait();
        fetch((slot + S - 1 - W) % S);
        let first = (slot + S - W) % S;
        if W == 1 {
            held = late;
            held_nth = late_nth;
            held_ahead = late_ahead;
        }
        if held - held_nth != start {
            start = held - held_nth;
            group = 0;
            sum = nothing::<OP>();
        }
        let words = asked_totals::<T, K>(state, start, held_nth, group);
        let nth = if mine < count {
            mine - row_of(mine) * tiles
        } else {
            0
        };
        let v = values(slot, nth);
        let alone = if OP == 0 {
            v.col_sum().raw()[0]
        } else {
            v.col_max_propagate_nan().raw()[0]
        };
        let mut upto = alone;
        #[unroll]
        for bit in 0..5 {
            let (other, inside) = if REVERSE {
                (shuffle_down(upto, 1 << bit), lane_idx() + (1 << bit) < 32)
            } else {
                (shuffle_up(upto, 1 << bit), lane_idx() >= (1 << bit))
            };
            let both = joined::<OP>(other, upto);
            upto = if inside { both } else { upto };
        }
        let (other, inside, whole) = if REVERSE {
            (shuffle_down(upto, 1), lane_idx() < 31, lane_idx() == 0)
        } else {
            (shuffle_up(upto, 1), lane_idx() > 0, lane_idx() == 31)
        };
        let mut ahead = if inside { other } else { nothing::<OP>() };
        if whole {
            totals.set([warp_idx()], upto);
        }
        sync_block();
        let (mut total, mut front) = (nothing::<OP>(), nothing::<OP>());
        #[unroll]
        for k in 0..warps {
            let w = if REVERSE { warps - 1 - k } else { k };
            front = if w == warp_idx() { total } else { front };
            total = joined::<OP>(total, totals.get([w]));
        }
        ahead = joined::<OP>(front, ahead);
        if thread_idx() == 0 {
            tell_total(state, mine, total);
        }
        // Late: who holds a tile that he has not begun to load makes all wait that come after it.
        let taken = taken_tile(ticket);
        let seen = warp_before::<OP, T, K>(state, start, held_nth, (group, sum), words);
        group = seen.1;
        sum = seen.2;
        if lane_idx() == 0 {
            parts.set([warp_idx()], seen.0);
        }
        sync_block();
        if held < count {
            let mut before = nothing::<OP>();
            #[unroll]
            for w in 0..warps {
                before = joined::<OP>(before, parts.get([w]));
            }
            before = joined::<OP>(before, held_ahead);
            let v = values(first, held_nth);
            let sums = if OP == 0 {
                v.col_scan_sum(EXCLUSIVE, REVERSE)
            } else {
                v.col_scan_max_propagate_nan(EXCLUSIVE, REVERSE)
            };
            stood(first).store(&sums.map(|a| joined::<OP>(before, a)).cast::<E>());
            sync_block();
            let y = ring.stage(first).load(lines);
            out.tile_mut([1, N], place(row_of(held), held_nth))
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
        held_ahead = late_ahead;
        late = mine;
        late_nth = nth;
        late_ahead = ahead;
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
        scan_ring::<f32, SUM, false, false, 4608, 4, 128, 4, 2, 4, 3>::launch(
            &stream, &input, &mut out,
        )?;
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
        scan_ring::<f32, SUM, false, false, 4608, 4, 128, 4, 2, 4, 3>::REPORT
    );
    Ok(wrong == 0)
}

fn main() -> ExitCode {
    program::end(run())
}
