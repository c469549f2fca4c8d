//! Composition: `R(c) = A(B(c))`, with the domain of `B`.
//!
//! ```text
//!     A = (4,3):(3,1)      B = 6:2        A o B = (2,3):(6,1)
//!     A:  0 3 6 9 | 1 4 7 10 | 2 5 8 11   every second: 0 6 | 1 7 | 2 8
//! ```
//!
//! `A` is read past its end (its last mode goes on), so `B` may reach further than `A`'s size.
//!
//! 1. `B` is taken leaf by leaf. A leaf `s:d` *walks* over the modes of `A`: its stride is divided out of the extents
//!    until it enters a mode, then its extent is spread over that mode and the following ones.
//! 2. The walk is exact if at every mode the stride divides the extent, or is divided by it, or the leaf never leaves
//!    the mode; and the sum over all leaves is exact if no digit of `A`'s mixed radix can carry.
//! 3. If both hold, done: this covers every layout of an ordinary kernel and visits no index.
//! 4. Otherwise the answer is decided by visiting every index: first the walk's own answer, then the only other
//!    candidate, the longest linear runs of each leaf. If neither equals `A(B(i))` everywhere no layout does, and the
//!    refusal names the first index.

use super::coalesce::coalesce_extended;
use crate::error::{Error, Result, abs, mul};
use crate::evaluate::at_flat;
use crate::inline::{Inline, Mode, Modes};
use crate::{Layout, Tiler, Tuple};

const OP: &str = "composition";

/// The largest domain that is searched index by index.
pub const ENUMERATION_LIMIT: i64 = 1 << 20;

/// The largest digit each mode of `A` can be asked for, and whether all walks so far were exact.
pub(super) struct Walk<'a> {
    a: &'a [Mode],
    digits: Inline<i64, 8>,
    exact: bool,
    failed: bool,
}

impl<'a> Walk<'a> {
    /// Walks over `a`: the coalesced modes of a layout, the last of which goes on.
    pub(super) fn over(a: &'a [Mode]) -> Self {
        Walk {
            digits: a.iter().map(|_| 0).collect(),
            a,
            exact: true,
            failed: false,
        }
    }

    /// Whether what was walked so far is the composition, without visiting an index.
    pub(super) fn holds(&self) -> bool {
        !self.failed && self.exact && !self.carries()
    }

    pub(super) fn leaf(&mut self, extent: i64, stride: i64) -> Result<Modes> {
        let one = |stride| [Mode { extent, stride }].into_iter().collect();
        if extent == 1 || stride == 0 {
            return Ok(one(0));
        }
        if let [only] = self.a {
            return Ok(one(mul(OP, stride, only.stride)?));
        }
        let sign = stride.signum();
        if sign < 0 {
            self.exact = false;
        }
        let (mut step, mut left, mut out) = (abs(OP, stride)?, extent, Modes::new());
        let last = self.a.len() - 1;
        for (i, mode) in self.a[..last].iter().enumerate() {
            if left == 1 {
                break;
            }
            let whole = step % mode.extent == 0;
            if whole {
                step /= mode.extent;
                continue;
            }
            // The leaf enters this mode with `step < extent`, or crosses it askew.
            let room = crate::error::div_up(mode.extent, step);
            let take = room.min(left);
            let inside = mul(OP, left - 1, step)? < mode.extent;
            if !inside && (mode.extent % step != 0 || left % take != 0) {
                self.exact = false;
            }
            if step > mode.extent || left % take != 0 {
                self.failed = true;
                return Ok(one(0));
            }
            if take > 1 {
                out.push(Mode {
                    extent: take,
                    stride: mul(OP, sign * step, mode.stride)?,
                });
                self.digits[i] = self.digits[i].saturating_add((take - 1).saturating_mul(step));
            }
            left /= take;
            step = 1;
        }
        if left > 1 {
            out.push(Mode {
                extent: left,
                stride: mul(OP, mul(OP, sign, step)?, self.a[last].stride)?,
            });
        }
        Ok(out)
    }

    pub(super) fn tree(&mut self, shape: &Tuple, stride: &Tuple) -> Result<(Tuple, Tuple)> {
        match (shape, stride) {
            (Tuple::Int(extent), Tuple::Int(stride)) => Ok(tuples(&self.leaf(*extent, *stride)?)),
            (shape, stride) => {
                let mut shapes = Vec::with_capacity(shape.rank());
                let mut strides = Vec::with_capacity(shape.rank());
                for (shape, stride) in shape.modes().iter().zip(stride.modes()) {
                    let (shape, stride) = self.tree(shape, stride)?;
                    shapes.push(shape);
                    strides.push(stride);
                }
                Ok((Tuple::Tuple(shapes), Tuple::Tuple(strides)))
            }
        }
    }

    /// No sum of digits reaches the extent of its mode.
    fn carries(&self) -> bool {
        let last = self.a.len() - 1;
        self.a[..last]
            .iter()
            .zip(self.digits.iter())
            .any(|(mode, digit)| *digit >= mode.extent)
    }
}

/// Modes as (shape, stride): a single one is an integer.
pub(super) fn tuples(modes: &[Mode]) -> (Tuple, Tuple) {
    match modes {
        [mode] => (Tuple::Int(mode.extent), Tuple::Int(mode.stride)),
        _ => (
            modes.iter().map(|mode| mode.extent).collect(),
            modes.iter().map(|mode| mode.stride).collect(),
        ),
    }
}

/// The first index where `layout` differs from `want`.
pub(crate) fn first_difference(
    layout: &Layout,
    want: impl Iterator<Item = Result<i64>>,
) -> Result<Option<(i64, i64, i64)>> {
    for ((index, got), want) in (0..).zip(layout.offsets()).zip(want) {
        let want = want?;
        if got != want {
            return Ok(Some((index, got, want)));
        }
    }
    Ok(None)
}

/// The longest linear runs of `f` on `0..extent` whose lengths multiply up to `extent`. If any factorisation of the
/// extent represents `f`, this one does: a coalesced answer's first mode ends exactly where the first run ends.
pub(crate) fn linear_runs(extent: i64, f: &dyn Fn(i64) -> Result<i64>) -> Result<Modes> {
    let (mut unit, mut out) = (1, Modes::new());
    while unit < extent {
        let (left, stride) = (extent / unit, f(unit)?);
        let mut run = 2;
        while run < left && Some(f(unit * run)?) == stride.checked_mul(run) {
            run += 1;
        }
        let take = (2..=run)
            .rev()
            .find(|take| left % take == 0)
            .unwrap_or(left);
        out.push(Mode {
            extent: take,
            stride,
        });
        unit *= take;
    }
    Ok(if out.is_empty() {
        [Mode { extent, stride: 0 }].into_iter().collect()
    } else {
        out
    })
}

/// Gives each leaf of `shape` its linear runs under `f(step * i)`.
fn by_runs(
    f: &dyn Fn(i64) -> Result<i64>,
    shape: &Tuple,
    stride: &Tuple,
) -> Result<(Tuple, Tuple)> {
    match (shape, stride) {
        (Tuple::Int(extent), Tuple::Int(step)) => {
            Ok(tuples(&linear_runs(*extent, &|i| f(mul(OP, i, *step)?))?))
        }
        (shape, stride) => {
            let pairs = shape.modes().iter().zip(stride.modes());
            let parts = pairs
                .map(|(shape, stride)| by_runs(f, shape, stride))
                .collect::<Result<Vec<_>>>()?;
            let (shapes, strides) = parts.into_iter().unzip();
            Ok((Tuple::Tuple(shapes), Tuple::Tuple(strides)))
        }
    }
}

impl Layout {
    /// The only layout with a shape refining this one that can equal `f(self(i))`, if `f(0) = 0`: to be verified.
    pub(crate) fn runs_of(&self, f: &dyn Fn(i64) -> Result<i64>) -> Result<Layout> {
        let (shape, stride) = by_runs(f, self.shape(), self.stride())?;
        Layout::from_parts(shape, stride)
    }

    /// `self` after `other`: `R(c) = self(other(c))` for every coordinate of `other`.
    ///
    /// Exact or refused: see the steps at the top of this file.
    ///
    /// ```
    /// # use tiki_layout::{Error, Layout};
    /// let l = |text| Layout::parse(text).unwrap();
    /// let (a, b) = (l("(4,3):(3,1)"), l("6:2"));
    /// let r = a.compose(&b).unwrap();
    /// assert_eq!(r.to_string(), "(2,3):(6,1)");
    /// assert!((0..6).all(|i| r.at(i) == a.at(b.at(i).unwrap())));
    /// // 3 does not divide 4 and the walk leaves the mode: no layout of size 6 has these values.
    /// let askew = l("(4,6,8):(2,3,5)").compose(&l("6:3"));
    /// assert!(matches!(askew, Err(Error::NotRepresentable { want: 7, .. })));
    /// ```
    pub fn compose(&self, other: &Layout) -> Result<Layout> {
        if other.is_empty() {
            return Layout::from_parts(other.shape().clone(), other.stride().map(&mut |_| 0));
        }
        if self.is_empty() {
            return Err(Error::Empty {
                op: OP,
                shape: self.shape().clone(),
            });
        }
        let a = coalesce_extended(&self.flat())?;
        let mut walk = Walk::over(&a);
        let (shape, stride) = walk.tree(other.shape(), other.stride())?;
        let failed = walk.failed;
        if walk.holds() {
            return Layout::from_parts(shape, stride);
        }
        if other.size() > ENUMERATION_LIMIT {
            return Err(Error::TooLarge {
                op: OP,
                size: other.size(),
                limit: ENUMERATION_LIMIT,
            });
        }
        let want = || other.offsets().map(|offset| at_flat(&a, offset));
        let mut refusal = None;
        if !failed {
            let walked = Layout::from_parts(shape, stride)?;
            match first_difference(&walked, want())? {
                None => return Ok(walked),
                found => refusal = found,
            }
        }
        let runs = other.runs_of(&|offset| at_flat(&a, offset))?;
        match first_difference(&runs, want())? {
            None => Ok(runs),
            Some(found) => {
                let (index, got, want) = refusal.unwrap_or(found);
                Err(Error::NotRepresentable {
                    op: OP,
                    index,
                    got,
                    want,
                })
            }
        }
    }

    /// Composes mode by mode. The result has the modes of the tiler: modes past its rank are dropped.
    ///
    /// ```
    /// # use tiki_layout::{Layout, Tiler};
    /// let a = Layout::parse("(12,(4,8)):(59,(13,1))").unwrap();
    /// let tile = a.compose_by(Tiler::parse("<3:4,8:2>").unwrap()).unwrap();
    /// assert_eq!(tile.to_string(), "(3,(2,4)):(236,(26,1))");
    /// ```
    pub fn compose_by(&self, tiler: impl Into<Tiler>) -> Result<Layout> {
        match tiler.into() {
            Tiler::Keep => Ok(self.clone()),
            Tiler::Layout(layout) => self.compose(&layout),
            Tiler::Modes(tilers) if tilers.len() <= self.rank() => {
                let modes = self
                    .modes()
                    .zip(tilers)
                    .map(|(mode, tiler)| mode.compose_by(tiler));
                Layout::concat_all(modes.collect::<Result<Vec<_>>>()?)
            }
            Tiler::Modes(tilers) => Err(Error::Rank {
                op: OP,
                got: tilers.len(),
                want: self.rank(),
            }),
        }
    }

    /// The same elements in order under another shape of the same size: `self` after the compact layout of `shape`.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("(4,3):(3,1)");
    /// let r = a.with_shape([2, 6]).unwrap();
    /// assert_eq!(r.to_string(), "(2,(2,3)):(3,(6,1))");
    /// laws::same_function(&a, &r).unwrap();
    /// ```
    pub fn with_shape(&self, shape: impl Into<Tuple>) -> Result<Layout> {
        self.compose(&Layout::col_major(shape)?)
    }
}
