//! Which thread holds which element of a register tensor.
//!
//! A distribution takes (thread, value) to a coordinate of the tensor. It is a list of *modes*. The
//! thread index is read as digits in the extents of the thread modes, fastest first; the value index
//! (a place in the thread's own fragment) as digits in the extents of the value modes, fastest first.
//! Each digit moves `step` elements along one axis per unit; the coordinate is the sum. A thread mode
//! without an axis replicates: threads that differ only in it hold the same element.
//!
//! ```text
//! linear map, 4 threads x vectors of 2 over 16 elements
//!   threads  [4 : axis 0, step 2]
//!   values   [2 : axis 0, step 1] [2 : axis 0, step 8]
//!
//!   element  0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
//!   thread   0 0 1 1 2 2 3 3 0 0  1  1  2  2  3  3
//!   value    0 1 0 1 0 1 0 1 2 3  2  3  2  3  2  3
//! ```
//!
//! Every digit moves one axis by a constant, so a coordinate splits into a part that depends on the
//! thread and a part known at build time: addresses are one base and immediates.
//!
//! The modes may reach past the tensor's shape; such a (thread, value) holds nothing (*absent*): it is
//! not loaded, not stored and does not count in a reduction.

use super::Coordinate;
use std::fmt;

/// One digit of a thread or value index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mode {
    /// Values of the digit.
    pub extent: u32,
    /// The axis it moves; `None` replicates.
    pub axis: Option<u8>,
    /// Elements a unit moves.
    pub step: u32,
}

impl Mode {
    /// A mode along an axis.
    #[must_use]
    pub const fn along(axis: usize, extent: u32, step: u32) -> Mode {
        Mode {
            extent,
            axis: Some(axis as u8),
            step,
        }
    }
    /// A replicating mode.
    #[must_use]
    pub fn replicated(extent: u32) -> Mode {
        Mode {
            extent,
            axis: None,
            step: 0,
        }
    }
}

/// A distribution.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Dist {
    /// Digits of the thread index, fastest first; their extents multiply to the thread count.
    pub threads: Vec<Mode>,
    /// Digits of the value index, fastest first.
    pub values: Vec<Mode>,
}

impl Dist {
    /// Threads it speaks of.
    #[must_use]
    pub fn thread_count(&self) -> u32 {
        self.threads.iter().map(|m| m.extent).product()
    }
    /// Elements a thread holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.iter().map(|m| m.extent as usize).product()
    }
    /// Whether a thread holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The build-time part of value `v`'s coordinate, for a tensor of `rank` axes.
    #[must_use]
    pub fn value_offset(&self, v: usize, rank: usize) -> Coordinate {
        offset(&self.values, v, rank)
    }
    /// The thread's part of the coordinate.
    #[must_use]
    pub fn thread_offset(&self, thread: usize, rank: usize) -> Coordinate {
        offset(&self.threads, thread, rank)
    }
    /// The coordinate of (thread, value).
    #[must_use]
    pub fn coordinate(&self, thread: usize, v: usize, rank: usize) -> Coordinate {
        let mut at = self.thread_offset(thread, rank);
        advance(&mut at, &self.values, v);
        at
    }
    /// One past the largest coordinate along `axis`, whatever the shape.
    #[must_use]
    pub fn reach(&self, axis: usize) -> u32 {
        let far = |m: &&Mode| m.axis == Some(axis as u8);
        1 + self
            .threads
            .iter()
            .chain(&self.values)
            .filter(far)
            .map(|m| (m.extent - 1) * m.step)
            .sum::<u32>()
    }
    /// Without `axis`, as a reduction along it leaves it: values along it are gone, threads along it
    /// all hold the result, later axes move down by one.
    #[must_use]
    pub fn without(&self, axis: usize) -> Dist {
        let down = |a: u8| if a as usize > axis { a - 1 } else { a };
        let threads = self.threads.iter().map(|m| match m.axis {
            Some(a) if a as usize == axis => Mode::replicated(m.extent),
            Some(a) => Mode {
                axis: Some(down(a)),
                ..*m
            },
            None => *m,
        });
        let values = self.values.iter().filter(|m| m.axis != Some(axis as u8));
        Dist {
            threads: threads.collect(),
            values: values
                .map(|m| Mode {
                    axis: m.axis.map(down),
                    ..*m
                })
                .collect(),
        }
        .merged()
    }
    /// With adjacent replicating thread modes joined and modes of extent 1 dropped, so that equal
    /// functions compare equal more often.
    #[must_use]
    pub fn merged(mut self) -> Dist {
        self.values.retain(|m| m.extent != 1);
        self.threads.retain(|m| m.extent != 1);
        let mut threads: Vec<Mode> = Vec::with_capacity(self.threads.len());
        for m in self.threads {
            match threads.last_mut() {
                Some(last)
                    if last.axis == m.axis
                        && (m.axis.is_none() || last.step * last.extent == m.step) =>
                {
                    last.extent *= m.extent;
                }
                _ => threads.push(m),
            }
        }
        let mut values: Vec<Mode> = Vec::with_capacity(self.values.len());
        for m in self.values {
            match values.last_mut() {
                Some(last) if last.axis == m.axis && last.step * last.extent == m.step => {
                    last.extent *= m.extent;
                }
                _ => values.push(m),
            }
        }
        Dist { threads, values }
    }
    /// For a vector left by a reduction along `axis` of a tensor distributed like `self`: which of the
    /// vector's values goes with value `v` of the tensor.
    #[must_use]
    pub fn reduced_index(&self, axis: usize, mut v: usize) -> usize {
        let (mut index, mut stride) = (0, 1);
        for m in &self.values {
            let digit = v % m.extent as usize;
            v /= m.extent as usize;
            if m.axis != Some(axis as u8) {
                index += digit * stride;
                stride *= m.extent as usize;
            }
        }
        index
    }
    /// Elements next to each other along `axis` in value order, from value 0 of each run.
    #[must_use]
    pub fn run(&self, axis: usize) -> u32 {
        let mut run = 1;
        for m in &self.values {
            if m.axis != Some(axis as u8) || m.step != run {
                break;
            }
            run *= m.extent;
        }
        run
    }
}

fn offset(modes: &[Mode], index: usize, rank: usize) -> Coordinate {
    let mut at = Coordinate::origin(rank);
    advance(&mut at, modes, index);
    at
}

fn advance(at: &mut [u32], modes: &[Mode], index: usize) {
    let mut index = index as u32;
    for m in modes {
        let digit = index % m.extent;
        index /= m.extent;
        if let Some(axis) = m.axis {
            at[axis as usize] += digit * m.step;
        }
    }
}

impl fmt::Display for Dist {
    /// `thread (32:1@1, 8:4@0) value (4:1@0)`: extent, step, axis.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, modes: &[Mode]| {
            f.write_str("(")?;
            for (i, m) in modes.iter().enumerate() {
                let comma = if i == 0 { "" } else { ", " };
                match m.axis {
                    Some(axis) => write!(f, "{comma}{}:{}@{axis}", m.extent, m.step)?,
                    None => write!(f, "{comma}{}:*", m.extent)?,
                }
            }
            f.write_str(")")
        };
        f.write_str("thread ")?;
        list(f, &self.threads)?;
        f.write_str(" value ")?;
        list(f, &self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear() -> Dist {
        Dist {
            threads: vec![Mode::along(1, 4, 2)],
            values: vec![
                Mode::along(1, 2, 1),
                Mode::along(1, 2, 8),
                Mode::along(0, 3, 1),
            ],
        }
    }

    #[test]
    fn every_element_once() {
        let d = linear();
        let mut seen = [0; 3 * 16];
        for t in 0..4 {
            for v in 0..d.len() {
                let c = d.coordinate(t, v, 2);
                seen[(c[0] * 16 + c[1]) as usize] += 1;
            }
        }
        assert!(seen.iter().all(|&n| n == 1));
        assert_eq!((d.reach(0), d.reach(1), d.run(1)), (3, 16, 2));
    }

    #[test]
    fn a_reduced_vector_matches_its_tensor() {
        let d = linear();
        let r = d.without(1);
        assert_eq!(r.len(), 3);
        for t in 0..4 {
            for v in 0..d.len() {
                let c = d.coordinate(t, v, 2);
                assert_eq!(r.coordinate(t, d.reduced_index(1, v), 1)[..], c[..1]);
            }
        }
    }
}
