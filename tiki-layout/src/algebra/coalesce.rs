//! Coalesce and filter: the same function with fewer modes.
//!
//! ```text
//!     (2,1,6):(1,7,2)  ->  12:1        drop extents of 1, then merge s0:d0, s1:s0*d0 into s0*s1:d0
//!     (4,2):(1,0)      ->  filter 4:1  broadcast modes add no offset
//! ```
//!
//! Law: `coalesce(L)(i) = L(i)` for `0 <= i < size`, with depth at most 1 and as few modes as the pairwise rules allow.

use crate::error::{Error, Result, mul};
use crate::inline::{Mode, Modes};
use crate::{Layout, Tuple};

/// Coalesces flat modes. No mode left means size 1; an empty layout becomes `0:0`.
pub(crate) fn coalesce_flat(modes: &[Mode]) -> Result<Modes> {
    if modes.iter().any(|mode| mode.extent == 0) {
        return Ok([Mode {
            extent: 0,
            stride: 0,
        }]
        .into_iter()
        .collect());
    }
    merge_all(modes.iter().copied().filter(|mode| mode.extent != 1))
}

/// Merges neighbours.
pub(crate) fn merge_all(modes: impl Iterator<Item = Mode>) -> Result<Modes> {
    let mut out = Modes::new();
    for mode in modes {
        merge(&mut out, mode)?;
    }
    Ok(out)
}

fn merge(out: &mut Modes, mode: Mode) -> Result<()> {
    if let Some(last) = out.last_mut()
        && last.extent.checked_mul(last.stride) == Some(mode.stride)
    {
        last.extent = mul("coalesce", last.extent, mode.extent)?;
    } else {
        out.push(mode);
    }
    Ok(())
}

/// Coalesces without changing the function *past the end*: the last mode goes on forever, so it is kept even if its
/// extent is 1 (unless it continues the mode before it). At least one mode is left.
pub(crate) fn coalesce_extended(modes: &[Mode]) -> Result<Modes> {
    let Some((last, front)) = modes.split_last() else {
        return Ok([Mode {
            extent: 1,
            stride: 0,
        }]
        .into_iter()
        .collect());
    };
    let mut out = coalesce_flat(front)?;
    merge(&mut out, *last)?;
    Ok(out)
}

impl Layout {
    /// The same function on `0..size` with as few modes as possible, not nested.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// let layout = Layout::parse("(2,(1,6)):(1,(6,2))").unwrap();
    /// assert_eq!(layout.coalesce().unwrap().to_string(), "12:1");
    /// ```
    pub fn coalesce(&self) -> Result<Layout> {
        Layout::from_flat(&coalesce_flat(&self.flat())?)
    }

    /// Coalesces below each leaf of `profile`, keeping its nesting; modes past its rank stay as they are.
    ///
    /// ```
    /// # use tiki_layout::{Layout, Tuple};
    /// let layout = Layout::parse("(2,(1,6)):(1,(6,2))").unwrap();
    /// assert_eq!(layout.coalesce_like(&Tuple::from([1, 1])).unwrap().to_string(), "(2,6):(1,2)");
    /// ```
    pub fn coalesce_like(&self, profile: &Tuple) -> Result<Layout> {
        self.by_profile("coalesce", profile, &|layout| layout.coalesce())
    }

    /// Broadcast modes get extent 1; nothing else changes.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// assert_eq!(Layout::parse("(4,2):(1,0)").unwrap().filter_zeros().unwrap().to_string(), "(4,1):(1,0)");
    /// ```
    pub fn filter_zeros(&self) -> Result<Layout> {
        let mut strides = self.stride().leaves().into_iter();
        let shape = self
            .shape()
            .map(&mut |extent| match (strides.next(), extent) {
                (Some(0), 1..) => 1,
                _ => extent,
            });
        Layout::from_parts(shape, self.stride().clone())
    }

    /// Coalesced without broadcast modes: the same offsets, each mode counted once.
    ///
    /// ```
    /// # use tiki_layout::Layout;
    /// assert_eq!(Layout::parse("(2,4,2):(0,1,4)").unwrap().filter().unwrap().to_string(), "8:1");
    /// ```
    pub fn filter(&self) -> Result<Layout> {
        self.filter_zeros()?.coalesce()
    }

    /// Filters below each leaf of `profile`, keeping its nesting.
    ///
    /// ```
    /// # use tiki_layout::{Coord, Error, Layout, Order, Tiler, Tuple, laws};
    /// # let l = |text| Layout::parse(text).unwrap();
    /// let a = l("((2,4),(3,2)):((0,1),(4,0))");
    /// assert_eq!(a.filter_like(&Tuple::from([1, 1])).unwrap(), l("(4,3):(1,4)"));
    /// ```
    pub fn filter_like(&self, profile: &Tuple) -> Result<Layout> {
        self.by_profile("filter", profile, &|layout| layout.filter())
    }

    fn by_profile(
        &self,
        op: &'static str,
        profile: &Tuple,
        f: &dyn Fn(&Layout) -> Result<Layout>,
    ) -> Result<Layout> {
        match profile {
            Tuple::Int(_) => f(self),
            Tuple::Tuple(profiles) if profiles.len() <= self.rank() => {
                let modes = self
                    .modes()
                    .enumerate()
                    .map(|(i, mode)| match profiles.get(i) {
                        Some(profile) => mode.by_profile(op, profile, f),
                        None => Ok(mode),
                    });
                Layout::concat_all(modes.collect::<Result<Vec<_>>>()?)
            }
            Tuple::Tuple(profiles) => Err(Error::Rank {
                op,
                got: profiles.len(),
                want: self.rank(),
            }),
        }
    }
}
