//! Tensor cores.

use super::{Element, Register, Shared, device_only};
use std::marker::PhantomData;

/// How the warps divide an output tile: `m` down, `n` across.
#[derive(Debug, Clone, Copy)]
pub struct Warp {
    _private: (),
}

impl Warp {
    /// `m` warps down, `n` across.
    #[must_use]
    pub fn new(m: usize, n: usize) -> Warp {
        let _ = (m, n);
        device_only()
    }
}

/// What a matrix product reads: a shared tensor or, on the left, registers.
pub trait Operand<E> {}
impl<E> Operand<E> for Shared<E> {}
impl<E> Operand<E> for Register<E> {}

/// A matrix product `a @ b.T` of elements `A` and `B`, accumulated in `Acc`.
#[derive(Debug)]
pub struct Gemm<A, B = A, Acc = f32> {
    _elements: PhantomData<(A, B, Acc)>,
}

impl<A: Element, B: Element, Acc: Element> Gemm<A, B, Acc> {
    /// By single warps.
    #[must_use]
    pub fn new(warps: Warp) -> Self {
        let _ = warps;
        device_only()
    }
    /// By warpgroups, asynchronously.
    #[must_use]
    pub fn warpgroup(warps: Warp) -> Self {
        let _ = warps;
        device_only()
    }
    /// An accumulator; the first product ignores what is there.
    #[must_use]
    pub fn zeros(&self, shape: [usize; 2]) -> Register<Acc> {
        let _ = shape;
        device_only()
    }
    /// `a @ b.T`.
    #[must_use]
    pub fn dot(&self, a: impl Operand<A>, b: Shared<B>) -> Register<Acc> {
        let _ = (&a, b);
        device_only()
    }
    /// `acc += a @ b.T`.
    pub fn accumulate(&self, a: impl Operand<A>, b: Shared<B>, acc: &mut Register<Acc>) {
        let _ = (&a, b, acc);
        device_only()
    }
    /// Starts `acc += a @ b.T`; the accumulator is in flight until [`Pending::retire`].
    #[must_use]
    pub fn issue(
        &self,
        a: impl Operand<A>,
        b: Shared<B>,
        acc: Register<Acc>,
    ) -> Pending<A, B, Acc> {
        let _ = (&a, b, acc);
        device_only()
    }
}

impl Gemm<f32> {
    /// By single warps, of f32 whose lowest 13 bits are ignored: 11 bits of each factor count.
    #[must_use]
    pub fn tf32(warps: Warp) -> Self {
        let _ = warps;
        device_only()
    }
    /// By single warps, of f32 as sums of two tf32 each, by three products: 22 bits of each factor count.
    /// An infinite factor gives NaN.
    #[must_use]
    pub fn tf32x3(warps: Warp) -> Self {
        let _ = warps;
        device_only()
    }
    /// By warpgroups, asynchronously, of f32 whose lowest 13 bits are ignored.
    #[must_use]
    pub fn warpgroup_tf32(warps: Warp) -> Self {
        let _ = warps;
        device_only()
    }
}

/// An accumulator in flight.
#[derive(Debug)]
pub struct Pending<A, B = A, Acc = f32> {
    _elements: PhantomData<(A, B, Acc)>,
}

impl<A: Element, B: Element, Acc: Element> Pending<A, B, Acc> {
    /// Starts the next product into it.
    #[must_use]
    pub fn issue(self, a: impl Operand<A>, b: Shared<B>) -> Self {
        let _ = (&a, b);
        device_only()
    }
    /// Gives the accumulator back, after the wait that proves it done.
    #[must_use]
    pub fn retire(self) -> Register<Acc> {
        device_only()
    }
}

/// Output tiles, dealt to blocks.
#[derive(Debug, Clone, Copy)]
pub struct Tiles {
    _private: (),
}

impl Tiles {
    /// Each block (each cluster, if the kernel has clusters) takes tile after tile.
    #[must_use]
    pub fn persistent(tiles: [usize; 2]) -> Tiles {
        let _ = tiles;
        device_only()
    }
    /// In groups of so many rows of tiles, for the second-level cache.
    #[must_use]
    pub fn grouped(self, rows: usize) -> Tiles {
        let _ = rows;
        device_only()
    }
}

/// Tiles of one block.
#[derive(Debug)]
pub struct TilesIter {
    _private: (),
}

impl IntoIterator for Tiles {
    type Item = [usize; 2];
    type IntoIter = TilesIter;
    fn into_iter(self) -> TilesIter {
        device_only()
    }
}

impl Iterator for TilesIter {
    type Item = [usize; 2];
    fn next(&mut self) -> Option<[usize; 2]> {
        device_only()
    }
}
