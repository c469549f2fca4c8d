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
//!     let (top, sum) = greatest_and_sum::<f32>(x, row, || chunks, ThreadMap::linear(256));
//!     out.tile_mut([1], [row]).store(&top.zip(&sum, |m, s| m + log(s)));
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

/// The greatest of a row (NaN if it has one), and the sum of the exponentials of the differences from it.
///
/// One walk in chunks of 4096 columns, whose number is asked for once the first is under way: where a chunk raises the
/// greatest, the sum so far shrinks by the exponential of the difference. A row of minus infinity alone has the sum 0.
#[tiki::device]
pub fn greatest_and_sum<E: Float>(
    x: &Global<E>,
    row: usize,
    chunks: impl Fn() -> usize,
    map: ThreadMap,
) -> (Register<f32>, Register<f32>) {
    let first = x
        .tile([1, 4096], [row, 0])
        .fill(E::NEG_INFINITY)
        .load(map)
        .cast::<f32>();
    let mut top = first.row_max_propagate_nan();
    let mut sum = first.rows(&top, |a, m| exp(a - finite(m))).row_sum();
    for j in 1..chunks() {
        let v = x
            .tile([1, 4096], [row, j])
            .fill(E::NEG_INFINITY)
            .load(map)
            .cast::<f32>();
        let next = top.zip(&v.row_max_propagate_nan(), |a, b| max_propagate_nan(a, b));
        let shrink = top.zip(&next, |a, b| exp(a - finite(b)));
        let more = v.rows(&next, |a, m| exp(a - finite(m))).row_sum();
        sum = sum.zip(&shrink, |s, k| s * k) + more;
        top = next;
    }
    (top, sum)
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
