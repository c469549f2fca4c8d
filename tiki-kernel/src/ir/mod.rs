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
pub mod coordinate;
pub mod dist;
pub mod exchange;
mod op;
mod print;
pub mod reduction;
pub mod scan;
pub mod uniform;
mod view;
pub mod visit;
mod written;

pub use asynchronous::{Async, Mma, MmaKind, Operand, TensorCopy, TensorCopyKind, Transaction};
pub use coordinate::{Coordinate, Coordinates, Steps, within};
pub use dist::{Dist, Mode};
pub use op::{
    Binary, Compare, Const, Input, Map, Op, Reduce, ReduceOp, Region, Round, Scan, ScanOp, Shuffle,
    Special, Unary, Vote,
};
pub use print::print;
pub use view::{Access, Cache, Digit, Edge, GlobalView, Place, SharedView, ViewAxis, Window, Xor};
pub use written::{Touch, Touched, Written};

use crate::artifact::ParamKind;
use crate::ast::Span;
use crate::dtype::DType;
use crate::target::Target;
use std::sync::Arc;

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
    /// What roles set: threads, registers of each.
    pub roles: Vec<(u32, u32)>,
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
    /// What the checker chose, for the report.
    pub decisions: Vec<Decision>,
    /// The kernel's name in its source.
    pub span: Span,
}

/// Something chosen that the author wants to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What it is about.
    pub kind: &'static str,
    /// The value it makes.
    pub value: Option<Value>,
    /// In words.
    pub text: String,
    /// Where.
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
    /// It lies in the storage of an earlier allocation, from this byte on.
    pub over: Option<(usize, u32)>,
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

impl Kernel {
    /// The allocation whose storage this one lies in (itself, if it has its own), and from which byte on.
    #[must_use]
    pub fn storage(&self, alloc: usize) -> (usize, u32) {
        self.shared[alloc].over.unwrap_or((alloc, 0))
    }
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
    /// Runs once: a stretch that `Break` leaves early. It counts as a level, but never goes round.
    Once(Block),
    /// Leaves the loop (or stretch) this many levels out (0: the innermost).
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
    /// Instructions of the author's without a result; what they are given.
    Written(Arc<Written>, Vec<Value>),
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
