//! How the threads of a block combine along an axis: which lanes, which warps, through which scratch.
//!
//! The thread index is read as digits. A digit along the axis is *combined*, every other is *kept*.
//!
//! 1. Lanes combine by butterflies: one step a bit of the lane number that belongs to a combined
//!    digit, nearest lane first. So they need digits that are whole bits of the lane number.
//! 2. Warps combine through scratch in shared memory, laid out so that one result's partial values lie
//!    next to each other:
//!
//! ```text
//! entry(kept value r, kept lane k, kept warp w, combined warp c) = ((r * lanes + k) * warps + w) * combine + c
//! ```
//!
//! 3. Where a combined digit is no whole number of lane bits (24 threads along the axis, say), all its
//!    threads write and read scratch, as if each were a warp.

use super::{Dist, ReduceOp, TensorType};
use crate::dtype::DType;

/// A digit of the thread index: `thread / stride % extent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadDigit {
    /// What it counts.
    pub stride: u32,
    /// Values.
    pub extent: u32,
}

impl ThreadDigit {
    /// Whether it is whole bits of the lane number.
    #[must_use]
    pub fn is_lanes(&self) -> bool {
        self.stride.is_power_of_two()
            && self.extent.is_power_of_two()
            && self.stride * self.extent <= 32
    }
}

/// The steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    /// Lane masks of the butterflies, nearest first.
    pub butterflies: Vec<u32>,
    /// Digits combined through scratch, fastest first.
    pub combined: Vec<ThreadDigit>,
    /// Kept digits, fastest first.
    pub kept: Vec<ThreadDigit>,
    /// Results a thread holds.
    pub results: u32,
    /// The lane bits that have been combined: of the lanes that differ only there one writes.
    pub lane_mask: u32,
}

impl Steps {
    /// Of a reduction of a tensor of this type along `axis`.
    #[must_use]
    pub fn of(tensor: &TensorType, axis: usize) -> Steps {
        let results = tensor.dist.without(axis).len() as u32;
        let digits = digits(&tensor.dist, axis);
        let lanes_whole = digits
            .iter()
            .filter(|d| d.combined && d.digit.stride < 32)
            .all(|d| d.digit.is_lanes());
        let mut steps = Steps {
            butterflies: Vec::new(),
            combined: Vec::new(),
            kept: Vec::new(),
            results,
            lane_mask: 0,
        };
        for Along {
            digit, combined, ..
        } in digits
        {
            if !combined {
                steps.kept.push(digit);
            } else if digit.stride < 32 && lanes_whole {
                let mut bit = digit.stride;
                while bit < digit.stride * digit.extent {
                    steps.butterflies.push(bit);
                    steps.lane_mask |= bit;
                    bit *= 2;
                }
            } else {
                steps.combined.push(digit);
            }
        }
        steps
    }
    /// Partial values of one result in scratch; 1 if none is needed.
    #[must_use]
    pub fn combine(&self) -> u32 {
        self.combined.iter().map(|d| d.extent).product()
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

/// Bytes of a partial value in scratch: 16-bit values take a word of their own, and an index beside a
/// 64-bit value takes another.
#[must_use]
pub fn entry_bytes(op: ReduceOp, dtype: DType) -> u32 {
    match op {
        ReduceOp::ArgMax | ReduceOp::ArgMin if dtype.bytes() == 8 => 16,
        ReduceOp::ArgMax | ReduceOp::ArgMin => 8,
        _ => dtype.bytes().max(4),
    }
}

/// A digit and the axis of a reduction or scan.
pub(super) struct Along {
    pub(super) digit: ThreadDigit,
    /// It moves along the axis.
    pub(super) combined: bool,
    /// Elements a unit moves.
    pub(super) step: u32,
}

/// The digits of the thread index, those that cross from lanes to warps cut in two where that is
/// possible, each with whether it lies along `axis`.
pub(super) fn digits(dist: &Dist, axis: usize) -> Vec<Along> {
    let mut out = Vec::new();
    let mut stride = 1;
    for mode in &dist.threads {
        let combined = mode.axis == Some(axis as u8);
        let (extent, here) = (mode.extent, stride);
        stride *= extent;
        if extent == 1 {
            continue;
        }
        let lanes = if here < 32 { 32 / here } else { 0 };
        let cut = here < 32 && stride > 32 && 32 % here == 0 && extent % lanes == 0;
        let mut push = |stride, extent, step| {
            out.push(Along {
                digit: ThreadDigit { stride, extent },
                combined,
                step,
            });
        };
        if cut {
            push(here, lanes, mode.step);
            push(32, extent / lanes, mode.step * lanes);
        } else {
            push(here, extent, mode.step);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Mode;

    fn tensor(threads: Vec<Mode>, shape: Vec<u32>) -> TensorType {
        TensorType {
            dtype: DType::F32,
            shape,
            dist: Dist {
                threads,
                values: vec![Mode::along(1, 4, 1)],
            },
        }
    }

    #[test]
    fn a_row_over_three_warps_uses_butterflies_and_scratch() {
        let s = Steps::of(&tensor(vec![Mode::along(1, 96, 4)], vec![1, 384]), 1);
        assert_eq!(s.butterflies, [1, 2, 4, 8, 16]);
        assert_eq!(
            s.combined,
            [ThreadDigit {
                stride: 32,
                extent: 3
            }]
        );
        assert_eq!((s.combine(), s.groups(), s.scratch_bytes(4)), (3, 1, 12));
    }

    #[test]
    fn rows_within_a_warp_need_no_scratch() {
        let s = Steps::of(
            &tensor(
                vec![Mode::along(1, 8, 4), Mode::along(0, 16, 1)],
                vec![16, 32],
            ),
            1,
        );
        assert_eq!(s.butterflies, [1, 2, 4]);
        assert!(!s.needs_scratch());
    }

    #[test]
    fn odd_thread_counts_go_through_scratch_alone() {
        let s = Steps::of(
            &tensor(
                vec![Mode::along(1, 24, 4), Mode::along(0, 4, 1)],
                vec![4, 96],
            ),
            1,
        );
        assert!(s.butterflies.is_empty());
        assert_eq!((s.combine(), s.groups()), (24, 4));
    }
}
