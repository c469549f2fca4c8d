//! Tiles that come through a ring to roles that do not wait for each other, each with its place beside its stage: `W` words.
//!
//! One thread takes the tiles' numbers and loads ([`load_tiles`], [`leave_place`]); a role takes the tiles in their order
//! ([`first_tile`], [`next_tile`]). A place past the last is the end, for everybody.
//!
//! A warp's release of a stage is one lane's arrival. It is this lane that reads the place, and hands it to the others: so
//! the next place is ordered behind every read of this one by the reader's own arrival, and needs nothing of what lanes of
//! a warp owe each other.

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
pub fn leave_place<const W: usize>(places: &Shared<u32>, s: usize, place: [usize; W]) {
    #[unroll]
    for i in 0..W {
        places.set([s, i], place[i] as u32);
    }
}

/// A role's first tile, its stage and its place; `none` where there are no tiles.
#[tiki::device]
pub fn first_tile<const W: usize>(
    pipe: &Pipeline,
    places: &Shared<u32>,
    none: [usize; W],
    count: usize,
) -> (usize, [usize; W]) {
    let mut first = (0, none);
    if count > 0 {
        first = next_tile::<W>(pipe, places);
    }
    first
}

/// The next tile: its stage and its place.
#[tiki::device]
pub fn next_tile<const W: usize>(pipe: &Pipeline, places: &Shared<u32>) -> (usize, [usize; W]) {
    let s = pipe.wait();
    let mut words = [0u32; W];
    if lane_idx() == 0 {
        #[unroll]
        for i in 0..W {
            words[i] = places.get([s, i]);
        }
    }
    let mut place = [0; W];
    #[unroll]
    for i in 0..W {
        place[i] = shuffle(words[i], 0) as usize;
    }
    (s, place)
}
