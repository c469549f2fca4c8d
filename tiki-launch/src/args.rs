//! The arguments of one launch: 64-bit words in a fixed array, so that a warm launch allocates nothing.
//!
//! Each argument is one word, its value in the low bytes; the width says how many of them count. The
//! GPU's driver is handed a pointer to each word; the virtual machine packs them as the entry declares
//! them (each at a multiple of its own width). A tensor map is 128 bytes, at a multiple of 64: its word
//! is its place in a second array.

use arrayvec::ArrayVec;

use crate::tensor_map::Map;

/// Words a launch can pass.
pub(crate) const CAPACITY: usize = 128;
/// Tensor maps a launch can pass.
const MAPS: usize = 16;
/// Width of a tensor map.
pub(crate) const MAP: u8 = 128;

/// The arguments of one launch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Args {
    words: ArrayVec<u64, CAPACITY>,
    widths: ArrayVec<u8, CAPACITY>,
    maps: ArrayVec<Map, MAPS>,
}

impl Args {
    /// Appends one argument of `width` bytes; false if there is no room.
    #[inline]
    pub fn push(&mut self, word: u64, width: u8) -> bool {
        self.words.try_push(word).is_ok() && self.widths.try_push(width).is_ok()
    }
    /// Gives another value to an argument.
    #[inline]
    pub fn set(&mut self, argument: usize, word: u64) {
        self.words[argument] = word;
    }
    /// Appends a tensor map; false if there is no room.
    #[inline]
    pub fn push_map(&mut self, map: Map) -> bool {
        self.maps.try_push(map).is_ok() && self.push(self.maps.len() as u64 - 1, MAP)
    }
    /// The tensor map that an argument is, if it is one.
    #[inline]
    pub fn map(&self, argument: usize) -> Option<&Map> {
        if self.widths[argument] != MAP {
            return None;
        }
        self.maps.get(self.words[argument] as usize)
    }
    /// The words, in order.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }
    /// Keeps the first arguments only.
    #[inline]
    pub fn truncate(&mut self, count: usize) {
        self.words.truncate(count);
        self.widths.truncate(count);
        let maps = self.widths.iter().filter(|w| **w == MAP).count();
        self.maps.truncate(maps);
    }
    /// Bytes that count of each.
    #[cfg(test)]
    pub fn widths(&self) -> &[u8] {
        &self.widths
    }
    /// The bytes of the entry's parameter space.
    pub fn packed(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 * self.words.len());
        for (i, (word, &width)) in self.words.iter().zip(&self.widths).enumerate() {
            if let Some(map) = self.map(i) {
                bytes.resize(bytes.len().next_multiple_of(64), 0);
                bytes.extend(map.0.iter().flat_map(|w| w.to_le_bytes()));
                continue;
            }
            let width = usize::from(width);
            bytes.resize(bytes.len().next_multiple_of(width), 0);
            bytes.extend_from_slice(&word.to_le_bytes()[..width]);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_aligns_each_argument_to_its_width() {
        let mut args = Args::default();
        for (word, width) in [(0x11, 1), (0x2222_2222, 4), (0x33, 2), (0x4444, 8)] {
            assert!(args.push(word, width));
        }
        let mut expected = vec![
            0x11, 0, 0, 0, 0x22, 0x22, 0x22, 0x22, 0x33, 0, 0, 0, 0, 0, 0, 0,
        ];
        expected.extend([0x44, 0x44, 0, 0, 0, 0, 0, 0]);
        assert_eq!(args.packed(), expected);
    }

    #[test]
    fn a_full_list_refuses() {
        let mut args = Args::default();
        assert!((0..CAPACITY as u64).all(|i| args.push(i, 8)));
        assert!(!args.push(0, 8));
    }
}
