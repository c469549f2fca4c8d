//! The 64 bits by which a warpgroup's product names a matrix in shared memory.
//!
//! ```text
//! bits  0..14  start         bits 16..30  leading distance       all three in 16 bytes
//! bits 32..46  stride        bits 62..64  swizzle, by its code
//! ```
//!
//! What the distances mean is said where descriptors are made. Source: PTX ISA, `wgmma`, matrix descriptor.

/// Bits of a start or a distance.
pub const FIELD: u64 = 0x3fff;
/// Log2 of the bytes that a field counts.
pub const UNIT: u32 = 4;
/// Largest distance, in bytes.
pub const REACH: u64 = FIELD << UNIT;

const LEADING: u32 = 16;
const STRIDE: u32 = 32;
const SWIZZLE: u32 = 62;
/// Bytes of a swizzle, by its code; 16 is none.
const WIDTHS: [u64; 4] = [16, 128, 64, 32];

/// What a descriptor says, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// Of the first element, in shared memory; addresses beyond the field wrap.
    pub start: u64,
    /// The one distance.
    pub leading: u64,
    /// The other.
    pub stride: u64,
    /// Of the swizzle; 16 for none.
    pub width: u64,
}

impl Descriptor {
    /// From its bits.
    #[must_use]
    pub fn read(bits: u64) -> Descriptor {
        let field = |at: u32| ((bits >> at) & FIELD) << UNIT;
        Descriptor {
            start: field(0),
            leading: field(LEADING),
            stride: field(STRIDE),
            width: WIDTHS[(bits >> SWIZZLE) as usize],
        }
    }

    /// Its bits. Nothing if a field does not hold what it ought to.
    #[must_use]
    pub fn bits(&self) -> Option<u64> {
        let code = WIDTHS.iter().position(|width| *width == self.width)?;
        let field = |bytes: u64, at: u32| {
            let fits = bytes.is_multiple_of(1 << UNIT) && bytes <= REACH;
            fits.then_some(bytes >> UNIT << at)
        };
        Some(
            field(self.start, 0)?
                | field(self.leading, LEADING)?
                | field(self.stride, STRIDE)?
                | (code as u64) << SWIZZLE,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_say_what_was_written() {
        for width in WIDTHS {
            for bytes in [0, 16, 1024, REACH] {
                let written = Descriptor {
                    start: bytes,
                    leading: REACH - bytes,
                    stride: bytes,
                    width,
                };
                assert_eq!(Descriptor::read(written.bits().unwrap()), written);
                let too_far = [REACH + 16, bytes + 8];
                for stride in too_far {
                    assert_eq!(Descriptor { stride, ..written }.bits(), None);
                }
            }
        }
        // An address in a cluster has its block's rank above the field: it is not read as a distance.
        assert_eq!(Descriptor::read(0x1_4000).start, 0);
    }
}
