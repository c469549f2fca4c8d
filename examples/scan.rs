//! Scans along an axis: sums, greatest so far, and the recurrence `h = a * h + b`; inclusive or exclusive, in either
//! direction, in one pass over the data.
//!
//! `scan` and `recurrence` go along rows. A tile of a row is scanned by a block in registers; what comes before it is
//! found by *looking back* at what earlier tiles have published, so that tiles load and store at the same time.
//!
//! 1. A block takes the next tile's number from a counter: whoever waits, waits for blocks that already run.
//! 2. It publishes its tile's total at once: a 64-bit word, the value and a mark, which cannot be torn apart.
//! 3. One warp reads the totals of all tiles before its own in its *group* of 128, and the prefix of the group.
//! 4. The last tile of a group publishes the next group's prefix.
//!
//! What is combined with what depends on a tile's number alone, never on who was there first: a result is the same
//! bits on every run. A chain of prefixes would wait for one tile after the other; here it waits once in 128 tiles.
//!
//! `scan_columns` goes along the first axis of a matrix: a block walks down its strip of columns and loads the next
//! tile before it scans the present one.
//!
//! Sums accumulate in f32. After a NaN everything is NaN, in the greatest so far as well.
//!
//! `cargo run --release --example scan -- [LENGTH]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;

/// Sums so far.
pub const SUM: usize = 0;
/// The greatest so far.
pub const MAX: usize = 1;

#[tiki::device]
pub fn joined<const OP: usize>(a: f32, b: f32) -> f32 {
    if OP == 0 {
        a + b
    } else {
        max_propagate_nan(a, b)
    }
}

#[tiki::device]
pub fn nothing<const OP: usize>() -> f32 {
    if OP == 0 { -0.0 } else { f32::NEG_INFINITY }
}

/// A value with the mark that it is there.
#[tiki::device]
pub fn marked(value: f32) -> u64 {
    value.to_bits() as u64 | 4_294_967_296
}

#[tiki::device]
pub fn is_there(word: u64) -> bool {
    word >= 4_294_967_296
}

#[tiki::device]
pub fn value_of(word: u64) -> f32 {
    f32::from_bits(word as u32)
}

/// What `a`, then `b` of each lane come to, lane after lane, in all lanes.
#[tiki::device]
pub fn joined_lanes<const OP: usize>(own: f32) -> f32 {
    let mut sum = own;
    #[unroll]
    for bit in 0..5 {
        let other = shuffle_xor(sum, 1 << bit);
        sum = joined::<OP>(sum, other);
    }
    sum
}

/// What comes before tile `nth` of a row, as one warp finds it; and tells, if the tile ends a group.
#[tiki::device]
pub fn looked_back<const OP: usize>(
    state: &mut Global<u64>,
    row: usize,
    nth: usize,
    tiles: usize,
    total: f32,
) -> f32 {
    let lane = lane_idx();
    if lane == 0 {
        state.set_with([row, nth], marked(total), Order::Relaxed, Scope::Device);
    }
    let group = nth / 128;
    let first = group * 128;
    // Where there is nothing to read, an index past the end reads 0 and costs no access.
    let none = 2 * tiles;
    let prefix = if group > 0 { tiles + group } else { none };
    let mut front = state.get_with([row, prefix], Order::Relaxed, Scope::Device);
    // All words are asked for before the first is waited for.
    let mut words = [0u64; 4];
    let mut missing = true;
    while missing {
        let mut waits = false;
        #[unroll]
        for k in 0..4 {
            let tile = first + 32 * k + lane;
            let at = if tile < nth { tile } else { none };
            words[k] = state.get_with([row, at], Order::Relaxed, Scope::Device);
        }
        #[unroll]
        for k in 0..4 {
            waits = waits || (first + 32 * k + lane < nth && !is_there(words[k]));
        }
        missing = vote_any(waits);
    }
    let mut sum = nothing::<OP>();
    #[unroll]
    for k in 0..4 {
        let there = first + 32 * k + lane < nth;
        let own = if there {
            value_of(words[k])
        } else {
            nothing::<OP>()
        };
        sum = joined::<OP>(sum, own);
    }
    sum = joined_lanes::<OP>(sum);
    while vote_any(group > 0 && !is_there(front)) {
        front = state.get_with([row, prefix], Order::Relaxed, Scope::Device);
    }
    if group > 0 {
        sum = joined::<OP>(value_of(front), sum);
    }
    if lane == 0 && nth % 128 == 127 {
        let next = joined::<OP>(sum, total);
        let at = tiles + group + 1;
        state.set_with([row, at], marked(next), Order::Relaxed, Scope::Device);
    }
    sum
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
    (E = f32, OP = 0, EXCLUSIVE = false, REVERSE = false, N = 8192, V = 4, T = 128, B = 3),
    (E = f32, OP = 1, EXCLUSIVE = false, REVERSE = false, N = 8192, V = 4, T = 128, B = 3),
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
    let at = if REVERSE { tiles - 1 - nth } else { nth };
    let map = ThreadMap::linear(T).vector_up_to(V);
    let v = x.tile([1, N], [row, at]).load(map).cast::<f32>();
    let sums = if OP == 0 {
        v.row_scan_sum(EXCLUSIVE, REVERSE)
    } else {
        v.row_scan_max_propagate_nan(EXCLUSIVE, REVERSE)
    };
    // The thread with the last element, in the order of the scan, knows the tile's total.
    let (warp, lane, place) = if REVERSE {
        (0, 0, 0)
    } else {
        (T / 32 - 1, 31, v.raw().len() - 1)
    };
    if warp_idx() == warp {
        let last = if EXCLUSIVE {
            joined::<OP>(sums.raw()[place], v.raw()[place])
        } else {
            sums.raw()[place]
        };
        let total = shuffle(last, lane);
        let before = looked_back::<OP>(state, row, nth, tiles, total);
        if lane_idx() == 0 {
            carry.set([0], before);
        }
    }
    sync_block();
    let before = carry.get([0]);
    let y = sums.map(|a| joined::<OP>(before, a));
    out.tile_mut([1, N], [row, at]).store(&y.cast::<E>());
}

/// `h = a * h + b` composed: first by (a, b), then by (c, d).
#[tiki::device]
pub fn composed(a: f32, b: f32, c: f32, d: f32) -> (f32, f32) {
    (a * c, fma(c, b, d))
}

/// The steps of all lanes composed in the order of the lanes, in all lanes.
#[tiki::device]
pub fn composed_lanes(own_a: f32, own_b: f32) -> (f32, f32) {
    let (mut a, mut b) = (own_a, own_b);
    #[unroll]
    for bit in 0..5 {
        let (c, d) = (shuffle_xor(a, 1 << bit), shuffle_xor(b, 1 << bit));
        let below = (lane_idx() >> bit) % 2 == 1;
        let (first_a, first_b) = if below { (c, d) } else { (a, b) };
        let (then_a, then_b) = if below { (a, b) } else { (c, d) };
        let (all_a, all_b) = composed(first_a, first_b, then_a, then_b);
        a = all_a;
        b = all_b;
    }
    (a, b)
}

/// The value before tile `nth` of a row. A tile's total is two words: first the value that comes of zero, then the
/// factor.
#[tiki::device]
pub fn looked_back_at_steps(
    state: &mut Global<u64>,
    row: usize,
    nth: usize,
    tiles: usize,
    total_a: f32,
    total_b: f32,
) -> f32 {
    let lane = lane_idx();
    if lane == 0 {
        state.set_with([row, nth], marked(total_b), Order::Relaxed, Scope::Device);
        let at = tiles + nth;
        state.set_with([row, at], marked(total_a), Order::Relaxed, Scope::Device);
    }
    let group = nth / 128;
    let first = group * 128;
    let none = 3 * tiles;
    let prefix = if group > 0 { 2 * tiles + group } else { none };
    let mut front = state.get_with([row, prefix], Order::Relaxed, Scope::Device);
    let mut values = [0u64; 4];
    let mut factors = [0u64; 4];
    let mut missing = true;
    while missing {
        let mut waits = false;
        #[unroll]
        for k in 0..4 {
            let tile = first + 32 * k + lane;
            let at = if tile < nth { tile } else { none };
            let beside = if tile < nth { tiles + tile } else { none };
            values[k] = state.get_with([row, at], Order::Relaxed, Scope::Device);
            factors[k] = state.get_with([row, beside], Order::Relaxed, Scope::Device);
        }
        #[unroll]
        for k in 0..4 {
            let there = is_there(values[k]) && is_there(factors[k]);
            waits = waits || (first + 32 * k + lane < nth && !there);
        }
        missing = vote_any(waits);
    }
    let (mut a, mut b) = (1.0f32, 0.0f32);
    #[unroll]
    for k in 0..4 {
        let before = first + 32 * k + lane < nth;
        if vote_any(before) {
            let own_a = if before { value_of(factors[k]) } else { 1.0 };
            let own_b = if before { value_of(values[k]) } else { 0.0 };
            let (lanes_a, lanes_b) = composed_lanes(own_a, own_b);
            let (all_a, all_b) = composed(a, b, lanes_a, lanes_b);
            a = all_a;
            b = all_b;
        }
    }
    while vote_any(group > 0 && !is_there(front)) {
        front = state.get_with([row, prefix], Order::Relaxed, Scope::Device);
    }
    let before = fma(a, value_of(front), b);
    if lane == 0 && nth % 128 == 127 {
        let next = fma(total_a, before, total_b);
        let at = 2 * tiles + group + 1;
        state.set_with([row, at], marked(next), Order::Relaxed, Scope::Device);
    }
    before
}

#[tiki::kernel(threads = T, blocks_per_sm = B, grid = [b.dim(0) * b.dim(1).div_ceil(N)],
    workspace(ticket = [1], state = [b.dim(0), 3 * b.dim(1).div_ceil(N)]), build(
    (E = f32, EXCLUSIVE = false, REVERSE = false, N = 2048, V = 1, T = 256, B = 2),
    (E = f32, EXCLUSIVE = true, REVERSE = true, N = 2048, V = 1, T = 256, B = 2),
    (E = f32, EXCLUSIVE = false, REVERSE = false, N = 4096, V = 4, T = 128, B = 2),
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
    let at = if REVERSE { tiles - 1 - nth } else { nth };
    let map = ThreadMap::linear(T).vector_up_to(V);
    let factors = a.tile([1, N], [row, at]).load(map).cast::<f32>();
    let values = b.tile([1, N], [row, at]).load(map).cast::<f32>();
    let sums = values.row_scan_affine(&factors, EXCLUSIVE, REVERSE);
    let products = factors.row_scan_product(EXCLUSIVE, REVERSE);
    let (warp, lane, place) = if REVERSE {
        (0, 0, 0)
    } else {
        (T / 32 - 1, 31, values.raw().len() - 1)
    };
    if warp_idx() == warp {
        let (last_a, last_b) = (products.raw()[place], sums.raw()[place]);
        let (all_a, all_b) = if EXCLUSIVE {
            composed(last_a, last_b, factors.raw()[place], values.raw()[place])
        } else {
            (last_a, last_b)
        };
        let (total_a, total_b) = (shuffle(all_a, lane), shuffle(all_b, lane));
        let before = looked_back_at_steps(state, row, nth, tiles, total_a, total_b);
        if lane_idx() == 0 {
            carry.set([0], before);
        }
    }
    sync_block();
    let before = carry.get([0]);
    let y = products.zip(&sums, |a, b| fma(a, before, b));
    out.tile_mut([1, N], [row, at]).store(&y.cast::<E>());
}

#[tiki::kernel(threads = 256, grid = [x.dim(2).div_ceil(C), x.dim(0)], build(
    (E = f32, OP = 0, EXCLUSIVE = false, REVERSE = false, C = 32, V = 1),
    (E = f32, OP = 0, EXCLUSIVE = true, REVERSE = true, C = 32, V = 1),
    (E = f32, OP = 1, EXCLUSIVE = false, REVERSE = false, C = 32, V = 1),
    (E = f32, OP = 0, EXCLUSIVE = false, REVERSE = false, C = 32, V = 4),
    (E = bf16, OP = 0, EXCLUSIVE = false, REVERSE = false, C = 32, V = 8),
))]
pub fn scan_columns<
    E: Element,
    const OP: usize,
    const EXCLUSIVE: bool,
    const REVERSE: bool,
    const C: usize,
    const V: usize,
>(
    x: &Global<E, 3>,
    out: &mut Global<E, 3>,
) {
    require!(out.shape() == x.shape() && x.dim(2).is_multiple_of(V));
    let (strip, outer) = (block_idx().x, block_idx().y);
    let map = ThreadMap::linear(256).vector_up_to(V);
    let chunks = x.dim(1).div_ceil(128);
    // Past the last: nothing is read.
    let place = |k: usize| {
        if REVERSE {
            if k < chunks { chunks - 1 - k } else { chunks }
        } else {
            k
        }
    };
    let from = x.at([outer]);
    let mut next = from.tile([128, C], [place(0), strip]).load(map);
    let mut carry = next.cast::<f32>().col_vector(nothing::<OP>());
    for k in 0..chunks {
        let v = next.cast::<f32>();
        next = from.tile([128, C], [place(k + 1), strip]).load(map);
        let (sums, total) = if OP == 0 {
            (v.col_scan_sum(EXCLUSIVE, REVERSE), v.col_sum())
        } else {
            (
                v.col_scan_max_propagate_nan(EXCLUSIVE, REVERSE),
                v.col_max_propagate_nan(),
            )
        };
        let y = sums.cols(&carry, |a, c| joined::<OP>(c, a));
        out.at_mut([outer])
            .tile_mut([128, C], [place(k), strip])
            .store(&y.cast::<E>());
        carry = carry.zip(&total, |c, t| joined::<OP>(c, t));
    }
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let n = program::number(1, "a length", 100_003)?;
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let x: Vec<f32> = (0..n).map(|i| ((i * 7919) % 17) as f32 - 8.0).collect();
    let mut out = device.zeros::<f32, 2>([1, n])?;
    let input = device.tensor_from(&x, [1, n])?;
    scan::<f32, SUM, false, false, 4096, 1, 256, 2>::launch(&stream, &input, &mut out)?;
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
        scan::<f32, SUM, false, false, 4096, 1, 256, 2>::REPORT
    );
    Ok(wrong == 0)
}

fn main() -> ExitCode {
    program::end(run())
}
