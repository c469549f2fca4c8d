//! Tensor maps: how a copy of a box sees a tensor.
//!
//! The bytes of a map are the machine's own (a driver's are opaque). Dimensions are listed innermost
//! first. A box lies densely in shared memory, its first dimension innermost; with a swizzle, bits 7 and up of
//! the address are XORed into bits 4 to 6. Elements outside the tensor read as zero, or NaN if the map says
//! so, and are not written. The rows of a copy of an image ([`super::image_map`]) are its pixels.

use super::image_map::ImageMap;
use super::launch::Env;
use super::memory::{Buffer, split};
use super::shared::Shared;
use std::sync::Arc;
use tiki_kernel::isa::{Atom, Ty};

/// How boxes are spread in shared memory: the bytes of the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Swizzle {
    /// Plain.
    #[default]
    None,
    /// 32 bytes.
    B32,
    /// 64 bytes.
    B64,
    /// 128 bytes.
    B128,
}

/// A tensor, as copies of boxes see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorMap {
    /// Element type: one of the integer and floating-point types of 1 to 8 bytes.
    pub ty: Ty,
    /// Address of the first element, a multiple of 16.
    pub address: u64,
    /// Extents in elements.
    pub dims: Vec<u64>,
    /// Bytes between neighbours along all dimensions but the first; multiples of 16.
    pub strides: Vec<u64>,
    /// The box, in elements.
    pub extent: Vec<u32>,
    /// Spread in shared memory.
    pub swizzle: Swizzle,
    /// Elements outside read as NaN.
    pub nan_outside: bool,
}

pub(super) const MAGIC: u32 = 0x5449_4b49;
/// The byte that says that a map is of an image.
pub(super) const IMAGE: usize = 98;
/// Bytes of a map.
pub const BYTES: usize = 128;

impl Swizzle {
    fn span(self) -> u64 {
        match self {
            Swizzle::None => 16,
            Swizzle::B32 => 32,
            Swizzle::B64 => 64,
            Swizzle::B128 => 128,
        }
    }
    const ALL: [Swizzle; 4] = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];
}

impl TensorMap {
    /// What is wrong with it, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let rank = self.dims.len();
        let size = u64::from(self.ty.bytes());
        if !(1..=5).contains(&rank) || self.strides.len() + 1 != rank || self.extent.len() != rank {
            return Some(format!(
                "a map of rank {rank} with {} strides and a box of rank {}",
                self.strides.len(),
                self.extent.len()
            ));
        }
        if !self.address.is_multiple_of(16) {
            return Some(format!(
                "address {:#x} is not a multiple of 16",
                self.address
            ));
        }
        if let Some(d) = self.dims.iter().find(|d| **d == 0 || **d > 1 << 32) {
            return Some(format!("an extent of {d} elements: 1 to 2^32 are possible"));
        }
        if let Some(s) = self
            .strides
            .iter()
            .find(|s| !s.is_multiple_of(16) || **s >= 1 << 40)
        {
            return Some(format!(
                "a stride of {s} bytes: multiples of 16 below 2^40 are possible"
            ));
        }
        if let Some(b) = self.extent.iter().find(|b| !(1..=256).contains(*b)) {
            return Some(format!(
                "a box of {b} elements along a dimension: 1 to 256 are possible"
            ));
        }
        let inner = u64::from(self.extent[0]) * size;
        if !inner.is_multiple_of(16) {
            return Some(format!(
                "rows of the box have {inner} bytes, not a multiple of 16"
            ));
        }
        if self.swizzle != Swizzle::None && inner > self.swizzle.span() {
            return Some(format!(
                "rows of the box have {inner} bytes, the swizzle spans {}",
                self.swizzle.span()
            ));
        }
        None
    }

    /// The bytes of the map, a parameter of a kernel.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn encode(&self) -> Result<[u8; BYTES], String> {
        if let Some(f) = self.fault() {
            return Err(f);
        }
        let mut out = vec![];
        out.extend(MAGIC.to_le_bytes());
        let ty = Ty::all().position(|t| t == self.ty).unwrap_or(0) as u8;
        let swizzle = Swizzle::ALL
            .iter()
            .position(|s| *s == self.swizzle)
            .unwrap_or(0) as u8;
        out.extend([
            ty,
            self.dims.len() as u8,
            swizzle,
            u8::from(self.nan_outside),
        ]);
        out.extend(self.address.to_le_bytes());
        for d in 0..5 {
            out.extend(self.dims.get(d).unwrap_or(&0).to_le_bytes());
        }
        for d in 0..4 {
            out.extend(self.strides.get(d).unwrap_or(&0).to_le_bytes());
        }
        for d in 0..5 {
            out.extend((*self.extent.get(d).unwrap_or(&0) as u16).to_le_bytes());
        }
        out.resize(BYTES, 0);
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(&out);
        Ok(bytes)
    }

    /// Reads the bytes of a map.
    ///
    /// # Errors
    /// If they are none, or one that is not valid.
    pub fn decode(b: &[u8]) -> Result<TensorMap, String> {
        let word = |at: usize| {
            u64::from_le_bytes(std::array::from_fn(|i| b.get(at + i).copied().unwrap_or(0)))
        };
        if b.len() < BYTES || word(0) as u32 != MAGIC {
            return Err("these bytes are no tensor map of the machine".into());
        }
        if b[IMAGE] != 0 {
            return Err("the map is of an image, the copy of a box".into());
        }
        let rank = usize::from(b[5]).min(5);
        let m = TensorMap {
            ty: Ty::all().nth(usize::from(b[4])).unwrap_or(Ty::B8),
            address: word(8),
            dims: (0..rank).map(|d| word(16 + 8 * d)).collect(),
            strides: (0..rank.saturating_sub(1))
                .map(|d| word(56 + 8 * d))
                .collect(),
            extent: (0..rank)
                .map(|d| (word(88 + 2 * d) & 0xffff) as u32)
                .collect(),
            swizzle: Swizzle::ALL[usize::from(b[6]) % 4],
            nan_outside: b[7] == 1,
        };
        m.fault().map_or(Ok(m), Err)
    }
}

/// A map and the coordinates of a box.
#[derive(Debug, Clone)]
pub(super) struct Box {
    pub(super) map: TensorMap,
    pub(super) at: Vec<i32>,
    /// Of an image: what is added to the places of its pixels, and its map.
    pub(super) image: Option<Arc<(Vec<i64>, ImageMap)>>,
}

impl Box {
    fn rows(&self) -> usize {
        if let Some(image) = &self.image {
            return image.1.pixels as usize;
        }
        self.map.extent[1..].iter().map(|b| *b as usize).product()
    }
    pub(super) fn bytes(&self) -> usize {
        self.rows() * self.map.extent[0] as usize * self.map.ty.bytes() as usize
    }
    /// Byte in the tensor's buffer of the first element of a row of the box, counted from the first column
    /// of the tensor; `None` if the row lies outside.
    fn row(&self, mut r: usize) -> Option<u64> {
        if let Some(image) = &self.image {
            return image.1.pixel(&self.at, &image.0, r);
        }
        let mut off = 0;
        for d in 1..self.map.dims.len() {
            let n = self.map.extent[d] as usize;
            let x = i64::from(self.at[d]) + (r % n) as i64;
            r /= n;
            if x < 0 || x as u64 >= self.map.dims[d] {
                return None;
            }
            off = u64::saturating_add(off, (x as u64).saturating_mul(self.map.strides[d - 1]));
        }
        Some(off)
    }
    fn buffer<'e>(&self, env: &Env<'e>) -> Result<(&'e Buffer, u64), String> {
        let (id, base) = split(self.map.address);
        match env.table.get(id) {
            Some(Some(b)) => Ok((b, base)),
            _ => Err(format!(
                "the tensor map's address {:#x} belongs to no buffer",
                self.map.address
            )),
        }
    }
    /// Calls `f` with the number of every element in the box and its byte in the buffer; `None` outside.
    fn each(
        &self,
        env: &Env<'_>,
        mut f: impl FnMut(usize, Option<usize>, &Buffer),
    ) -> Result<(), String> {
        let (buffer, base) = self.buffer(env)?;
        let (size, inner) = (u64::from(self.map.ty.bytes()), self.map.extent[0] as usize);
        for r in 0..self.rows() {
            let row = self.row(r);
            for c in 0..inner {
                let x = i64::from(self.at[0]) + c as i64;
                let inside = x >= 0 && (x as u64) < self.map.dims[0];
                let at = row
                    .filter(|_| inside)
                    .map(|o| base.saturating_add(o).saturating_add(x as u64 * size));
                if let Some(a) = at
                    && a.saturating_add(size) > buffer.bytes.len() as u64
                {
                    return Err(format!(
                        "a box reaches bytes {a} to {} of `{}`, which has {}",
                        a.saturating_add(size),
                        buffer.name,
                        buffer.bytes.len()
                    ));
                }
                f(r * inner + c, at.map(|a| a as usize), buffer);
            }
        }
        Ok(())
    }
    /// Whether anybody follows what was written of its tensor.
    pub(super) fn is_tracked(&self, env: &Env<'_>) -> bool {
        self.buffer(env).is_ok_and(|(b, _)| b.written.is_some())
    }
    /// The parts of buffers that the box covers: buffer, first byte, bytes.
    pub(super) fn ranges(&self, env: &Env<'_>) -> Vec<(usize, usize, usize)> {
        let (id, base) = split(self.map.address);
        let Ok((buffer, _)) = self.buffer(env) else {
            return vec![];
        };
        let size = u64::from(self.map.ty.bytes());
        let first = i64::from(self.at[0]).max(0) as u64;
        let end = (i64::from(self.at[0]) + i64::from(self.map.extent[0]))
            .clamp(0, self.map.dims[0] as i64) as u64;
        if first >= end {
            return vec![];
        }
        (0..self.rows())
            .filter_map(|r| self.row(r))
            .map(|o| base.saturating_add(o).saturating_add(first * size))
            .filter(|at| at.saturating_add((end - first) * size) <= buffer.bytes.len() as u64)
            .map(|at| (id, at as usize, ((end - first) * size) as usize))
            .collect()
    }
    /// The box's words in its dense order.
    pub(super) fn load(&self, env: &Env<'_>) -> Result<Vec<u32>, String> {
        let size = self.map.ty.bytes() as usize;
        let mut words = vec![0u32; self.bytes() / 4];
        let outside = if self.map.nan_outside && self.map.ty.is_float() {
            u64::MAX >> (65 - 8 * size)
        } else {
            0
        };
        self.each(env, |n, at, buffer| {
            let v = at.map_or(outside, |a| buffer.bytes.load(a, size));
            let o = n * size;
            words[o / 4] |= (v as u32) << (8 * (o % 4));
            if size == 8 {
                words[o / 4 + 1] = (v >> 32) as u32;
            }
        })?;
        Ok(words)
    }
    fn spread(&self, at: usize) -> usize {
        let mask = self.map.swizzle.span() as usize / 16 - 1;
        at ^ (((at >> 7) & mask) << 4)
    }
    /// Puts the words into shared memory.
    pub(super) fn place(&self, words: &[u32], shared: &mut Shared, at: usize) {
        for (k, w) in words.iter().enumerate() {
            shared.store(self.spread(at + 4 * k), 4, u64::from(*w));
        }
    }
    /// Writes the box from shared memory into the tensor, combining if asked.
    pub(super) fn store(
        &self,
        env: &Env<'_>,
        shared: &Shared,
        at: usize,
        reduce: Option<Atom>,
    ) -> Result<(), String> {
        let size = self.map.ty.bytes() as usize;
        let combine = match reduce {
            None => None,
            Some(op) => Some(
                crate::vm::meaning::memory::combine(op, self.map.ty)
                    .ok_or_else(|| format!("no such reduction of {}", self.map.ty))?,
            ),
        };
        self.each(env, |n, to, buffer| {
            let Some(to) = to else { return };
            let v = shared.load(self.spread(at + n * size), size);
            let v = combine.map_or(v, |f| f(buffer.bytes.load(to, size), v));
            buffer.bytes.store(to, size, v);
            buffer.mark(to, size);
        })
    }
}
