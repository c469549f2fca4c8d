//! Looking back: what comes before a tile of a scan, found in what other blocks have published.
//!
//! A scan in one pass cuts its axis into tiles. A block takes the next tile by a counter, so that whoever waits, waits for
//! blocks that already run, and publishes its tile's total as soon as it is known: a 64-bit word, the value and a mark,
//! which cannot be torn apart. What comes before a tile is then made of three parts.
//!
//! ```text
//! range of 32 groups      group of 32 tiles        tiles
//! what comes before it  + totals of the groups   + totals of the tiles
//! the range               before its own           before it
//! ```
//!
//! 1. The last tile of a group publishes the group's total as soon as it has seen its tiles': groups wait for nothing.
//! 2. The last tile of a range publishes what comes before the next. This is the one chain in which one waits for the
//!    other, and it has a link in 1024 tiles.
//!
//! What is combined with what depends on a tile's number alone, never on who was there first: a result is the same bits
//! on every run. A row's words are zeroed before the launch; a word that is not there reads as 0. Where blocks read many
//! words, these are of 32 bits and hold the value alone ([`told`]).
//!
//! - [`before_tile`]: one warp, tiles of rows; `2 * tiles` words a row. [`before_in_group`] and [`before_with_groups`] are its
//!   two steps.
//! - [`asked_totals`], [`warp_before`]: all threads of a block that takes tile after tile; a word a tile.
//! - [`before_steps`]: as [`before_tile`], of recurrences `h = a * h + b`; `3 * tiles` words a row.
//! - [`asked_groups_of_steps`], [`value_before`]: of recurrences, by a block that takes tile after tile; a word a tile.
//! - [`tell_column`], [`asked_columns`], [`before_columns`], [`tell_group`]: each thread a column of its own; a word a column
//!   for each tile and each group of `G`. ([`asked_own`], [`own_column`]: where another warp has told the tile's total.)
//! - [`load_tiles`], [`leave_place`], [`first_tile`], [`next_tile`]: tiles that come through a ring, to roles of a block that do not wait for each other.

mod columns;
mod folds;
mod ring;
mod step_folds;
mod steps;

pub use columns::{
    asked_columns, asked_own, before_columns, column_place, column_tile, column_values, own_column,
    tell_column, tell_group, tile_row,
};
pub use folds::{asked_totals, tell_total, warp_before};
pub use ring::{first_tile, leave_place, load_tiles, next_tile};
pub use step_folds::{asked_groups_of_steps, tell_step, value_before};
pub use steps::{before_steps, composed, composed_before, composed_lanes, composed_own};
use tiki::prelude::*;

/// Sums so far.
pub const SUM: usize = 0;
/// The greatest so far; NaN from the first NaN on.
pub const MAX: usize = 1;

/// First `a`, then `b`.
#[tiki::device]
pub fn joined<const OP: usize>(a: f32, b: f32) -> f32 {
    if OP == 0 {
        a + b
    } else {
        max_propagate_nan(a, b)
    }
}

/// What changes nothing: of sums the zero that keeps another's sign.
#[tiki::device]
pub fn nothing<const OP: usize>() -> f32 {
    if OP == 0 { -0.0 } else { f32::NEG_INFINITY }
}

/// A value with the mark that it is there.
#[tiki::device]
pub fn marked(value: f32) -> u64 {
    value.to_bits() as u64 | 4_294_967_296
}

/// A value as a word of 32 bits that is never 0: its bits inverted, and of the NaN that would be 0 another.
#[tiki::device]
pub fn told(value: f32) -> u32 {
    let word = !value.to_bits();
    if word == 0 { 1 } else { word }
}

/// The value of such a word.
#[tiki::device]
pub fn untold(word: u32) -> f32 {
    f32::from_bits(!word)
}

#[tiki::device]
pub fn is_there(word: u64) -> bool {
    word >= 4_294_967_296
}

#[tiki::device]
pub fn value_of(word: u64) -> f32 {
    f32::from_bits(word as u32)
}

/// Takes the next tile's number and puts it into `numbers`.
#[tiki::device]
pub fn take_tile(ticket: &mut Global<u32, 1>, numbers: &Shared<u32>, at: usize) {
    if thread_idx() == 0 {
        let taken = ticket.atom_add([0], 1, Order::Relaxed, Scope::Device);
        numbers.set([at], taken);
    }
}

/// The next tile's number, in one thread; 0 in the others. What is asked for here is needed much later.
#[tiki::device]
pub fn taken_tile(ticket: &mut Global<u32, 1>) -> u32 {
    let mut taken = 0u32;
    if thread_idx() == 0 {
        taken = ticket.atom_add([0], 1, Order::Relaxed, Scope::Device);
    }
    taken
}

/// What all lanes come to, nearest first, in all lanes.
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

/// Publishes a value in a row's word.
#[tiki::device]
pub fn publish(state: &mut Global<u64>, row: usize, at: usize, value: f32) {
    state.set_with([row, at], marked(value), Order::Relaxed, Scope::Device);
}

/// The totals of the tiles before tile `nth` in its group, a lane each, as far as they are there.
#[tiki::device]
pub fn asked_tiles(state: &Global<u64>, row: usize, nth: usize, tiles: usize) -> u64 {
    let tile = 32 * (nth / 32) + lane_idx();
    // Where there is nothing to read, an index past the end reads 0 and costs no access.
    let at = if tile < nth { tile } else { 2 * tiles };
    state.get_with([row, at], Order::Relaxed, Scope::Device)
}

/// What the tiles before tile `nth` in its group come to, of what was asked for before; the group's last tile, of this
/// total, publishes the group's.
#[tiki::device]
pub fn before_in_group<const OP: usize>(
    state: &mut Global<u64>,
    row: usize,
    nth: usize,
    tiles: usize,
    total: f32,
    asked: u64,
) -> f32 {
    let tile = 32 * (nth / 32) + lane_idx();
    let mut near = asked;
    while vote_any(tile < nth && !is_there(near)) {
        near = asked_tiles(state, row, nth, tiles);
    }
    let own = if tile < nth {
        value_of(near)
    } else {
        nothing::<OP>()
    };
    let within = joined_lanes::<OP>(own);
    if lane_idx() == 0 && nth % 32 == 31 {
        publish(state, row, tiles + nth / 32, joined::<OP>(within, total));
    }
    within
}

/// The totals of the groups before tile `nth`'s own in its range, a lane each, and what comes before the range, as far as
/// they are there.
#[tiki::device]
pub fn asked_groups(state: &Global<u64>, row: usize, nth: usize, tiles: usize) -> (u64, u64) {
    let (group, range) = (nth / 32, nth / 1024);
    let beside = 32 * range + lane_idx();
    let none = 2 * tiles;
    let at_group = if beside < group { tiles + beside } else { none };
    let at_range = if range > 0 {
        tiles + tiles.div_ceil(32) + range
    } else {
        none
    };
    (
        state.get_with([row, at_group], Order::Relaxed, Scope::Device),
        state.get_with([row, at_range], Order::Relaxed, Scope::Device),
    )
}

/// What comes before tile `nth`, of what comes before it in its group and what was asked for before; the range's last
/// tile, of this total, publishes what comes before the next.
#[tiki::device]
pub fn before_with_groups<const OP: usize>(
    state: &mut Global<u64>,
    row: usize,
    nth: usize,
    tiles: usize,
    total: f32,
    within: f32,
    asked: (u64, u64),
) -> f32 {
    let (group, range) = (nth / 32, nth / 1024);
    let beside = 32 * range + lane_idx();
    let (mut far, mut front) = asked;
    while vote_any((beside < group && !is_there(far)) || (range > 0 && !is_there(front))) {
        let again = asked_groups(state, row, nth, tiles);
        far = again.0;
        front = again.1;
    }
    let own = if beside < group {
        value_of(far)
    } else {
        nothing::<OP>()
    };
    let mut before = joined::<OP>(joined_lanes::<OP>(own), within);
    if range > 0 {
        before = joined::<OP>(value_of(front), before);
    }
    if lane_idx() == 0 && nth % 1024 == 1023 {
        let at = tiles + tiles.div_ceil(32) + range + 1;
        publish(state, row, at, joined::<OP>(before, total));
    }
    before
}

/// What comes before tile `nth` of a row, whose own total this publishes, all at once.
#[tiki::device]
pub fn before_tile<const OP: usize>(
    state: &mut Global<u64>,
    row: usize,
    nth: usize,
    tiles: usize,
    total: f32,
) -> f32 {
    if lane_idx() == 0 {
        publish(state, row, nth, total);
    }
    // All words are asked for before the first is waited for.
    let near = asked_tiles(state, row, nth, tiles);
    let far = asked_groups(state, row, nth, tiles);
    let within = before_in_group::<OP>(state, row, nth, tiles, total, near);
    before_with_groups::<OP>(state, row, nth, tiles, total, within, far)
}
