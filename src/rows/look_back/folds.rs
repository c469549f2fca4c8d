//! Looking back by a block that stays: its threads hold what comes before a tile, and add only what has come since.
//!
//! A word of 32 bits a tile ([`super::told`]), in the order of the scan, those of a row from `start` on. Thread `i` of `T`
//! adds up tiles `i`, `T + i`, `2 * T + i`, ... of the row, so what is combined with what depends on a tile's number alone.
//! A block whose last tile was `d` tiles ago reads `d` words, all at once, and nobody's word waits for another's.

use super::{joined, joined_lanes, nothing, told, untold};
use tiki::prelude::*;

/// Publishes a total.
#[tiki::device]
pub fn tell_total(state: &mut Global<u32, 1>, number: usize, total: f32) {
    state.set_with([number], told(total), Order::Relaxed, Scope::Device);
}

/// The totals of the tiles before tile `nth` of a row, from group `group` of `T` on, as far as they are there: `K` a thread.
#[tiki::device]
pub fn asked_totals<const T: usize, const K: usize>(
    state: &Global<u32, 1>,
    start: usize,
    nth: usize,
    group: usize,
) -> [u32; K] {
    let mut words = [0u32; K];
    #[unroll]
    for k in 0..K {
        let tile = T * (group + k) + thread_idx();
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

/// The warp's part of what comes before tile `nth`, of the thread's sum over whole groups before `seen.0` and of what was
/// asked for from there on; with it the group and the sum to go on from.
#[tiki::device]
pub fn warp_before<const OP: usize, const T: usize, const K: usize>(
    state: &Global<u32, 1>,
    start: usize,
    nth: usize,
    seen: (usize, f32),
    asked: [u32; K],
) -> (f32, usize, f32) {
    let (mut group, mut sum) = seen;
    let mut words = asked;
    let last = nth / T;
    let mut part = nothing::<OP>();
    let mut more = true;
    while more {
        let mut missing = true;
        while missing {
            let mut gone = false;
            #[unroll]
            for k in 0..K {
                let tile = T * (group + k) + thread_idx();
                gone = gone || (tile < nth && words[k] == 0);
            }
            missing = vote_any(gone);
            if missing {
                words = asked_totals::<T, K>(state, start, nth, group);
            }
        }
        #[unroll]
        for k in 0..K {
            let tile = T * (group + k) + thread_idx();
            let value = if tile < nth {
                untold(words[k])
            } else {
                nothing::<OP>()
            };
            let whole = group + k < last;
            sum = joined::<OP>(sum, if whole { value } else { nothing::<OP>() });
            part = if group + k == last { value } else { part };
        }
        more = group + K <= last;
        group = if more { group + K } else { last };
        if more {
            words = asked_totals::<T, K>(state, start, nth, group);
        }
    }
    (joined_lanes::<OP>(joined::<OP>(sum, part)), group, sum)
}
