//! Looking back in a recurrence `h = a * h + b`: what a tile comes to is a step, the factor and the value that comes of
//! zero. `3 * tiles` words a row: values and factors of tiles, of groups, and the values before ranges.

use super::{is_there, publish, value_of};
use tiki::prelude::*;

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

/// A thread's own steps composed in the order of the scan.
#[tiki::device]
pub fn composed_own<const REVERSE: bool>(a: &Register<f32>, b: &Register<f32>) -> (f32, f32) {
    let (mut all_a, mut all_b) = (1.0f32, 0.0f32);
    let own = a.raw().len();
    #[unroll]
    for k in 0..own {
        let i = if REVERSE { own - 1 - k } else { k };
        let next = composed(all_a, all_b, a.raw()[i], b.raw()[i]);
        all_a = next.0;
        all_b = next.1;
    }
    (all_a, all_b)
}

/// The steps of the lanes up to this one composed in the order of the scan, and of those before it.
#[tiki::device]
pub fn composed_before<const REVERSE: bool>(a: f32, b: f32) -> ((f32, f32), (f32, f32)) {
    let (mut upto_a, mut upto_b) = (a, b);
    #[unroll]
    for bit in 0..5 {
        let (c, d, inside) = if REVERSE {
            (
                shuffle_down(upto_a, 1 << bit),
                shuffle_down(upto_b, 1 << bit),
                lane_idx() + (1 << bit) < 32,
            )
        } else {
            (
                shuffle_up(upto_a, 1 << bit),
                shuffle_up(upto_b, 1 << bit),
                lane_idx() >= (1 << bit),
            )
        };
        let both = composed(c, d, upto_a, upto_b);
        upto_a = if inside { both.0 } else { upto_a };
        upto_b = if inside { both.1 } else { upto_b };
    }
    let (c, d, inside) = if REVERSE {
        (
            shuffle_down(upto_a, 1),
            shuffle_down(upto_b, 1),
            lane_idx() < 31,
        )
    } else {
        (shuffle_up(upto_a, 1), shuffle_up(upto_b, 1), lane_idx() > 0)
    };
    let before_a = if inside { c } else { 1.0 };
    let before_b = if inside { d } else { 0.0 };
    ((upto_a, upto_b), (before_a, before_b))
}

/// Publishes what a tile of a recurrence comes to: the value that comes of zero, and the factor.
#[tiki::device]
fn publish_step(state: &mut Global<u64>, row: usize, nth: usize, tiles: usize, step: (f32, f32)) {
    publish(state, row, nth, step.1);
    publish(state, row, tiles + nth, step.0);
}

/// As [`super::asked_tiles`], of a recurrence: factors, and values that come of zero.
#[tiki::device]
fn asked_steps(state: &Global<u64>, row: usize, nth: usize, tiles: usize) -> (u64, u64) {
    let tile = 32 * (nth / 32) + lane_idx();
    let none = 3 * tiles;
    let (at_a, at_b) = if tile < nth {
        (tiles + tile, tile)
    } else {
        (none, none)
    };
    (
        state.get_with([row, at_a], Order::Relaxed, Scope::Device),
        state.get_with([row, at_b], Order::Relaxed, Scope::Device),
    )
}

/// As [`super::before_in_group`], of a recurrence.
#[tiki::device]
fn steps_in_group(
    state: &mut Global<u64>,
    row: usize,
    nth: usize,
    tiles: usize,
    total: (f32, f32),
    asked: (u64, u64),
) -> (f32, f32) {
    let tile = 32 * (nth / 32) + lane_idx();
    let (mut a, mut b) = asked;
    while vote_any(tile < nth && !(is_there(a) && is_there(b))) {
        let again = asked_steps(state, row, nth, tiles);
        a = again.0;
        b = again.1;
    }
    let own_a = if tile < nth { value_of(a) } else { 1.0 };
    let own_b = if tile < nth { value_of(b) } else { 0.0 };
    let within = composed_lanes(own_a, own_b);
    if lane_idx() == 0 && nth % 32 == 31 {
        let (all_a, all_b) = composed(within.0, within.1, total.0, total.1);
        let (group, groups) = (nth / 32, tiles.div_ceil(32));
        publish(state, row, 2 * tiles + group, all_b);
        publish(state, row, 2 * tiles + groups + group, all_a);
    }
    within
}

/// As [`super::asked_groups`], of a recurrence: factors and values of groups, and the value before the range.
#[tiki::device]
fn asked_step_groups(state: &Global<u64>, row: usize, nth: usize, tiles: usize) -> (u64, u64, u64) {
    let (group, range, groups) = (nth / 32, nth / 1024, tiles.div_ceil(32));
    let beside = 32 * range + lane_idx();
    let none = 3 * tiles;
    let (at_a, at_b) = if beside < group {
        (2 * tiles + groups + beside, 2 * tiles + beside)
    } else {
        (none, none)
    };
    let at_range = if range > 0 {
        2 * tiles + 2 * groups + range
    } else {
        none
    };
    (
        state.get_with([row, at_a], Order::Relaxed, Scope::Device),
        state.get_with([row, at_b], Order::Relaxed, Scope::Device),
        state.get_with([row, at_range], Order::Relaxed, Scope::Device),
    )
}

/// As [`super::before_with_groups`], of a recurrence: the value before tile `nth`.
#[tiki::device]
fn value_with_groups(
    state: &mut Global<u64>,
    row: usize,
    nth: usize,
    tiles: usize,
    total: (f32, f32),
    within: (f32, f32),
    asked: (u64, u64, u64),
) -> f32 {
    let (group, range) = (nth / 32, nth / 1024);
    let beside = 32 * range + lane_idx();
    let (mut a, mut b, mut front) = asked;
    while vote_any(
        (beside < group && !(is_there(a) && is_there(b))) || (range > 0 && !is_there(front)),
    ) {
        let again = asked_step_groups(state, row, nth, tiles);
        a = again.0;
        b = again.1;
        front = again.2;
    }
    let own_a = if beside < group { value_of(a) } else { 1.0 };
    let own_b = if beside < group { value_of(b) } else { 0.0 };
    let far = composed_lanes(own_a, own_b);
    // Before the first range stands 0.
    let before = fma(within.0, fma(far.0, value_of(front), far.1), within.1);
    if lane_idx() == 0 && nth % 1024 == 1023 {
        let at = 2 * tiles + 2 * tiles.div_ceil(32) + range + 1;
        publish(state, row, at, fma(total.0, before, total.1));
    }
    before
}

/// The value before tile `nth` of a row of a recurrence, whose own total (the factor, and the value that comes of zero)
/// this publishes; by one warp.
#[tiki::device]
pub fn before_steps(
    state: &mut Global<u64>,
    row: usize,
    nth: usize,
    tiles: usize,
    total: (f32, f32),
) -> f32 {
    if lane_idx() == 0 {
        publish_step(state, row, nth, tiles, total);
    }
    let near = asked_steps(state, row, nth, tiles);
    let far = asked_step_groups(state, row, nth, tiles);
    let within = steps_in_group(state, row, nth, tiles, total, near);
    value_with_groups(state, row, nth, tiles, total, within, far)
}
