//! Maps of images: copies of pixels in the order in which a convolution wants them.
//!
//! The tensor is an image, or several: channels innermost, then one to three dimensions of space, then the images. The
//! pixels that a copy goes through are those of a window, which begins [`ImageMap::lower`] pixels from the tensor's
//! first one and ends [`ImageMap::upper`] pixels from its last one in each dimension of space; behind the window's last
//! pixel comes the first one of the next image. A copy begins at its coordinates, takes a number of pixels along the
//! window, and of each reads a number of channels, not at the pixel but at a place that lies by the instruction's
//! offsets further on: the window is where a filter's first element stands, and the offsets say which of its elements is
//! meant. What is outside the tensor is zero, as for boxes. In shared memory a pixel is a row.

use super::tensor_map::{BYTES, IMAGE, Swizzle, TensorMap};
use tiki_kernel::isa::Ty;

/// Images, as copies of pixels see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageMap {
    /// Element type.
    pub ty: Ty,
    /// Address of the first element, a multiple of 16.
    pub address: u64,
    /// Extents: channels, one to three of space, images.
    pub dims: Vec<u64>,
    /// Bytes between neighbours along all dimensions but the first; multiples of 16.
    pub strides: Vec<u64>,
    /// Where the window begins, from the tensor's first pixel, in each dimension of space.
    pub lower: Vec<i16>,
    /// Where it ends, from the tensor's last pixel.
    pub upper: Vec<i16>,
    /// Channels that are read of a pixel.
    pub channels: u32,
    /// Pixels of a copy.
    pub pixels: u32,
    /// Spread in shared memory.
    pub swizzle: Swizzle,
    /// Elements outside read as NaN.
    pub nan_outside: bool,
}

/// First bytes of the corners, behind those of the tensor.
const LOWER: usize = IMAGE + 2;
const UPPER: usize = LOWER + 6;
/// First byte of the box.
const EXTENT: usize = 88;

impl ImageMap {
    /// The same tensor with a box that is one pixel.
    pub(super) fn tensor(&self) -> TensorMap {
        let mut extent = vec![1; self.dims.len()];
        if let Some(first) = extent.first_mut() {
            *first = self.channels;
        }
        TensorMap {
            ty: self.ty,
            address: self.address,
            dims: self.dims.clone(),
            strides: self.strides.clone(),
            extent,
            swizzle: self.swizzle,
            nan_outside: self.nan_outside,
        }
    }

    /// What is wrong with it, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let rank = self.dims.len();
        if !(3..=5).contains(&rank) {
            return Some(format!("an image of rank {rank}: 3 to 5 are possible"));
        }
        if self.lower.len() != rank - 2 || self.upper.len() != rank - 2 {
            return Some(format!(
                "a window of {} and {} corners for {} dimensions of space",
                self.lower.len(),
                self.upper.len(),
                rank - 2
            ));
        }
        // The fewer dimensions, the further out a corner may lie.
        let most = [1 << 15, 1 << 7, 1 << 4][rank - 3];
        let corners = self.lower.iter().chain(&self.upper).map(|c| i32::from(*c));
        if let Some(c) = corners.into_iter().find(|c| *c < -most || *c >= most) {
            return Some(format!(
                "a corner at {c}: {} to {} are possible for rank {rank}",
                -most,
                most - 1
            ));
        }
        if (0..rank - 2).any(|d| self.window(d) < 1) {
            return Some("a window without pixels".into());
        }
        if !(1..=1024).contains(&self.pixels) {
            return Some(format!("{} pixels: 1 to 1024 are possible", self.pixels));
        }
        self.tensor().fault()
    }

    /// Pixels of the window along a dimension of space.
    fn window(&self, d: usize) -> i64 {
        self.dims[d + 1] as i64 + i64::from(self.upper[d]) - i64::from(self.lower[d])
    }

    /// Byte of the first channel of the pixel that comes `n` pixels behind coordinates; nothing outside the tensor.
    pub(super) fn pixel(&self, at: &[i32], offsets: &[i64], n: usize) -> Option<u64> {
        let mut left = n as i64;
        let mut byte = 0u64;
        for d in 1..self.dims.len() {
            let x = match offsets.get(d - 1) {
                Some(by) => {
                    let (low, size) = (i64::from(self.lower[d - 1]), self.window(d - 1));
                    left += i64::from(at[d]) - low;
                    let x = low + left.rem_euclid(size);
                    left = left.div_euclid(size);
                    x + by
                }
                None => i64::from(at[d]) + left,
            };
            if x < 0 || x as u64 >= self.dims[d] {
                return None;
            }
            byte = byte.saturating_add((x as u64).saturating_mul(self.strides[d - 1]));
        }
        Some(byte)
    }

    /// The bytes of the map, a parameter of a kernel.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn encode(&self) -> Result<[u8; BYTES], String> {
        if let Some(f) = self.fault() {
            return Err(f);
        }
        let mut out = self.tensor().encode()?;
        out[EXTENT + 2..EXTENT + 4].copy_from_slice(&(self.pixels as u16).to_le_bytes());
        out[IMAGE] = 1;
        for (first, corners) in [(LOWER, &self.lower), (UPPER, &self.upper)] {
            for (d, c) in corners.iter().enumerate() {
                out[first + 2 * d..first + 2 * d + 2].copy_from_slice(&c.to_le_bytes());
            }
        }
        Ok(out)
    }

    /// Reads the bytes of a map.
    ///
    /// # Errors
    /// If they are none, or one that is not valid.
    pub fn decode(b: &[u8]) -> Result<ImageMap, String> {
        if b.len() < BYTES || b[IMAGE] == 0 {
            return Err("these bytes are no map of an image".into());
        }
        let half = |at: usize| u16::from_le_bytes([b[at], b[at + 1]]);
        // What is left is a box of one pixel.
        let mut tensor = [0; BYTES];
        tensor.copy_from_slice(&b[..BYTES]);
        tensor[IMAGE] = 0;
        tensor[EXTENT + 2..EXTENT + 4].copy_from_slice(&1u16.to_le_bytes());
        let t = TensorMap::decode(&tensor)?;
        let space = t.dims.len().saturating_sub(2).min(3);
        let corners = |first: usize| (0..space).map(|d| half(first + 2 * d) as i16).collect();
        let map = ImageMap {
            channels: t.extent[0],
            pixels: u32::from(half(EXTENT + 2)),
            lower: corners(LOWER),
            upper: corners(UPPER),
            ty: t.ty,
            address: t.address,
            dims: t.dims,
            strides: t.strides,
            swizzle: t.swizzle,
            nan_outside: t.nan_outside,
        };
        map.fault().map_or(Ok(map), Err)
    }
}
