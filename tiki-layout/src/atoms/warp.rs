//! mma.sync: the fragments of a warp.
//!
//! One rule gives every shape. A 32-bit register holds `v = max(1, 32 / width)` neighbours along k. Four threads stand
//! side by side along k (or along n of C), eight along the rows; then a thread's next registers are the rows 8 below,
//! then the next `4 v` columns:
//!
//! ```text
//!     A   ((4,8),(v,2,k/4v)) : ((m v, 1),(m, 8, 4 m v))          m = 16; for m = 8 there are no rows below
//!     B   ((4,8),(v,k/4v))   : ((n v, 1),(n, 4 n v))             n = 8
//!     C   ((4,8),(2,2))      : ((2 m, 1),(m, 8))
//! ```

use super::MmaAtom;
use crate::error::{Error, Result};
use crate::{Layout, Tuple};

/// A shape that mma.sync has for elements of a width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WarpShape {
    /// Rows of A and C.
    pub m: i64,
    /// Rows of B, columns of C.
    pub n: i64,
    /// Columns of A and B.
    pub k: i64,
    /// Bits of an element of A and B.
    pub width: i64,
}

const fn shape(m: i64, n: i64, k: i64, width: i64) -> WarpShape {
    WarpShape { m, n, k, width }
}

/// Every shape of a full warp, by element width.
pub const WARP_SHAPES: &[WarpShape] = &[
    shape(8, 8, 128, 1),
    shape(16, 8, 128, 1),
    shape(16, 8, 256, 1),
    shape(8, 8, 32, 4),
    shape(16, 8, 32, 4),
    shape(16, 8, 64, 4),
    shape(8, 8, 16, 8),
    shape(16, 8, 16, 8),
    shape(16, 8, 32, 8),
    shape(16, 8, 8, 16),
    shape(16, 8, 16, 16),
    shape(16, 8, 4, 32),
    shape(16, 8, 8, 32),
    shape(8, 8, 4, 64),
    shape(16, 8, 4, 64),
    shape(16, 8, 8, 64),
    shape(16, 8, 16, 64),
];

/// How an operand of the quad-pair instruction (8x8x4 on 8 threads) lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuadOperand {
    /// A thread holds one row: its values go along k.
    AlongK,
    /// A thread holds part of one column: its values go along the rows.
    AlongRows,
}

/// A mode that is dropped if it has one element; a list of none is `1:0`, of one stays an integer.
fn values(modes: &[(i64, i64)]) -> (Tuple, Tuple) {
    let live: Vec<(i64, i64)> = modes
        .iter()
        .copied()
        .filter(|(extent, _)| *extent != 1)
        .collect();
    match live[..] {
        [] => (Tuple::Int(1), Tuple::Int(0)),
        [(extent, stride)] => (Tuple::Int(extent), Tuple::Int(stride)),
        _ => (
            live.iter().map(|mode| mode.0).collect(),
            live.iter().map(|mode| mode.1).collect(),
        ),
    }
}

pub(super) fn fragment(threads: &[(i64, i64)], modes: &[(i64, i64)]) -> Result<Layout> {
    let (shape, stride) = values(modes);
    let thread_shape: Tuple = threads.iter().map(|mode| mode.0).collect();
    let thread_stride: Tuple = threads.iter().map(|mode| mode.1).collect();
    Layout::new(vec![thread_shape, shape], vec![thread_stride, stride])
}

/// How many neighbours along k a 32-bit register holds.
pub(super) fn packed(width: i64) -> i64 {
    (32 / width.max(1)).max(1)
}

fn check(op: &'static str, what: &'static str, got: i64, unit: i64) -> Result<i64> {
    if got > 0 && unit > 0 && got % unit == 0 {
        Ok(got / unit)
    } else {
        Err(Error::Atom {
            op,
            what,
            got,
            want: unit,
        })
    }
}

impl MmaAtom {
    /// mma.sync of the shape m, n, k on elements of `width` bits.
    ///
    /// ```
    /// # use tiki_layout::atoms::MmaAtom;
    /// let atom = MmaAtom::warp(16, 8, 16, 16).unwrap();
    /// assert_eq!(atom.a.to_string(), "((4,8),(2,2,2)):((32,1),(16,8,128))");
    /// assert_eq!(atom.b.to_string(), "((4,8),(2,2)):((16,1),(8,64))");
    /// assert_eq!(atom.c.to_string(), "((4,8),(2,2)):((32,1),(16,8))");
    /// assert!(MmaAtom::warp(16, 8, 3, 16).is_err());
    /// ```
    pub fn warp(m: i64, n: i64, k: i64, width: i64) -> Result<MmaAtom> {
        let known = WARP_SHAPES
            .iter()
            .any(|s| (s.m, s.n, s.k, s.width) == (m, n, k, width));
        if !known {
            return Err(Error::Unknown {
                op: "mma atom",
                name: format!("m{m}n{n}k{k} of {width} bits"),
            });
        }
        let v = packed(width);
        let steps = check("mma atom", "k", k, 4 * v)?;
        let operand = |threads: &[(i64, i64)], modes: &[(i64, i64)]| {
            let layout = fragment(threads, modes)?;
            // A single mode of 4-bit values is written as a tuple of one.
            if width != 4 || layout.mode(1)?.depth() > 0 {
                return Ok(layout);
            }
            Layout::concat([&layout.mode(0)?, &Layout::concat([&layout.mode(1)?])?])
        };
        let (four, eight) = ((4, m * v), (8, 1));
        Ok(MmaAtom {
            m,
            n,
            k,
            threads: Layout::new(32, 1)?,
            a: operand(&[four, eight], &[(v, m), (m / 8, 8), (steps, 4 * m * v)])?,
            b: operand(&[(4, n * v), eight], &[(v, n), (steps, 4 * n * v)])?,
            c: fragment(&[(4, 2 * m), eight], &[(2, m), (m / 8, 8)])?,
        })
    }

    /// The quad-pair instruction 8x8x4 on 16-bit elements: threads 0..4 and 16..20 of a warp (and three more pairs).
    pub fn quad_pair(a: QuadOperand, b: QuadOperand, wide_accumulator: bool) -> Result<MmaAtom> {
        let operand = |lie| match lie {
            QuadOperand::AlongK => Layout::new([8, 4], [1, 8]),
            QuadOperand::AlongRows => fragment(&[(4, 8), (2, 4)], &[(4, 1)]),
        };
        let c = if wide_accumulator {
            fragment(&[(2, 1), (2, 16), (2, 4)], &[(2, 8), (2, 2), (2, 32)])?
        } else {
            Layout::new([8, 8], [1, 8])?
        };
        Ok(MmaAtom {
            m: 8,
            n: 8,
            k: 4,
            threads: Layout::new([4, 2], [1, 16])?,
            a: operand(a)?,
            b: operand(b)?,
            c,
        })
    }

    /// A multiply of one thread: a dot product of `k` elements.
    pub fn scalar(k: i64) -> Result<MmaAtom> {
        let k = check("mma atom", "k", k, 1)?;
        let row = Layout::new([1, k], [0, i64::from(k > 1)])?;
        let c = Layout::new([1, 1], [0, 0])?;
        Ok(MmaAtom {
            m: 1,
            n: 1,
            k,
            threads: Layout::new(1, 0)?,
            a: row.clone(),
            b: row,
            c,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Invariant: every element of every operand of every shape belongs to exactly one (thread, value).
    /// Witness: the sorted offsets are 0, 1, 2, ..
    #[test]
    fn fragments_are_bijections() {
        for s in WARP_SHAPES {
            let atom = MmaAtom::warp(s.m, s.n, s.k, s.width).unwrap();
            for (layout, size) in [
                (&atom.a, s.m * s.k),
                (&atom.b, s.n * s.k),
                (&atom.c, s.m * s.n),
            ] {
                let mut offsets: Vec<i64> = layout.offsets().collect();
                offsets.sort_unstable();
                assert_eq!(offsets, (0..size).collect::<Vec<_>>(), "{s:?}: {layout}");
                assert_eq!(layout.mode(0).unwrap().size(), 32);
            }
        }
    }
}
