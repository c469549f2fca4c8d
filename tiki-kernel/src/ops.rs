//! The surface of the kernel language: one row an operation.
//!
//! A row gives the receiver, the name, the signature as the author sees it, what it means (with its
//! accuracy, where it computes) and an example. The checker looks names up here; the prelude of the
//! facade declares the same names with the same signatures, and a test compares the two. What has no
//! row does not exist.

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
    /// `Stages`, several shared tensors of one layout.
    Stages,
    /// `Register`, a register tensor (vectors included).
    Register,
    /// `Raw`, the thread's own values of a register tensor.
    Raw,
    ThreadMap,
    Layout,
    Swizzle,
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
}

macro_rules! ops {
    ($($receiver:ident $name:ident: $signature:literal, $doc:literal;)*) => {
        /// All operations.
        pub static ROWS: &[Row] = &[$(Row {
            receiver: Receiver::$receiver,
            name: stringify!($name),
            signature: $signature,
            doc: $doc,
        }),*];
    };
}

ops! {
    Free thread_idx: "fn() -> usize", "The thread's number in its block.";
    Free lane_idx: "fn() -> usize", "The thread's lane in its warp: 0 to 31.";
    Free warp_idx: "fn() -> usize", "The warp's number in its block.";
    Free block_idx: "fn() -> Dim3", "The block's coordinates in the grid: `.x`, `.y`, `.z`.";
    Free grid_dim: "fn() -> Dim3", "Blocks of the grid along x, y and z.";
    Free sync_block: "fn()", "Barrier of all threads of the block; shared and global writes before it are seen after it within the block.";
    Free sync_warp: "fn()", "Barrier of the lanes of a warp.";
    Free fence: "fn(scope: Scope)", "Orders the thread's memory accesses before it with those after it, as seen within the scope.";
    Free trap: "fn()", "Stops the launch with an error.";
    Free shuffle: "fn<T: Word>(value: T, lane: usize) -> T", "The value another lane holds; all lanes take part.";
    Free shuffle_up: "fn<T: Word>(value: T, delta: usize) -> T", "The value of the lane `delta` below; the lowest lanes keep their own.";
    Free shuffle_down: "fn<T: Word>(value: T, delta: usize) -> T", "The value of the lane `delta` above; the highest lanes keep their own.";
    Free shuffle_xor: "fn<T: Word>(value: T, mask: usize) -> T", "The value of the lane whose number differs in the bits of `mask`.";
    Free vote_all: "fn(condition: bool) -> bool", "True if it is true in all lanes.";
    Free vote_any: "fn(condition: bool) -> bool", "True if it is true in some lane.";
    Free ballot: "fn(condition: bool) -> u32", "One bit a lane.";
    Free match_any: "fn<T: Word>(value: T) -> u32", "The lanes that hold the same bits, one bit a lane.";
    Free active_mask: "fn() -> u32", "The lanes that are here together; a hint, never a proof.";
    Free redux_add: "fn<T: Int32>(value: T) -> T", "Sum over the lanes, wrapping.";
    Free redux_min: "fn<T: Int32>(value: T) -> T", "Least over the lanes.";
    Free redux_max: "fn<T: Int32>(value: T) -> T", "Greatest over the lanes.";
    Free redux_and: "fn(value: u32) -> u32", "And over the lanes.";
    Free redux_or: "fn(value: u32) -> u32", "Or over the lanes.";
    Free redux_xor: "fn(value: u32) -> u32", "Exclusive or over the lanes.";

    Free exp2: "fn(x: f32) -> f32", "2 to the power x: the hardware's ex2, at most 2 units in the last place; subnormal results kept.";
    Free exp: "fn(x: f32) -> f32", "e to the power x, at most 2 units in the last place over the whole range.";
    Free exp_fast: "fn(x: f32) -> f32", "exp2(x * log2(e)) with one rounding of the product: relative error grows with |x|, 2 + |x| units in the last place; subnormals flushed to zero.";
    Free log2: "fn(x: f32) -> f32", "Binary logarithm: the hardware's lg2, absolute error 2^-22.6 for x in [0.5, 2], else 1 unit in the last place.";
    Free log: "fn(x: f32) -> f32", "Natural logarithm: log2(x) * ln 2; absolute error 2^-22 near 1, else 2 units in the last place.";
    Free sqrt: "fn<T: Float>(x: T) -> T", "Square root, correctly rounded.";
    Free sqrt_fast: "fn(x: f32) -> f32", "Square root by the hardware's approximation, at most 1 unit in the last place.";
    Free rsqrt: "fn(x: f32) -> f32", "Reciprocal square root by the hardware's approximation, relative error 2^-22.9.";
    Free recip: "fn(x: f32) -> f32", "Reciprocal by the hardware's approximation, at most 1 unit in the last place.";
    Free div_fast: "fn(a: f32, b: f32) -> f32", "Quotient by the hardware's approximation, at most 2 units in the last place for |b| in [2^-126, 2^126].";
    Free tanh: "fn(x: f32) -> f32", "Hyperbolic tangent through exp, relative error 2^-21.";
    Free tanh_fast: "fn(x: f32) -> f32", "Hyperbolic tangent by the hardware's approximation, relative error 2^-11.";
    Free sin: "fn(x: f32) -> f32", "Sine by the hardware's approximation: absolute error 2^-20.9 in [-pi, pi], growing outside.";
    Free cos: "fn(x: f32) -> f32", "Cosine by the hardware's approximation: absolute error 2^-20.9 in [-pi, pi], growing outside.";
    Free abs: "fn<T: Number>(x: T) -> T", "Absolute value; clears a NaN's sign.";
    Free floor: "fn(x: f32) -> f32", "Greatest integer not above; exact.";
    Free ceil: "fn(x: f32) -> f32", "Least integer not below; exact.";
    Free round: "fn(x: f32) -> f32", "Nearest integer, ties to even; exact.";
    Free trunc: "fn(x: f32) -> f32", "Integer part; exact.";
    Free fma: "fn<T: Number>(a: T, b: T, c: T) -> T", "a * b + c with one rounding.";
    Free min: "fn<T: Number>(a: T, b: T) -> T", "The lesser; a number wins over NaN, -0 is below +0.";
    Free max: "fn<T: Number>(a: T, b: T) -> T", "The greater; a number wins over NaN, -0 is below +0.";
    Free min_propagate_nan: "fn<T: Float>(a: T, b: T) -> T", "The lesser; NaN if either is NaN.";
    Free max_propagate_nan: "fn<T: Float>(a: T, b: T) -> T", "The greater; NaN if either is NaN.";

    Scalar cast: "fn<T: Element>(self) -> T", "Conversion, to nearest even; floats to integers toward zero and saturating, NaN to 0.";
    Scalar min: "fn(self, other: Self) -> Self", "As the free function.";
    Scalar max: "fn(self, other: Self) -> Self", "As the free function.";
    Scalar abs: "fn(self) -> Self", "As the free function.";
    Scalar div_ceil: "fn(self, divisor: Self) -> Self", "Quotient of unsigned integers, rounded up.";
    Scalar is_multiple_of: "fn(self, divisor: Self) -> bool", "Whether the remainder is zero.";
    Scalar count_ones: "fn(self) -> u32", "Bits set.";
    Scalar leading_zeros: "fn(self) -> u32", "Zero bits above the highest bit set.";
    Scalar reverse_bits: "fn(self) -> Self", "The bits in the other order.";
    Scalar is_nan: "fn(self) -> bool", "Whether it is NaN.";
    Scalar to_bits: "fn(self) -> u32", "The bits of an f32.";
    ScalarType from_bits: "fn(bits: u32) -> f32", "The f32 of these bits.";
    ScalarType min: "fn(a: Self, b: Self) -> Self", "As the free function.";
    ScalarType max: "fn(a: Self, b: Self) -> Self", "As the free function.";

    Global dim: "fn(&self, axis: usize) -> usize", "Extent along an axis, outermost first.";
    Global stride: "fn(&self, axis: usize) -> usize", "Elements from one index to the next along an axis.";
    Global shape: "fn(&self) -> Shape<R>", "All extents; for comparisons in `require!`.";
    Global at: "fn<const K: usize>(&self, index: [usize; K]) -> Global", "The part with the leading coordinates fixed.";
    Global at_mut: "fn<const K: usize>(&mut self, index: [usize; K]) -> Global", "The part with the leading coordinates fixed, to be written.";
    Global tile: "fn<const K: usize>(&self, shape: [usize; K], at: [usize; K]) -> View", "The tile of this shape at these tile coordinates: it begins at coordinate times shape along each axis, and may reach past the tensor's edge.";
    Global tile_mut: "fn<const K: usize>(&mut self, shape: [usize; K], at: [usize; K]) -> View", "As `tile`, to be written.";
    Global get: "fn<const K: usize>(&self, index: [usize; K]) -> E", "One element, by each thread that asks; 0 outside the tensor.";
    Global set: "fn<const K: usize>(&mut self, index: [usize; K], value: E)", "Writes one element, by each thread that asks; nothing outside the tensor.";
    Global get_with: "fn<const K: usize>(&self, index: [usize; K], order: Order, scope: Scope) -> E", "One element with memory order and scope.";
    Global set_with: "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope)", "Writes one element with memory order and scope.";
    Global atom_add: "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "Adds; gives the old value.";
    Global atom_min: "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "Keeps the lesser (integers); gives the old value.";
    Global atom_max: "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "Keeps the greater (integers); gives the old value.";
    Global atom_and: "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "And; gives the old value.";
    Global atom_or: "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "Or; gives the old value.";
    Global atom_xor: "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "Exclusive or; gives the old value.";
    Global atom_exchange: "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "Replaces; gives the old value.";
    Global atom_compare_exchange: "fn<const K: usize>(&mut self, index: [usize; K], expected: E, new: E, order: Order, scope: Scope) -> E", "Replaces if the bits are as expected; gives the old value.";
    Global red_add: "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope)", "Adds, without a result.";
    Global red_min: "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope)", "Keeps the lesser (integers), without a result.";
    Global red_max: "fn<const K: usize>(&mut self, index: [usize; K], value: E, order: Order, scope: Scope)", "Keeps the greater (integers), without a result.";

    View t: "fn(self) -> View", "Transposed (two axes).";
    View tile: "fn<const K: usize>(&self, shape: [usize; K], at: [usize; K]) -> View", "A tile of the tile.";
    View fill: "fn(self, value: E) -> View", "What a missing element reads as (0 unless said).";
    View stream: "fn(self) -> View", "Read or written once: first to leave the caches.";
    View no_allocate: "fn(self) -> View", "Past the first-level cache.";
    View evict_first: "fn(self) -> View", "First to leave the second-level cache.";
    View evict_last: "fn(self) -> View", "Last to leave the second-level cache.";
    View read_only: "fn(self) -> View", "Nobody writes it while the kernel runs: through the read-only path.";
    View load: "fn(&self, map: ThreadMap) -> Register<E>", "Into registers, distributed by the map; missing elements read as the fill.";
    View load_like: "fn<T>(&self, like: &Register<T>) -> Register<E>", "Into registers, distributed like another tensor of this shape.";
    View store: "fn(&self, value: &Register<E>)", "From registers; missing elements are not written.";

    SharedType new: "fn(layout: Layout) -> Shared<E>", "A shared tensor; its bytes are the layout's cosize.";
    SharedType stages: "fn(count: usize, layout: Layout) -> Stages<E>", "Several shared tensors of one layout.";
    Stages stage: "fn(&self, index: usize) -> Shared<E>", "One of them; the index may be a run-time value.";
    Shared t: "fn(self) -> Shared<E>", "Transposed (two axes).";
    Shared tile: "fn<const K: usize>(&self, shape: [usize; K], at: [usize; K]) -> Shared<E>", "A tile.";
    Shared load: "fn(&self, map: ThreadMap) -> Register<E>", "Into registers, distributed by the map.";
    Shared load_like: "fn<T>(&self, like: &Register<T>) -> Register<E>", "Into registers, distributed like another tensor of this shape.";
    Shared store: "fn(&self, value: &Register<E>)", "From registers.";
    Shared get: "fn<const K: usize>(&self, index: [usize; K]) -> E", "One element, by each thread that asks.";
    Shared set: "fn<const K: usize>(&self, index: [usize; K], value: E)", "Writes one element, by each thread that asks.";
    Shared atom_add: "fn<const K: usize>(&self, index: [usize; K], value: E, order: Order, scope: Scope) -> E", "Adds; gives the old value.";
    Shared red_add: "fn<const K: usize>(&self, index: [usize; K], value: E, order: Order, scope: Scope)", "Adds, without a result.";

    Register cast: "fn<T: Element>(&self) -> Register<T>", "Converts every element, to nearest even.";
    Register map: "fn<T>(&self, f: impl Fn(E) -> T) -> Register<T>", "Every element through `f`.";
    Register zip: "fn<U, T>(&self, other: &Register<U>, f: impl Fn(E, U) -> T) -> Register<T>", "Elements of two equals through `f`.";
    Register map_at: "fn<const R: usize, T>(&self, f: impl Fn(E, [usize; R]) -> T) -> Register<T>", "Every element and its coordinates in the tensor through `f`.";
    Register mask: "fn<const R: usize>(&self, keep: impl Fn([usize; R]) -> bool, fill: E) -> Register<E>", "Elements whose coordinates `keep` refuses become `fill`.";
    Register rows: "fn<U, T>(&self, vector: &Register<U>, f: impl Fn(E, U) -> T) -> Register<T>", "Every element and its row's element of the vector through `f`.";
    Register cols: "fn<U, T>(&self, vector: &Register<U>, f: impl Fn(E, U) -> T) -> Register<T>", "Every element and its column's element of the vector through `f`.";
    Register row_vector: "fn(&self, init: E) -> Register<E>", "A vector with one element a row, distributed like the rows.";
    Register col_vector: "fn(&self, init: E) -> Register<E>", "A vector with one element a column, distributed like the columns.";
    Register row_sum: "fn(&self) -> Register<E>", "Sum of each row, in the element's own type; sum 16-bit types after `.cast::<f32>()`.";
    Register row_max: "fn(&self) -> Register<E>", "Greatest of each row; numbers win over NaN; the lowest value of the type if none.";
    Register row_min: "fn(&self) -> Register<E>", "Least of each row; numbers win over NaN.";
    Register row_max_propagate_nan: "fn(&self) -> Register<E>", "Greatest of each row; NaN if the row has one.";
    Register row_min_propagate_nan: "fn(&self) -> Register<E>", "Least of each row; NaN if the row has one.";
    Register row_argmax: "fn(&self) -> Register<u32>", "Where the greatest of each row lies: the first of several; the first NaN if the row has one.";
    Register row_argmin: "fn(&self) -> Register<u32>", "Where the least of each row lies: the first of several; the first NaN if the row has one.";
    Register col_sum: "fn(&self) -> Register<E>", "Sum of each column.";
    Register col_max: "fn(&self) -> Register<E>", "Greatest of each column.";
    Register col_min: "fn(&self) -> Register<E>", "Least of each column.";
    Register sum: "fn(&self) -> E", "Sum of a vector, known to all threads.";
    Register max: "fn(&self) -> E", "Greatest of a vector, known to all threads.";
    Register min: "fn(&self) -> E", "Least of a vector, known to all threads.";
    Register argmax: "fn(&self) -> u32", "Where the greatest of a vector lies.";
    Register argmin: "fn(&self) -> u32", "Where the least of a vector lies.";
    Register raw: "fn(&self) -> Raw<E>", "The thread's own values, by place: `raw()[i]`, `raw().len()`.";
    Raw len: "fn(&self) -> usize", "How many the thread holds.";

    ThreadMapType linear: "fn(threads: usize) -> ThreadMap", "Vectors in row-major order, dealt to the threads one after another.";
    ThreadMapType rows: "fn(threads: usize, threads_per_row: usize) -> ThreadMap", "Rows side by side: so many threads share a row.";
    ThreadMapType new: "fn(threads: Layout, values: Layout) -> ThreadMap", "CuTe's: where each thread stands in the tile, and the block of values each holds there; repeated over the tile.";
    ThreadMap vector: "fn(self, elements: usize) -> ThreadMap", "Demands so many elements an access; an error where unproven.";
    ThreadMap vector_up_to: "fn(self, elements: usize) -> ThreadMap", "Takes the widest proven access up to so many elements.";

    LayoutType row_major: "fn<const R: usize>(shape: [usize; R]) -> Layout", "Compact, the last axis contiguous.";
    LayoutType col_major: "fn<const R: usize>(shape: [usize; R]) -> Layout", "Compact, the first axis contiguous.";
    LayoutType k_major: "fn<E: Element>(shape: [usize; 2]) -> Layout", "Rows of 128 bytes (or 64, or 32, as the width allows), contiguous along the second axis, 16-byte chunks swizzled so that eight rows fall into different banks: what tensor cores read.";
    Layout swizzle: "fn(self, swizzle: Swizzle) -> Layout", "With element offsets swizzled.";
    Layout t: "fn(self) -> Layout", "Transposed (two axes).";
    SwizzleType new: "fn(bits: usize, base: usize, shift: usize) -> Swizzle", "Bits [base + shift, + bits) of the element offset are XORed onto bits [base, + bits).";
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
