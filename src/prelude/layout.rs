//! Layouts, swizzles and thread maps: functions the compiler computes with at build time.

use super::{Element, device_only};

/// A function from coordinates to element offsets: shape and strides, both possibly nested, perhaps
/// swizzled. Known at build time.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    _private: (),
}

impl Layout {
    /// Compact, the last axis contiguous.
    #[must_use]
    pub fn row_major<const R: usize>(shape: [usize; R]) -> Layout {
        let _ = shape;
        device_only()
    }
    /// Compact, the first axis contiguous.
    #[must_use]
    pub fn col_major<const R: usize>(shape: [usize; R]) -> Layout {
        let _ = shape;
        device_only()
    }
    /// Rows of 128 bytes (or 64, or 32, as the width allows), contiguous along the second axis, 16-byte
    /// chunks swizzled so that eight rows fall into different banks: what tensor cores read.
    #[must_use]
    pub fn k_major<E: Element>(shape: [usize; 2]) -> Layout {
        let _ = shape;
        device_only()
    }
    /// With element offsets swizzled.
    #[must_use]
    pub fn swizzle(self, swizzle: Swizzle) -> Layout {
        let _ = swizzle;
        device_only()
    }
    /// Transposed (two axes).
    #[must_use]
    pub fn t(self) -> Layout {
        device_only()
    }
    #[doc(hidden)]
    #[must_use]
    pub fn written(text: &str) -> Layout {
        let _ = text;
        device_only()
    }
}

/// A permutation of offsets by exclusive or of bit fields, against bank conflicts.
#[derive(Debug, Clone, Copy)]
pub struct Swizzle {
    _private: (),
}

impl Swizzle {
    /// Bits [base + shift, + bits) of the element offset are XORed onto bits [base, + bits).
    #[must_use]
    pub fn new(bits: usize, base: usize, shift: usize) -> Swizzle {
        let _ = (bits, base, shift);
        device_only()
    }
}

/// Which thread holds which elements of a tile, and how many it moves at once.
#[derive(Debug, Clone, Copy)]
pub struct ThreadMap {
    _private: (),
}

impl ThreadMap {
    /// Vectors in row-major order, dealt to the threads one after another.
    #[must_use]
    pub fn linear(threads: usize) -> ThreadMap {
        let _ = threads;
        device_only()
    }
    /// Rows side by side: so many threads share a row.
    #[must_use]
    pub fn rows(threads: usize, threads_per_row: usize) -> ThreadMap {
        let _ = (threads, threads_per_row);
        device_only()
    }
    /// CuTe's: where each thread stands in the tile, and the block of values each holds there; repeated
    /// over the tile.
    #[must_use]
    pub fn new(threads: Layout, values: Layout) -> ThreadMap {
        let _ = (threads, values);
        device_only()
    }
    /// Demands so many elements an access; an error where unproven.
    #[must_use]
    pub fn vector(self, elements: usize) -> ThreadMap {
        let _ = elements;
        device_only()
    }
    /// Takes the widest proven access up to so many elements.
    #[must_use]
    pub fn vector_up_to(self, elements: usize) -> ThreadMap {
        let _ = elements;
        device_only()
    }
}
