//! Walks along rows and columns: device functions for the bodies of kernels, here and in other crates.
//!
//! ```
//! use tiki::prelude::*;
//! use tiki::rows::walk::greatest_and_sum;
//!
//! /// The logarithm of the sum of each row's exponentials.
//! #[tiki::kernel(threads = 256, grid = [x.dim(0)])]
//! pub fn log_sum(x: &Global<f32>, out: &mut Global<f32, 1>) {
//!     require!(out.dim(0) == x.dim(0) && x.dim(1) > 0);
//!     let row = block_idx().x;
//!     let chunks = x.dim(1).div_ceil(4096);
//!     let map = ThreadMap::linear(256);
//!     let (top, sum) = greatest_and_sum::<f32, 4096, 256>(x, row, || chunks, map);
//!     if thread_idx() == 0 {
//!         out.set([row], top + log(sum));
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = tiki::Device::vm()?;
//! let x = device.tensor_from(&[0.0f32; 5000], [1, 5000])?;
//! let mut out = device.zeros::<f32, 1>([1])?;
//! log_sum::launch(&device.stream(), &x, &mut out)?;
//! assert!((out.to_vec()?[0] - 5000f32.ln()).abs() < 1e-5);
//! # Ok(())
//! # }
//! ```

use tiki::prelude::*;

/// The greatest so far, for differences: minus infinity counts as 0, so that no NaN arises.
#[tiki::device]
pub fn finite(top: f32) -> f32 {
    if top == f32::NEG_INFINITY { 0.0 } else { top }
}

/// The exponential of a difference that is not above 0: for results of 16 bits the hardware's, relative error 2^-20 where
/// the result counts beside 1.
#[tiki::device]
pub fn shrunk<E: Element>(a: f32, top: f32) -> f32 {
    if E::BYTES == 2 {
        exp2_fast(fma(
            a,
            std::f32::consts::LOG2_E,
            -top * std::f32::consts::LOG2_E,
        ))
    } else {
        exp(a - top)
    }
}

/// Two greatest, each with the sum of the exponentials of the differences from it, as one.
#[tiki::device]
pub fn joined_sums(top: f32, sum: f32, other: f32, more: f32) -> (f32, f32) {
    let next = max_propagate_nan(top, other);
    let safe = finite(next);
    (next, sum * exp(top - safe) + more * exp(other - safe))
}

/// The greatest of a row (NaN if it has one), and the sum of the exponentials of the differences from it, known to all `T`
/// threads of the block.
///
/// One walk in chunks of `N` columns, whose number is asked for once the first is under way; the next chunk is under way
/// while the present one is summed. Each thread keeps the greatest and the sum of its own columns: where a chunk raises the
/// greatest, the sum so far shrinks by the exponential of the difference. Threads meet once, at the end: lanes, nearest
/// first, then warps, nearest first. A row of minus infinity alone has the sum 0.
#[tiki::device]
pub fn greatest_and_sum<E: Float, const N: usize, const T: usize>(
    x: &Global<E>,
    row: usize,
    chunks: impl Fn() -> usize,
    map: ThreadMap,
) -> (f32, f32) {
    let warps = T / 32;
    let tops = Shared::<f32>::new(layout!((warps):(1)));
    let sums = Shared::<f32>::new(layout!((warps):(1)));
    let chunk = |j: usize| x.tile([1, N], [row, j]).fill(E::NEG_INFINITY).load(map);
    let mut next = chunk(0);
    let (mut top, mut sum) = (f32::NEG_INFINITY, 0.0f32);
    for j in 0..chunks() {
        let v = next.cast::<f32>();
        next = chunk(j + 1);
        let mut high = top;
        #[unroll]
        for i in 0..v.raw().len() {
            high = max_propagate_nan(high, v.raw()[i]);
        }
        let safe = finite(high);
        sum = sum * shrunk::<E>(top, safe);
        // Two chains of additions.
        let (mut even, mut odd) = (0.0f32, 0.0f32);
        #[unroll]
        for i in 0..v.raw().len() {
            let e = shrunk::<E>(v.raw()[i], safe);
            if i % 2 == 0 {
                even = even + e;
            } else {
                odd = odd + e;
            }
        }
        sum = sum + (even + odd);
        top = high;
    }
    #[unroll]
    for bit in 0..5 {
        let (other, more) = (shuffle_xor(top, 1 << bit), shuffle_xor(sum, 1 << bit));
        let (t, s) = joined_sums(top, sum, other, more);
        top = t;
        sum = s;
    }
    if lane_idx() == 0 {
        tops.set([warp_idx()], top);
        sums.set([warp_idx()], sum);
    }
    sync_block();
    top = tops.get([lane_idx() % warps]);
    sum = sums.get([lane_idx() % warps]);
    #[unroll]
    for bit in 0..5 {
        if (1 << bit) < warps {
            let (other, more) = (shuffle_xor(top, 1 << bit), shuffle_xor(sum, 1 << bit));
            let (t, s) = joined_sums(top, sum, other, more);
            top = t;
            sum = s;
        }
    }
    (top, sum)
}

/// Four values summed over the `T` threads of a block (a multiple of 256), known to all of them.
///
/// Nearest lanes first, then nearest warps, as `row_sum` adds. A lane gives away the half of its values that its neighbour
/// keeps, so that four sums take six exchanges in a warp where one by one they take twenty; the block meets once. `sums` is
/// of shape `(4, T / 32)`; nobody may read it any more when it is used again.
#[tiki::device]
pub fn four_sums<const T: usize>(
    sums: Shared<f32>,
    a: f32,
    b: f32,
    c: f32,
    d: f32,
) -> (f32, f32, f32, f32) {
    let warps = T / 32;
    let odd = lane_idx() % 2 == 1;
    let ab = (if odd { b } else { a }) + shuffle_xor(if odd { a } else { b }, 1);
    let cd = (if odd { d } else { c }) + shuffle_xor(if odd { c } else { d }, 1);
    let upper = (lane_idx() / 2) % 2 == 1;
    // Lane l has a share of value l % 4.
    let mut own = (if upper { cd } else { ab }) + shuffle_xor(if upper { ab } else { cd }, 2);
    own = own + shuffle_xor(own, 4);
    own = own + shuffle_xor(own, 8);
    own = own + shuffle_xor(own, 16);
    let (value, nth) = (lane_idx() % 4, lane_idx() / 4);
    if nth == 0 {
        sums.set([value, warp_idx()], own);
    }
    sync_block();
    // Eight lanes add a value's shares of all warps.
    let mut sum = sums.get([value, nth]);
    #[unroll]
    for i in 1..warps / 8 {
        sum = sum + sums.get([value, nth + 8 * i]);
    }
    sum = sum + shuffle_xor(sum, 4);
    sum = sum + shuffle_xor(sum, 8);
    sum = sum + shuffle_xor(sum, 16);
    (
        shuffle(sum, 0),
        shuffle(sum, 1),
        shuffle(sum, 2),
        shuffle(sum, 3),
    )
}

/// The sum of a thread's own values, in two chains.
#[tiki::device]
pub fn own_sum(v: &Register<f32>) -> f32 {
    let (mut even, mut odd) = (0.0f32, 0.0f32);
    #[unroll]
    for i in 0..v.raw().len() {
        if i % 2 == 0 {
            even = even + v.raw()[i];
        } else {
            odd = odd + v.raw()[i];
        }
    }
    even + odd
}

/// The sum of the products of a thread's own values, in two chains.
#[tiki::device]
pub fn own_dot(v: &Register<f32>, w: &Register<f32>) -> f32 {
    let (mut even, mut odd) = (0.0f32, 0.0f32);
    #[unroll]
    for i in 0..v.raw().len() {
        if i % 2 == 0 {
            even = fma(v.raw()[i], w.raw()[i], even);
        } else {
            odd = fma(v.raw()[i], w.raw()[i], odd);
        }
    }
    even + odd
}

/// The columns `32 * at ..` of a tensor of any number of rows, added up to 64 rows by a block of 256 threads, in a fixed
/// order; `col_sum` of it is their sum, reproducible bit for bit.
#[tiki::device]
pub fn added_to_64(parts: &Global<f32>, at: usize) -> Register<f32> {
    let map = ThreadMap::linear(256);
    let mut total = parts.tile([64, 32], [0, at]).load(map);
    for k in 1..parts.dim(0).div_ceil(64) {
        total = &total + &parts.tile([64, 32], [k, at]).load(map);
    }
    total
}

/// A sum divided by `N`. By a power of two that is a product with the same bits, one instruction where a quotient is a test,
/// an iteration and a branch.
#[tiki::device]
pub fn over<const N: usize>(sum: f32) -> f32 {
    let share = 1.0 / N as f32;
    if N & (N - 1) == 0 {
        sum * share
    } else {
        sum / N as f32
    }
}
