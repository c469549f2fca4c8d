//! Tensor maps: how a launch tells the tensor memory accelerator of its tensors.
//!
//! An artefact says which ([`tiki_kernel::artifact::Hidden::TensorMap`]); what a map holds follows from the
//! tensor that is given. A machine writes a map's 128 bytes in its own form. Maps are kept, by all that they
//! depend on: a warm launch writes none and copies none; it compares the words it has at hand with those that a
//! map was made of.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use tiki_kernel::dtype::DType;

use crate::args::MAPS;

use crate::error::{LaunchError, Place};
use crate::machine::Machine;
use crate::tensor::Operand;
use crate::word_hash::WordHasher;

/// Axes of a map.
pub(crate) const AXES: usize = 5;

/// Maps kept before all are forgotten.
const KEPT: usize = 4096;

/// What a map holds. Axes are listed innermost first; those that a tensor lacks have extent and tile 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MapOf {
    pub dtype: DType,
    pub rank: usize,
    pub address: u64,
    pub extents: [u64; AXES],
    /// Elements from one index of the innermost axis to the next.
    pub inner: u64,
    /// Bytes from one index to the next, of all axes but the innermost.
    pub pitches: [u64; AXES - 1],
    /// Elements of one copy.
    pub tile: [u32; AXES],
    /// Bytes of the swizzle, or 0.
    pub swizzle: u32,
}

/// The bytes of a map, as a launch passes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
pub(crate) struct Map(pub [u64; 16]);

/// The words a map is made of, as a launch has them: [`MapOf`] follows from them. Axes are listed outermost first, those
/// that a tensor lacks are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    address: u64,
    shape: [usize; AXES],
    strides: [usize; AXES],
    tile: [u32; AXES],
    swizzle: u32,
    dtype: DType,
    rank: usize,
}

/// Tiles, swizzles and types vary little for one tensor: they are compared, but not hashed.
impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, to: &mut H) {
        to.write_u64(self.address);
        for axis in 0..self.rank.min(AXES) {
            to.write_usize(self.shape[axis]);
            to.write_usize(self.strides[axis]);
        }
    }
}

/// The maps of a device.
#[derive(Debug, Default)]
pub(crate) struct Maps {
    places: HashMap<Key, u32, BuildHasherDefault<WordHasher>>,
    maps: Vec<Map>,
}

impl MapOf {
    /// Of a tensor; `tile` lists axes outermost first.
    pub fn tensor(operand: &Operand<'_>, tile: [u32; AXES], swizzle: u32) -> MapOf {
        let rank = operand.shape.len().min(AXES);
        let size = u64::from(operand.dtype.bytes());
        let mut map = MapOf {
            dtype: operand.dtype,
            rank,
            address: operand.buffer.address() + operand.offset,
            extents: [0; AXES],
            inner: 1,
            pitches: [0; AXES - 1],
            tile: [0; AXES],
            swizzle,
        };
        for inner in 0..rank {
            let axis = rank - 1 - inner;
            // A tensor without elements is never copied from; a map has at least one.
            map.extents[inner] = (operand.shape[axis] as u64).max(1);
            map.tile[inner] = tile[axis];
            if inner == 0 && operand.shape[axis] > 1 {
                map.inner = operand.strides[axis] as u64;
            }
            if inner > 0 {
                let pitch = operand.strides[axis] as u64 * size;
                let empty = operand.shape.contains(&0);
                map.pitches[inner - 1] = if empty { 16 } else { pitch };
            }
        }
        map
    }

    /// What keeps the accelerator from such a tensor, if anything.
    fn fault(&self) -> Option<String> {
        if !self.address.is_multiple_of(16) {
            return Some(format!(
                "its address {:#x} is no multiple of 16",
                self.address
            ));
        }
        if self.inner != 1 {
            return Some(format!(
                "its elements lie {} apart along the last axis: the accelerator takes them side by side",
                self.inner
            ));
        }
        let mut pitches = self.pitches[..self.rank.saturating_sub(1)].iter();
        let pitch = pitches.find(|p| !p.is_multiple_of(16) || **p >= 1 << 40)?;
        Some(format!(
            "its rows lie {pitch} bytes apart: the accelerator takes multiples of 16 below 2^40"
        ))
    }
}

impl Maps {
    /// Begins a launch: all places given from here to the next are those of maps that stay.
    #[inline]
    pub fn begin(&mut self) {
        if self.maps.len() + MAPS > KEPT {
            self.places.clear();
            self.maps.clear();
        }
    }

    /// The place among [`Maps::all`] of a tensor's map, which is made if it is not known; `tile` lists axes outermost first.
    #[inline]
    pub fn place(
        &mut self,
        machine: &dyn Machine,
        operand: &Operand<'_>,
        tile: [u32; AXES],
        swizzle: u32,
        named: impl FnOnce() -> Box<Place>,
    ) -> Result<u32, LaunchError> {
        let rank = operand.shape.len();
        let mut key = Key {
            address: operand.buffer.address() + operand.offset,
            shape: [0; AXES],
            strides: [0; AXES],
            tile,
            swizzle,
            dtype: operand.dtype,
            rank,
        };
        let axes = operand.shape.iter().zip(operand.strides);
        for (axis, (&extent, &stride)) in axes.enumerate().take(AXES) {
            key.shape[axis] = extent;
            key.strides[axis] = stride;
        }
        if let Some(place) = self.places.get(&key) {
            return Ok(*place);
        }
        let of = MapOf::tensor(operand, tile, swizzle);
        if let Some(why) = of.fault() {
            return Err(LaunchError::TensorMap {
                place: named(),
                why,
            });
        }
        Ok(self.keep(key, machine.tensor_map(&of)?))
    }

    #[cold]
    fn keep(&mut self, key: Key, map: Map) -> u32 {
        let place = self.maps.len() as u32;
        self.maps.push(map);
        self.places.insert(key, place);
        place
    }

    /// All maps, by place.
    #[inline]
    pub fn all(&self) -> &[Map] {
        &self.maps
    }
}
