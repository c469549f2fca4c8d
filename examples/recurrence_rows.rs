//! The recurrence `h = a * h + b` along each of many rows, from `h = 0`: every h, or (exclusive) the one before it, in either
//! direction, in one pass over the data. (Along few long rows: `recurrence`.)
//!
//! A block takes a row, tile after tile, by asynchronous copies into a ring of `S` stages. What comes before a tile the block
//! has itself: it goes into the tile's first element, so that nobody waits for another block, and no products of factors
//! are needed. Each thread scans neighbours, so that few steps go through shuffles; results leave through the stage.
//! Rows are of a multiple of `V`, with f32 and 1 of any width.
//!
//! Computed in f32, each step by one rounding, the first of a tile by two. After a NaN everything is NaN.
//!
//! `cargo run --release --example recurrence_rows -- [ROWS WIDTH]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;

#[tiki::kernel(threads = T, blocks_per_sm = B, grid = [b.dim(0)], build(
    (E = f32, EXCLUSIVE = false, REVERSE = false, N = 2048, V = 4, T = 128, S = 3, B = 4),
    (E = f32, EXCLUSIVE = true, REVERSE = false, N = 1024, V = 4, T = 64, S = 3, B = 4),
    (E = f32, EXCLUSIVE = true, REVERSE = true, N = 256, V = 1, T = 64, S = 2, B = 4),
    (E = f16, EXCLUSIVE = false, REVERSE = false, N = 4096, V = 8, T = 128, S = 3, B = 4),
    (E = bf16, EXCLUSIVE = false, REVERSE = false, N = 4096, V = 8, T = 128, S = 3, B = 4),
    (E = bf16, EXCLUSIVE = false, REVERSE = true, N = 2048, V = 8, T = 128, S = 3, B = 4),
))]
pub fn recurrence_rows<
    E: Element,
    const EXCLUSIVE: bool,
    const REVERSE: bool,
    const N: usize,
    const V: usize,
    const T: usize,
    const S: usize,
    const B: usize,
>(
    a: &Global<E>,
    b: &Global<E>,
    out: &mut Global<E>,
) {
    require!(a.shape() == b.shape() && out.shape() == b.shape() && b.dim(1).is_multiple_of(V));
    // Each thread scans neighbours, 16 bytes at a time: the swizzle lets eight threads read eight banks of them.
    let own = N / T;
    let neighbours =
        ThreadMap::new(layout!((1, T):(1, 1)), layout!((1, own):(own, 1))).vector_up_to(V);
    let lines = ThreadMap::linear(T).vector_up_to(V);
    let swizzle = Swizzle::new(3, if E::BYTES == 4 { 2 } else { 3 }, 3);
    let a_s = Shared::<E>::stages(S, layout!((1, N):(N, 1)).swizzle(swizzle));
    let b_s = Shared::<E>::stages(S, layout!((1, N):(N, 1)).swizzle(swizzle));
    let carry = Shared::<f32>::new(layout!((1):(1)));
    let (pipe, load) = (Pipeline::cp_async(S), Load::cp_async(T));
    let (row, tiles) = (block_idx().x, b.dim(1).div_ceil(N));
    let place = |k: usize| {
        [
            row,
            if REVERSE && k < tiles {
                tiles - 1 - k
            } else {
                k
            },
        ]
    };
    // Past the last tile nothing is read; past a row's end stand zeros, by which a recurrence begins anew.
    let fetch = |k: usize| {
        let s = pipe.acquire();
        load.copy(&a.tile([1, N], place(k)).evict_last(), a_s.stage(s));
        load.copy(&b.tile([1, N], place(k)).evict_last(), b_s.stage(s));
        pipe.commit();
    };
    for k in 0..S - 1 {
        fetch(k);
    }
    if thread_idx() == 0 {
        carry.set([0], 0.0);
    }
    let (head, last, place_of_last) = if REVERSE {
        (N - 1, 0, 0)
    } else {
        (0, T - 1, own - 1)
    };
    for k in 0..tiles {
        let s = pipe.wait();
        fetch(k + S - 1);
        let before = carry.get([0]);
        let factors = a_s.stage(s).load(neighbours).cast::<f32>();
        let values = b_s.stage(s).load(neighbours).cast::<f32>();
        // -0 changes no term.
        let front = factors.map_at(|a, [_, c]| if c == head { a * before } else { -0.0 });
        let begun = values.zip(&front, |b, f| b + f);
        let sums = begun.row_scan_affine(&factors, EXCLUSIVE, REVERSE);
        let all = sums.map_at(|h, [_, c]| if EXCLUSIVE && c == head { before } else { h });
        // Back to where its values came from, and out by whole lines.
        let y = all.cast::<E>().redistribute_through(&b_s.stage(s), lines);
        if thread_idx() == last {
            let h = all.raw()[place_of_last];
            let next = if EXCLUSIVE {
                fma(factors.raw()[place_of_last], h, values.raw()[place_of_last])
            } else {
                h
            };
            carry.set([0], next);
        }
        out.tile_mut([1, N], place(k)).store(&y);
    }
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let rows = program::number(1, "a number of rows", 6)?;
    let n = program::number(2, "a width", 5000)?;
    program::scans::recurrences(
        n,
        [rows, n],
        recurrence_rows::<f32, false, false, 2048, 4, 128, 3, 4>::launch,
        recurrence_rows::<f32, false, false, 2048, 4, 128, 3, 4>::REPORT,
    )
}

fn main() -> ExitCode {
    program::end(run())
}
