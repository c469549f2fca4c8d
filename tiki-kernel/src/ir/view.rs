//! Pieces of memory and how they are accessed: views of global and shared tensors.

use super::Value;
use crate::artifact::ParamKind;

/// One element in memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// Global: the origins of a view of shape `[1, ..]`.
    Global(GlobalView),
    /// Shared: a view of rank 0.
    Shared(SharedView),
}

/// A rectangular piece of a global tensor.
///
/// Element `(i0, i1, ..)` of the view is element `fixed`, then `origin_a + i_a` along `axes[a].axis`, of
/// the tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct GlobalView {
    /// Index into [`super::Kernel::params`].
    pub param: usize,
    /// The tensor, if it is not the argument itself but one that lies in its memory.
    pub window: Option<Window>,
    /// Coordinates fixed along other axes of the tensor: (axis, index, proven inside).
    pub fixed: Vec<(usize, Value, bool)>,
    /// Axes of the view, outermost first.
    pub axes: Vec<ViewAxis>,
}

/// A tensor of its own extents and strides in the memory of an argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Elements from the argument's first to its own, modulo 2^64 (`u64`).
    pub first: Value,
    /// Its extents, outermost first (`u32`).
    pub extents: Vec<Value>,
    /// Elements from one index to the next along each axis (`u64`).
    pub strides: Vec<Value>,
}

/// One axis of a view.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewAxis {
    /// The tensor's axis.
    pub axis: usize,
    /// Extent of the view.
    pub extent: u32,
    /// Where it begins, in elements of the tensor.
    pub origin: Value,
    /// Proven that `origin + extent` is at most the tensor's extent.
    pub whole: bool,
}

/// A piece of a shared allocation. Element `c` lies at element offset
/// `swizzle(offset + sum over axes of digits(c_a) * strides + sum of dynamic value * step)` of the
/// allocation: a layout whose modes are all written out.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedView {
    /// Index into [`super::Kernel::shared`].
    pub alloc: usize,
    /// Per axis, outermost first: the digits of its coordinate, fastest first.
    pub axes: Vec<Vec<Digit>>,
    /// XOR on the element offset.
    pub swizzle: Option<Xor>,
    /// Build-time offset in elements.
    pub offset: i64,
    /// Run-time offsets: value times step.
    pub dynamic: Vec<(Value, i64)>,
    /// Rank of the block of the cluster whose memory it is, if that is another; then it is only read.
    pub block: Option<Value>,
}

/// One digit of a shared view's coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digit {
    /// Values of the digit.
    pub extent: u32,
    /// Elements a unit moves.
    pub stride: i64,
}

/// A swizzle on element offsets: bits `[base + shift, base + shift + bits)` are XORed onto bits
/// `[base, base + bits)` (for a negative shift the other way).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Xor {
    /// Bits.
    pub bits: u32,
    /// Lowest bit of the target.
    pub base: u32,
    /// Distance of the source.
    pub shift: i32,
}

impl Xor {
    /// Applies it.
    #[must_use]
    pub fn apply(self, offset: i64) -> i64 {
        let mask = (1_i64 << self.bits) - 1;
        if self.shift >= 0 {
            offset ^ (((offset >> (self.base as i32 + self.shift)) & mask) << self.base)
        } else {
            offset ^ (((offset >> self.base) & mask) << (self.base as i32 - self.shift))
        }
    }
}

impl SharedView {
    /// The shape.
    #[must_use]
    pub fn shape(&self) -> Vec<u32> {
        self.axes
            .iter()
            .map(|a| a.iter().map(|d| d.extent).product())
            .collect()
    }
    /// The build-time part of the element offset of a coordinate, before the swizzle.
    #[must_use]
    pub fn linear(&self, at: &[u32]) -> i64 {
        let axes = at.iter().enumerate();
        self.offset + axes.map(|(axis, c)| self.step(axis, *c)).sum::<i64>()
    }
    /// What an index along an axis adds to that; nothing along an axis that the view does not have.
    #[must_use]
    pub fn step(&self, axis: usize, mut index: u32) -> i64 {
        let mut sum = 0;
        for d in self.axes.get(axis).into_iter().flatten() {
            sum += i64::from(index % d.extent) * d.stride;
            index /= d.extent;
        }
        sum
    }
}

impl Window {
    /// What it is made of.
    pub fn values(&self) -> impl Iterator<Item = Value> {
        let of = self.extents.iter().chain(&self.strides);
        std::iter::once(self.first).chain(of.copied())
    }
}

impl GlobalView {
    /// Axes of the tensor that it is a piece of.
    #[must_use]
    pub fn rank(&self, kernel: &super::Kernel) -> usize {
        match (&self.window, kernel.params[self.param].kind) {
            (Some(window), _) => window.extents.len(),
            (None, ParamKind::Tensor { rank, .. }) => rank as usize,
            (None, ParamKind::Scalar(_)) => 0,
        }
    }
    /// The shape.
    #[must_use]
    pub fn shape(&self) -> Vec<u32> {
        self.axes.iter().map(|a| a.extent).collect()
    }
}

/// How a global tensor access is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// Elements an instruction; the distribution's run along the contiguous axis is a multiple.
    pub vector: u32,
    /// What is known of a vector and the tensor's edge along the contiguous axis.
    pub edge: Edge,
    /// Cache policy.
    pub cache: Cache,
}

/// A vector at the tensor's edge along the contiguous axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Edge {
    /// Always inside: no predicate.
    Inside,
    /// Wholly inside or wholly outside: one predicate a vector.
    Whole,
    /// May straddle the edge: whole vectors where they fit, single elements where not.
    Straddle,
}

/// Cache policies of loads and stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs)]
pub enum Cache {
    #[default]
    Default,
    /// Read or written once: evicted first.
    Stream,
    /// Past the first-level cache.
    NoAllocate,
    EvictFirst,
    EvictLast,
    /// Read-only for the whole kernel.
    ReadOnly,
}
