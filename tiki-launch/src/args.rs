//! The arguments of one launch: 64-bit words in a fixed array, so that a warm launch allocates nothing.
//!
//! Each argument is one word, its value in the low bytes; the width says how many of them count. The
//! GPU's driver is handed a pointer to each word; the virtual machine packs them as the entry declares
//! them (each at a multiple of its own width). Tensor maps come behind all words, 128 bytes each, at a multiple of
//! 64; here they are no more than their places among the device's.

use arrayvec::ArrayVec;

use crate::tensor_map::Map;

/// Words a launch can pass.
pub(crate) const CAPACITY: usize = 128;
/// Tensor maps a launch can pass.
pub(crate) const MAPS: usize = 16;
/// Width of a tensor map.
pub(crate) const MAP: u8 = 128;

/// The arguments of one launch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Args {
    words: ArrayVec<u64, CAPACITY>,
    widths: ArrayVec<u8, CAPACITY>,
    maps: ArrayVec<u32, MAPS>,
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
    /// Appends a tensor map by its place; false if there is no room.
    #[inline]
    pub fn push_map(&mut self, place: u32) -> bool {
        self.maps.try_push(place).is_ok()
    }
    /// Forgets the tensor maps.
    #[inline]
    pub fn clear_maps(&mut self) {
        self.maps.clear();
    }
    /// The words, in order.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }
    /// The tensor maps behind them, by their places.
    #[inline]
    pub fn maps(&self) -> &[u32] {
        &self.maps
    }
    /// Bytes that count of each.
    #[cfg(test)]
    pub fn widths(&self) -> &[u8] {
        &self.widths
    }
    /// The bytes of the entry's parameter space; `maps` are the device's.
    pub fn packed(&self, maps: &[Map]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 * self.words.len());
        for (word, &width) in self.words.iter().zip(&self.widths) {
            let width = usize::from(width);
            bytes.resize(bytes.len().next_multiple_of(width), 0);
            bytes.extend_from_slice(&word.to_le_bytes()[..width]);
        }
        for &place in &self.maps {
            bytes.resize(bytes.len().next_multiple_of(64), 0);
            let Map(words) = maps[place as usize];
            bytes.extend(words.iter().flat_map(|w| w.to_le_bytes()));
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
        assert_eq!(args.packed(&[]), expected);
        // Of two maps, the second: behind the words, at a multiple of 64.
        assert!(args.push_map(1));
        expected.resize(64, 0);
        expected.extend([7; 128]);
        assert_eq!(
            args.packed(&[Map([0; 16]), Map([u64::from_le_bytes([7; 8]); 16])]),
            expected
        );
    }

    #[test]
    fn a_full_list_refuses() {
        let mut args = Args::default();
        assert!((0..CAPACITY as u64).all(|i| args.push(i, 8)));
        assert!(!args.push(0, 8));
    }
}
