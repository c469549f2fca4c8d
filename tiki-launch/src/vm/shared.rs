//! Shared memory of a block, and which bytes of it were written.

use super::options::Checks;

/// All bytes of a word were written.
pub(super) const WHOLE: u8 = 0xf;

/// Shared memory. Only the thread that runs the block touches it.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) words: Vec<u32>,
    /// Per word, a bit for each byte that was written; empty where nobody asks.
    pub(super) written: Vec<u8>,
    pub(super) len: usize,
}

impl Shared {
    pub(super) fn new(len: usize, checks: Checks) -> Shared {
        let n = len.div_ceil(4);
        let written = if checks == Checks::Run {
            vec![]
        } else {
            vec![0; n]
        };
        // What nothing wrote is a pattern that is easy to see, and a NaN.
        Shared {
            words: vec![0xffff_a5a5; n],
            written,
            len,
        }
    }
    /// A value of 1, 2, 4 or 8 bytes at a multiple of its size.
    #[inline(always)]
    pub(super) fn load(&self, at: usize, bytes: usize) -> u64 {
        match bytes {
            8 => u64::from(self.words[at / 4]) | u64::from(self.words[at / 4 + 1]) << 32,
            4 => u64::from(self.words[at / 4]),
            2 => u64::from(self.words[at / 4] >> (8 * (at & 2)) & 0xffff),
            _ => u64::from(self.words[at / 4] >> (8 * (at & 3)) & 0xff),
        }
    }
    /// Stores a value of 1, 2, 4 or 8 bytes at a multiple of its size.
    #[inline(always)]
    pub(super) fn store(&mut self, at: usize, bytes: usize, value: u64) {
        match bytes {
            8 => {
                self.words[at / 4] = value as u32;
                self.words[at / 4 + 1] = (value >> 32) as u32;
            }
            4 => self.words[at / 4] = value as u32,
            n => {
                let shift = 8 * (at & 3);
                let ones = if n == 2 { 0xffff } else { 0xff };
                let w = &mut self.words[at / 4];
                *w = (*w & !(ones << shift)) | ((value as u32 & ones) << shift);
            }
        }
        if !self.written.is_empty() {
            self.mark(at, bytes);
        }
    }
    /// Notes bytes as written.
    pub(super) fn mark(&mut self, at: usize, bytes: usize) {
        for b in at..at + bytes {
            self.written[b / 4] |= 1 << (b & 3);
        }
    }
    /// Whether bytes were written; always, where nobody asks.
    pub(super) fn known(&self, at: usize, bytes: usize) -> bool {
        self.written.is_empty() || (at..at + bytes).all(|b| self.written[b / 4] >> (b & 3) & 1 == 1)
    }
}
