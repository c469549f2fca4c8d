//! Tensors in global memory and their tiles.

use super::{Element, Order, Register, Scope, ThreadMap, device_only};
use std::marker::PhantomData;

/// Row-major without gaps: the launcher refuses anything else.
#[derive(Debug, Clone, Copy)]
pub struct Compact;

/// With strides of its own, passed at launch.
#[derive(Debug, Clone, Copy)]
pub struct Strided;

/// A tensor argument of rank `R` (2 unless said): read through `&Global`, written through `&mut Global`.
#[derive(Debug)]
pub struct Global<E, const R: usize = 2, S = Compact> {
    _element: PhantomData<(E, S)>,
}

/// A tensor whose leading `K` coordinates can be fixed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has too few axes to fix {K} of them",
    label = "at least one axis must remain"
)]
pub trait Leading<const K: usize> {
    /// What remains.
    type Rest;
}

macro_rules! leading {
    ($($rank:literal: $($fixed:literal => $rest:literal),*;)*) => {$($(
        impl<E, S> Leading<$fixed> for Global<E, $rank, S> {
            type Rest = Global<E, $rest, S>;
        }
    )*)*};
}
leading! {
    2: 1 => 1;
    3: 1 => 2, 2 => 1;
    4: 1 => 3, 2 => 2, 3 => 1;
    5: 1 => 4, 2 => 3, 3 => 2, 4 => 1;
    6: 1 => 5, 2 => 4, 3 => 3, 4 => 2, 5 => 1;
}

macro_rules! atomics {
    ($self:ty, $n:ident; $(#[$doc:meta] $name:ident ($($arg:ident),*) $(-> $out:ty)?;)*) => {$(
        #[$doc]
        pub fn $name(
            self: $self,
            index: [usize; $n],
            $($arg: E,)*
            order: Order,
            scope: Scope,
        ) $(-> $out)? {
            let _ = (index, $($arg,)* order, scope);
            device_only()
        }
    )*};
}

impl<E: Element, const R: usize, S> Global<E, R, S> {
    /// Extent along an axis, outermost first.
    #[must_use]
    pub fn dim(&self, axis: usize) -> usize {
        let _ = axis;
        device_only()
    }
    /// Elements from one index to the next along an axis.
    #[must_use]
    pub fn stride(&self, axis: usize) -> usize {
        let _ = axis;
        device_only()
    }
    /// All extents; for comparisons in `require!`.
    #[must_use]
    pub fn shape(&self) -> [usize; R] {
        device_only()
    }
    /// The part with the leading coordinates fixed.
    #[must_use]
    pub fn at<const K: usize>(&self, index: [usize; K]) -> <Self as Leading<K>>::Rest
    where
        Self: Leading<K>,
    {
        let _ = index;
        device_only()
    }
    /// The part with the leading coordinates fixed, to be written.
    #[must_use]
    pub fn at_mut<const K: usize>(&mut self, index: [usize; K]) -> <Self as Leading<K>>::Rest
    where
        Self: Leading<K>,
    {
        let _ = index;
        device_only()
    }
    /// Another tensor in this one's memory, of run-time extents (below 2^32) and strides, a stride of 1 written as `1`. It
    /// begins `first` elements behind this one's first, modulo 2^64. Nobody checks that it lies within this one; the
    /// virtual machine finds an access outside all memory.
    #[must_use]
    pub fn window<const K: usize>(
        &self,
        first: usize,
        shape: [usize; K],
        strides: [usize; K],
    ) -> Global<E, K, Strided> {
        let _ = (first, shape, strides);
        device_only()
    }
    /// As `window`, to be written.
    #[must_use]
    pub fn window_mut<const K: usize>(
        &mut self,
        first: usize,
        shape: [usize; K],
        strides: [usize; K],
    ) -> Global<E, K, Strided> {
        let _ = (first, shape, strides);
        device_only()
    }
    /// The tile of this shape at these tile coordinates: it begins at coordinate times shape along each
    /// axis, and may reach past the tensor's edge.
    #[must_use]
    pub fn tile(&self, shape: [usize; R], at: [usize; R]) -> View<E, R> {
        let _ = (shape, at);
        device_only()
    }
    /// As `tile`, to be written.
    #[must_use]
    pub fn tile_mut(&mut self, shape: [usize; R], at: [usize; R]) -> View<E, R> {
        let _ = (shape, at);
        device_only()
    }
    /// One element, by each thread that asks; 0 outside the tensor.
    #[must_use]
    pub fn get(&self, index: [usize; R]) -> E {
        let _ = index;
        device_only()
    }
    /// Writes one element, by each thread that asks; nothing outside the tensor.
    pub fn set(&mut self, index: [usize; R], value: E) {
        let _ = (index, value);
        device_only()
    }
    /// Where an element lies in global memory, for `ptx!`; of one outside the tensor, where it would lie.
    #[must_use]
    pub fn address(&self, index: [usize; R]) -> u64 {
        let _ = index;
        device_only()
    }
    /// One element with memory order and scope.
    #[must_use]
    pub fn get_with(&self, index: [usize; R], order: Order, scope: Scope) -> E {
        let _ = (index, order, scope);
        device_only()
    }
    atomics! { &mut Self, R;
        #[doc = "Writes one element with memory order and scope."]
        set_with(value);
        #[doc = "Adds; gives the old value."]
        atom_add(value) -> E;
        #[doc = "Keeps the lesser (integers); gives the old value."]
        atom_min(value) -> E;
        #[doc = "Keeps the greater (integers); gives the old value."]
        atom_max(value) -> E;
        #[doc = "And; gives the old value."]
        atom_and(value) -> E;
        #[doc = "Or; gives the old value."]
        atom_or(value) -> E;
        #[doc = "Exclusive or; gives the old value."]
        atom_xor(value) -> E;
        #[doc = "Replaces; gives the old value."]
        atom_exchange(value) -> E;
        #[doc = "Replaces if the bits are as expected; gives the old value."]
        atom_compare_exchange(expected, new) -> E;
        #[doc = "Adds, without a result."]
        red_add(value);
        #[doc = "Keeps the lesser (integers), without a result."]
        red_min(value);
        #[doc = "Keeps the greater (integers), without a result."]
        red_max(value);
    }
}

/// A tile of a global tensor. It knows whether it can reach past the edge: then every access is
/// predicated, missing elements read as the fill and are never written.
#[derive(Debug, Clone, Copy)]
pub struct View<E, const R: usize = 2> {
    _element: PhantomData<E>,
}

impl<E: Element, const R: usize> View<E, R> {
    /// Transposed (two axes).
    #[must_use]
    pub fn t(self) -> View<E, R> {
        device_only()
    }
    /// A tile of the tile.
    #[must_use]
    pub fn tile(&self, shape: [usize; R], at: [usize; R]) -> View<E, R> {
        let _ = (shape, at);
        device_only()
    }
    /// What a missing element reads as (0 unless said).
    #[must_use]
    pub fn fill(self, value: E) -> View<E, R> {
        let _ = value;
        device_only()
    }
    /// Read or written once: first to leave the caches.
    #[must_use]
    pub fn stream(self) -> View<E, R> {
        device_only()
    }
    /// Past the first-level cache.
    #[must_use]
    pub fn no_allocate(self) -> View<E, R> {
        device_only()
    }
    /// First to leave the second-level cache.
    #[must_use]
    pub fn evict_first(self) -> View<E, R> {
        device_only()
    }
    /// Last to leave the second-level cache.
    #[must_use]
    pub fn evict_last(self) -> View<E, R> {
        device_only()
    }
    /// Nobody writes it while the kernel runs: through the read-only path.
    #[must_use]
    pub fn read_only(self) -> View<E, R> {
        device_only()
    }
    /// Into registers, distributed by the map; missing elements read as the fill.
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
    /// From registers; missing elements are not written.
    pub fn store(&self, value: &Register<E>) {
        let _ = value;
        device_only()
    }
}
