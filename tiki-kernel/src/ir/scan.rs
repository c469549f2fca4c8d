//! How the threads of a block scan along an axis: level by level, from neighbours outwards.
//!
//! The digits of a distribution that move along the axis, sorted by the elements they move, say how the axis is
//! put together: four elements of a thread, 32 lanes of four, eight warps of 128, four values of 1024.
//! A *level* is one such digit; what lies below it is a *group*, with a total and its elements' own scans.
//!
//! 1. [`Level::Own`]: groups of one thread, one after the other.
//! 2. [`Level::Lanes`]: groups of neighbouring lanes, by shuffles over 1, 2, 4.. lanes.
//! 3. [`Level::Scratch`]: groups of warps (or of lanes in no power of two), through shared memory: each writes its
//!    total, all meet, and each combines those before its own, in order; or every warp scans the totals by shuffles,
//!    one a lane, with those of the levels above ([`Steps::fits_a_warp`]). At most one level of a scan is of this kind.
//!
//! What a group has before it is kept beside the group and combined with its elements once, at the end. The order of
//! combination follows from the layout alone, so a result is the same bits on every run.

use super::reduction::{ThreadDigit, digits};
use super::{ScanOp, TensorType};

/// One step outwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Level {
    /// A value digit, by its place among the distribution's value modes.
    Own(usize),
    /// A digit within a warp, of whole bits of the lane number.
    Lanes(ThreadDigit),
    /// Digits through scratch, fastest along the axis first.
    Scratch(Vec<ThreadDigit>),
}

impl Level {
    /// The place of a value digit.
    #[must_use]
    pub fn own(&self) -> Option<usize> {
        match self {
            Level::Own(place) => Some(*place),
            _ => None,
        }
    }
}

/// The steps of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    /// From neighbours outwards.
    pub levels: Vec<Level>,
    /// Digits of the thread index that do not move along the axis, fastest first.
    pub kept: Vec<ThreadDigit>,
    /// Groups of a thread where it comes to the scratch.
    pub results: u32,
    /// All of them lie along the axis: they are parts of one scan.
    pub single: bool,
}

impl Steps {
    /// Of a scan of a tensor of this type along `axis`; `None` if warps would have to meet more than once.
    #[must_use]
    pub fn of(tensor: &TensorType, axis: usize) -> Option<Steps> {
        let along = |a: Option<u8>| a == Some(axis as u8);
        let digits = digits(&tensor.dist, axis);
        let whole = digits
            .iter()
            .filter(|d| d.combined && d.digit.stride < 32)
            .all(|d| d.digit.is_lanes());
        let mut levels: Vec<(u32, Level)> = Vec::new();
        for (place, mode) in tensor.dist.values.iter().enumerate() {
            if along(mode.axis) && mode.extent > 1 {
                levels.push((mode.step, Level::Own(place)));
            }
        }
        let mut kept = Vec::new();
        for d in digits {
            if !d.combined {
                kept.push(d.digit);
            } else if d.digit.is_lanes() && whole {
                levels.push((d.step, Level::Lanes(d.digit)));
            } else {
                levels.push((d.step, Level::Scratch(vec![d.digit])));
            }
        }
        levels.sort_by_key(|(step, _)| *step);
        let mut joined: Vec<Level> = Vec::new();
        for (_, level) in levels {
            match (joined.last_mut(), level) {
                (Some(Level::Scratch(digits)), Level::Scratch(more)) => digits.extend(more),
                (_, level) => joined.push(level),
            }
        }
        let scratch = |l: &&Level| matches!(l, Level::Scratch(_));
        if joined.iter().filter(scratch).count() > 1 {
            return None;
        }
        let below = joined.iter().take_while(|l| !scratch(l));
        let done: Vec<usize> = below.filter_map(Level::own).collect();
        let single = (tensor.dist.values.iter()).all(|m| along(m.axis) || m.extent == 1);
        let values = tensor.dist.values.iter().enumerate();
        let results = values
            .filter(|(place, _)| !done.contains(place))
            .map(|(_, m)| m.extent)
            .product();
        Some(Steps {
            levels: joined,
            kept,
            results,
            single,
        })
    }
    /// Totals that meet in scratch for one result; 1 if none do.
    #[must_use]
    pub fn combine(&self) -> u32 {
        let digits = self.levels.iter().filter_map(|l| match l {
            Level::Scratch(digits) => Some(digits),
            _ => None,
        });
        digits.flatten().map(|d| d.extent).product()
    }
    /// Entries of scratch for each result of a thread.
    #[must_use]
    pub fn groups(&self) -> u32 {
        self.kept.iter().map(|d| d.extent).product()
    }
    /// Whether scratch is needed.
    #[must_use]
    pub fn needs_scratch(&self) -> bool {
        self.combine() > 1
    }
    /// Whether a warp can hold all totals that meet, one a lane, and nothing but a thread's own groups comes after.
    #[must_use]
    pub fn fits_a_warp(&self) -> bool {
        let after = self.levels.iter().rev().map_while(Level::own).count();
        let scratch = self.levels.len().checked_sub(after + 1);
        let last = scratch.is_some_and(|i| matches!(self.levels[i], Level::Scratch(_)));
        last && self.single && self.groups() == 1 && self.results * self.combine() <= 32
    }
    /// Shuffles of lanes over each distance.
    #[must_use]
    pub fn lane_steps(&self) -> u32 {
        let lanes = self.levels.iter().map(|l| match l {
            Level::Lanes(d) => d.extent.ilog2(),
            _ => 0,
        });
        lanes.sum()
    }
    /// Bytes of scratch.
    #[must_use]
    pub fn scratch_bytes(&self, entry: u32) -> u32 {
        if self.needs_scratch() {
            self.results * self.groups() * self.combine() * entry
        } else {
            0
        }
    }
}

/// Registers of a total: a factor and a value for recurrences, else one.
#[must_use]
pub fn parts(op: ScanOp) -> u32 {
    if op == ScanOp::Affine { 2 } else { 1 }
}

/// Bytes of a total in scratch.
#[must_use]
pub fn entry_bytes(op: ScanOp, tensor: &TensorType) -> u32 {
    parts(op) * tensor.dtype.bytes().max(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::ir::{Dist, Mode};

    fn tensor(threads: Vec<Mode>, values: Vec<Mode>) -> TensorType {
        TensorType {
            dtype: DType::F32,
            shape: vec![1, 4096],
            dist: Dist { threads, values },
        }
    }

    #[test]
    fn a_row_dealt_in_vectors_is_put_together_from_neighbours_outwards() {
        let t = tensor(
            vec![Mode::along(1, 256, 4)],
            vec![Mode::along(1, 4, 1), Mode::along(1, 4, 1024)],
        );
        let s = Steps::of(&t, 1).unwrap();
        let digit = |stride, extent| ThreadDigit { stride, extent };
        assert_eq!(
            s.levels,
            [
                Level::Own(0),
                Level::Lanes(digit(1, 32)),
                Level::Scratch(vec![digit(32, 8)]),
                Level::Own(1)
            ]
        );
        assert_eq!((s.results, s.combine(), s.scratch_bytes(4)), (4, 8, 128));
        assert_eq!(s.lane_steps(), 5);
    }

    #[test]
    fn threads_in_no_power_of_two_meet_in_scratch() {
        let t = tensor(
            vec![Mode::along(1, 24, 1), Mode::along(0, 4, 1)],
            vec![Mode::along(1, 2, 24)],
        );
        let s = Steps::of(&t, 1).unwrap();
        let digit = ThreadDigit {
            stride: 1,
            extent: 24,
        };
        assert_eq!(s.levels, [Level::Scratch(vec![digit]), Level::Own(0)]);
        assert_eq!((s.combine(), s.groups(), s.results), (24, 4, 2));
    }

    #[test]
    fn warps_that_would_meet_twice_are_told() {
        let t = tensor(
            vec![
                Mode::replicated(32),
                Mode::along(1, 2, 1),
                Mode::along(1, 2, 4),
            ],
            vec![Mode::along(1, 2, 2)],
        );
        assert_eq!(Steps::of(&t, 1), None);
    }
}
