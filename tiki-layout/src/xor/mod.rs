//! XOR layouts: linear algebra over the field of two elements, on the bits of offsets.
//!
//! # Semantics
//! An offset is a vector of bits and addition is XOR. A leaf of extent `2^k` has `k` *columns*, one per bit of its
//! coordinate; the offset of a coordinate is the XOR of the columns of its set bits:
//!
//! ```text
//!     Sw<2,0,2> o 0 o (4,4):(4,1)     =     (4,4):(^5,^1)         i -> 5*i without carries, j -> j, XORed
//!
//!      0  1  2  3                     column of i bit 0: 0101
//!      5  4  7  6                                bit 1: 1010
//!     10 11  8  9                     column of j bit 0: 0001
//!     15 14 13 12                                bit 1: 0010
//! ```
//!
//! `^d` prints the columns `d, 2d, 4d, ..`: the XOR stride `d` is multiplied without carries. Any other columns are
//! listed as `^{1,6,8}`. Since a swizzle is such a map of bits, a swizzled layout *is* a layout with XOR strides, and
//! what is hard through a swizzle is Gaussian elimination here: composition is a product of matrices, the inverse
//! is the inverse matrix, the complement is a complement of the image.
//!
//! What does not fit is refused with its reason ([`Refusal`]): extents and strides that are not powers of two, sums
//! that carry, indices outside of the domain, images that overlap.

mod algebra;
mod layout;
mod matrix;
mod refusal;
mod space;

pub use layout::XorLayout;
pub use matrix::BitMatrix;
pub use refusal::Refusal;
pub use space::Subspace;
