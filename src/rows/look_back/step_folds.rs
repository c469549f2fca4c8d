//! Looking back in a recurrence by a block that stays: it holds the value before a group of tiles, and composes only what
//! has come since.
//!
//! Two words a tile, in the order of the scan: `state[0]` the factors, `state[1]` the values that come of zero; those of a
//! row from `start` on. Steps do not commute, so a group is `T` tiles in a row: a thread of the block takes one, lanes and
//! then warps are composed in their order, and the value goes through one warp's step after the other's. What is combined
//! with what depends on a tile's number alone. A block reads the group its last tile was in and those since, `K` at once,
//! and nobody's word waits for another's.

use super::{composed_lanes, is_there, marked, value_of};
use tiki::prelude::*;

/// Publishes what tile `number` comes to: the factor, and the value that comes of zero.
#[tiki::device]
pub fn tell_step(state: &mut Global<u64>, number: usize, step: (f32, f32)) {
    let (a, b) = (marked(step.0), marked(step.1));
    state.set_with([0, number], a, Order::Relaxed, Scope::Device);
    state.set_with([1, number], b, Order::Relaxed, Scope::Device);
}

/// The steps of the tiles before tile `nth` of a row, from group `group` of `T` on, as far as they are there: factors and
/// values, `K` a thread.
#[tiki::device]
pub fn asked_groups_of_steps<const T: usize, const K: usize>(
    state: &Global<u64>,
    start: usize,
    nth: usize,
    group: usize,
) -> ([u64; K], [u64; K]) {
    let (mut a, mut b) = ([0u64; K], [0u64; K]);
    #[unroll]
    for k in 0..K {
        let tile = T * (group + k) + thread_idx();
        // Where there is nothing to read, an index past the end reads 0 and costs no access.
        let at = if tile < nth {
            start + tile
        } else {
            state.dim(1)
        };
        a[k] = state.get_with([0, at], Order::Relaxed, Scope::Device);
        b[k] = state.get_with([1, at], Order::Relaxed, Scope::Device);
    }
    (a, b)
}

/// The value before tile `nth` of a row, of the value before group `seen.0` and of what was asked for from there on; with
/// it the group that the tile is in, and the value before that. By all threads of the block, which meet here; `parts`
/// holds `K` steps a warp.
#[tiki::device]
pub fn value_before<const T: usize, const K: usize>(
    state: &Global<u64>,
    start: usize,
    nth: usize,
    seen: (usize, f32),
    asked: ([u64; K], [u64; K]),
    parts: (&Shared<f32>, &Shared<f32>),
) -> (f32, usize, f32) {
    let warps = T / 32;
    let (mut group, mut value) = seen;
    let (mut words_a, mut words_b) = asked;
    let last = nth / T;
    let mut before = value;
    let mut more = true;
    while more {
        let mut missing = true;
        while missing {
            let mut gone = false;
            #[unroll]
            for k in 0..K {
                let both = is_there(words_a[k]) && is_there(words_b[k]);
                gone = gone || (T * (group + k) + thread_idx() < nth && !both);
            }
            missing = vote_any(gone);
            if missing {
                let again = asked_groups_of_steps::<T, K>(state, start, nth, group);
                words_a = again.0;
                words_b = again.1;
            }
        }
        #[unroll]
        for k in 0..K {
            let there = T * (group + k) + thread_idx() < nth;
            let a = if there { value_of(words_a[k]) } else { 1.0 };
            let b = if there { value_of(words_b[k]) } else { 0.0 };
            let (warp_a, warp_b) = composed_lanes(a, b);
            if lane_idx() == 0 {
                parts.0.set([k * warps + warp_idx()], warp_a);
                parts.1.set([k * warps + warp_idx()], warp_b);
            }
        }
        sync_block();
        #[unroll]
        for k in 0..K {
            #[unroll]
            for w in 0..warps {
                let at = k * warps + w;
                before = fma(parts.0.get([at]), before, parts.1.get([at]));
            }
            value = if group + k < last { before } else { value };
        }
        more = group + K <= last;
        group = if more { group + K } else { last };
        if more {
            let again = asked_groups_of_steps::<T, K>(state, start, nth, group);
            words_a = again.0;
            words_b = again.1;
        }
        // The next round's parts lie where these do.
        sync_block();
    }
    (before, group, value)
}
