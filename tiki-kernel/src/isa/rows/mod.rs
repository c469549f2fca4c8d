//! The rows, a page for each kind of instruction.
//!
//! A new instruction is a new row on one of these pages (and, where it is written from Rust, a
//! constructor in [`super::make`]); nothing else knows it by name.

pub mod bulk;
pub mod control;
pub mod convert;
pub mod copy;
pub mod float;
pub mod half;
pub mod int;
pub mod matrix;
pub mod memory;
pub mod moves;
pub mod object;
pub mod sync;
pub mod unit;
pub mod warp;
pub mod wgmma;

use super::row::{Row, Since, since};

/// Every card that these rows are for has it.
pub(super) const ALWAYS: Since = since((1, 0), (5, 0));
/// First card of the memory model and of the masked warp instructions.
pub(super) const VOLTA: Since = since((6, 0), (7, 0));
/// First card with asynchronous copies and 16-bit brain floats.
pub(super) const AMPERE: Since = since((7, 0), (8, 0));
/// First card with 8-bit floats.
pub(super) const ADA: Since = since((8, 1), (8, 9));
/// First card with clusters; instructions that came with the first PTX version for it.
pub(super) const HOPPER: Since = since((7, 8), (9, 0));
/// Bulk copies and transaction barriers.
pub(super) const BULK: Since = since((8, 0), (9, 0));
/// Warpgroup instructions.
pub(super) const WARPGROUP: Since = since((8, 0), (9, 0)).exact();

/// All pages.
pub static PAGES: &[&[&Row]] = &[
    int::ROWS,
    float::ROWS,
    half::ROWS,
    unit::ROWS,
    convert::ROWS,
    moves::ROWS,
    memory::ROWS,
    control::ROWS,
    warp::ROWS,
    sync::ROWS,
    copy::ROWS,
    object::ROWS,
    bulk::ROWS,
    matrix::ROWS,
    wgmma::ROWS,
];
