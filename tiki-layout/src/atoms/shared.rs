//! The shared-memory patterns that wgmma reads and the copy engine writes.
//!
//! ```text
//!     8 rows of 16, 32, 64 or 128 bytes; within a row, 16-byte units are XORed by the row:
//!
//!     128 bytes   row 0   u0 u1 u2 u3 u4 u5 u6 u7
//!                 row 1   u1 u0 u3 u2 u5 u4 u7 u6
//!                 row 2   u2 u3 u0 u1 u6 u7 u4 u5     ..
//! ```
//!
//! Which index runs along the row is the *major*. The patterns count bytes; [`SharedAtom::layout`] turns them into a
//! layout of elements of a width.

use crate::error::{Error, Result, mul};
use crate::{ByteSwizzle, Composed, Layout, Order};

/// The index that runs along a row of the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Major {
    /// k is contiguous.
    K,
    /// m or n is contiguous.
    Mn,
}

/// A pattern: rows of `row_bytes`, `rows` of them, and the swizzle of their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedAtom {
    row_bytes: i64,
    rows: i64,
    swizzle: ByteSwizzle,
    any_major: bool,
}

impl SharedAtom {
    /// 16-byte rows, no swizzle.
    pub const PLAIN: SharedAtom = SharedAtom {
        row_bytes: 16,
        rows: 8,
        swizzle: ByteSwizzle::NONE,
        any_major: true,
    };
    /// 32-byte rows.
    pub const B32: SharedAtom = SharedAtom {
        row_bytes: 32,
        rows: 8,
        swizzle: ByteSwizzle::B32,
        any_major: true,
    };
    /// 64-byte rows.
    pub const B64: SharedAtom = SharedAtom {
        row_bytes: 64,
        rows: 8,
        swizzle: ByteSwizzle::B64,
        any_major: true,
    };
    /// 128-byte rows.
    pub const B128: SharedAtom = SharedAtom {
        row_bytes: 128,
        rows: 8,
        swizzle: ByteSwizzle::B128,
        any_major: true,
    };
    /// 128-byte rows whose units are 32 bytes; m or n major only.
    pub const B128_UNIT32: SharedAtom = SharedAtom {
        row_bytes: 128,
        rows: 4,
        swizzle: ByteSwizzle::B128_UNIT32,
        any_major: false,
    };

    /// The swizzle of byte offsets.
    pub fn swizzle(&self) -> ByteSwizzle {
        self.swizzle
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> i64 {
        self.row_bytes
    }

    /// (m or n, k) to the element offset, for elements of `width` bits.
    ///
    /// ```
    /// # use tiki_layout::atoms::{Major, SharedAtom};
    /// let atom = SharedAtom::B128.layout(Major::K, 16).unwrap();
    /// assert_eq!(atom.to_string(), "Sw<3,3,3> o 0 o (8,64):(64,1)");
    /// ```
    pub fn layout(&self, major: Major, width: i64) -> Result<Composed> {
        const OP: &str = "shared-memory atom";
        if ![1, 2, 4, 8, 16, 32, 64, 128].contains(&width) {
            return Err(Error::Atom {
                op: OP,
                what: "the element width in bits",
                got: width,
                want: 16,
            });
        }
        let along = self.row_bytes * 8 / width;
        let layout = match major {
            Major::K if !self.any_major => {
                return Err(Error::Unknown {
                    op: OP,
                    name: "a k-major pattern of 32-byte units".to_string(),
                });
            }
            Major::K => Layout::new([self.rows, along], [along, 1])?,
            Major::Mn => Layout::new([along, self.rows], [1, along])?,
        };
        if self.swizzle == ByteSwizzle::NONE {
            return Ok(layout.into());
        }
        Composed::new(self.swizzle.to_elements(width)?, 0, layout)
    }

    /// The widest pattern whose row divides `bytes`.
    pub fn widest(bytes: i64) -> Result<SharedAtom> {
        let all = [
            SharedAtom::B128,
            SharedAtom::B64,
            SharedAtom::B32,
            SharedAtom::PLAIN,
        ];
        let fits = all
            .into_iter()
            .find(|atom| bytes > 0 && bytes % atom.row_bytes == 0);
        fits.ok_or(Error::Atom {
            op: "shared-memory atom",
            what: "the bytes of a row",
            got: bytes,
            want: 16,
        })
    }

    /// A tile of `rows` by `k` elements of `width` bits, k contiguous, in the widest pattern that fits.
    ///
    /// ```
    /// # use tiki_layout::atoms::SharedAtom;
    /// let tile = SharedAtom::k_major(128, 64, 16).unwrap();
    /// assert_eq!(tile.to_string(), "Sw<3,3,3> o 0 o ((8,16),(64,1)):((64,512),(1,0))");
    /// ```
    pub fn k_major(rows: i64, k: i64, width: i64) -> Result<Composed> {
        SharedAtom::tile(Major::K, [rows, k], k, width)
    }

    /// A tile of `rows` by `k` elements of `width` bits, rows contiguous, in the widest pattern that fits.
    pub fn mn_major(rows: i64, k: i64, width: i64) -> Result<Composed> {
        SharedAtom::tile(Major::Mn, [rows, k], rows, width)
    }

    fn tile(major: Major, shape: [i64; 2], along: i64, width: i64) -> Result<Composed> {
        const OP: &str = "shared-memory atom";
        let bits = mul(OP, along, width)?;
        if bits % 8 != 0 {
            return Err(Error::Atom {
                op: OP,
                what: "the bits of a row",
                got: bits,
                want: 8,
            });
        }
        SharedAtom::widest(bits / 8)?
            .layout(major, width)?
            .tile_to_shape(shape, Order::Left)
    }
}
