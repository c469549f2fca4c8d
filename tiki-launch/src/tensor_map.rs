//! Tensor maps: how a launch tells the tensor memory accelerator of its tensors.
//!
//! An artefact says which ([`tiki_kernel::artifact::Hidden::TensorMap`]); what a map holds follows from the
//! tensor that is given. A machine writes a map's 128 bytes in its own form.
//!
//! Maps are kept, and found again in two steps:
//!
//! - by the arguments of the whole launch, which are words that it has at hand: all its maps follow from them, and from
//!   the artefact. A launch like an earlier one compares them and is done: it writes no map and copies none;
//! - by tensor, where a launch is new or was not remembered.
//!
//! What a map holds is a matter of numbers alone, not of who owns the memory they point to: nothing has to be
//! forgotten when a buffer is freed, or when another context is made current.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use arrayvec::ArrayVec;
use tiki_kernel::dtype::DType;

use crate::args::MAPS;

use crate::error::{LaunchError, Place};
use crate::machine::Machine;
use crate::tensor::Operand;
use crate::word_hash::{FACTOR, WordHasher};

/// Axes of a map.
pub(crate) const AXES: usize = 5;

/// Maps kept before all are forgotten.
const KEPT: usize = 4096;
/// Launches remembered: each has one place, which it takes from whichever was there.
const LAUNCHES: usize = 1024;

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

/// What [`MapOf`] follows from. Axes are listed outermost first, those that a tensor lacks are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    address: u64,
    shape: [usize; AXES],
    strides: [usize; AXES],
    tile: [u32; AXES],
    swizzle: u32,
    dtype: DType,
}

/// A launch, by what was passed to which artefact, and the places of its maps.
#[derive(Debug, Default)]
struct Seen {
    artifact: usize,
    words: Vec<u64>,
    places: ArrayVec<u32, MAPS>,
}

/// The maps of a device.
#[derive(Debug, Default)]
pub(crate) struct Maps {
    maps: Vec<Map>,
    places: HashMap<Key, u32, BuildHasherDefault<WordHasher>>,
    seen: Vec<Seen>,
}

/// The maps of a launch, among those of the device.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Described<'a> {
    maps: &'a [Map],
    places: &'a [u32],
}

impl<'a> Described<'a> {
    /// In the order in which they are passed.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = &'a Map> {
        self.places
            .iter()
            .map(move |place| &self.maps[*place as usize])
    }
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
        let empty = operand.shape.contains(&0);
        for inner in 0..rank {
            let axis = rank - 1 - inner;
            // A tensor without elements is never copied from; a map has at least one.
            map.extents[inner] = (operand.shape[axis] as u64).max(1);
            map.tile[inner] = tile[axis];
            let single = operand.shape[axis] <= 1;
            let step = operand.strides[axis] as u64;
            match inner {
                0 if !single => map.inner = step,
                0 => {}
                _ if empty => map.pitches[inner - 1] = 16,
                // Nobody takes a step along an axis of one index: the accelerator gets one that it takes.
                _ if single => {
                    let below = if inner == 1 {
                        size
                    } else {
                        map.pitches[inner - 2]
                    };
                    map.pitches[inner - 1] = (below * map.extents[inner - 1]).next_multiple_of(16);
                }
                _ => map.pitches[inner - 1] = step * size,
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
    /// The maps of a launch of an artefact with these arguments; `make` gives them one by one, if the launch is not known.
    #[inline]
    pub fn of_launch(
        &mut self,
        artifact: usize,
        words: &[u64],
        make: impl FnOnce(&mut Maps) -> Result<ArrayVec<u32, MAPS>, LaunchError>,
    ) -> Result<Described<'_>, LaunchError> {
        let mixed = words
            .iter()
            .fold(artifact as u64, |h, word| h.rotate_left(9) ^ word);
        let slot = (mixed.wrapping_mul(FACTOR) >> 32) as usize % LAUNCHES;
        let known = self.seen.get(slot);
        if !known.is_some_and(|seen| seen.artifact == artifact && seen.words == words) {
            self.remember(slot, artifact, words, make)?;
        }
        Ok(Described {
            maps: &self.maps,
            places: &self.seen[slot].places,
        })
    }

    #[cold]
    fn remember(
        &mut self,
        slot: usize,
        artifact: usize,
        words: &[u64],
        make: impl FnOnce(&mut Maps) -> Result<ArrayVec<u32, MAPS>, LaunchError>,
    ) -> Result<(), LaunchError> {
        if self.maps.len() + MAPS > KEPT {
            self.maps.clear();
            self.places.clear();
            self.seen.clear();
        }
        if self.seen.is_empty() {
            self.seen.resize_with(LAUNCHES, Seen::default);
        }
        let places = make(self)?;
        let seen = &mut self.seen[slot];
        seen.artifact = artifact;
        seen.words.clear();
        seen.words.extend_from_slice(words);
        seen.places = places;
        Ok(())
    }

    /// The place of a tensor's map, which is made if it is not known; `tile` lists axes outermost first.
    pub fn place(
        &mut self,
        machine: &dyn Machine,
        operand: &Operand<'_>,
        tile: [u32; AXES],
        swizzle: u32,
        named: impl FnOnce() -> Box<Place>,
    ) -> Result<u32, LaunchError> {
        let axis = |list: &[usize], axis: usize| list.get(axis).copied().unwrap_or_default();
        let key = Key {
            address: operand.buffer.address() + operand.offset,
            shape: std::array::from_fn(|i| axis(operand.shape, i)),
            strides: std::array::from_fn(|i| axis(operand.strides, i)),
            tile,
            swizzle,
            dtype: operand.dtype,
        };
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
        let map = machine.tensor_map(&of)?;
        let place = self.maps.len() as u32;
        self.maps.push(map);
        self.places.insert(key, place);
        Ok(place)
    }
}
