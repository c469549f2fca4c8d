//! A coordinate of a tensor: a number for each axis, which needs no allocation for the few axes that tensors have.
//! Passes that prove by enumeration ask for every element of every tile, so it is worth a type.

use super::Dist;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Axes that need no allocation.
const FEW: usize = 4;

/// A number for each axis of a tensor; read as a slice.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coordinate {
    few: [u32; FEW],
    rank: usize,
    /// All of them, where there are more.
    many: Vec<u32>,
}

impl Coordinate {
    /// Of zeros.
    #[must_use]
    pub fn origin(rank: usize) -> Coordinate {
        let many = if rank > FEW {
            vec![0; rank]
        } else {
            Vec::new()
        };
        Coordinate {
            few: [0; FEW],
            rank,
            many,
        }
    }
}

impl Deref for Coordinate {
    type Target = [u32];
    fn deref(&self) -> &[u32] {
        match self.rank {
            0..=FEW => &self.few[..self.rank],
            _ => &self.many,
        }
    }
}

impl DerefMut for Coordinate {
    fn deref_mut(&mut self) -> &mut [u32] {
        match self.rank {
            0..=FEW => &mut self.few[..self.rank],
            _ => &mut self.many,
        }
    }
}

impl fmt::Debug for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The coordinates of everything that threads hold, for those who ask for each: a sum an element, no divisions.
#[derive(Debug)]
pub struct Coordinates {
    threads: Vec<Coordinate>,
    values: Vec<Coordinate>,
    /// Of each axis, the values' parts.
    along: Vec<Vec<u32>>,
}

impl Coordinates {
    /// Of a distribution, for a tensor of `rank` axes.
    #[must_use]
    pub fn new(dist: &Dist, rank: usize) -> Coordinates {
        let threads = 0..dist.thread_count() as usize;
        let values = (0..dist.len()).map(|v| dist.value_offset(v, rank));
        let values: Vec<Coordinate> = values.collect();
        let along = |axis: usize| values.iter().map(|v| v[axis]).collect();
        Coordinates {
            threads: threads.map(|t| dist.thread_offset(t, rank)).collect(),
            along: (0..rank).map(along).collect(),
            values,
        }
    }
    /// Threads it speaks of.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.len()
    }
    /// Elements a thread holds.
    #[must_use]
    pub fn values(&self) -> usize {
        self.values.len()
    }
    fn each(&self, thread: usize, value: usize) -> impl Iterator<Item = u32> {
        let (thread, value) = (self.threads[thread].iter(), self.values[value].iter());
        thread.zip(value).map(|(a, b)| a + b)
    }
    /// Whether the coordinate of (thread, value) is inside a shape.
    #[must_use]
    pub fn inside(&self, shape: &[u32], thread: usize, value: usize) -> bool {
        let mut axes = self.each(thread, value).zip(shape);
        axes.all(|(c, n)| c < *n)
    }
    /// The sum at the coordinate of (thread, value); `None` outside of the steps' shape.
    #[must_use]
    pub fn sum(&self, steps: &Steps, thread: usize, value: usize) -> Option<i64> {
        let mut axes = self.each(thread, value).zip(&steps.0);
        axes.try_fold(0, |sum, (c, steps)| Some(sum + steps.get(c as usize)?))
    }
    /// The sums at all that a thread holds, by value, into a list; `None` outside of the steps' shape.
    pub fn sums(&self, steps: &Steps, thread: usize, sums: &mut Vec<Option<i64>>) {
        sums.clear();
        sums.resize(self.values(), Some(0));
        for (axis, steps) in steps.0.iter().enumerate() {
            let first = self.threads[thread][axis] as usize;
            let steps = steps.get(first..).unwrap_or(&[]);
            for (sum, c) in sums.iter_mut().zip(&self.along[axis]) {
                *sum = match (*sum, steps.get(*c as usize)) {
                    (Some(sum), Some(step)) => Some(sum + step),
                    _ => None,
                };
            }
        }
    }
    /// The coordinate of (thread, value).
    #[must_use]
    pub fn at(&self, thread: usize, value: usize) -> Coordinate {
        let mut at = self.threads[thread].clone();
        for (a, b) in at.iter_mut().zip(self.values[value].iter()) {
            *a += b;
        }
        at
    }
}

/// A function of coordinates that is a sum over the axes: what each index along each axis adds to it.
#[derive(Debug)]
pub struct Steps(Vec<Vec<i64>>);

impl Steps {
    /// Of the coordinates inside a shape; `step` says what an index along an axis adds.
    #[must_use]
    pub fn new(shape: &[u32], step: impl Fn(usize, u32) -> i64) -> Steps {
        let axes = shape.iter().enumerate();
        Steps(
            axes.map(|(axis, n)| (0..*n).map(|c| step(axis, c)).collect())
                .collect(),
        )
    }
    /// Axis by axis.
    #[must_use]
    pub fn axes(&self) -> &[Vec<i64>] {
        &self.0
    }
}

/// Whether a coordinate is inside a shape.
#[must_use]
pub fn within(at: &[u32], shape: &[u32]) -> bool {
    at.iter().zip(shape).all(|(c, n)| c < n)
}
