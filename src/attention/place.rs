//! Where a score stands, and which keys a query sees: what the schedules share.

use tiki::prelude::*;

/// The first query and key of a tile of scores, or those of one score.
#[tiki::device]
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Which of the batch.
    pub batch: usize,
    /// Which query head.
    pub head: usize,
    /// Query.
    pub row: i32,
    /// Key.
    pub key: i32,
}

/// Query `r` sees the keys from `r + left` to `r + right` that are below `keys`.
#[tiki::device]
#[derive(Debug, Clone, Copy)]
pub struct Band {
    /// First key less query.
    pub left: i32,
    /// Last key less query.
    pub right: i32,
    /// Keys there are.
    pub keys: i32,
}

/// The band around the diagonal, on which the last query and the last key lie.
#[tiki::device]
pub fn band_of(queries: usize, keys: usize, before: u32, after: u32) -> Band {
    let shift = keys as i32 - queries as i32;
    Band {
        left: shift - before as i32,
        right: shift + after as i32,
        keys: keys as i32,
    }
}

/// Whether a query sees a key.
#[tiki::device]
pub fn sees(band: Band, row: i32, key: i32) -> bool {
    key < band.keys && key <= row + band.right && key >= row + band.left
}

/// The score at a place within a tile.
#[tiki::device]
pub fn within(tile: Place, row: usize, key: usize) -> Place {
    Place {
        batch: tile.batch,
        head: tile.head,
        row: tile.row + row as i32,
        key: tile.key + key as i32,
    }
}

/// A tile of scores, 64 queries by `BN` keys: minus infinity where nothing is seen. `outer` if it may reach past the keys.
#[tiki::device]
pub fn limit<const BN: usize>(
    band: Band,
    score: Register<f32>,
    at: Place,
    outer: bool,
) -> Register<f32> {
    let (low, high) = (at.row + 63 + band.left, at.row + 1 + band.right);
    let mut score = score;
    if outer || at.key + BN as i32 > min(high, band.keys) {
        let last = |r: usize| min(at.row + r as i32 + band.right, band.keys - 1);
        score = score.mask(|[r, c]| at.key + c as i32 <= last(r), f32::NEG_INFINITY);
    }
    if at.key < low {
        let first = |r: usize| at.row + r as i32 + band.left;
        score = score.mask(|[r, c]| at.key + c as i32 >= first(r), f32::NEG_INFINITY);
    }
    score
}

/// As [`limit`], 64 keys by `BM` queries.
#[tiki::device]
pub fn limit_turned<const BM: usize>(band: Band, score: Register<f32>, at: Place) -> Register<f32> {
    let (row, key) = (at.row, at.key);
    let mut score = score;
    if key + 64 > band.keys || key + 63 > row + band.right {
        // No query sees a key past the end.
        let first = |c: usize| {
            let key = key + c as i32;
            if key < band.keys {
                key - band.right
            } else {
                i32::MAX
            }
        };
        score = score.mask(|[c, r]| row + r as i32 >= first(c), f32::NEG_INFINITY);
    }
    if key < row + BM as i32 - 1 + band.left {
        let last = |c: usize| key + c as i32 - band.left;
        score = score.mask(|[c, r]| row + r as i32 <= last(c), f32::NEG_INFINITY);
    }
    score
}

/// A row's binary log-sum-exp.
#[tiki::device]
pub fn log_sum(peak: f32, total: f32, scale_log2: f32) -> f32 {
    if total == 0.0 {
        f32::NEG_INFINITY
    } else {
        fma(peak, scale_log2, log2(total))
    }
}
