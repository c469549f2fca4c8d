//! Tiles that come through a ring to roles that do not wait for each other, each with its place beside its stage: two
//! numbers in a word.
//!
//! One thread takes the tiles' numbers and loads ([`load_tiles`], [`leave_place`]); a role takes the tiles in their order
//! ([`first_tile`], [`next_tile`]). A place past the last is the end, for everybody.
//!
//! A warp's release of a stage is one lane's arrival. It is this lane that reads the place, and hands it to the others: so
//! the next place is ordered behind every read of this one by the reader's own arrival, and needs nothing of what lanes of
//! a warp owe each other. One thread finds the place for all: where every thread divided numbers, scans down columns lost a
//! fiftieth.

use tiki::prelude::*;

/// Takes the numbers of tiles, the one past the last too, and does `load(number, stage)`, which leaves a place before it
/// begins copies. A number is taken when a stage is free: who holds a tile that he has not begun to load makes all wait
/// that come after it.
#[tiki::device]
pub fn load_tiles(
    ticket: &mut Global<u32, 1>,
    pipe: &Pipeline,
    count: usize,
    load: impl Fn(usize, usize),
) {
    let mut more = count > 0;
    while more {
        let s = pipe.acquire();
        let number = ticket.atom_add([0], 1, Order::Relaxed, Scope::Device) as usize;
        load(number, s);
        more = number < count;
    }
}

/// Leaves a tile's place beside its stage.
#[tiki::device]
pub fn leave_place(places: &Shared<u64>, s: usize, place: (usize, usize)) {
    places.set([s], (place.0 as u64) << 32 | place.1 as u64);
}

/// A role's first tile, its stage and its place; `none` where there are no tiles.
#[tiki::device]
pub fn first_tile(
    pipe: &Pipeline,
    places: &Shared<u64>,
    none: (usize, usize),
    count: usize,
) -> (usize, usize, usize) {
    let mut first = (0, none.0, none.1);
    if count > 0 {
        first = next_tile(pipe, places);
    }
    first
}

/// The next tile: its stage and its place.
#[tiki::device]
pub fn next_tile(pipe: &Pipeline, places: &Shared<u64>) -> (usize, usize, usize) {
    let s = pipe.wait();
    let mut word = 0u64;
    if lane_idx() == 0 {
        word = places.get([s]);
    }
    let (high, low) = (shuffle((word >> 32) as u32, 0), shuffle(word as u32, 0));
    (s, high as usize, low as usize)
}
