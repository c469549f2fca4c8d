//! Swizzles: one run of offset bits XORed onto another.
//!
//! ```text
//!     Sw<2,0,3>     bit  4 3 . 1 0        y = bits 4..3, z = bits 1..0
//!                        | |   ^ ^        z ^= y
//!                        `-+---' |
//!                          `-----'
//! ```
//!
//! `Sw<bits,base,shift>`: the field Z starts at bit `base`, the field Y at `base + shift` (for a negative shift Y is the
//! lower one), both `bits` wide. The fields may not overlap, so a swizzle is its own inverse; it permutes every aligned
//! block of `2^(bits + base + |shift|)` offsets, and leaves every block of `2^base` in order.
//!
//! A [`Swizzle`] counts *elements*. What the hardware fixes for shared memory counts *bytes*: that is a
//! [`ByteSwizzle`], a different type, and only an element width leads from one to the other.

use crate::error::{Error, Result};

/// A swizzle of element offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Swizzle {
    bits: u8,
    base: u8,
    shift: i8,
}

/// A swizzle of byte offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ByteSwizzle(Swizzle);

impl Default for Swizzle {
    fn default() -> Self {
        Swizzle::IDENTITY
    }
}

impl Swizzle {
    /// Moves nothing.
    pub const IDENTITY: Swizzle = Swizzle {
        bits: 0,
        base: 0,
        shift: 0,
    };

    /// `Sw<bits,base,shift>`.
    ///
    /// ```
    /// # use tiki_layout::Swizzle;
    /// let s = Swizzle::new(3, 0, 3).unwrap();
    /// assert_eq!(s.apply(0b101_010), 0b101_111);
    /// assert!((0..64).all(|x| s.apply(s.apply(x)) == x));
    /// assert!(Swizzle::new(3, 0, 2).is_err());
    /// ```
    pub fn new(bits: i64, base: i64, shift: i64) -> Result<Self> {
        let refused = Error::Swizzle {
            op: "swizzle",
            bits,
            base,
            shift,
        };
        let small = |x: i64| (0..=62).contains(&x);
        if !small(bits) || !small(base) || !small(shift.checked_abs().unwrap_or(63)) {
            return Err(refused);
        }
        if shift.abs() < bits || bits + base + shift.abs() > 62 {
            return Err(refused);
        }
        Ok(Swizzle {
            bits: bits as u8,
            base: base as u8,
            shift: shift as i8,
        })
    }

    /// The swizzle that XORs the bits of `y` onto those of `z`: two disjoint runs of equally many bits.
    pub fn from_masks(y: i64, z: i64) -> Result<Self> {
        let refused = Error::SwizzleMask {
            op: "swizzle of masks",
            y,
            z,
        };
        if y == 0 && z == 0 {
            return Ok(Swizzle::IDENTITY);
        }
        if y <= 0 || z <= 0 {
            return Err(refused);
        }
        let (ty, tz) = (i64::from(y.trailing_zeros()), i64::from(z.trailing_zeros()));
        match Swizzle::new(i64::from(y.count_ones()), ty.min(tz), ty - tz) {
            Ok(swizzle) if swizzle.y_mask() == y && swizzle.z_mask() == z => Ok(swizzle),
            _ => Err(refused),
        }
    }

    /// How many bits are XORed.
    pub fn bits(&self) -> u32 {
        self.bits.into()
    }

    /// How many low bits never move.
    pub fn base(&self) -> u32 {
        self.base.into()
    }

    /// How far Y stands above Z.
    pub fn shift(&self) -> i32 {
        self.shift.into()
    }

    /// The bits that are read.
    pub fn y_mask(&self) -> i64 {
        ((1i64 << self.bits) - 1) << (i32::from(self.base) + i32::from(self.shift.max(0)))
    }

    /// The bits that are changed.
    pub fn z_mask(&self) -> i64 {
        ((1i64 << self.bits) - 1) << (i32::from(self.base) - i32::from(self.shift.min(0)))
    }

    /// Whether nothing moves.
    pub fn is_identity(&self) -> bool {
        self.bits == 0
    }

    /// Where `offset` goes.
    pub fn apply(&self, offset: i64) -> i64 {
        let y = offset & self.y_mask();
        offset
            ^ if self.shift >= 0 {
                y >> self.shift
            } else {
                y << -self.shift
            }
    }

    /// The number of offsets after which the pattern repeats.
    pub fn period(&self) -> i64 {
        if self.is_identity() {
            1
        } else {
            1 << (self.bits() + self.base() + self.shift().unsigned_abs())
        }
    }

    /// The one swizzle that does what `self` after `other` does: both must shift alike, and the fields add up to runs.
    pub fn compose(&self, other: &Swizzle) -> Result<Swizzle> {
        if self.is_identity() {
            return Ok(*other);
        }
        if other.is_identity() {
            return Ok(*self);
        }
        let (y, z) = (
            self.y_mask() ^ other.y_mask(),
            self.z_mask() ^ other.z_mask(),
        );
        if self.shift != other.shift
            || (y | z) & (y & z) != 0
            || self.z_mask() & other.y_mask() != 0
        {
            return Err(Error::SwizzleMask {
                op: "swizzle composition",
                y,
                z,
            });
        }
        Swizzle::from_masks(y, z).map_err(|_| Error::SwizzleMask {
            op: "swizzle composition",
            y,
            z,
        })
    }

    /// The swizzle of elements `n` times as wide. Bits that would move within one wide element are dropped.
    pub fn upcast(&self, n: i64) -> Result<Swizzle> {
        let low = i64::from(self.base) - power(n)?;
        Swizzle::new(
            (i64::from(self.bits) + low.min(0)).max(0),
            low.max(0),
            self.shift.into(),
        )
    }

    /// The swizzle of elements `n` times as narrow.
    pub fn downcast(&self, n: i64) -> Result<Swizzle> {
        Swizzle::new(
            self.bits.into(),
            i64::from(self.base) + power(n)?,
            self.shift.into(),
        )
    }

    /// The swizzle for elements of `new` bits where this one is for elements of `old` bits.
    pub fn recast(&self, old: i64, new: i64) -> Result<Swizzle> {
        if old <= 0 || new <= 0 {
            return Err(Error::NotPositive {
                op: "swizzle recast",
                what: "an element width",
                got: old.min(new),
            });
        }
        if new % old == 0 {
            self.upcast(new / old)
        } else if old % new == 0 {
            self.downcast(old / new)
        } else {
            Err(Error::Divisibility {
                op: "swizzle recast",
                left: old,
                right: new,
            })
        }
    }

    /// The same swizzle on the bytes of elements of `width` bits.
    pub fn to_bytes(&self, width: i64) -> Result<ByteSwizzle> {
        self.recast(width, 8).map(ByteSwizzle)
    }
}

/// The exponent of a power of two.
fn power(n: i64) -> Result<i64> {
    if n > 0 && n.count_ones() == 1 {
        Ok(n.trailing_zeros().into())
    } else {
        Err(Error::NotPositive {
            op: "swizzle recast",
            what: "a factor (a power of two)",
            got: n,
        })
    }
}

impl ByteSwizzle {
    /// No swizzle.
    pub const NONE: ByteSwizzle = ByteSwizzle(Swizzle {
        bits: 0,
        base: 4,
        shift: 3,
    });
    /// Two 16-byte units of a 32-byte row.
    pub const B32: ByteSwizzle = ByteSwizzle(Swizzle {
        bits: 1,
        base: 4,
        shift: 3,
    });
    /// Four 16-byte units of a 64-byte row.
    pub const B64: ByteSwizzle = ByteSwizzle(Swizzle {
        bits: 2,
        base: 4,
        shift: 3,
    });
    /// Eight 16-byte units of a 128-byte row.
    pub const B128: ByteSwizzle = ByteSwizzle(Swizzle {
        bits: 3,
        base: 4,
        shift: 3,
    });

    /// Four 32-byte units of a 128-byte row.
    pub const B128_UNIT32: ByteSwizzle = ByteSwizzle(Swizzle {
        bits: 2,
        base: 5,
        shift: 2,
    });

    /// `Sw<bits,base,shift>` on bytes.
    pub fn new(bits: i64, base: i64, shift: i64) -> Result<Self> {
        Swizzle::new(bits, base, shift).map(ByteSwizzle)
    }

    pub(crate) fn from_raw(swizzle: Swizzle) -> Self {
        ByteSwizzle(swizzle)
    }

    /// The bit fields, counted in bytes.
    pub fn raw(&self) -> Swizzle {
        self.0
    }

    /// Where the byte at `offset` goes.
    pub fn apply(&self, offset: i64) -> i64 {
        self.0.apply(offset)
    }

    /// The same swizzle on elements of `width` bits.
    ///
    /// ```
    /// # use tiki_layout::ByteSwizzle;
    /// assert_eq!(ByteSwizzle::B128.to_elements(16).unwrap().to_string(), "Sw<3,3,3>");
    /// ```
    pub fn to_elements(&self, width: i64) -> Result<Swizzle> {
        self.0.recast(8, width)
    }
}
