//! Places in memory: which words a range of bytes covers, and where an address lies.

use super::super::block::Team;
use super::super::launch::Env;
use super::super::memory::split;
use super::line::LINE;
use crate::vm::meaning::moves::{OWN_RANK, RANK_SHIFT};

/// Bytes of memory that a stamp is put on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub(super) at: usize,
    pub(super) bytes: usize,
}

/// What a range of bytes covers: a whole line, by its number, or bytes of a word.
pub(super) enum Piece {
    Line(usize),
    Word(usize, u8),
}

impl Range {
    /// Whole lines where there are some, else words.
    pub(super) fn pieces(self) -> impl Iterator<Item = Piece> {
        const BYTES: usize = 4 * LINE;
        let end = self.at + self.bytes;
        let (first, last) = (self.at.div_ceil(BYTES), end / BYTES);
        let lines = first..last.max(first);
        let (head, tail) = if lines.is_empty() {
            (self.bytes, 0)
        } else {
            (first * BYTES - self.at, end - last * BYTES)
        };
        let part = |at, bytes| Range { at, bytes }.words();
        part(self.at, head)
            .map(|(word, mask)| Piece::Word(word, mask))
            .chain(lines.map(Piece::Line))
            .chain(part(end - tail, tail).map(|(word, mask)| Piece::Word(word, mask)))
    }

    /// Words, each with the mask of the bytes in it.
    #[inline(always)]
    pub(super) fn words(self) -> impl Iterator<Item = (usize, u8)> {
        let end = self.at + self.bytes;
        (self.at / 4..end.div_ceil(4)).map(move |w| {
            let mut mask = 0xfu8;
            if 4 * w < self.at {
                mask &= 0xf << (self.at - 4 * w);
            }
            if end < 4 * w + 4 {
                mask &= 0xf >> (4 * w + 4 - end);
            }
            (w, mask & 0xf)
        })
    }
}

/// Block and byte of a shared address; nothing if there is no such place, which is reported elsewhere.
pub(in crate::vm) fn shared_place(
    team: &Team,
    b: usize,
    x: u64,
    bytes: u64,
) -> Option<(usize, usize)> {
    let rank = (x >> RANK_SHIFT) as usize;
    let own = rank == 0 || rank == OWN_RANK as usize;
    let b = if own { b } else { rank - 1 };
    let at = x & ((1 << RANK_SHIFT) - 1);
    let block = team.blocks.get(b)?;
    (x >> 32 == 0 && at + bytes <= block.shared.len as u64).then_some((b, at as usize))
}

/// Buffer and byte of a global address; nothing if it does not lie in one.
pub(super) fn global_place(env: &Env<'_>, x: u64, bytes: u64) -> Option<(usize, usize)> {
    let (id, off) = split(x);
    let buffer = env.table.get(id)?.as_ref()?;
    (off + bytes <= buffer.bytes.len() as u64).then_some((id, off as usize))
}
