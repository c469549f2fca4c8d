//! Tiles that come through a ring to roles that do not wait for each other, each with its number beside its stage.
//!
//! One thread takes numbers and loads ([`load_tiles`]); a role takes the tiles in their order ([`first_tile`], [`next_tile`]). A number past
//! the last is the end, for everybody.
//!
//! A warp's release of a stage is one lane's arrival. It is this lane that reads the number, and hands it to the others: so
//! the next number is ordered behind every read of this one by the reader's own arrival, and needs nothing of what lanes of
//! a warp owe each other.

use tiki::prelude::*;

/// Takes numbers and has each tile loaded, `load(number, stage)`, the one past the last too: others see its number. A number
/// is taken when a stage is free: who holds a tile that he has not begun to load makes all wait that come after it.
#[tiki::device]
pub fn load_tiles(
    ticket: &mut Global<u32, 1>,
    numbers: &Shared<u32>,
    pipe: &Pipeline,
    count: usize,
    load: impl Fn(usize, usize),
) {
    let mut more = count > 0;
    while more {
        let s = pipe.acquire();
        let number = ticket.atom_add([0], 1, Order::Relaxed, Scope::Device) as usize;
        numbers.set([s], number as u32);
        load(number, s);
        more = number < count;
    }
}

/// A role's first tile, if there are any: its stage and its number.
#[tiki::device]
pub fn first_tile(pipe: &Pipeline, numbers: &Shared<u32>, count: usize) -> (usize, usize) {
    let mut first = (0, count);
    if count > 0 {
        first = next_tile(pipe, numbers);
    }
    first
}

/// The next tile: its stage and its number.
#[tiki::device]
pub fn next_tile(pipe: &Pipeline, numbers: &Shared<u32>) -> (usize, usize) {
    let s = pipe.wait();
    let mut number = 0u32;
    if lane_idx() == 0 {
        number = numbers.get([s]);
    }
    (s, shuffle(number, 0) as usize)
}
