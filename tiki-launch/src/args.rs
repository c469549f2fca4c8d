//! The arguments of one launch: 64-bit words in a fixed array, so that a warm launch allocates nothing.
//!
//! Each argument is one word, its value in the low bytes; how many of them count follows from the parameters. The
//! GPU's driver is handed a pointer to each word; the virtual machine packs them as the entry declares
//! them (each at a multiple of its own width). Tensor maps come behind all words, 128 bytes each, at a multiple of
//! 64.

use arrayvec::ArrayVec;

/// Words a launch can pass.
pub(crate) const CAPACITY: usize = 128;
/// Tensor maps a launch can pass.
pub(crate) const MAPS: usize = 16;
/// Width of a tensor map.
pub(crate) const MAP: u8 = 128;

/// The arguments of one launch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Args(ArrayVec<u64, CAPACITY>);

impl Args {
    /// Appends one argument; false if there is no room.
    #[inline]
    pub fn push(&mut self, word: u64) -> bool {
        self.0.try_push(word).is_ok()
    }
    /// Appends several; false if there is no room.
    #[inline]
    pub fn extend(&mut self, words: &[u64]) -> bool {
        self.0.try_extend_from_slice(words).is_ok()
    }
    /// Gives another value to an argument.
    #[inline]
    pub fn set(&mut self, argument: usize, word: u64) {
        self.0[argument] = word;
    }
    /// The words, in order.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.0
    }
}

/// The bytes of an entry's parameter space: words of these widths, then tensor maps.
pub(crate) fn packed<'a>(
    words: &[u64],
    widths: &[u8],
    maps: impl Iterator<Item = &'a [u64; 16]>,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 * words.len());
    for (word, &width) in words.iter().zip(widths) {
        let width = usize::from(width);
        bytes.resize(bytes.len().next_multiple_of(width), 0);
        bytes.extend_from_slice(&word.to_le_bytes()[..width]);
    }
    for map in maps {
        bytes.resize(bytes.len().next_multiple_of(64), 0);
        bytes.extend(map.iter().flat_map(|w| w.to_le_bytes()));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_aligns_each_argument_to_its_width() {
        let words = [0x11, 0x2222_2222, 0x33, 0x4444];
        let mut expected = vec![
            0x11, 0, 0, 0, 0x22, 0x22, 0x22, 0x22, 0x33, 0, 0, 0, 0, 0, 0, 0,
        ];
        expected.extend([0x44, 0x44, 0, 0, 0, 0, 0, 0]);
        assert_eq!(packed(&words, &[1, 4, 2, 8], [].iter()), expected);
        // A map behind them lies at a multiple of 64.
        expected.resize(64, 0);
        expected.extend([7; 128]);
        let map = [u64::from_le_bytes([7; 8]); 16];
        assert_eq!(packed(&words, &[1, 4, 2, 8], [map].iter()), expected);
    }

    #[test]
    fn a_full_list_refuses() {
        let mut args = Args::default();
        assert!((0..CAPACITY as u64).all(|i| args.push(i)));
        assert!(!args.push(0) && !args.extend(&[0, 0]));
    }
}
