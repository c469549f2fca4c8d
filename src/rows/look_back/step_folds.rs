//! Looking back in a recurrence by a block that stays: it holds the value before a group of tiles, and composes only what
//! has come since.
//!
//! A word of 64 bits a tile, in the order of the scan, those of a row from `start` on: the factor and the value that comes
//! of zero, each as [`super::told`]. Steps do not commute, so a group is `T` tiles in a row: a thread takes
//! one, lanes and then warps are composed in their order, and the value goes through one warp's step after the other's.
//! What is combined with what depends on a tile's number alone. A block reads the group its last tile was in and those
//! since, `K` at once, and nobody's word waits for another's.

use super::{composed_lanes, told, untold};
use tiki::prelude::*;

/// Publishes what tile `number` comes to: the factor, and the value that comes of zero.
#[tiki::device]
pub fn tell_step(state: &mut Global<u64, 1>, number: usize, step: (f32, f32)) {
    let (a, b) = (told(step.0) as u64, told(step.1) as u64);
    state.set_with([number], a << 32 | b, Order::Relaxed, Scope::Device);
}

/// The steps of the tiles before tile `nth` of a row, from group `group` of `T` on, as far as they are there: `K`
/// a thread.
#[tiki::device]
pub fn asked_groups_of_steps<const T: usize, const K: usize>(
    state: &Global<u64, 1>,
    thread: usize,
    start: usize,
    nth: usize,
    group: usize,
) -> [u64; K] {
    let mut words = [0u64; K];
    #[unroll]
    for k in 0..K {
        let tile = T * (group + k) + thread;
        // Where there is nothing to read, an index past the end reads 0 and costs no access.
        let at = if tile < nth {
            start + tile
        } else {
            state.dim(0)
        };
        words[k] = state.get_with([at], Order::Relaxed, Scope::Device);
    }
    words
}

/// The value before tile `nth` of a row, of the value before group `seen.0` and of what was asked for from there on; with
/// it the group that the tile is in, and the value before that. By threads 0 to `T` of a block or of a role, which meet
/// here; `parts` holds `K` steps a warp, and is read until they meet again.
#[tiki::device]
pub fn value_before<const T: usize, const K: usize>(
    state: &Global<u64, 1>,
    meet: &Barrier,
    thread: usize,
    start: usize,
    nth: usize,
    seen: (usize, f32),
    asked: [u64; K],
    parts: (&Shared<f32>, &Shared<f32>),
) -> (f32, usize, f32) {
    let (warps, warp) = (T / 32, thread / 32);
    let (mut group, mut value) = seen;
    let mut words = asked;
    let last = nth / T;
    let mut before = value;
    let mut more = true;
    while more {
        let mut missing = true;
        while missing {
            let mut gone = false;
            #[unroll]
            for k in 0..K {
                let tile = T * (group + k) + thread;
                gone = gone || (tile < nth && words[k] == 0);
            }
            missing = vote_any(gone);
            if missing {
                words = asked_groups_of_steps::<T, K>(state, thread, start, nth, group);
            }
        }
        #[unroll]
        for k in 0..K {
            let there = T * (group + k) + thread < nth;
            let (a_word, b_word) = ((words[k] >> 32) as u32, words[k] as u32);
            let a = if there { untold(a_word) } else { 1.0 };
            let b = if there { untold(b_word) } else { 0.0 };
            let (warp_a, warp_b) = composed_lanes(a, b);
            if lane_idx() == 0 {
                parts.0.set([k * warps + warp], warp_a);
                parts.1.set([k * warps + warp], warp_b);
            }
        }
        meet.sync();
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
        if !more {
            break;
        }
        words = asked_groups_of_steps::<T, K>(state, thread, start, nth, group);
        // The next round's parts lie where these do.
        meet.sync();
    }
    (before, group, value)
}
