//! Tensors in the block's shared memory.

use super::{Element, Layout, Order, Register, Scope, ThreadMap, device_only};
use std::marker::PhantomData;

/// A shared tensor, or a piece of one. A handle: copying it copies no element.
#[derive(Debug)]
pub struct Shared<E> {
    _element: PhantomData<E>,
}

impl<E> Clone for Shared<E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E> Copy for Shared<E> {}

/// Several shared tensors of one layout: the stages of a pipeline.
#[derive(Debug)]
pub struct Stages<E> {
    _element: PhantomData<E>,
}

impl<E> Clone for Stages<E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E> Copy for Stages<E> {}

/// A shared tensor in another block of the cluster, or a piece of one.
#[derive(Debug)]
pub struct Peer<E> {
    _element: PhantomData<E>,
}

impl<E> Clone for Peer<E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E> Copy for Peer<E> {}

impl<E: Element> Peer<E> {
    /// A tile.
    #[must_use]
    pub fn tile<const K: usize>(&self, shape: [usize; K], at: [usize; K]) -> Peer<E> {
        let _ = (shape, at);
        device_only()
    }
    /// Into registers, distributed by the map.
    #[must_use]
    pub fn load(&self, map: ThreadMap) -> Register<E> {
        let _ = map;
        device_only()
    }
    /// Into registers, distributed like another tensor of this shape.
    #[must_use]
    pub fn load_like<T>(&self, like: &Register<T>) -> Register<E> {
        let _ = like;
        device_only()
    }
    /// One element, by each thread that asks.
    #[must_use]
    pub fn get<const K: usize>(&self, index: [usize; K]) -> E {
        let _ = index;
        device_only()
    }
}

impl<E: Element> Stages<E> {
    /// One of them; the index may be a run-time value.
    #[must_use]
    pub fn stage(&self, index: usize) -> Shared<E> {
        let _ = index;
        device_only()
    }
    /// All of the storage as one tensor of its own: see [`Shared::reuse_as`].
    #[must_use]
    pub fn reuse_as<F: Element>(self, layout: Layout) -> Shared<F> {
        let _ = layout;
        device_only()
    }
}

impl<E: Element> Shared<E> {
    /// A shared tensor; its bytes are the layout's cosize.
    #[must_use]
    pub fn new(layout: Layout) -> Shared<E> {
        let _ = layout;
        device_only()
    }
    /// Several shared tensors of one layout.
    #[must_use]
    pub fn stages(count: usize, layout: Layout) -> Stages<E> {
        let _ = (count, layout);
        device_only()
    }
    /// Transposed (two axes).
    #[must_use]
    pub fn t(self) -> Shared<E> {
        device_only()
    }
    /// A tile.
    #[must_use]
    pub fn tile<const K: usize>(&self, shape: [usize; K], at: [usize; K]) -> Shared<E> {
        let _ = (shape, at);
        device_only()
    }
    /// The same storage under another layout, which reaches no further: what one writes as a product leaves
    /// it, the other copies as it lies.
    #[must_use]
    pub fn arranged(self, layout: Layout) -> Shared<E> {
        let _ = layout;
        device_only()
    }
    /// The same storage as a tensor of its own, once the life of what was there has ended: a barrier must
    /// lie between, and what was there is gone with the first write. The budget counts the bytes once.
    #[must_use]
    pub fn reuse_as<F: Element>(self, layout: Layout) -> Shared<F> {
        let _ = layout;
        device_only()
    }
    /// What lies there in another block of the cluster, to be read: `cluster_sync` must lie between its writes and this, and
    /// between this and the next writes, or the block's end.
    #[must_use]
    pub fn peer(&self, rank: usize) -> Peer<E> {
        let _ = rank;
        device_only()
    }
    /// Into registers, distributed by the map.
    #[must_use]
    pub fn load(&self, map: ThreadMap) -> Register<E> {
        let _ = map;
        device_only()
    }
    /// Into registers, distributed like another tensor of this shape.
    #[must_use]
    pub fn load_like<T>(&self, like: &Register<T>) -> Register<E> {
        let _ = like;
        device_only()
    }
    /// From registers.
    pub fn store(&self, value: &Register<E>) {
        let _ = value;
        device_only()
    }
    /// One element, by each thread that asks.
    #[must_use]
    pub fn get<const K: usize>(&self, index: [usize; K]) -> E {
        let _ = index;
        device_only()
    }
    /// Where an element lies in shared memory, for `ptx!`.
    #[must_use]
    pub fn address<const K: usize>(&self, index: [usize; K]) -> u32 {
        let _ = index;
        device_only()
    }
    /// Writes one element, by each thread that asks.
    pub fn set<const K: usize>(&self, index: [usize; K], value: E) {
        let _ = (index, value);
        device_only()
    }
    /// Adds; gives the old value.
    pub fn atom_add<const K: usize>(
        &self,
        index: [usize; K],
        value: E,
        order: Order,
        scope: Scope,
    ) -> E {
        let _ = (index, value, order, scope);
        device_only()
    }
    /// As on a global tensor; gives the old value.
    pub fn atom_min<const K: usize>(
        &self,
        index: [usize; K],
        value: E,
        order: Order,
        scope: Scope,
    ) -> E {
        let _ = (index, value, order, scope);
        device_only()
    }
    /// As on a global tensor; gives the old value.
    pub fn atom_max<const K: usize>(
        &self,
        index: [usize; K],
        value: E,
        order: Order,
        scope: Scope,
    ) -> E {
        let _ = (index, value, order, scope);
        device_only()
    }
    /// As on a global tensor; gives the old value.
    pub fn atom_and<const K: usize>(
        &self,
        index: [usize; K],
        value: E,
        order: Order,
        scope: Scope,
    ) -> E {
        let _ = (index, value, order, scope);
        device_only()
    }
    /// As on a global tensor; gives the old value.
    pub fn atom_or<const K: usize>(
        &self,
        index: [usize; K],
        value: E,
        order: Order,
        scope: Scope,
    ) -> E {
        let _ = (index, value, order, scope);
        device_only()
    }
    /// As on a global tensor; gives the old value.
    pub fn atom_xor<const K: usize>(
        &self,
        index: [usize; K],
        value: E,
        order: Order,
        scope: Scope,
    ) -> E {
        let _ = (index, value, order, scope);
        device_only()
    }
    /// As on a global tensor; gives the old value.
    pub fn atom_exchange<const K: usize>(
        &self,
        index: [usize; K],
        value: E,
        order: Order,
        scope: Scope,
    ) -> E {
        let _ = (index, value, order, scope);
        device_only()
    }
    /// Replaces if the bits are as expected; gives the old value.
    pub fn atom_compare_exchange<const K: usize>(
        &self,
        index: [usize; K],
        expected: E,
        new: E,
        order: Order,
        scope: Scope,
    ) -> E {
        let _ = (index, expected, new, order, scope);
        device_only()
    }
    /// Adds, without a result.
    pub fn red_add<const K: usize>(&self, index: [usize; K], value: E, order: Order, scope: Scope) {
        let _ = (index, value, order, scope);
        device_only()
    }
}
