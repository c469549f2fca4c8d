//! What an instruction does beyond its registers.
//!
//! Hazard analysis, the register budget and the machine's checks read these columns; none of them
//! knows an instruction by name. A space, an order or a scope that a modifier chooses is looked up in
//! the modifier of that name ([`super::Op::space`] and its siblings).

use super::Space;

/// Which memory an access touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// None.
    Nothing,
    /// Always this space.
    In(Space),
    /// The space that the modifier `space` names; generic without it.
    Chosen,
}

/// Through which path an access reaches memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proxy {
    /// As ordinary loads and stores do.
    Generic,
    /// As the copy engine and the tensor cores do.
    Async,
}

/// Which kind of group completes asynchronous work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// A thread's copies.
    Copy,
    /// A thread's bulk copies.
    Bulk,
    /// A warpgroup's multiplies.
    Multiply,
}

/// How an instruction takes part in an asynchronous group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Async {
    /// It does not.
    No,
    /// It issues work into the open group.
    Issues(Group),
    /// It closes the open group.
    Commits(Group),
    /// It waits for groups.
    Waits(Group),
    /// It issues work that a transaction barrier completes.
    Transaction,
}

/// Whose threads a barrier instruction joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barrier {
    /// None.
    No,
    /// Lanes of a warp.
    Warp,
    /// Threads of a block.
    Block,
    /// Blocks of a cluster.
    Cluster,
    /// A barrier object in shared memory.
    Object,
}

/// Where control goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To a label; to the next instruction too if guarded.
    Branch,
    /// To one of a table of labels.
    Switch,
    /// Into a function and back.
    Call,
    /// Out of the function.
    Return,
    /// Out of the kernel.
    Exit,
    /// Stops the kernel with an error.
    Trap,
}

/// All of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effects {
    /// Memory read.
    pub reads: Where,
    /// Memory written.
    pub writes: Where,
    /// Path.
    pub proxy: Proxy,
    /// Asynchronous group.
    pub group: Async,
    /// Barrier.
    pub barrier: Barrier,
    /// Must be reached by the lanes of a warp together.
    pub convergent: bool,
    /// Orders memory of other instructions.
    pub fence: bool,
    /// Flow of control.
    pub flow: Flow,
}

/// Computes from registers to registers.
pub const PURE: Effects = Effects {
    reads: Where::Nothing,
    writes: Where::Nothing,
    proxy: Proxy::Generic,
    group: Async::No,
    barrier: Barrier::No,
    convergent: false,
    fence: false,
    flow: Flow::Next,
};

impl Effects {
    /// Reads memory.
    #[must_use]
    pub const fn reads(mut self, at: Where) -> Effects {
        self.reads = at;
        self
    }
    /// Writes memory.
    #[must_use]
    pub const fn writes(mut self, at: Where) -> Effects {
        self.writes = at;
        self
    }
    /// Through the asynchronous path.
    #[must_use]
    pub const fn through_async(mut self) -> Effects {
        self.proxy = Proxy::Async;
        self
    }
    /// Part in an asynchronous group.
    #[must_use]
    pub const fn group(mut self, group: Async) -> Effects {
        self.group = group;
        self
    }
    /// Joins threads.
    #[must_use]
    pub const fn barrier(mut self, barrier: Barrier) -> Effects {
        self.barrier = barrier;
        self
    }
    /// Needs the lanes together.
    #[must_use]
    pub const fn convergent(mut self) -> Effects {
        self.convergent = true;
        self
    }
    /// Orders memory.
    #[must_use]
    pub const fn fence(mut self) -> Effects {
        self.fence = true;
        self
    }
    /// Flow of control.
    #[must_use]
    pub const fn flow(mut self, flow: Flow) -> Effects {
        self.flow = flow;
        self
    }
    /// Whether anything but registers changes or matters: such an instruction is neither removed,
    /// repeated nor moved.
    #[must_use]
    pub fn is_pure(&self) -> bool {
        *self == PURE
    }
}
