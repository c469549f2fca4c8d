//! Looking back down columns, a thread a column: one level of groups of `G` tiles, the last of which publishes what comes
//! before the next. Where tiles lie side by side, those above were taken long ago and there is nothing to wait for.

use super::{is_there, joined, marked, nothing, value_of};
use tiki::prelude::*;

/// What a column's tiles before tile `nth` of `tiles` have published, as far as it is there: what comes before the tile's
/// group of `G`, then the totals of those of the group. Asked for before a tile is scanned, it is there after.
#[tiki::device]
pub fn asked_columns<const G: usize>(
    state: &Global<u64>,
    column: usize,
    nth: usize,
    tiles: usize,
) -> (u64, [u64; G]) {
    let group = nth / G;
    let none = 2 * tiles + G;
    let at = if group > 0 { tiles + group - 1 } else { none };
    let front = state.get_with([at, column], Order::Relaxed, Scope::Device);
    let mut words = [0u64; G];
    #[unroll]
    for k in 0..G {
        let tile = G * group + k;
        let at = if tile < nth { tile } else { none };
        words[k] = state.get_with([at, column], Order::Relaxed, Scope::Device);
    }
    (front, words)
}

/// What comes before tile `nth` of `tiles` down a column, from what was asked for before; the tile's own total is
/// published, and by the last tile of a group what comes before the next.
#[tiki::device]
pub fn before_columns<const OP: usize, const G: usize>(
    state: &mut Global<u64>,
    column: usize,
    nth: usize,
    tiles: usize,
    total: f32,
    asked: (u64, [u64; G]),
) -> f32 {
    state.set_with([nth, column], marked(total), Order::Relaxed, Scope::Device);
    let group = nth / G;
    let (mut front, mut words) = asked;
    while group > 0 && !is_there(front) {
        front = state.get_with([tiles + group - 1, column], Order::Relaxed, Scope::Device);
    }
    let mut sum = if group > 0 {
        value_of(front)
    } else {
        nothing::<OP>()
    };
    #[unroll]
    for k in 0..G {
        let tile = G * group + k;
        while tile < nth && !is_there(words[k]) {
            words[k] = state.get_with([tile, column], Order::Relaxed, Scope::Device);
        }
        let own = if tile < nth {
            value_of(words[k])
        } else {
            nothing::<OP>()
        };
        sum = joined::<OP>(sum, own);
    }
    if nth % G == G - 1 {
        let next = marked(joined::<OP>(sum, total));
        let at = tiles + group;
        state.set_with([at, column], next, Order::Relaxed, Scope::Device);
    }
    sum
}
