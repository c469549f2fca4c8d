//! The recurrence `h = a * h + b` along rows, from `h = 0`: every h, or (exclusive) the one before it, in either direction,
//! in one pass over the data.
//!
//! A step is composed with the next: first by (a, b), then by (c, d) is by (a c, b c + d). Tiles of a row are scanned in
//! registers, and what comes before them is looked back for ([`tiki::rows::look_back`]).
//!
//! - `recurrence`: a block a tile; rows whose width is a multiple of `V`, with 1 of any width. (For many rows: `recurrence_rows`.)
//! - `recurrence_ring`: the one for a long row, of a multiple of `V`. Blocks that stay take tile after tile, by asynchronous copies
//!   into a ring of `S` stages, as in `scan_ring`: totals are published as soon as a tile has come, results `W` tiles
//!   later. Each thread scans neighbours, so that few steps go through shuffles; results leave through the stage.
//!
//! Computed in f32, each step by one rounding. Products of factors must stay finite. After a NaN everything is NaN.
//!
//! `cargo run --release --example recurrence -- [LENGTH]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;
use tiki::rows::look_back::{
    asked_step_groups, asked_steps, before_steps, composed, publish_step, steps_in_group,
    value_with_groups,
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
    if thread_idx() == 0 {
        let taken = ticket.atom_add([0], 1, Order::Relaxed, Scope::Device);
        number.set([0], taken);
    }
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

#[tiki::kernel(threads = T, grid = persistent,
    workspace(ticket = [1], state = [b.dim(0), 3 * b.dim(1).div_ceil(N)]), build(
    (E = f32, EXCLUSIVE = true, REVERSE = true, N = 2048, V = 4, T = 128, S = 3, W = 1),
    (E = f32, EXCLUSIVE = false, REVERSE = false, N = 128, V = 4, T = 32, S = 4, W = 2),
    (E = f32, EXCLUSIVE = false, REVERSE = false, N = 2048, V = 4, T = 128, S = 4, W = 2),
    (E = bf16, EXCLUSIVE = false, REVERSE = false, N = 4096, V = 8, T = 128, S = 4, W = 2),
    (E = f32, EXCLUSIVE = false, REVERSE = false, N = 2048, V = 4, T = 128, S = 3, W = 1),
    (E = bf16, EXCLUSIVE = false, REVERSE = false, N = 4096, V = 8, T = 128, S = 3, W = 1),
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
>(
    a: &Global<E>,
    b: &Global<E>,
    out: &mut Global<E>,
    ticket: &mut Global<u32, 1>,
    state: &mut Global<u64>,
) {
    require!(a.shape() == b.shape() && out.shape() == b.shape() && b.dim(1).is_multiple_of(V));
    // Each thread scans neighbours, 16 bytes at a time: the swizzle lets eight threads read eight banks of them.
    let own = N / T;
    let neighbours =
        ThreadMap::new(layout!((1, T):(1, 1)), layout!((1, own):(own, 1))).vector_up_to(V);
    let swizzle = Swizzle::new(3, if V == 4 { 2 } else { 3 }, 3);
    let a_s = Shared::<E>::stages(S, layout!((1, N):(N, 1)).swizzle(swizzle));
    let b_s = Shared::<E>::stages(S, layout!((1, N):(N, 1)).swizzle(swizzle));
    let numbers = Shared::<u32>::new(layout!((S):(1)));
    let carry = Shared::<f32>::new(layout!((1):(1)));
    // The tiles of `W` stages wait, the others are on their way.
    let (pipe, load) = (Pipeline::cp_async(S - W), Load::cp_async(T));
    let lines = ThreadMap::linear(T).vector_up_to(V);
    // One of nothing, if a row is empty.
    let tiles = if b.dim(1) > 0 {
        b.dim(1).div_ceil(N)
    } else {
        1
    };
    let count = b.dim(0) * tiles;
    let place = |number: usize| {
        let nth = number % tiles;
        [number / tiles, if REVERSE { tiles - 1 - nth } else { nth }]
    };
    // The tile's place among its row's in the order of the scan; past the last tile, one that waits for nothing.
    let order = |number: usize| if number < count { number % tiles } else { 0 };
    // Past the last tile nothing is read; past a row's end stand zeros, by which a recurrence begins anew.
    let fetch = |stage: usize| {
        let _ = pipe.acquire();
        let number = numbers.get([stage]) as usize;
        load.copy(&a.tile([1, N], place(number)), a_s.stage(stage));
        load.copy(&b.tile([1, N], place(number)), b_s.stage(stage));
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
    // The warp that holds the last element looks back.
    let keeper = warp_idx() == (if REVERSE { 0 } else { T / 32 - 1 });
    let mut slot = 0;
    let mut mine = numbers.get([0]) as usize;
    let (mut late, mut late_a, mut late_b) = (count, 1.0f32, 0.0f32);
    let (mut held, mut held_a, mut held_b) = (count, 1.0f32, 0.0f32);
    let (mut within_a, mut within_b) = (1.0f32, 0.0f32);
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
            held_a = late_a;
            held_b = late_b;
        }
        let (row, nth) = (held / tiles, order(held));
        let (late_row, late_nth) = (late / tiles, order(late));
        let (mut near, mut far) = ((0u64, 0u64), (0u64, 0u64, 0u64));
        if keeper {
            near = asked_steps(state, late_row, late_nth, tiles);
            far = asked_step_groups(state, row, nth, tiles);
        }
        let factors = a_s.stage(slot).load(neighbours).cast::<f32>();
        let values = b_s.stage(slot).load(neighbours).cast::<f32>();
        let sums = values.row_scan_affine(&factors, EXCLUSIVE, REVERSE);
        let products = factors.row_scan_product(EXCLUSIVE, REVERSE);
        let (mut total, mut within) = ((1.0f32, 0.0f32), (1.0f32, 0.0f32));
        if keeper {
            total = tile_steps::<EXCLUSIVE, REVERSE>(&products, &sums, &factors, &values);
            if lane_idx() == 0 {
                publish_step(state, mine / tiles, order(mine), tiles, total);
            }
            // The oldest first: nothing of a tile may wait for one that comes after it.
            if W == 1 {
                within = steps_in_group(state, late_row, late_nth, tiles, (late_a, late_b), near);
                within_a = within.0;
                within_b = within.1;
            }
            let before = value_with_groups(
                state,
                row,
                nth,
                tiles,
                (held_a, held_b),
                (within_a, within_b),
                far,
            );
            if lane_idx() == 0 {
                carry.set([0], before);
            }
            if W == 2 {
                within = steps_in_group(state, late_row, late_nth, tiles, (late_a, late_b), near);
            }
        }
        if thread_idx() == 0 {
            numbers.set([first], taken);
        }
        if held < count {
            let factors = a_s.stage(first).load(neighbours).cast::<f32>();
            let values = b_s.stage(first).load(neighbours).cast::<f32>();
            let sums = values.row_scan_affine(&factors, EXCLUSIVE, REVERSE);
            let products = factors.row_scan_product(EXCLUSIVE, REVERSE);
            sync_block();
            let before = carry.get([0]);
            let y = products.zip(&sums, |a, b| fma(a, before, b)).cast::<E>();
            // Back to where its values came from, and out by whole lines.
            let y = y.redistribute_through(&b_s.stage(first), lines);
            out.tile_mut([1, N], place(held)).store(&y);
        }
        if mine >= count {
            left -= 1;
        }
        held = late;
        held_a = late_a;
        held_b = late_b;
        if W == 2 {
            within_a = within.0;
            within_b = within.1;
        }
        late = mine;
        late_a = total.0;
        late_b = total.1;
        slot = if slot == S - 1 { 0 } else { slot + 1 };
        mine = numbers.get([slot]) as usize;
    }
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let n = program::number(1, "a length", 100_003)?;
    let device = tiki::Device::open_default()?;
    let a = vec![0.5f32; n];
    let b: Vec<f32> = (0..n).map(|i| ((i * 7919) % 17) as f32 - 8.0).collect();
    let mut out = device.zeros::<f32, 2>([1, n])?;
    let (da, db) = (
        device.tensor_from(&a, [1, n])?,
        device.tensor_from(&b, [1, n])?,
    );
    recurrence::<f32, false, false, 2048, 1, 256, 2>::launch(&device.stream(), &da, &db, &mut out)?;
    let mut h = 0.0;
    let got = out.to_vec()?;
    let off = got.iter().zip(&b).map(|(got, b)| {
        h = 0.5 * h + f64::from(*b);
        (f64::from(*got) - h).abs()
    });
    let furthest = off.fold(0.0, program::further);
    println!(
        "{}: a recurrence of {n} steps, at most {furthest:.1e} off",
        device.name()
    );
    println!(
        "{}",
        recurrence::<f32, false, false, 2048, 1, 256, 2>::REPORT
    );
    Ok(furthest < 1e-5)
}

fn main() -> ExitCode {
    program::end(run())
}
