//! Looking back down columns, a thread a column: one level of groups of `G` tiles, the last of which publishes what comes
//! before the next. Where tiles lie side by side, those above were taken long ago and there is nothing to wait for; but
//! blocks that read far apart at once read more slowly, so that only so many outer indices are gone through together.

use super::{joined, nothing, told, untold};
use tiki::prelude::*;

/// Where tile `number` lies, of `outers` outer indices with `strips` by `tiles` tiles each: how far down, at which outer
/// index, in which strip. `P` outer indices are gone through together, a height of all of them before the next.
#[tiki::device]
pub fn column_tile<const P: usize>(
    number: usize,
    outers: usize,
    strips: usize,
    tiles: usize,
) -> (usize, usize, usize) {
    let whole = P * strips * tiles;
    let together = (number as u32 / whole as u32) as usize;
    let within = number - together * whole;
    let left = outers - together * P;
    let across = if left < P { left * strips } else { P * strips };
    let nth = (within as u32 / across as u32) as usize;
    let beside = within - nth * across;
    let outer = (beside as u32 / strips as u32) as usize;
    (nth, together * P + outer, beside - outer * strips)
}

/// As [`column_tile`]; a number past the last lies below the last tile, where nothing is read.
#[tiki::device]
pub fn column_place<const P: usize>(
    number: usize,
    outers: usize,
    strips: usize,
    tiles: usize,
) -> (usize, usize, usize) {
    if number < outers * strips * tiles {
        column_tile::<P>(number, outers, strips, tiles)
    } else {
        (tiles, 0, 0)
    }
}

/// Where the `nth` of `tiles` tiles of a scan lies down its columns; what is below the last stays there.
#[tiki::device]
pub fn tile_row<const REVERSE: bool>(nth: usize, tiles: usize) -> usize {
    if REVERSE && nth < tiles {
        tiles - 1 - nth
    } else {
        nth
    }
}

/// A tile's values, of which `left` rows are there; past the last row, where a stage holds zeros, what changes nothing.
#[tiki::device]
pub fn column_values<const OP: usize, const REVERSE: bool>(
    v: &Register<f32>,
    left: usize,
) -> Register<f32> {
    if REVERSE {
        v.mask(|[r, _]| r < left, nothing::<OP>())
    } else {
        // What comes last changes no result.
        v.map(|a| a)
    }
}

/// What a column's tiles before tile `nth` of `tiles` have published, as far as it is there: what comes before the tile's
/// group of `G`, then the totals of those of the group. Asked for before a tile is scanned, it is there after.
#[tiki::device]
pub fn asked_columns<const G: usize>(
    state: &Global<u32>,
    column: usize,
    nth: usize,
    tiles: usize,
) -> (u32, [u32; G]) {
    let group = nth / G;
    let none = 2 * tiles + G;
    let at = if group > 0 { tiles + group - 1 } else { none };
    let front = state.get_with([at, column], Order::Relaxed, Scope::Device);
    let mut words = [0u32; G];
    #[unroll]
    for k in 0..G {
        let tile = G * group + k;
        let at = if tile < nth { tile } else { none };
        words[k] = state.get_with([at, column], Order::Relaxed, Scope::Device);
    }
    (front, words)
}

/// Publishes the total of a column in tile `nth`.
#[tiki::device]
pub fn tell_column(state: &mut Global<u32>, column: usize, nth: usize, total: f32) {
    state.set_with([nth, column], told(total), Order::Relaxed, Scope::Device);
}

/// What comes before tile `nth` of `tiles` down a column, from what was asked for before.
#[tiki::device]
pub fn before_columns<const OP: usize, const G: usize>(
    state: &Global<u32>,
    column: usize,
    nth: usize,
    tiles: usize,
    asked: (u32, [u32; G]),
) -> f32 {
    let group = nth / G;
    let (mut front, mut words) = asked;
    while group > 0 && front == 0 {
        front = state.get_with([tiles + group - 1, column], Order::Relaxed, Scope::Device);
    }
    let mut sum = if group > 0 {
        untold(front)
    } else {
        nothing::<OP>()
    };
    #[unroll]
    for k in 0..G {
        let tile = G * group + k;
        while tile < nth && words[k] == 0 {
            words[k] = state.get_with([tile, column], Order::Relaxed, Scope::Device);
        }
        let own = if tile < nth {
            untold(words[k])
        } else {
            nothing::<OP>()
        };
        sum = joined::<OP>(sum, own);
    }
    sum
}

/// Publishes what comes before the next group, if tile `nth` is its group's last: what comes before it, and its own total.
#[tiki::device]
pub fn tell_group<const OP: usize, const G: usize>(
    state: &mut Global<u32>,
    column: usize,
    nth: usize,
    tiles: usize,
    before: f32,
    total: f32,
) {
    if nth % G == G - 1 {
        let next = told(joined::<OP>(before, total));
        state.set_with(
            [tiles + nth / G, column],
            next,
            Order::Relaxed,
            Scope::Device,
        );
    }
}

/// The total of a column in tile `nth` as another warp has told it, if the tile is its group's last and [`tell_group`] needs
/// it; as far as it is there.
#[tiki::device]
pub fn asked_own<const G: usize>(
    state: &Global<u32>,
    column: usize,
    nth: usize,
    tiles: usize,
) -> u32 {
    let at = if nth % G == G - 1 { nth } else { 2 * tiles + G };
    state.get_with([at, column], Order::Relaxed, Scope::Device)
}

/// That total, from what was asked for before; nothing where it is not needed.
#[tiki::device]
pub fn own_column<const OP: usize, const G: usize>(
    state: &Global<u32>,
    column: usize,
    nth: usize,
    asked: u32,
) -> f32 {
    let mut word = asked;
    let last = nth % G == G - 1;
    while last && word == 0 {
        word = state.get_with([nth, column], Order::Relaxed, Scope::Device);
    }
    if last { untold(word) } else { nothing::<OP>() }
}
