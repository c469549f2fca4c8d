//! What rows ask of a machine: the machine's vocabulary.
//!
//! A request is made once, when a program is loaded; operands stay numbers of planes. A field of type
//! [`At`] is the place of an operand among the row's patterns.

use super::bulk::MapField;
pub use super::matrix::Multiply;
use tiki_kernel::isa::{Atom, Op, Shfl, Space, Ty, Vote};

/// Place of an operand.
pub type At = u8;

/// Place of the operand that a row calls so.
#[must_use]
pub fn at(op: &Op, name: &str) -> Option<At> {
    op.row
        .form()
        .pats
        .iter()
        .position(|p| p.name == name)
        .map(|i| i as At)
}

/// A load or a store.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// Space; generic if the address says.
    pub space: Space,
    /// Bytes of one value.
    pub bytes: u32,
    /// Values.
    pub count: u32,
    /// Narrow integers keep their sign.
    pub signed: bool,
    /// Address.
    pub addr: At,
    /// Value.
    pub value: At,
    /// Ordered or volatile: other blocks may be waiting for it.
    pub strong: bool,
    /// What it orders.
    pub order: Sync,
}

/// What an access orders besides itself, and among whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sync {
    /// What others released there is seen by later accesses.
    pub acquire: bool,
    /// Earlier accesses are seen by those who acquire it.
    pub release: bool,
    /// Among blocks too, not only in a block or cluster.
    pub wide: bool,
}

impl Sync {
    /// As the modifiers `order` and `scope` (or the older `level`) say.
    #[must_use]
    pub fn of(op: &Op) -> Sync {
        let order = op.get("order").unwrap_or("");
        let scope = op.get("scope").or(op.get("level"));
        Sync {
            acquire: matches!(order, "acquire" | "acq_rel" | "sc"),
            release: matches!(order, "release" | "acq_rel" | "sc"),
            wide: !matches!(scope, Some("cta" | "cluster")),
        }
    }
}

/// An atomic.
#[derive(Debug, Clone, Copy)]
pub struct Atomic {
    /// Space.
    pub space: Space,
    /// Bytes of one value.
    pub bytes: u32,
    /// Values.
    pub count: u32,
    /// New memory from old memory and the operand; of compare-and-swap, see `cas`.
    pub apply: fn(u64, u64) -> u64,
    /// The same where memory is global: there f32 sums flush subnormals.
    pub apply_global: fn(u64, u64) -> u64,
    /// Compare and swap: the third operand replaces memory equal to the second.
    pub cas: Option<At>,
    /// Address.
    pub addr: At,
    /// Operand.
    pub value: At,
    /// Where the old memory goes.
    pub old: Option<At>,
    /// Its result depends on the order of its likes.
    pub ordered: bool,
    /// What it orders.
    pub order: Sync,
}

/// What a barrier instruction does with predicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// Nothing.
    None,
    /// Counts them.
    Popc,
    /// All.
    And,
    /// Any.
    Or,
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub enum Ask {
    /// Read memory.
    Load(Access),
    /// Write memory.
    Store(Access),
    /// Read, change and write.
    Atomic(Atomic),
    /// A store to another block that reports to a barrier object.
    StoreAsync(Access),
    /// Nothing that the machine sees.
    Nothing,
    /// Order memory; others may be waiting.
    Fence {
        /// Among blocks too.
        wide: bool,
        /// Of barrier objects just made, and of nothing else.
        init: bool,
    },
    /// Order the ordinary path before the asynchronous one, or another alias.
    FenceProxy {
        /// The asynchronous path, of shared memory.
        shared: bool,
        /// The asynchronous path, of global memory.
        global: bool,
    },
    /// Another lane's value.
    Shuffle(Shfl),
    /// A vote.
    Vote(Vote),
    /// Lanes with equal values: in all lanes or in any; values of two words.
    Match {
        /// All lanes.
        all: bool,
        /// Two words.
        wide: bool,
    },
    /// A fold over lanes.
    Redux(fn(u32, u32) -> u32),
    /// Lanes that are here.
    ActiveMask,
    /// Wait for lanes.
    SyncWarp,
    /// A barrier of the block.
    Bar {
        /// Wait, rather than only arrive.
        wait: bool,
        /// Lanes come together.
        aligned: bool,
        /// Number of the barrier.
        id: At,
        /// Number of threads.
        count: Option<At>,
        /// What is done with predicates.
        fold: Fold,
        /// The predicate.
        pred: Option<At>,
    },
    /// Arrive at the cluster's barrier.
    ClusterArrive {
        /// Earlier accesses are seen behind it.
        release: bool,
    },
    /// Wait at it.
    ClusterWait,
    /// Change the register count.
    SetRegisters,
    /// Go to a label.
    Branch,
    /// Go to one of a table.
    Switch,
    /// Call.
    Call,
    /// Return.
    Return,
    /// Leave the kernel.
    Exit,
    /// Stop with an error.
    Trap,
    /// A copy of a thread.
    CopyIssue,
    /// Close the group.
    CopyCommit,
    /// Wait for groups.
    CopyWait,
    /// Arrive when copies have landed; the arrival is counted on top or not.
    CopyArrive {
        /// The expected count already includes it.
        noinc: bool,
    },
    /// Make a barrier object.
    ObjectInit,
    /// End it.
    ObjectInval,
    /// Arrive.
    ObjectArrive {
        /// And leave for good.
        drop: bool,
        /// Expect bytes before.
        expect: bool,
        /// Earlier accesses are seen behind the phase.
        release: bool,
    },
    /// Change the pending bytes: by plus or minus.
    ObjectBytes {
        /// Complete them rather than expect.
        complete: bool,
    },
    /// Ask whether a phase is over.
    ObjectWait {
        /// By parity rather than by token.
        parity: bool,
        /// It may wait.
        may_wait: bool,
        /// What was released is seen behind it.
        acquire: bool,
    },
    /// Pending arrivals of a token.
    ObjectPending,
    /// A bulk copy to shared memory.
    BulkLoad {
        /// Mask of blocks.
        mask: Option<At>,
    },
    /// A bulk copy between blocks.
    BulkPeer,
    /// A bulk copy or reduction to global memory.
    BulkStore {
        /// Combined with what is there.
        reduce: Option<(Atom, Ty)>,
    },
    /// A box of a tensor to shared memory.
    BoxLoad {
        /// Mask of blocks.
        mask: Option<At>,
        /// Of an image: what is added to the places of its pixels.
        offsets: Option<At>,
    },
    /// A box of shared memory to a tensor.
    BoxStore {
        /// Combined with what is there.
        reduce: Option<Atom>,
    },
    /// Close the group of bulk copies.
    BulkCommit,
    /// Wait for groups of bulk copies.
    BulkWait {
        /// Only until the sources were read.
        read: bool,
    },
    /// Change a field of a tensor map.
    MapEdit {
        /// Which.
        field: MapField,
        /// Where the map lies.
        space: Space,
        /// Dimension.
        index: Option<At>,
        /// The new value.
        value: At,
    },
    /// Copy an edited tensor map from shared to global memory, and release it.
    MapPublish,
    /// See the tensor map at an address as others released it.
    MapAcquire {
        /// Its address.
        addr: At,
    },
    /// Load 8 x 8 matrices.
    MatrixLoad {
        /// Matrices.
        num: u32,
        /// Transposed.
        trans: bool,
    },
    /// Store 8 x 8 matrices.
    MatrixStore {
        /// Matrices.
        num: u32,
        /// Transposed.
        trans: bool,
    },
    /// Transpose a matrix in registers.
    MatrixTranspose,
    /// A warp's multiply.
    Multiply(Multiply),
    /// The same of an A of which only what is not zero is given, and where it stands.
    MultiplySparse(Multiply),
    /// Load a fragment of the older warp interface.
    WmmaLoad {
        /// A, B or C.
        which: char,
        /// Rows are contiguous.
        row: bool,
        /// Shape.
        shape: (u32, u32, u32),
        /// Space.
        space: Space,
    },
    /// Store such a fragment.
    WmmaStore {
        /// Rows are contiguous.
        row: bool,
        /// Shape.
        shape: (u32, u32, u32),
        /// Space.
        space: Space,
    },
    /// Multiply such fragments.
    Wmma {
        /// Shape.
        shape: (u32, u32, u32),
    },
    /// Order registers before a warpgroup's multiplies.
    GroupFence,
    /// Close the group of multiplies.
    GroupCommit,
    /// Wait for groups of multiplies.
    GroupWait,
    /// A warpgroup's multiply.
    GroupMultiply {
        /// Shape and types.
        shape: Multiply,
        /// A in registers.
        registers: bool,
    },
}
