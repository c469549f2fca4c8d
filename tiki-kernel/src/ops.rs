//! The surface of the kernel language: one row an operation.
//!
//! A row gives the receiver, the name, the signature as the author sees it, what it means (with its
//! accuracy, where it computes) and an example. The checker looks names up here; the prelude of the
//! facade declares the same names with the same signatures, and a test compares the two. What has no
//! row does not exist.

use crate::check::rules::{Rule, Takes};
use crate::ir::{AtomOp, Binary, Cache, ReduceOp, ScanOp, Shuffle, Special, Unary, Vote};

/// What an operation is called on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Receiver {
    /// A free function.
    Free,
    /// A scalar of any arithmetic type, known at build time or at run time.
    Scalar,
    /// `Global`, a tensor argument.
    Global,
    /// `View`, a piece of a global tensor.
    View,
    /// `Shared`, a shared tensor or a piece of one.
    Shared,
    /// `Peer`, a shared tensor in another block of the cluster.
    Peer,
    /// `Stages`, several shared tensors of one layout.
    Stages,
    /// `Register`, a register tensor (vectors included).
    Register,
    /// `Raw`, the thread's own values of a register tensor.
    Raw,
    /// A build-time array.
    Array,
    /// A range of integers.
    Range,
    ThreadMap,
    Layout,
    Swizzle,
    Gemm,
    /// An accumulator in flight.
    Pending,
    Load,
    Store,
    Pipeline,
    Barrier,
    Tiles,
    WarpType,
    GemmType,
    LoadType,
    StoreType,
    PipelineType,
    BarrierType,
    TilesType,
    /// Associated functions: `Shared::<E>::new`.
    SharedType,
    ThreadMapType,
    LayoutType,
    SwizzleType,
    /// Associated functions of an arithmetic type: `f32::max`.
    ScalarType,
}

/// One operation.
#[derive(Debug)]
pub struct Row {
    /// On what.
    pub receiver: Receiver,
    /// Name.
    pub name: &'static str,
    /// Signature, in Rust's notation.
    pub signature: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// How the checker carries it out.
    pub(crate) rule: Rule,
}

macro_rules! ops {
    ($($receiver:ident $name:ident = $rule:expr, $signature:literal, $doc:literal;)*) => {
        /// All operations.
        pub static ROWS: &[Row] = &[$(Row {
            receiver: Receiver::$receiver,
            name: stringify!($name),
            signature: $signature,
            doc: $doc,
            rule: $rule,
        }),*];
    };
}

ops! {
    Free thread_idx = Rule::Special(Special::Thread), "fn() -> usize", "The thread's number in its block.";
    Free lane_idx = Rule::Special(Special::Lane), "fn() -> usize", "The thread's lane in its warp: 0 to 31.";
    Free warp_idx = Rule::Special(Special::Warp), "fn() -> usize", "The warp's number in its block.";
    Free block_idx = Rule::Pure(|c, call| c.dim3(call)), "fn() -> Dim3", "The block's coordinates in the grid: `.x`, `.y`, `.z`.";
    Free grid_dim = Rule::Pure(|c, call| c.dim3(call)), "fn() -> Dim3", "Blocks of the grid along x, y and z.";
    Free sync_block = Rule::Do(|c, call| c.sync_block(call)), "fn()", "Barrier of all threads of the block; shared and global writes before it are seen after it within the block.";
    Free sync_warp = Rule::Do(|c, call| c.sync_warp(call)), "fn()", "Barrier of the lanes of a warp.";
    Free fence = Rule::Do(|c, call| c.fence(call)), "fn(scope: Scope)", "Orders the thread's memory accesses before it with those after it, as seen within the scope.";
    Free trap = Rule::Do(|c, call| c.trap(call)), "fn()", "Stops the launch with an error.";
    Free shuffle = Rule::Shuffle(Shuffle::Index), "fn<T: Word>(value: T, lane: usize) -> T", "The value another lane holds; all lanes take part.";
    Free shuffle_up = Rule::Shuffle(Shuffle::Up), "fn<T: Word>(value: T, delta: usize) -> T", "The value of the lane `delta` below; the lowest lanes keep their own.";
    Free shuffle_down = Rule::Shuffle(Shuffle::Down), "fn<T: Word>(value: T, delta: usize) -> T", "The value of the lane `delta` above; the highest lanes keep their own.";
    Free shuffle_xor = Rule::Shuffle(Shuffle::Xor), "fn<T: Word>(value: T, mask: usize) -> T", "The value of the lane whose number differs in the bits of `mask`.";
    Free vote_all = Rule::Vote(Vote::All), "fn(condition: bool) -> bool", "True if it is true in all lanes.";
    Free vote_any = Rule::Vote(Vote::Any), "fn(condition: bool) -> bool", "True if it is true in some lane.";
    Free ballot = Rule::Vote(Vote::Ballot), "fn(condition: bool) -> u32", "One bit a lane.";
    Free match_any = Rule::Do(|c, call| c.match_any(call)), "fn<T: Word>(value: T) -> u32", "The lanes that hold the same bits, one bit a lane.";
    Free active_mask = Rule::Special(Special::ActiveMask), "fn() -> u32", "The lanes that are here together; a hint, never a proof.";
    Free redux_add = Rule::Redux(AtomOp::Add, Takes::Int32), "fn<T: Int32>(value: T) -> T", "Sum over the lanes, wrapping.";
    Free redux_min = Rule::Redux(AtomOp::Min, Takes::Int32), "fn<T: Int32>(value: T) -> T", "Least over the lanes.";
    Free redux_max = Rule::Redux(AtomOp::Max, Takes::Int32), "fn<T: Int32>(value: T) -> T", "Greatest over the lanes.";
    Free redux_and = Rule::Redux(AtomOp::And, Takes::U32), "fn(value: u32) -> u32", "And over the lanes.";
    Free redux_or = Rule::Redux(AtomOp::Or, Takes::U32), "fn(value: u32) -> u32", "Or over the lanes.";
    Free redux_xor = Rule::Redux(AtomOp::Xor, Takes::U32), "fn(value: u32) -> u32", "Exclusive or over the lanes.";

    Free exp2 = Rule::Unary(Unary::Exp2, Takes::F32), "fn(x: f32) -> f32", "2 to the power x: the hardware's ex2, relative error 2^-21.9; subnormal results kept.";
    Free exp = Rule::Unary(Unary::Exp, Takes::F32), "fn(x: f32) -> f32", "e to the power x, at most 2 units in the last place over the whole range.";
    Free exp2_fast = Rule::Unary(Unary::Exp2Fast, Takes::F32), "fn(x: f32) -> f32", "2 to the power x: the hardware's ex2 with subnormal arguments and results flushed to zero; relative error 2^-21.9. One instruction, where `exp2` takes four.";
    Free exp_fast = Rule::Unary(Unary::ExpFast, Takes::F32), "fn(x: f32) -> f32", "exp2(x * log2(e)) with one rounding of the product: relative error grows with |x|, 2 + |x| units in the last place; subnormals flushed to zero.";
    Free log2 = Rule::Unary(Unary::Log2, Takes::F32), "fn(x: f32) -> f32", "Binary logarithm: the hardware's lg2, absolute error 2^-22 for x in [0.5, 2], else 2^-22 relative.";
    Free log = Rule::Unary(Unary::Log, Takes::F32), "fn(x: f32) -> f32", "Natural logarithm: log2(x) * ln 2; absolute error 2^-22 near 1, else 2^-21.9 relative.";
    Free sqrt = Rule::Unary(Unary::Sqrt, Takes::Float), "fn<T: Float>(x: T) -> T", "Square root, correctly rounded.";
    Free sqrt_fast = Rule::Unary(Unary::SqrtFast, Takes::F32), "fn(x: f32) -> f32", "Square root by the hardware's approximation, at most 1 unit in the last place.";
    Free rsqrt = Rule::Unary(Unary::Rsqrt, Takes::F32), "fn(x: f32) -> f32", "Reciprocal square root by the hardware's approximation, relative error 2^-22.9.";
    Free recip = Rule::Unary(Unary::Recip, Takes::F32), "fn(x: f32) -> f32", "Reciprocal by the hardware's approximation, at most 1 unit in the last place.";
    Free div_fast = Rule::Binary(Binary::DivFast, Takes::F32), "fn(a: f32, b: f32) -> f32", "Quotient by the hardware's approximation, at most 2 units in the last place for |b| in [2^-126, 2^126].";
    Free tanh = Rule::Unary(Unary::Tanh, Takes::F32), "fn(x: f32) -> f32", "Hyperbolic tangent through exp, relative error 2^-21.";
    Free tanh_fast = Rule::Unary(Unary::TanhFast, Takes::F32), "fn(x: f32) -> f32", "Hyperbolic tangent by the hardware's approximation, relative error 2^-11.";
    Free sin = Rule::Unary(Unary::Sin, Takes::F32), "fn(x: f32) -> f32", "Sine by the hardware's approximation: absolute error 2^-20.9 in [-pi, pi], growing outside.";
    Free cos = Rule::Unary(Unary::Cos, Takes::F32), "fn(x: f32) -> f32", "Cosine by the hardware's approximation: absolute error 2^-20.9 in [-pi, pi], growing outside.";
    Free abs = Rule::Unary(Unary::Abs, Takes::Number), "fn<T: Number>(x: T) -> T", "Absolute value; clears a NaN's sign.";
    Free floor = Rule::Unary(Unary::Floor, Takes::F32), "fn(x: f32) -> f32", "Greatest integer not above; exact.";
    Free ceil = Rule::Unary(Unary::Ceil, Takes::F32), "fn(x: f32) -> f32", "Least integer not below; exact.";
    Free round = Rule::Unary(Unary::Round, Takes::F32), "fn(x: f32) -> f32", "Nearest integer, ties to even; exact.";
    Free trunc = Rule::Unary(Unary::Trunc, Takes::F32), "fn(x: f32) -> f32", "Integer part; exact.";
    Free fma = Rule::Pure(|c, call| c.fma(call)), "fn<T: Number>(a: T, b: T, c: T) -> T", "a * b + c with one rounding.";
    Free min = Rule::Binary(Binary::Min, Takes::Number), "fn<T: Number>(a: T, b: T) -> T", "The lesser; a number wins over NaN, -0 is below +0.";
    Free max = Rule::Binary(Binary::Max, Takes::Number), "fn<T: Number>(a: T, b: T) -> T", "The greater; a number wins over NaN, -0 is below +0.";
    Free min_propagate_nan = Rule::Binary(Binary::MinNan, Takes::Float), "fn<T: Float>(a: T, b: T) -> T", "The lesser; NaN if either is NaN.";
    Free max_propagate_nan = Rule::Binary(Binary::MaxNan, Takes::Float), "fn<T: Float>(a: T, b: T) -> T", "The greater; NaN if either is NaN.";

    Scalar cast = Rule::Pure(|c, call| c.cast(call)), "fn<T: Element>(self) -> T", "Conversion, to nearest even; floats to integers toward zero and saturating, NaN to 0.";
    Scalar min = Rule::Binary(Binary::Min, Takes::Number), "fn(self, other: Self) -> Self", "As the free function.";
    Scalar max = Rule::Binary(Binary::Max, Takes::Number), "fn(self, other: Self) -> Self", "As the free function.";
    Scalar abs = Rule::Unary(Unary::Abs, Takes::Number), "fn(self) -> Self", "As the free function.";
    Scalar div_ceil = Rule::Pure(|c, call| c.div_ceil(call)), "fn(self, divisor: Self) -> Self", "Quotient of unsigned integers, rounded up.";
    Scalar is_multiple_of = Rule::Pure(|c, call| c.is_multiple_of(call)), "fn(self, divisor: Self) -> bool", "Whether the remainder is zero.";
    Scalar count_ones = Rule::Unary(Unary::Popcount, Takes::Int32), "fn(self) -> u32", "Bits set.";
    Scalar leading_zeros = Rule::Unary(Unary::LeadingZeros, Takes::Int32), "fn(self) -> u32", "Zero bits above the highest bit set.";
    Scalar reverse_bits = Rule::Unary(Unary::ReverseBits, Takes::Int32), "fn(self) -> Self", "The bits in the other order.";
    Scalar is_nan = Rule::Pure(|c, call| c.is_nan(call)), "fn(self) -> bool", "Whether it is NaN.";
    Scalar to_bits = Rule::Pure(|c, call| c.bits_of(call)), "fn(self) -> u32", "The bits of an f32.";
    ScalarType from_bits = Rule::Pure(|c, call| c.float_of(call)), "fn(bits: u32) -> f32", "The f32 of these bits.";
    ScalarType min = Rule::Binary(Binary::Min, Takes::Number), "fn(a: Self, b: Self) -> Self", "As the free function.";
    ScalarType max = Rule::Binary(Binary::Max, Takes::Number), "fn(a: Self, b: Self) -> Self", "As the free function.";

    Global dim = Rule::Pure(|c, call| c.dim(call)), "fn(&self, axis: usize) -> usize", "Extent along an axis, outermost first.";
    Global stride = Rule::Pure(|c, call| c.stride(call)), "fn(&self, axis: usize) -> usize", "Elements from one index to the next along an axis.";
    Global shape = Rule::Pure(|c, call| c.shape(call)), "fn(&self) -> Shape<R>", "All extents; for comparisons in `require!`.";
    Global at = Rule::Pure(|c, call| c.global_at(call)), "fn<const K: usize>(&self, index: [usize; K]) -> Global", "The part with the leading coordinates fixed.";
    Global at_mut = Rule::Pure(|c, call| c.global_at(call)), "fn<const K: usize>(&mut self, index: [usize; K]) -> Global", "The part with the leading coordinates fixed, to be written.";
    Global window = Rule::Pure(|c, call| c.window(call)), "fn<const K: usize>(&self, first: usize, shape: [usize; K], strides: [usize; K]) -> Global", "Another tensor in this one's memory, of run-time extents (below 2^32) and strides, a stride of 1 written as `1`. It begins `first` elements behind this one's first, modulo 2^64. Nobody checks that it lies within this one; the virtual machine finds an access outside all memory.";
    Global window_mut = Rule::Pure(|c, call| c.window(call)), "fn<const K: usize>(&mut self, first: usize, shape: [usize; K], strides: [usize; K]) -> Global", "As `window`, to be written.";
    Global tile = Rule::Do(|c, call| c.tile(call)), "fn<const K: usize>(&self, shape: [usize; K], at: [usize; K]) -> View", "The tile of this shape at these tile coordinates: it begins at coordinate times shape along each axis, and may reach past the tensor's edge.";
    Global tile_mut = Rule::Do(|c, call| c.tile(call)), "fn<const K: usize>(&mut self, shape: [usize; K], at: [usize; K]) -> View", "As `tile`, to be written.";
    Global get = Rule::Do(|c, call| c.get(call)), "fn<const K: usize>(&self, index: [usize; K]) -> E", "One element, by each thread that asks; 0 outside the tensor.";
    Global set = Rule::Do(|c, call| c.set(call)), "fn<const K: usize>(&mut self, index: [usize; K], value: E)", "Writes one element, by each thread that asks; nothing outside the tensor.";
    Global address = Rule::Pure(|c, call| c.address(call)), "fn<const K: usize>(&self, index: [usize; K]) -> u64", "Where an element lies in global memory, for `ptx!`; of one outside the tensor, where it would lie.";
    Global get_with = Rule::Do(|c, call| c.get(call)), "fn<const K: usize>(&self, index: [usize; K], order: Order, scope: Scope) -> E", "One element with memory order and scope.";
    Global set_with = Rule::Do(|c, call| c.set(call)), "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope)", "Writes one element with memory order and scope.";
    Global atom_add = Rule::Atom(AtomOp::Add), "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "Adds; gives the old value.";
    Global atom_min = Rule::Atom(AtomOp::Min), "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "Keeps the lesser (integers); gives the old value.";
    Global atom_max = Rule::Atom(AtomOp::Max), "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "Keeps the greater (integers); gives the old value.";
    Global atom_and = Rule::Atom(AtomOp::And), "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "And; gives the old value.";
    Global atom_or = Rule::Atom(AtomOp::Or), "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "Or; gives the old value.";
    Global atom_xor = Rule::Atom(AtomOp::Xor), "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "Exclusive or; gives the old value.";
    Global atom_exchange = Rule::Atom(AtomOp::Exchange), "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "Replaces; gives the old value.";
    Global atom_compare_exchange = Rule::Atom(AtomOp::CompareExchange), "fn<const K: usize>(&mut self, index: [usize; K], expected: E, new: E, order: Order, scope: Scope) -> E", "Replaces if the bits are as expected; gives the old value.";
    Global red_add = Rule::Red(AtomOp::Add), "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope)", "Adds, without a result.";
    Global red_min = Rule::Red(AtomOp::Min), "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope)", "Keeps the lesser (integers), without a result.";
    Global red_max = Rule::Red(AtomOp::Max), "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope)", "Keeps the greater (integers), without a result.";

    View t = Rule::Pure(|c, call| c.view_t(call)), "fn(self) -> View", "Transposed (two axes).";
    View tile = Rule::Pure(|c, call| c.view_tile(call)), "fn<const K: usize>(&self, shape: [usize; K], at: [usize; K]) -> View", "A tile of the tile.";
    View fill = Rule::Pure(|c, call| c.view_fill(call)), "fn(self, value: E) -> View", "What a missing element reads as (0 unless said).";
    View stream = Rule::Cache(Cache::Stream), "fn(self) -> View", "Read or written once: first to leave the caches.";
    View no_allocate = Rule::Cache(Cache::NoAllocate), "fn(self) -> View", "Past the first-level cache.";
    View evict_first = Rule::Cache(Cache::EvictFirst), "fn(self) -> View", "First to leave the second-level cache.";
    View evict_last = Rule::Cache(Cache::EvictLast), "fn(self) -> View", "Last to leave the second-level cache.";
    View read_only = Rule::Cache(Cache::ReadOnly), "fn(self) -> View", "Nobody writes it while the kernel runs: through the read-only path.";
    View load = Rule::Do(|c, call| c.load(call)), "fn(&self, map: ThreadMap) -> Register<E>", "Into registers, distributed by the map; missing elements read as the fill.";
    View load_like = Rule::Do(|c, call| c.load_like(call)), "fn<T>(&self, like: &Register<T>) -> Register<E>", "Into registers, distributed like another tensor of this shape.";
    View store = Rule::Do(|c, call| c.store(call)), "fn(&self, value: &Register<E>)", "From registers; missing elements are not written.";

    SharedType new = Rule::Do(|c, call| c.shared_new(call)), "fn(layout: Layout) -> Shared<E>", "A shared tensor; its bytes are the layout's cosize.";
    SharedType stages = Rule::Do(|c, call| c.shared_new(call)), "fn(count: usize, layout: Layout) -> Stages<E>", "Several shared tensors of one layout.";
    Stages stage = Rule::Pure(|c, call| c.stage(call)), "fn(&self, index: usize) -> Shared<E>", "One of them; the index may be a run-time value.";
    Stages reuse_as = Rule::Pure(|c, call| c.shared_reuse_as(call)), "fn<F: Element>(self, layout: Layout) -> Shared<F>", "All of the storage as one tensor of its own: see [`Shared::reuse_as`].";
    Shared t = Rule::Pure(|c, call| c.shared_t(call)), "fn(self) -> Shared<E>", "Transposed (two axes).";
    Shared tile = Rule::Pure(|c, call| c.shared_tile(call)), "fn<const K: usize>(&self, shape: [usize; K], at: [usize; K]) -> Shared<E>", "A tile.";
    Shared arranged = Rule::Pure(|c, call| c.shared_arranged(call)), "fn(self, layout: Layout) -> Shared<E>", "The same storage under another layout, which reaches no further: what one writes as a product leaves it, the other copies as it lies.";
    Shared reuse_as = Rule::Pure(|c, call| c.shared_reuse_as(call)), "fn<F: Element>(self, layout: Layout) -> Shared<F>", "The same storage as a tensor of its own, once the life of what was there has ended: a barrier must lie between, and what was there is gone with the first write. The budget counts the bytes once.";
    Shared peer = Rule::Pure(|c, call| c.shared_peer(call)), "fn(&self, rank: usize) -> Peer<E>", "What lies there in another block of the cluster, to be read: `cluster_sync` must lie between its writes and this, and between this and the next writes, or the block's end.";
    Peer tile = Rule::Pure(|c, call| c.shared_tile(call)), "fn<const K: usize>(&self, shape: [usize; K], at: [usize; K]) -> Peer<E>", "A tile.";
    Peer load = Rule::Do(|c, call| c.shared_load(call)), "fn(&self, map: ThreadMap) -> Register<E>", "Into registers, distributed by the map.";
    Peer load_like = Rule::Do(|c, call| c.shared_load_like(call)), "fn<T>(&self, like: &Register<T>) -> Register<E>", "Into registers, distributed like another tensor of this shape.";
    Peer get = Rule::Do(|c, call| c.get(call)), "fn<const K: usize>(&self, index: [usize; K]) -> E", "One element, by each thread that asks.";
    Shared load = Rule::Do(|c, call| c.shared_load(call)), "fn(&self, map: ThreadMap) -> Register<E>", "Into registers, distributed by the map.";
    Shared load_like = Rule::Do(|c, call| c.shared_load_like(call)), "fn<T>(&self, like: &Register<T>) -> Register<E>", "Into registers, distributed like another tensor of this shape.";
    Shared store = Rule::Do(|c, call| c.shared_store(call)), "fn(&self, value: &Register<E>)", "From registers.";
    Shared get = Rule::Do(|c, call| c.get(call)), "fn<const K: usize>(&self, index: [usize; K]) -> E", "One element, by each thread that asks.";
    Shared set = Rule::Do(|c, call| c.set(call)), "fn<const K: usize>(&self, index: [usize; K], value: E)", "Writes one element, by each thread that asks.";
    Shared address = Rule::Pure(|c, call| c.address(call)), "fn<const K: usize>(&self, index: [usize; K]) -> u32", "Where an element lies in shared memory, for `ptx!`.";
    Shared atom_add = Rule::Atom(AtomOp::Add), "fn<const K: usize>(&self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "Adds; gives the old value.";
    Shared atom_min = Rule::Atom(AtomOp::Min), "fn<const K: usize>(&self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "As on a global tensor; gives the old value.";
    Shared atom_max = Rule::Atom(AtomOp::Max), "fn<const K: usize>(&self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "As on a global tensor; gives the old value.";
    Shared atom_and = Rule::Atom(AtomOp::And), "fn<const K: usize>(&self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "As on a global tensor; gives the old value.";
    Shared atom_or = Rule::Atom(AtomOp::Or), "fn<const K: usize>(&self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "As on a global tensor; gives the old value.";
    Shared atom_xor = Rule::Atom(AtomOp::Xor), "fn<const K: usize>(&self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "As on a global tensor; gives the old value.";
    Shared atom_exchange = Rule::Atom(AtomOp::Exchange), "fn<const K: usize>(&self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "As on a global tensor; gives the old value.";
    Shared atom_compare_exchange = Rule::Atom(AtomOp::CompareExchange), "fn<const K: usize>(&self, index: [usize; K], expected: E, new: E, order: Order, scope: Scope) -> E", "Replaces if the bits are as expected; gives the old value.";
    Shared red_add = Rule::Red(AtomOp::Add), "fn<const K: usize>(&self, index: [usize; K], value: E, order: Order, scope: Scope)", "Adds, without a result.";

    Register cast = Rule::Do(|c, call| c.cast(call)), "fn<T: Element>(&self) -> Register<T>", "Converts every element, to nearest even.";
    Register map = Rule::Do(|c, call| c.register_map(call)), "fn<T>(&self, f: impl Fn(E) -> T) -> Register<T>", "Every element through `f`.";
    Register zip = Rule::Do(|c, call| c.register_zip(call)), "fn<U, T>(&self, other: &Register<U>, f: impl Fn(E, U) -> T) -> Register<T>", "Elements of two equals through `f`.";
    Register map_at = Rule::Do(|c, call| c.register_map_at(call)), "fn<const R: usize, T>(&self, f: impl Fn(E, [usize; R]) -> T) -> Register<T>", "Every element and its coordinates in the tile through `f`.";
    Register mask = Rule::Do(|c, call| c.register_mask(call)), "fn<const R: usize>(&self, keep: impl Fn([usize; R]) -> bool, fill: E) -> Register<E>", "Elements whose coordinates in the tile `keep` refuses become `fill`.";
    Register rows = Rule::Do(|c, call| c.register_along(call)), "fn<U, T>(&self, vector: &Register<U>, f: impl Fn(E, U) -> T) -> Register<T>", "Every element and its row's element of the vector through `f`.";
    Register cols = Rule::Do(|c, call| c.register_along(call)), "fn<U, T>(&self, vector: &Register<U>, f: impl Fn(E, U) -> T) -> Register<T>", "Every element and its column's element of the vector through `f`.";
    Register row_vector = Rule::Do(|c, call| c.register_vector(call)), "fn(&self, init: E) -> Register<E>", "A vector with one element a row, distributed like the rows.";
    Register col_vector = Rule::Do(|c, call| c.register_vector(call)), "fn(&self, init: E) -> Register<E>", "A vector with one element a column, distributed like the columns.";
    Register row_sum = Rule::Reduce(ReduceOp::Sum, Some(1)), "fn(&self) -> Register<E>", "Sum of each row; 16-bit floats accumulate in f32 and are rounded once.";
    Register row_max = Rule::Reduce(ReduceOp::Max { nan: false }, Some(1)), "fn(&self) -> Register<E>", "Greatest of each row; numbers win over NaN; the lowest value of the type if none.";
    Register row_min = Rule::Reduce(ReduceOp::Min { nan: false }, Some(1)), "fn(&self) -> Register<E>", "Least of each row; numbers win over NaN.";
    Register row_max_propagate_nan = Rule::Reduce(ReduceOp::Max { nan: true }, Some(1)), "fn(&self) -> Register<E>", "Greatest of each row; NaN if the row has one.";
    Register row_min_propagate_nan = Rule::Reduce(ReduceOp::Min { nan: true }, Some(1)), "fn(&self) -> Register<E>", "Least of each row; NaN if the row has one.";
    Register row_argmax = Rule::Reduce(ReduceOp::ArgMax, Some(1)), "fn(&self) -> Register<u32>", "Where the greatest of each row lies: the first of several; the first NaN if the row has one.";
    Register row_argmin = Rule::Reduce(ReduceOp::ArgMin, Some(1)), "fn(&self) -> Register<u32>", "Where the least of each row lies: the first of several; the first NaN if the row has one.";
    Register col_sum = Rule::Reduce(ReduceOp::Sum, Some(0)), "fn(&self) -> Register<E>", "Sum of each column.";
    Register col_max = Rule::Reduce(ReduceOp::Max { nan: false }, Some(0)), "fn(&self) -> Register<E>", "Greatest of each column.";
    Register col_min = Rule::Reduce(ReduceOp::Min { nan: false }, Some(0)), "fn(&self) -> Register<E>", "Least of each column.";
    Register col_max_propagate_nan = Rule::Reduce(ReduceOp::Max { nan: true }, Some(0)), "fn(&self) -> Register<E>", "Greatest of each column; NaN if the column has one.";
    Register col_min_propagate_nan = Rule::Reduce(ReduceOp::Min { nan: true }, Some(0)), "fn(&self) -> Register<E>", "Least of each column; NaN if the column has one.";
    Register col_argmax = Rule::Reduce(ReduceOp::ArgMax, Some(0)), "fn(&self) -> Register<u32>", "Where the greatest of each column lies.";
    Register col_argmin = Rule::Reduce(ReduceOp::ArgMin, Some(0)), "fn(&self) -> Register<u32>", "Where the least of each column lies.";
    Register sum = Rule::Reduce(ReduceOp::Sum, None), "fn(&self) -> E", "Sum of a vector, known to all threads.";
    Register max = Rule::Reduce(ReduceOp::Max { nan: false }, None), "fn(&self) -> E", "Greatest of a vector, known to all threads.";
    Register min = Rule::Reduce(ReduceOp::Min { nan: false }, None), "fn(&self) -> E", "Least of a vector, known to all threads.";
    Register max_propagate_nan = Rule::Reduce(ReduceOp::Max { nan: true }, None), "fn(&self) -> E", "Greatest of a vector; NaN if it has one.";
    Register min_propagate_nan = Rule::Reduce(ReduceOp::Min { nan: true }, None), "fn(&self) -> E", "Least of a vector; NaN if it has one.";
    Register argmax = Rule::Reduce(ReduceOp::ArgMax, None), "fn(&self) -> u32", "Where the greatest of a vector lies.";
    Register argmin = Rule::Reduce(ReduceOp::ArgMin, None), "fn(&self) -> u32", "Where the least of a vector lies.";
    Register row_scan_sum = Rule::Scan(ScanOp::Sum, Some(1)), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Sums of each row up to each element (`exclusive`: up to the one before it, from 0); `reverse`: from the last element back. 16-bit floats accumulate in f32. The order is fixed by the layout.";
    Register row_scan_product = Rule::Scan(ScanOp::Product, Some(1)), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Products of each row up to each element; as the sums, from 1.";
    Register row_scan_max = Rule::Scan(ScanOp::Max { nan: false }, Some(1)), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Greatest of each row up to each element; numbers win over NaN; before any, the lowest value of the type.";
    Register row_scan_min = Rule::Scan(ScanOp::Min { nan: false }, Some(1)), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Least of each row up to each element; numbers win over NaN.";
    Register row_scan_max_propagate_nan = Rule::Scan(ScanOp::Max { nan: true }, Some(1)), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Greatest of each row up to each element; NaN from the first NaN on.";
    Register row_scan_min_propagate_nan = Rule::Scan(ScanOp::Min { nan: true }, Some(1)), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Least of each row up to each element; NaN from the first NaN on.";
    Register row_scan_affine = Rule::Scan(ScanOp::Affine, Some(1)), "fn(&self, factor: &Register<E>, exclusive: bool, reverse: bool) -> Register<E>", "The recurrence `h = factor * h + self` along each row, from `h = 0`: every h, or (`exclusive`) the one before it. Composed of steps of one rounding, in an order fixed by the layout; products of factors must stay finite.";
    Register col_scan_sum = Rule::Scan(ScanOp::Sum, Some(0)), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Sums of each column up to each element (`exclusive`: up to the one before it, from 0); `reverse`: from the last element back. 16-bit floats accumulate in f32. The order is fixed by the layout.";
    Register col_scan_product = Rule::Scan(ScanOp::Product, Some(0)), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Products of each column up to each element; as the sums, from 1.";
    Register col_scan_max = Rule::Scan(ScanOp::Max { nan: false }, Some(0)), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Greatest of each column up to each element; numbers win over NaN; before any, the lowest value of the type.";
    Register col_scan_min = Rule::Scan(ScanOp::Min { nan: false }, Some(0)), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Least of each column up to each element; numbers win over NaN.";
    Register col_scan_max_propagate_nan = Rule::Scan(ScanOp::Max { nan: true }, Some(0)), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Greatest of each column up to each element; NaN from the first NaN on.";
    Register col_scan_min_propagate_nan = Rule::Scan(ScanOp::Min { nan: true }, Some(0)), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Least of each column up to each element; NaN from the first NaN on.";
    Register col_scan_affine = Rule::Scan(ScanOp::Affine, Some(0)), "fn(&self, factor: &Register<E>, exclusive: bool, reverse: bool) -> Register<E>", "The recurrence `h = factor * h + self` along each column, from `h = 0`: every h, or (`exclusive`) the one before it. Composed of steps of one rounding, in an order fixed by the layout; products of factors must stay finite.";
    Register scan_sum = Rule::Scan(ScanOp::Sum, None), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Sums of a vector up to each element (`exclusive`: up to the one before it, from 0); `reverse`: from the last element back. 16-bit floats accumulate in f32. The order is fixed by the layout.";
    Register scan_product = Rule::Scan(ScanOp::Product, None), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Products of a vector up to each element; as the sums, from 1.";
    Register scan_max = Rule::Scan(ScanOp::Max { nan: false }, None), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Greatest of a vector up to each element; numbers win over NaN; before any, the lowest value of the type.";
    Register scan_min = Rule::Scan(ScanOp::Min { nan: false }, None), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Least of a vector up to each element; numbers win over NaN.";
    Register scan_max_propagate_nan = Rule::Scan(ScanOp::Max { nan: true }, None), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Greatest of a vector up to each element; NaN from the first NaN on.";
    Register scan_min_propagate_nan = Rule::Scan(ScanOp::Min { nan: true }, None), "fn(&self, exclusive: bool, reverse: bool) -> Register<E>", "Least of a vector up to each element; NaN from the first NaN on.";
    Register scan_affine = Rule::Scan(ScanOp::Affine, None), "fn(&self, factor: &Register<E>, exclusive: bool, reverse: bool) -> Register<E>", "The recurrence `h = factor * h + self` along a vector, from `h = 0`: every h, or (`exclusive`) the one before it. Composed of steps of one rounding, in an order fixed by the layout; products of factors must stay finite.";
    Register tile = Rule::Pure(|c, call| c.register_tile(call)), "fn<const K: usize>(&self, shape: [usize; K], at: [usize; K]) -> Register<E>", "A tile whose elements every thread holds at the same build-time places.";
    Register zeroed = Rule::Do(|c, call| c.register_zeroed(call)), "fn(self) -> Register<E>", "Zeros of its shape and layout. Of an accumulator: in its own registers, and the first product into them ignores what is there.";
    Register redistribute = Rule::Do(|c, call| c.redistribute(call)), "fn(&self, map: ThreadMap) -> Register<E>", "The same tensor dealt to the threads by another map, by shuffles: every element stays in its warp, or it is an error. The report says how many.";
    Register redistribute_like = Rule::Do(|c, call| c.redistribute(call)), "fn<T>(&self, like: &Register<T>) -> Register<E>", "As `redistribute`, dealt like another tensor of this shape.";
    Register redistribute_through = Rule::Do(|c, call| c.redistribute_through(call)), "fn(&self, buffer: &Shared<E>, map: ThreadMap) -> Register<E>", "The same tensor dealt by another map, through a shared tensor of its shape: stored, met at the block's barrier, loaded.";
    Register redistribute_through_like = Rule::Do(|c, call| c.redistribute_through(call)), "fn<T>(&self, buffer: &Shared<E>, like: &Register<T>) -> Register<E>", "As `redistribute_through`, dealt like another tensor of this shape.";
    Register raw = Rule::Pure(|c, call| c.register_raw(call)), "fn(&self) -> Raw<E>", "The thread's own values, by place: `raw()[i]`, `raw().len()`.";
    Array len = Rule::Pure(|c, call| c.array_len(call)), "fn(&self) -> usize", "Elements of a build-time array.";
    Range step_by = Rule::Pure(|c, call| c.step_by(call)), "fn(self, step: usize) -> Range", "Every so many-th number.";
    Range rev = Rule::Pure(|c, call| c.range_rev(call)), "fn(self) -> Range", "From the end downwards.";
    Raw len = Rule::Pure(|c, call| c.array_len(call)), "fn(&self) -> usize", "How many the thread holds.";

    ThreadMapType linear = Rule::Pure(|c, call| c.map_linear(call)), "fn(threads: usize) -> ThreadMap", "Vectors in row-major order, dealt to the threads one after another.";
    ThreadMapType rows = Rule::Pure(|c, call| c.map_rows(call)), "fn(threads: usize, threads_per_row: usize) -> ThreadMap", "Rows side by side: so many threads share a row.";
    ThreadMapType new = Rule::Pure(|c, call| c.map_new(call)), "fn(threads: Layout, values: Layout) -> ThreadMap", "CuTe's: where each thread stands in the tile, and the block of values each holds there; repeated over the tile.";
    ThreadMap vector = Rule::Pure(|c, call| c.map_vector(call)), "fn(self, elements: usize) -> ThreadMap", "Demands so many elements an access; an error where unproven.";
    ThreadMap vector_up_to = Rule::Pure(|c, call| c.map_vector(call)), "fn(self, elements: usize) -> ThreadMap", "Takes the widest proven access up to so many elements.";

    LayoutType row_major = Rule::Pure(|c, call| c.layout_ordered(call)), "fn<const R: usize>(shape: [usize; R]) -> Layout", "Compact, the last axis contiguous.";
    LayoutType col_major = Rule::Pure(|c, call| c.layout_ordered(call)), "fn<const R: usize>(shape: [usize; R]) -> Layout", "Compact, the first axis contiguous.";
    LayoutType k_major = Rule::Pure(|c, call| c.layout_k_major(call)), "fn<E: Element>(shape: [usize; 2]) -> Layout", "Rows of 128 bytes (or 64, or 32, as the width allows), contiguous along the second axis, 16-byte chunks swizzled so that eight rows fall into different banks: what tensor cores read.";
    Layout swizzle = Rule::Pure(|c, call| c.layout_swizzle(call)), "fn(self, swizzle: Swizzle) -> Layout", "With element offsets swizzled.";
    Layout t = Rule::Pure(|c, call| c.layout_t(call)), "fn(self) -> Layout", "Transposed (two axes).";
    SwizzleType new = Rule::Pure(|c, call| c.swizzle_new(call)), "fn(bits: usize, base: usize, shift: usize) -> Swizzle", "Bits [base + shift, + bits) of the element offset are XORed onto bits [base, + bits).";

    Free warpgroup_idx = Rule::Pure(|c, call| c.warpgroup_idx(call)), "fn() -> usize", "The warpgroup's number in its block.";
    Free elect_one = Rule::Do(|c, call| c.elect_one(call)), "fn() -> bool", "True in one and the same thread of the current role; of each warpgroup, if the role has several.";
    Free set_registers = Rule::Do(|c, call| c.set_registers(call)), "fn(count: usize)", "Gives registers back, or takes them: so many a thread from here on.";
    Free warpgroup_wait = Rule::Do(|c, call| c.warpgroup_wait(call)), "fn(n: usize)", "Waits until all but the newest `n` groups of matrix products of the warpgroup are done.";
    Free fence_async = Rule::Do(|c, call| c.fence_async(call)), "fn()", "Orders ordinary shared writes before asynchronous reads of them.";
    Free cluster_rank = Rule::Special(Special::ClusterRank), "fn() -> usize", "The block's rank in its cluster.";
    Free cluster_sync = Rule::Do(|c, call| c.cluster_sync(call)), "fn()", "Barrier of all threads of the cluster.";
    Free dependent_launch = Rule::Do(|c, call| c.dependent(call)), "fn()", "The next kernel of the stream may start.";
    Free dependent_wait = Rule::Do(|c, call| c.dependent(call)), "fn()", "Waits for the previous kernel of the stream.";

    WarpType new = Rule::Pure(|c, call| c.warp_new(call)), "fn(m: usize, n: usize) -> Warp", "`m` warps down, `n` across.";
    GemmType new = Rule::Pure(|c, call| c.gemm_new(call)), "fn(warps: Warp) -> Gemm<A, B, Acc>", "By single warps.";
    GemmType warpgroup = Rule::Pure(|c, call| c.gemm_new(call)), "fn(warps: Warp) -> Gemm<A, B, Acc>", "By warpgroups, asynchronously.";
    GemmType tf32 = Rule::Pure(|c, call| c.gemm_new(call)), "fn(warps: Warp) -> Gemm<f32>", "By single warps, of f32 whose lowest 13 bits are ignored: 11 bits of each factor count.";
    GemmType tf32x3 = Rule::Pure(|c, call| c.gemm_new(call)), "fn(warps: Warp) -> Gemm<f32>", "By single warps, of f32 as sums of two tf32 each, by three products: 22 bits of each factor count. An infinite factor gives NaN.";
    GemmType warpgroup_tf32 = Rule::Pure(|c, call| c.gemm_new(call)), "fn(warps: Warp) -> Gemm<f32>", "By warpgroups, asynchronously, of f32 whose lowest 13 bits are ignored.";
    Gemm zeros = Rule::Do(|c, call| c.gemm_zeros(call)), "fn(&self, shape: [usize; 2]) -> Register<Acc>", "An accumulator; the first product ignores what is there.";
    Gemm dot = Rule::Do(|c, call| c.gemm_dot(call)), "fn(&self, a: impl Operand<A>, b: Shared<B>) -> Register<Acc>", "`a @ b.T`.";
    Gemm accumulate = Rule::Do(|c, call| c.gemm_accumulate(call)), "fn(&self, a: impl Operand<A>, b: Shared<B>, acc: &mut Register<Acc>)", "`acc += a @ b.T`.";
    Gemm issue = Rule::Do(|c, call| c.gemm_issue(call)), "fn(&self, a: impl Operand<A>, b: Shared<B>, acc: Register<Acc>) -> Pending<A, B, Acc>", "Starts `acc += a @ b.T`; the accumulator is in flight until [`Pending::retire`].";
    Pending issue = Rule::Do(|c, call| c.pending_issue(call)), "fn(self, a: impl Operand<A>, b: Shared<B>) -> Pending<A, B, Acc>", "Starts the next product into it.";
    Pending retire = Rule::Do(|c, call| c.pending_retire(call)), "fn(self) -> Register<Acc>", "Gives the accumulator back, after the wait that proves it done.";

    LoadType cp_async = Rule::Pure(|c, call| c.load_new(call)), "fn(threads: usize) -> Load", "Asynchronous copies by so many threads, 16 bytes each where that is proven.";
    LoadType tma = Rule::Pure(|c, call| c.load_new(call)), "fn() -> Load", "The tensor memory accelerator; one thread issues.";
    Load multicast = Rule::Pure(|c, call| c.load_multicast(call)), "fn(self, mask: u32) -> Load", "To every block of the cluster whose bit is set.";
    Load copy = Rule::Do(|c, call| c.load_copy(call)), "fn<const R: usize>(&self, from: &View<E, R>, to: Shared<E>)", "Starts a copy that the next `commit` of a pipeline covers.";
    Load copy_into = Rule::Do(|c, call| c.load_copy_into(call)), "fn<const R: usize>(&self, from: &View<E, R>, to: Shared<E>, pipe: &Pipeline, stage: usize)", "Starts a copy that completes a pipeline's stage, which expects the bytes of it once: what other blocks send is told by `expect`.";
    StoreType tma = Rule::Pure(|c, call| c.store_new(call)), "fn() -> Store", "The tensor memory accelerator; one thread issues.";
    Store copy = Rule::Do(|c, call| c.store_copy(call)), "fn<const R: usize>(&self, from: Shared<E>, to: View<E, R>)", "Starts a copy.";
    Store reduce_add = Rule::Do(|c, call| c.store_copy(call)), "fn<const R: usize>(&self, from: Shared<E>, to: View<E, R>)", "Starts a copy that adds to what is there.";
    Store commit = Rule::Do(|c, call| c.store_commit(call)), "fn(&self)", "Closes a group of copies.";
    Store wait_read = Rule::Do(|c, call| c.store_wait(call)), "fn(&self, n: usize)", "Waits until all but the newest `n` groups have been read from shared memory.";
    Store wait = Rule::Do(|c, call| c.store_wait(call)), "fn(&self, n: usize)", "Waits until all but the newest `n` groups are written.";

    PipelineType cp_async = Rule::Do(|c, call| c.pipeline_new(call)), "fn(stages: usize) -> Pipeline", "Filled by asynchronous copies of the threads that use it.";
    PipelineType tma = Rule::Do(|c, call| c.pipeline_new(call)), "fn(stages: usize, consumers: usize) -> Pipeline", "Filled by the tensor memory accelerator, used by so many warpgroups. Its barriers are initialised here, by one thread, and the block synchronised.";
    PipelineType cluster = Rule::Do(|c, call| c.pipeline_new(call)), "fn(stages: usize, consumers: usize) -> Pipeline", "As `tma`, filled by tensor loads of every block of the cluster: a stage is free once so many warpgroups of each block have released it.";
    Pipeline acquire = Rule::Do(|c, call| c.pipe_acquire(call)), "fn(&self) -> usize", "The next stage to fill, once it is free.";
    Pipeline commit = Rule::Do(|c, call| c.pipe_commit(call)), "fn(&self)", "Closes what was copied into the stage.";
    Pipeline wait = Rule::Do(|c, call| c.pipe_wait(call)), "fn(&self) -> usize", "The next full stage. For `cp_async`: the group wait, then the block's barrier.";
    Pipeline release = Rule::Do(|c, call| c.pipe_release(call)), "fn(&self, stage: usize)", "The stage may be filled again.";
    Pipeline expect = Rule::Do(|c, call| c.pipe_expect(call)), "fn(&self, stage: usize, bytes: usize)", "So many bytes more complete the stage: those that other blocks of the cluster send.";
    BarrierType named = Rule::Pure(|c, call| c.barrier_named(call)), "fn(threads: usize) -> Barrier", "A hardware barrier of so many threads; one for each group of so many that meets at it.";
    Barrier sync = Rule::Do(|c, call| c.barrier_sync(call)), "fn(&self)", "Arrives and waits.";
    Barrier arrive = Rule::Do(|c, call| c.barrier_sync(call)), "fn(&self)", "Arrives and goes on.";
    TilesType persistent = Rule::Pure(|c, call| c.tiles_new(call)), "fn(tiles: [usize; 2]) -> Tiles", "Each block (each cluster, if the kernel has clusters) takes tile after tile.";
    Tiles grouped = Rule::Pure(|c, call| c.tiles_grouped(call)), "fn(self, rows: usize) -> Tiles", "In groups of so many rows of tiles, for the second-level cache.";
}

impl Row {
    /// Arguments, the receiver not counted.
    #[must_use]
    pub fn arity(&self) -> usize {
        let from = self.signature.find('(').map_or(0, |i| i + 1);
        let (mut depth, mut commas, mut any, mut before) = (0, 0, false, ' ');
        for c in self.signature[from..].chars() {
            match c {
                ')' if depth == 0 => break,
                '(' | '[' | '<' => depth += 1,
                '>' if before == '-' => {}
                ')' | ']' | '>' => depth -= 1,
                ',' if depth == 0 => commas += 1,
                c => any |= !c.is_whitespace(),
            }
            before = c;
        }
        let all = if any { commas + 1 } else { 0 };
        let receiver = ["(self", "(&self", "(&mut self"]
            .iter()
            .any(|r| self.signature[from - 1..].starts_with(r));
        all - usize::from(receiver)
    }
}

/// Types by which associated functions are called.
pub(crate) static TYPES: &[(&str, Receiver)] = &[
    ("Shared", Receiver::SharedType),
    ("ThreadMap", Receiver::ThreadMapType),
    ("Layout", Receiver::LayoutType),
    ("Swizzle", Receiver::SwizzleType),
    ("Warp", Receiver::WarpType),
    ("Gemm", Receiver::GemmType),
    ("Load", Receiver::LoadType),
    ("Store", Receiver::StoreType),
    ("Pipeline", Receiver::PipelineType),
    ("Barrier", Receiver::BarrierType),
    ("Tiles", Receiver::TilesType),
];

impl Receiver {
    /// For people: what has the operation.
    #[must_use]
    pub fn what(self) -> String {
        if let Some((name, _)) = TYPES.iter().find(|(_, r)| *r == self) {
            return format!("the type `{name}`");
        }
        match self {
            Receiver::Free => "no value: it is called by itself",
            Receiver::Scalar => "numbers",
            Receiver::Global => "global tensors",
            Receiver::View => "views of global tensors (`x.tile(..)`)",
            Receiver::Shared => "shared tensors",
            Receiver::Stages => "stages of shared tensors",
            Receiver::Register => "register tensors (`.load(map)` gives one)",
            Receiver::Raw => "a thread's own values (`.raw()`)",
            Receiver::Array => "arrays",
            Receiver::Range => "ranges",
            Receiver::ThreadMap => "thread maps",
            Receiver::Layout => "layouts",
            Receiver::Swizzle => "swizzles",
            Receiver::Gemm => "matrix products",
            Receiver::Pending => "accumulators in flight",
            Receiver::Load => "loads",
            Receiver::Store => "stores",
            Receiver::Pipeline => "pipelines",
            Receiver::Barrier => "barriers",
            Receiver::Tiles => "tiles",
            _ => "element types",
        }
        .into()
    }
}

/// The operations of a receiver.
pub fn of(receiver: Receiver) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |r| r.receiver == receiver)
}

/// The row of a receiver and name.
#[must_use]
pub fn find(receiver: Receiver, name: &str) -> Option<&'static Row> {
    ROWS.iter()
        .find(|r| r.receiver == receiver && r.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn arity_is_read_off_the_signature() {
        let arity = |r, n| find(r, n).map(Row::arity);
        assert_eq!(arity(Receiver::Free, "thread_idx"), Some(0));
        assert_eq!(arity(Receiver::Free, "fma"), Some(3));
        assert_eq!(arity(Receiver::Global, "tile"), Some(2));
        assert_eq!(arity(Receiver::Register, "zip"), Some(2));
        assert_eq!(arity(Receiver::Register, "mask"), Some(2));
        assert_eq!(arity(Receiver::View, "t"), Some(0));
        assert_eq!(arity(Receiver::ScalarType, "max"), Some(2));
    }

    #[test]
    fn an_operation_has_one_row() {
        let mut seen = HashSet::new();
        for row in ROWS {
            assert!(
                seen.insert((row.receiver, row.name)),
                "{:?} {}",
                row.receiver,
                row.name
            );
        }
    }
}
