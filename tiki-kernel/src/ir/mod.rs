//! The typed program: what one instance of a kernel does, one statement after another.
//!
//! [`crate::check`] makes it from the syntax tree; everything known at build time is gone by then
//! (const generics, layouts, thread maps, closures, unrolled loops). [`crate::schedule`] fills in the
//! plans it leaves open, [`crate::lower`] turns it into instructions.
//!
//! Semantics:
//!
//! 1. Every thread of the block runs the body. Control flow is structured: blocks within `If`, `For`,
//!    `While`. [`Value`]s are assigned once, before they are used, and are visible in the block that
//!    defines them and in blocks within it. [`Var`]s are assigned any number of times; each is one
//!    fixed set of registers for the whole kernel.
//! 2. A value is a scalar (each thread has its own; [`Uniform`] says how far it is known to be the
//!    same) or a register tensor: a shape and a [`Dist`] that says which thread holds which element.
//! 3. An element outside the shape is *absent*; one inside the shape but outside the bounds of the
//!    tensor it came from is *missing*: loads give it the fill, stores skip it, and reductions leave it
//!    out (they carry the bounds).
//! 4. Index arithmetic is unsigned, in `u32` where the checker proved that it fits, else `u64`.
//! 5. Float arithmetic is IEEE with round to nearest even, one rounding an operation; nothing is fused
//!    or reordered except by a schedule that says so.
//! 6. Shared memory is written and read through [`SharedView`]s; statements take effect in order within
//!    a thread, and between threads only across a [`StmtKind::Barrier`].

pub mod asynchronous;
pub mod build;
pub mod dist;
mod print;
pub mod reduction;
pub mod visit;

pub use asynchronous::{Async, Mma, MmaKind, Operand, TensorCopy, TensorCopyKind, Transaction};
pub use dist::{Dist, Mode};
pub use print::print;

use crate::artifact::ParamKind;
use crate::ast::Span;
use crate::dtype::DType;
use crate::target::Target;

/// A value, assigned once: an index into [`Kernel::values`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// A variable: an index into [`Kernel::vars`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(pub u32);

/// One instance of a kernel.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Entry name.
    pub entry: String,
    /// For people: `rms_norm<E = f16, N = 4096, T = 256>`.
    pub title: String,
    /// Target.
    pub target: Target,
    /// Threads of a block (one-dimensional).
    pub threads: u32,
    /// Blocks of a cluster.
    pub cluster: u32,
    /// Registers a thread may use, if the author set a budget.
    pub registers: Option<u32>,
    /// Shared bytes a block may use, if the author set a budget.
    pub shared_budget: Option<u32>,
    /// Blocks that must be resident on an SM, if the author asked.
    pub blocks_per_sm: Option<u32>,
    /// Arguments in order.
    pub params: Vec<Param>,
    /// Shared allocations.
    pub shared: Vec<Shared>,
    /// All values.
    pub values: Vec<ValueInfo>,
    /// All variables.
    pub vars: Vec<VarInfo>,
    /// What it does.
    pub body: Block,
    /// Floats may be fused into `fma` (attribute `contract`).
    pub contract: bool,
    /// Conditions the author denies.
    pub deny: Vec<Deny>,
    /// The kernel's name in its source.
    pub span: Span,
}

/// What `deny(..)` can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Deny {
    BankConflicts,
    Uncoalesced,
    Spills,
    Unproven,
    PartialWaves,
}

/// An argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// Name.
    pub name: String,
    /// Kind; a tensor's `align` is what the accesses need and grows while they are checked.
    pub kind: ParamKind,
    /// A tensor's extents as far as facts checked at launch fix them, one entry an axis (empty: none).
    /// Strides of a tensor without gaps follow from them and become immediates.
    pub extents: Vec<Option<u32>>,
    /// Where.
    pub span: Span,
}

/// A shared allocation.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// The author's name for it, or what it serves.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Bytes.
    pub bytes: u32,
    /// Alignment in bytes, a power of two.
    pub align: u32,
    /// Stages it holds, so that a message can offer fewer; 1 if it is not staged.
    pub stages: u32,
    /// In words, for messages: `2 stages x (128,64):(64,1) x 2 bytes`.
    pub detail: String,
    /// Where.
    pub span: Span,
}

/// The type of a value or variable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// One per thread.
    Scalar(DType),
    /// A register tensor.
    Tensor(TensorType),
}

/// The type of a register tensor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// Element type.
    pub dtype: DType,
    /// Shape.
    pub shape: Vec<u32>,
    /// Who holds what.
    pub dist: Dist,
}

impl Type {
    /// Element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        match self {
            Type::Scalar(t) => *t,
            Type::Tensor(t) => t.dtype,
        }
    }
    /// The tensor type, if it is one.
    #[must_use]
    pub fn tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(t) => Some(t),
            Type::Scalar(_) => None,
        }
    }
}

/// How far a scalar is known to be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Uniform {
    /// In all threads of the block.
    Block,
    /// In all lanes of a warp.
    Warp,
    /// Nothing known.
    Thread,
}

/// What is known of a value.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueInfo {
    /// Type.
    pub ty: Type,
    /// How uniform (scalars).
    pub uniform: Uniform,
    /// The author's name, or empty.
    pub name: String,
    /// Where it arises.
    pub span: Span,
}

/// What is known of a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct VarInfo {
    /// Type.
    pub ty: Type,
    /// The author's name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
}

/// Statements in order.
pub type Block = Vec<Stmt>;

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Stmt {
    /// What.
    pub kind: StmtKind,
    /// Where.
    pub span: Span,
}

/// Kinds of statements.
#[derive(Debug, Clone, PartialEq)]
pub enum StmtKind {
    /// Defines a value.
    Let(Value, Op),
    /// Assigns a variable: a scalar or a whole tensor.
    Set(Var, Value),
    /// Two ways.
    If {
        /// A bool.
        cond: Value,
        /// If true.
        then: Block,
        /// If false.
        otherwise: Block,
    },
    /// Counts `index` from `lo` while below `hi`, by `step`.
    For {
        /// The counter, defined in the body.
        index: Value,
        /// First.
        lo: Value,
        /// End.
        hi: Value,
        /// Step, at least 1.
        step: u32,
        /// Ask the assembler to unroll by this many (1: not at all; `None`: as it likes).
        unroll: Option<u32>,
        /// Body.
        body: Block,
    },
    /// Runs `head`, leaves if `cond` (defined there) is false, runs `body`, repeats.
    While {
        /// Computes the condition.
        head: Block,
        /// A bool.
        cond: Value,
        /// Body.
        body: Block,
    },
    /// Leaves the loop this many levels out (0: the innermost).
    Break(u32),
    /// Next round of the loop this many levels out.
    Continue(u32),
    /// Ends the thread.
    Return,
    /// Stores a register tensor to global memory; missing and absent elements are skipped.
    Store {
        /// Where to.
        view: GlobalView,
        /// A tensor of the view's shape.
        value: Value,
        /// How; filled by the schedule.
        access: Access,
    },
    /// Stores a register tensor to shared memory; absent elements are skipped.
    StoreShared {
        /// Where to.
        view: SharedView,
        /// A tensor of the view's shape.
        value: Value,
        /// Elements an instruction; 0 until the schedule chooses.
        vector: u32,
    },
    /// Stores one element to global memory (by each thread that gets here).
    StoreElement {
        /// A view of shape `[1, ..]`: the coordinates are its origins.
        view: GlobalView,
        /// The element.
        value: Value,
        /// Ordering.
        order: Order,
    },
    /// Stores one element to shared memory.
    StoreSharedElement {
        /// A view of rank 0.
        view: SharedView,
        /// The element.
        value: Value,
    },
    /// An atomic without a result.
    Red {
        /// Operation.
        op: AtomOp,
        /// Where.
        place: Place,
        /// Operand.
        value: Value,
        /// Order and scope.
        order: Order,
    },
    /// A barrier.
    Barrier(Barrier),
    /// A memory fence.
    Fence(Order),
    /// Stops the whole launch with an error.
    Trap,
    /// An asynchronous copy, a tensor-core product, a transaction barrier.
    Async(Async),
}

/// A barrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Barrier {
    /// All threads of the block.
    Block,
    /// `threads` threads at the barrier of this number.
    Named {
        /// Number, from 1.
        id: u32,
        /// Threads, a multiple of 32.
        threads: u32,
        /// Arrive without waiting.
        arrive: bool,
    },
    /// The lanes of a warp.
    Warp,
}

/// Memory order and scope of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Order {
    /// Order.
    pub order: MemoryOrder,
    /// Scope.
    pub scope: Scope,
}

/// Memory orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum MemoryOrder {
    /// A plain access.
    Weak,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
}

/// Scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Scope {
    Block,
    Cluster,
    Device,
    System,
}

/// Atomic operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum AtomOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
    /// Takes the value to compare with first.
    CompareExchange,
}

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
    /// Index into [`Kernel::params`].
    pub param: usize,
    /// Coordinates fixed along other axes of the tensor: (axis, index, proven inside).
    pub fixed: Vec<(usize, Value, bool)>,
    /// Axes of the view, outermost first.
    pub axes: Vec<ViewAxis>,
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
    /// Index into [`Kernel::shared`].
    pub alloc: usize,
    /// Per axis, outermost first: the digits of its coordinate, fastest first.
    pub axes: Vec<Vec<Digit>>,
    /// XOR on the element offset.
    pub swizzle: Option<Xor>,
    /// Build-time offset in elements.
    pub offset: i64,
    /// Run-time offsets: value times step.
    pub dynamic: Vec<(Value, i64)>,
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
        let mut sum = self.offset;
        for (digits, &c) in self.axes.iter().zip(at) {
            let mut c = c;
            for d in digits {
                sum += i64::from(c % d.extent) * d.stride;
                c /= d.extent;
            }
        }
        sum
    }
}

impl GlobalView {
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

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// A constant; floats by their bits in the value's own type (held as f64 bits).
    Const(Const),
    /// A scalar argument.
    Param(usize),
    /// Extent of a tensor argument along an axis.
    Extent(usize, usize),
    /// Stride of a tensor argument along an axis, in elements.
    Stride(usize, usize),
    /// The current value of a variable.
    Get(Var),
    /// A special register.
    Special(Special),
    /// One operand.
    Unary(Unary, Value),
    /// Two operands of one type.
    Binary(Binary, Value, Value),
    /// Compares two operands of one type: a bool. Unordered is false, except for `Ne`.
    Compare(Compare, Value, Value),
    /// `a * b + c` with one rounding (floats) or wrapping (integers).
    Fma(Value, Value, Value),
    /// Second if the first is true, else third.
    Select(Value, Value, Value),
    /// Conversion to the value's type.
    Cast(Value, Round),
    /// The same bits as the value's type of equal width.
    Bits(Value),
    /// A lane's value from another lane.
    Shuffle {
        /// How the source lane is found.
        mode: Shuffle,
        /// 32-bit value.
        value: Value,
        /// Lane, mask or delta.
        lane: Value,
    },
    /// A vote of the warp.
    Vote(Vote, Value),
    /// A mask of the lanes that hold the same value.
    Match(Value),
    /// A reduction of 32-bit integers over the warp.
    Redux(AtomOp, Value),
    /// An atomic that returns the old value.
    Atom {
        /// Operation.
        op: AtomOp,
        /// Where.
        place: Place,
        /// Operands: one, or (compare, new).
        operands: Vec<Value>,
        /// Order and scope.
        order: Order,
    },
    /// One element from memory.
    LoadElement {
        /// Where.
        place: Place,
        /// Order and scope.
        order: Order,
    },
    /// A register tensor from global memory; missing and absent elements are `fill`.
    Load {
        /// What.
        view: GlobalView,
        /// A scalar of the view's type.
        fill: Value,
        /// How.
        access: Access,
    },
    /// A register tensor from shared memory; absent elements are zero.
    LoadShared {
        /// What.
        view: SharedView,
        /// Elements an instruction; 0 until the schedule chooses.
        vector: u32,
    },
    /// A register tensor with this scalar everywhere.
    Splat(Value),
    /// Element by element.
    Map(Map),
    /// Along one axis.
    Reduce(Reduce),
    /// One of the thread's own values of a tensor, by its place.
    Raw(Value, u32),
    /// The thread's values at these places of a tensor, in this order: a tile of it.
    Pick(Value, Vec<u32>),
    /// True for one and the same lane of the warp, all of whose lanes are here. (A role of several warps
    /// tests the warp's number besides.)
    Elect,
}

/// An elementwise computation: for every element the thread holds, the region is evaluated with the
/// element of each input (and its coordinates) and gives the element of the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    /// Inputs: tensors of the result's shape and distribution, or vectors that lack one axis of it.
    pub inputs: Vec<Input>,
    /// What is computed.
    pub region: Region,
}

/// An input of a [`Map`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// The tensor.
    pub value: Value,
    /// `Some(a)`: a vector distributed like the result without axis `a`.
    pub missing_axis: Option<u8>,
}

/// Scalar code with parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// One scalar an input, defined by the region.
    pub params: Vec<Value>,
    /// The element's coordinates in the tensor, if asked for (else empty): `u32`.
    pub coords: Vec<Value>,
    /// Pure statements (`Let`, and `If`/`Set` on variables of the region's own).
    pub body: Block,
    /// The result.
    pub result: Value,
}

/// A reduction along one axis.
///
/// Order (documented, so that a result is reproducible): each thread combines its own values in a
/// balanced binary tree over their value index; then lanes combine by butterflies, nearest first; then
/// warps, in a balanced tree over the warp's number.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduce {
    /// The tensor.
    pub value: Value,
    /// Along.
    pub axis: u8,
    /// How.
    pub op: ReduceOp,
    /// Per axis of the tensor: how many of its elements are not missing (`u32`), if it may be partial.
    pub bounds: Vec<Option<Value>>,
    /// Scratch in shared memory, if threads of several warps take part: index into [`Kernel::shared`].
    pub scratch: Option<usize>,
    /// A barrier is needed before the scratch is written (its last readers may not be done).
    pub barrier_before: bool,
}

/// Reductions. `ArgMax` and `ArgMin` give the index along the axis (`u32`), the smallest of several;
/// NaN counts as the extreme (the first NaN wins).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ReduceOp {
    Sum,
    /// The number wins over NaN unless `nan`.
    Max {
        nan: bool,
    },
    Min {
        nan: bool,
    },
    ArgMax,
    ArgMin,
}

/// A constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Const {
    /// An integer.
    Int(i128),
    /// A float, to be rounded to the value's type (to nearest even).
    Float(f64),
    /// A bool.
    Bool(bool),
}

/// Special registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Special {
    Thread,
    Lane,
    Warp,
    /// The group of four warps.
    Warpgroup,
    /// Along x, y, z.
    Block(u8),
    /// Blocks along x, y, z.
    Grid(u8),
    ActiveMask,
}

/// One-operand operations. Approximate ones state their bound in `ops.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Unary {
    Neg,
    Not,
    Abs,
    Floor,
    Ceil,
    Round,
    Trunc,
    /// Correctly rounded.
    Sqrt,
    SqrtFast,
    Rsqrt,
    /// Correctly rounded reciprocal is `1 / x`; this is the fast one.
    Recip,
    Exp2,
    Exp,
    ExpFast,
    Log2,
    Log,
    Tanh,
    TanhFast,
    Sin,
    Cos,
    Popcount,
    LeadingZeros,
    ReverseBits,
}

/// Two-operand operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    /// Correctly rounded (floats); truncating (integers).
    Div,
    DivFast,
    Rem,
    /// The number wins over NaN.
    Min,
    Max,
    /// NaN wins.
    MinNan,
    MaxNan,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

/// Comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Rounding of conversions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs)]
pub enum Round {
    /// To nearest even (floats); toward zero, saturating, NaN to 0 (floats to integers); wrapping
    /// (integers).
    #[default]
    Default,
    Zero,
    Up,
    Down,
}

/// Where a shuffle's source lane lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Shuffle {
    Index,
    Up,
    Down,
    Xor,
}

/// Votes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Vote {
    All,
    Any,
    /// A mask of the lanes that say yes.
    Ballot,
}
