//! Tiles of queries dealt to the blocks of a persistent grid, in pairs, the first with the last of a head: under a causal
//! mask every pair is as long as any other. A head's pairs stand together, for the second-level cache.

use tiki::prelude::*;

/// What a block needs to know its tiles by.
#[tiki::device]
#[derive(Debug, Clone, Copy)]
pub struct Deal {
    /// Tiles of a head.
    pub rows: u32,
    /// Pairs of a head, or its tiles, if there are too few for pairs.
    pub pairs: u32,
    /// Heads.
    pub strips: u32,
}

/// Two turns are those of a pair.
#[tiki::device]
pub fn deal_of(rows: u32, strips: u32) -> Deal {
    let paired = rows * strips > grid_dim().x as u32;
    Deal {
        rows,
        pairs: if paired { rows.div_ceil(2) } else { rows },
        strips,
    }
}

/// The pair that the block takes at a turn.
#[tiki::device]
pub fn dealt(turn: u32) -> u32 {
    turn / 2 * grid_dim().x as u32 + block_idx().x as u32
}

/// Whether there is a tile for the turn.
#[tiki::device]
pub fn there(deal: Deal, turn: u32) -> bool {
    dealt(turn) < deal.pairs * deal.strips
}

/// Which tile, and of which head.
#[tiki::device]
pub fn tile_of(deal: Deal, turn: u32) -> (u32, u32) {
    let (strip, at) = (dealt(turn) / deal.pairs, dealt(turn) % deal.pairs);
    let last = deal.rows - 1 - at;
    (if turn % 2 == 0 { last } else { at }, strip)
}

/// The turn after that of a tile.
#[tiki::device]
pub fn after(deal: Deal, turn: u32, m: u32) -> u32 {
    let second = deal.pairs < deal.rows && turn % 2 == 0 && 2 * m + 1 != deal.rows;
    turn + if second { 1 } else { 2 - turn % 2 }
}
