//! Asynchronous work: copies, tensor-core products, transaction barriers.
//!
//! What a statement here starts is not done when the next statement runs. The wait that ends it:
//!
//! | started by | ended by | seen by |
//! | --- | --- | --- |
//! | `CopyTile`, `CommitCopies` | `WaitCopies(n)`: all but the thread's `n` newest groups | the thread; others after a barrier |
//! | `TensorCopy` (load) | `Transaction::Wait` on its barrier | every thread that waited |
//! | `TensorCopy` (store, reduce), `CommitStores` | `WaitStores` | the thread that started it |
//! | `Mma` of a warpgroup (its own group) | `WaitProducts(n)`: all but the warpgroup's `n` newest groups | the warpgroup |
//!
//! The accumulator of a product is a [`Var`]: one fixed set of registers, updated in place. Between a
//! warpgroup's `Mma` and the wait that ends it, nothing reads or writes the variable.

use super::{Cache, Dist, GlobalView, SharedView, Value, Var};

/// Kinds of asynchronous statements.
#[derive(Debug, Clone, PartialEq)]
pub enum Async {
    /// Each thread copies its vectors of a tile from global to shared memory; missing elements become
    /// zero. The distribution says which thread copies what; `vector` elements an instruction.
    CopyTile {
        /// From.
        view: GlobalView,
        /// To: a view of the same shape.
        into: SharedView,
        /// Who copies what.
        dist: Dist,
        /// Elements an instruction: 4, 8 or 16 bytes.
        vector: u32,
        /// Cache policy.
        cache: Cache,
    },
    /// Ends the thread's group of `CopyTile`s.
    CommitCopies,
    /// Waits for all but the newest groups of the thread.
    WaitCopies(u32),
    /// Through the tensor memory accelerator, by the one thread that comes here.
    TensorCopy(TensorCopy),
    /// Ends the thread's group of tensor stores.
    CommitStores,
    /// Waits until all but the `newest` groups of the thread have read their source, or, unless `read`, are
    /// written.
    WaitStores {
        /// Groups that may be pending.
        newest: u32,
        /// Only until the source may be overwritten.
        read: bool,
    },
    /// Makes the thread's shared writes seen by tensor copies and warpgroup products that other threads
    /// start after a barrier.
    FenceAsync,
    /// A tensor-core product.
    Mma(Mma),
    /// Waits for all but the newest groups of the warpgroup.
    WaitProducts(u32),
    /// An operation on a transaction barrier in shared memory: a view of rank 0 of `u64`s.
    Transaction {
        /// The barrier.
        barrier: SharedView,
        /// What.
        op: Transaction,
    },
    /// Makes initialised transaction barriers known to the accelerator and to other threads; the block's
    /// barrier must follow.
    FenceBarriers,
    /// Sets the registers of each thread of the warpgroup; all its warps come here once.
    SetRegisters {
        /// Registers a thread.
        count: u32,
        /// More than at entry (else fewer).
        more: bool,
    },
    /// Barrier of all threads of the cluster.
    ClusterBarrier,
    /// Lets the next grid of the stream start early.
    DependentLaunch,
    /// Waits until the grid before has ended and its writes are seen.
    DependentWait,
}

/// Operations on a transaction barrier.
#[derive(Debug, Clone, PartialEq)]
pub enum Transaction {
    /// Sets the count of arrivals; by one thread, before anyone uses it.
    Init(u32),
    /// Waits until the phase of this parity (a `u32` of 0 or 1) is over.
    Wait(Value),
    /// Arrives, by each thread that comes here.
    Arrive,
    /// Arrives and adds the bytes to be waited for.
    ArriveExpect(u32),
    /// Adds bytes to be waited for.
    Expect(u32),
    /// Arrives at the same barrier of another block of the cluster.
    ArriveAt(Value),
}

/// A copy between a tile of a global tensor and shared memory.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorCopy {
    /// Direction.
    pub kind: TensorCopyKind,
    /// The tile: elements past the tensor's edge read as zero and are not written.
    pub view: GlobalView,
    /// Its place in shared memory: a view of the same shape.
    pub shared: SharedView,
    /// A load's transaction barrier.
    pub barrier: Option<SharedView>,
    /// A load's destination blocks of the cluster, one bit each (`u16`).
    pub multicast: Option<Value>,
    /// Cache policy.
    pub cache: Cache,
}

/// Directions of a [`TensorCopy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TensorCopyKind {
    /// Global to shared.
    Load,
    /// Shared to global.
    Store,
    /// Shared added to global.
    ReduceAdd,
}

/// `acc += a @ b.T`: `acc` is (M, N), `a` (M, K), `b` (N, K).
#[derive(Debug, Clone, PartialEq)]
pub struct Mma {
    /// The accumulator: a tensor distributed as the kind says.
    pub acc: Var,
    /// Left operand.
    pub a: Operand,
    /// Right operand. An operand whose contiguous axis is not K is read transposed.
    pub b: SharedView,
    /// Warps along M and N.
    pub warps: (u32, u32),
    /// How.
    pub kind: MmaKind,
}

/// A left operand.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// In shared memory.
    Shared(SharedView),
    /// In registers: a tensor (M, K) distributed as an accumulator of these warps.
    Register(Value),
}

/// Kinds of products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MmaKind {
    /// By each warp, done when the statement is.
    Warp,
    /// The same of f32, each operand as the sum of two tf32: three products, the smallest first.
    WarpThrice,
    /// By warpgroups, asynchronously; forms a group of its own. If `zero`, what is in the accumulator is
    /// ignored.
    Warpgroup {
        /// `acc = a @ b.T`.
        zero: bool,
    },
}

impl MmaKind {
    /// Whether single warps multiply, so that it is done when the statement is.
    #[must_use]
    pub fn by_warps(self) -> bool {
        !matches!(self, MmaKind::Warpgroup { .. })
    }
}
