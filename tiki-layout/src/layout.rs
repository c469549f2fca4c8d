//! [`Layout`]: a shape and a stride nested alike, read as a function from coordinates to offsets.
//!
//! ```text
//!     (4,8):(8,1)          coordinate (i,j) -> 8*i + j        row-major
//!     ((2,2),8):((1,16),2) coordinate ((a,b),j) -> a + 16*b + 2*j
//! ```
//!
//! Invariants, held by every constructor: shape and stride are congruent, extents are not negative, and the size and the
//! largest distance between two offsets fit in `i64`, so that evaluation inside the domain cannot overflow. An extent of
//! zero makes the layout empty: size 0, cosize 0, no offset.

use crate::Tuple;
use crate::error::{Error, Result, abs, add, mul};
use crate::inline::{Mode, Modes};

/// A function from coordinates to offsets: `shape:stride`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Tuple,
    stride: Tuple,
}

impl From<&Layout> for Layout {
    fn from(layout: &Layout) -> Self {
        layout.clone()
    }
}

impl Layout {
    /// `shape:stride`; the two must be nested alike.
    pub fn new(shape: impl Into<Tuple>, stride: impl Into<Tuple>) -> Result<Self> {
        let (shape, stride) = (shape.into(), stride.into());
        if !shape.is_congruent(&stride) {
            return Err(Error::Incongruent {
                op: "layout",
                left: shape,
                right: stride,
            });
        }
        Layout { shape, stride }.checked()
    }

    /// Checks the numbers; the profiles are known to agree.
    fn checked(self) -> Result<Self> {
        const OP: &str = "layout";
        let (mut size, mut reach) = (1, 1);
        each_mode(&self.shape, &self.stride, &mut |mode| {
            if mode.extent < 0 {
                return Err(Error::NegativeExtent {
                    op: OP,
                    extent: mode.extent,
                });
            }
            // Also of an empty layout: its modes are layouts too, and need not be empty.
            if mode.extent > 1 {
                size = mul(OP, size, mode.extent)?;
                reach = add(OP, reach, mul(OP, mode.extent - 1, abs(OP, mode.stride)?)?)?;
            }
            Ok(())
        })?;
        Ok(self)
    }

    /// The compact layout with the leftmost leaf fastest. A leaf of extent 1 has stride 0.
    pub fn col_major(shape: impl Into<Tuple>) -> Result<Self> {
        let shape = shape.into();
        let mut step = 1;
        let stride = shape.try_map(&mut |extent| take_step(&mut step, extent))?;
        Layout { shape, stride }.checked()
    }

    /// The compact layout with the rightmost leaf fastest. A leaf of extent 1 has stride 0.
    pub fn row_major(shape: impl Into<Tuple>) -> Result<Self> {
        let shape = shape.into();
        let mut step = 1;
        let leaves = shape.leaves();
        let mut strides = leaves
            .iter()
            .rev()
            .map(|extent| take_step(&mut step, *extent))
            .collect::<Result<Vec<i64>>>()?;
        let stride = shape.map(&mut |_| strides.pop().unwrap_or_default());
        Layout { shape, stride }.checked()
    }

    /// Puts layouts side by side: each becomes one mode.
    pub fn concat<'a>(layouts: impl IntoIterator<Item = &'a Layout>) -> Result<Self> {
        let (shapes, strides) = layouts
            .into_iter()
            .map(|layout| (layout.shape.clone(), layout.stride.clone()))
            .unzip();
        Layout {
            shape: Tuple::Tuple(shapes),
            stride: Tuple::Tuple(strides),
        }
        .checked()
    }

    /// Modes of one layout in another arrangement: nothing to check.
    pub(crate) fn regroup(modes: Vec<Layout>) -> Self {
        let (shapes, strides) = modes
            .into_iter()
            .map(|layout| (layout.shape, layout.stride))
            .unzip();
        Layout {
            shape: Tuple::Tuple(shapes),
            stride: Tuple::Tuple(strides),
        }
    }

    /// [`concat`](Self::concat) of layouts that are no longer needed.
    pub(crate) fn concat_all(layouts: Vec<Layout>) -> Result<Self> {
        Layout::regroup(layouts).checked()
    }

    /// The layout whose modes are the leaves of `modes`, or a single integer mode.
    pub(crate) fn from_flat(modes: &[Mode]) -> Result<Self> {
        match modes {
            [] => Layout::new(1, 0),
            [mode] => Layout::new(mode.extent, mode.stride),
            _ => {
                let shape = modes.iter().map(|mode| mode.extent).collect();
                let stride = modes.iter().map(|mode| mode.stride).collect();
                Layout { shape, stride }.checked()
            }
        }
    }

    /// Shape and stride are known to be congruent.
    pub(crate) fn from_parts(shape: Tuple, stride: Tuple) -> Result<Self> {
        debug_assert!(shape.is_congruent(&stride));
        Layout { shape, stride }.checked()
    }

    /// The extents.
    pub fn shape(&self) -> &Tuple {
        &self.shape
    }

    /// The strides, nested like the shape.
    pub fn stride(&self) -> &Tuple {
        &self.stride
    }

    /// How many modes: 1 for an integer layout.
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// How deep the modes nest: 0 for an integer layout.
    pub fn depth(&self) -> usize {
        self.shape.depth()
    }

    /// How many coordinates.
    pub fn size(&self) -> i64 {
        let leaves = self.shape.short_leaves();
        if leaves.contains(&0) {
            0
        } else {
            leaves.iter().product()
        }
    }

    /// One more than the distance between the smallest and the largest offset; 0 if there is none.
    pub fn cosize(&self) -> i64 {
        if self.is_empty() {
            return 0;
        }
        let live = |mode: &&Mode| mode.extent > 1;
        1 + self
            .flat()
            .iter()
            .filter(live)
            .map(|mode| (mode.extent - 1) * mode.stride.abs())
            .sum::<i64>()
    }

    /// Whether an extent is zero.
    pub fn is_empty(&self) -> bool {
        self.shape.any_leaf(&mut |leaf| leaf == 0)
    }

    /// Mode `index` as a layout of its own.
    pub fn mode(&self, index: usize) -> Result<Layout> {
        match (self.shape.get(index), self.stride.get(index)) {
            (Some(shape), Some(stride)) => Ok(Layout {
                shape: shape.clone(),
                stride: stride.clone(),
            }),
            _ => Err(Error::Mode {
                op: "mode",
                mode: index,
                rank: self.rank(),
            }),
        }
    }

    /// Every mode as a layout of its own.
    pub fn modes(&self) -> impl Iterator<Item = Layout> + '_ {
        let pairs = self.shape.modes().iter().zip(self.stride.modes());
        pairs.map(|(shape, stride)| Layout {
            shape: shape.clone(),
            stride: stride.clone(),
        })
    }

    /// The modes of a layout that is no longer needed.
    pub(crate) fn into_modes(self) -> Vec<Layout> {
        match (self.shape, self.stride) {
            (Tuple::Tuple(shapes), Tuple::Tuple(strides)) => {
                let pairs = shapes.into_iter().zip(strides);
                pairs
                    .map(|(shape, stride)| Layout { shape, stride })
                    .collect()
            }
            (shape, stride) => vec![Layout { shape, stride }],
        }
    }

    /// The leaves, leftmost (fastest) first, as (extent, stride).
    pub fn leaves(&self) -> Vec<(i64, i64)> {
        self.flat()
            .iter()
            .map(|mode| (mode.extent, mode.stride))
            .collect()
    }

    pub(crate) fn flat(&self) -> Modes {
        let mut modes = Modes::new();
        collect(&self.shape, &self.stride, &mut modes);
        modes
    }

    /// The shape and stride of every size-1 leaf set to stride 0: equal functions on equal shapes compare equal.
    pub fn normalized(&self) -> Layout {
        let mut extents = self.shape.leaves().into_iter();
        let stride = self
            .stride
            .map(&mut |stride| if extents.next() == Some(1) { 0 } else { stride });
        Layout {
            shape: self.shape.clone(),
            stride,
        }
    }
}

/// The stride of the next leaf of a compact layout.
fn take_step(step: &mut i64, extent: i64) -> Result<i64> {
    if extent == 1 {
        return Ok(0);
    }
    let stride = *step;
    *step = mul("compact", *step, extent)?;
    Ok(stride)
}

/// Calls `f` on every leaf from the left, until it fails.
fn each_mode(shape: &Tuple, stride: &Tuple, f: &mut impl FnMut(Mode) -> Result<()>) -> Result<()> {
    match (shape, stride) {
        (Tuple::Int(extent), Tuple::Int(stride)) => f(Mode {
            extent: *extent,
            stride: *stride,
        }),
        (Tuple::Tuple(shapes), Tuple::Tuple(strides)) => shapes
            .iter()
            .zip(strides)
            .try_for_each(|(shape, stride)| each_mode(shape, stride, f)),
        _ => Ok(()),
    }
}

/// Appends the leaves of `shape` and `stride`, which are nested alike.
pub(crate) fn collect(shape: &Tuple, stride: &Tuple, out: &mut Modes) {
    match (shape, stride) {
        (Tuple::Int(extent), Tuple::Int(stride)) => out.push(Mode {
            extent: *extent,
            stride: *stride,
        }),
        (Tuple::Tuple(shapes), Tuple::Tuple(strides)) => {
            shapes
                .iter()
                .zip(strides)
                .for_each(|(shape, stride)| collect(shape, stride, out));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Invariant: what is too large is refused even beside an extent of zero. Witness: the mode that would overflow.
    #[test]
    fn an_empty_layout_has_safe_modes() {
        let huge = Layout::new([0, 1 << 62, 8], [0, 1, 1]);
        assert!(matches!(huge, Err(Error::Overflow { .. })), "{huge:?}");
        let empty = Layout::new([0, 4], [1, 7]).unwrap();
        assert_eq!(
            (empty.size(), empty.cosize(), empty.offsets().count()),
            (0, 0, 0)
        );
        assert_eq!(empty.mode(1).unwrap().size(), 4);
    }
}
