//! Constructors of what is asynchronous or belongs to clusters and roles; those in [`super::make`] are
//! the rest.

use super::rows::{bulk, copy, memory, moves, object, sync};
use super::{Op, Space, Ty};

/// Fewer or more registers for each thread of the warpgroup (immediate).
#[must_use]
pub fn set_registers(more: bool) -> Op {
    Op::new(&sync::SETMAXNREG).set("mode", if more { "inc" } else { "dec" })
}
/// Let the next grid of the stream start.
#[must_use]
pub fn dependent_launch() -> Op {
    Op::new(&sync::GRID).set("mode", "launch_dependents")
}
/// Wait for the grid before.
#[must_use]
pub fn dependent_wait() -> Op {
    Op::new(&sync::GRID).set("mode", "wait")
}
/// Wait until the block's bulk copies (all but n groups, immediate) have read their source.
#[must_use]
pub fn bulk_wait_read() -> Op {
    Op::new(&bulk::WAIT).set("read", "read")
}
/// Expect bytes at a barrier object (address, bytes).
#[must_use]
pub fn mbarrier_expect() -> Op {
    Op::new(&object::TX)
        .set("mode", "expect_tx")
        .set("order", "relaxed")
        .set("scope", "cta")
        .set("space", "shared::cta")
}
/// Arrive at a barrier object of another block of the cluster (`_`, address). Without a scope: what is
/// released is a stage that was read, and nothing was written that the other block would see. With the
/// cluster's scope the assembler puts a fence of the whole GPU before it, which costs a product a fifth
/// of its speed.
#[must_use]
pub fn mbarrier_arrive_at() -> Op {
    Op::new(&object::ARRIVE).set("space", "shared::cluster")
}
/// The address, in another block of the cluster, of what an address is in this one.
#[must_use]
pub fn mapa() -> Op {
    Op::new(&moves::MAPA)
        .set("space", "shared::cluster")
        .set("t", "u32")
}
/// Fetch a tensor map (address) ahead of its first use.
#[must_use]
pub fn prefetch_map() -> Op {
    Op::new(&memory::PREFETCH_MAP)
}
/// Copy a box of a tensor of this rank to shared memory (dst, map and coordinates, barrier; then, if to
/// several blocks, their mask; then, if it has a policy, the policy).
#[must_use]
pub fn load_box(rank: usize, to_mask: bool, policy: bool) -> Op {
    let row = if to_mask {
        &bulk::LOAD_BOX_ALL
    } else {
        &bulk::LOAD_BOX
    };
    boxed(Op::new(row), rank, policy).with(Space::SharedCluster)
}
/// Copy a box of shared memory into a tensor (map and coordinates, src; then a policy if it has one).
#[must_use]
pub fn store_box(rank: usize, policy: bool) -> Op {
    boxed(Op::new(&bulk::STORE_BOX), rank, policy).with(Space::SharedCta)
}
/// Add a box of shared memory to a tensor (the same operands).
#[must_use]
pub fn add_box(rank: usize, policy: bool) -> Op {
    boxed(Op::new(&bulk::REDUCE_BOX).set("op", "add"), rank, policy).with(Space::SharedCta)
}

fn boxed(op: Op, rank: usize, policy: bool) -> Op {
    let dims = ["1d", "2d", "3d", "4d", "5d"];
    let op = op.set("dim", dims[rank.clamp(1, 5) - 1]);
    hinted(op.set("tile", "tile"), policy)
}

/// The access with a cache policy as its last operand, or without.
#[must_use]
pub fn hinted(op: Op, policy: bool) -> Op {
    if policy {
        op.set("hint", "L2::cache_hint")
    } else {
        op.unset("hint")
    }
}

/// An asynchronous copy of `bytes` (dst, src, bytes, optional source size, then a policy if it has one):
/// 16 bytes go past the first cache, fewer through it.
#[must_use]
pub fn copy_async(bytes: u32, policy: bool) -> Op {
    let op = Op::new(&copy::CP_ASYNC).set("cop", if bytes == 16 { "cg" } else { "ca" });
    let op = op.with(Space::Shared);
    let op = if bytes == 16 {
        op.set("l2", "L2::128B")
    } else {
        op
    };
    hinted(op, policy)
}
/// A cache policy (the second level's) for all accesses that name it.
#[must_use]
pub fn policy(keep: bool) -> Op {
    let primary = if keep {
        "L2::evict_last"
    } else {
        "L2::evict_first"
    };
    Op::new(&moves::CREATEPOLICY).set("primary", primary)
}
/// Whether a warpgroup's multiply may read its operands transposed: it names that only for 16-bit types.
#[must_use]
pub fn transposes(op: Op) -> bool {
    let pats = &op.row.form().pats;
    pats.iter().any(|p| p.name == "tb")
}
/// Whether a warpgroup's multiply may negate its operands (it then names that).
#[must_use]
pub fn negates(op: Op) -> bool {
    let pats = &op.row.form().pats;
    pats.iter().any(|p| p.name == "sa")
}
/// The type in which a tensor core takes an element type.
#[must_use]
pub fn core_type(t: crate::dtype::DType) -> Ty {
    if t == crate::dtype::DType::F32 {
        Ty::TF32
    } else {
        Ty::of_arithmetic(t)
    }
}
