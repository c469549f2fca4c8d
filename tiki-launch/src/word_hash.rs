//! A hash of a few words that nobody chooses to do harm: addresses, extents, strides.
//!
//! Not for what comes from outside: whoever picks the words can make them meet.

use std::hash::Hasher;

/// An odd number without pattern.
pub(crate) const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Multiplies word after word. The good bits of a product are its upper ones; a table takes the lower ones, so they
/// change places at the end.
#[derive(Debug, Default)]
pub(crate) struct WordHasher(u64);

impl Hasher for WordHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = self.0.wrapping_add(word).wrapping_mul(FACTOR);
    }
    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }
    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::{BuildHasher, BuildHasherDefault};

    use super::WordHasher;

    /// Addresses lie at multiples of 256, extents at multiples of a tile: the bits that a table takes differ all the same.
    #[test]
    fn words_that_end_in_zeros_do_not_meet() {
        let build = BuildHasherDefault::<WordHasher>::default();
        let low = |hashes: &mut dyn Iterator<Item = u64>| -> usize {
            hashes.map(|h| h % 4096).collect::<HashSet<_>>().len()
        };
        for step in [8, 256, 4096, 1 << 21] {
            let addresses = &mut (0..1024u64).map(|i| build.hash_one(0x7f00_0000_0000 + i * step));
            assert!(low(addresses) > 800, "addresses {step} apart");
            let extents =
                &mut (0..1024usize).map(|i| build.hash_one((1u64 << 40, i * step as usize)));
            assert!(low(extents) > 800, "extents {step} apart");
        }
    }
}
