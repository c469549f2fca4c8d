//! Two or three warpgroups take turns on the tensor cores: a named barrier for each one's turn.

use tiki::prelude::*;

/// Waits for the warpgroup's turn.
#[tiki::device]
pub fn take_turn<const WG: usize>(part: usize, first: &Barrier, second: &Barrier, third: &Barrier) {
    if part == 0 {
        first.sync();
    } else if WG == 2 || part == 1 {
        second.sync();
    } else {
        third.sync();
    }
}

/// Passes it to the next.
#[tiki::device]
pub fn pass_turn<const WG: usize>(part: usize, first: &Barrier, second: &Barrier, third: &Barrier) {
    if part == WG - 1 {
        first.arrive();
    } else if WG == 2 || part == 0 {
        second.arrive();
    } else {
        third.arrive();
    }
}
