//! Barriers of blocks and clusters, and what launches and register files wait for.

use super::super::effects::{Barrier, PURE};
use super::super::row::{since, table};
use super::{ALWAYS, HOPPER, VOLTA, WARPGROUP};

table! { $ sync:
    #[doc = "wait at barrier a, for all threads of the block or for b of them; whole warps come together"]
    BAR = "bar cta?:cta mode:sync", "a:u32 b:u32?", ALWAYS, PURE.barrier(Barrier::Block).convergent(), Asks(sync::bar);
    #[doc = "arrive at barrier a without waiting"]
    BAR_ARRIVE = "bar cta?:cta mode:arrive", "a:u32 b:u32", ALWAYS, PURE.barrier(Barrier::Block).convergent(), Asks(sync::bar);
    #[doc = "wait at barrier a and count the threads whose predicate holds"]
    BAR_POPC = "bar cta?:cta mode:red op:popc u32", "=d:u32 a:u32 !c:pred", ALWAYS, PURE.barrier(Barrier::Block).convergent(), Asks(sync::bar);
    #[doc = "the same for b threads"]
    BAR_POPC_N = "bar cta?:cta mode:red op:popc u32", "=d:u32 a:u32 b:u32 !c:pred", ALWAYS, PURE.barrier(Barrier::Block).convergent(), Asks(sync::bar);
    #[doc = "wait at barrier a and combine the threads' predicates"]
    BAR_RED = "bar cta?:cta mode:red op:and|or pred", "=d:pred a:u32 !c:pred", ALWAYS, PURE.barrier(Barrier::Block).convergent(), Asks(sync::bar);
    #[doc = "the same for b threads"]
    BAR_RED_N = "bar cta?:cta mode:red op:and|or pred", "=d:pred a:u32 b:u32 !c:pred", ALWAYS, PURE.barrier(Barrier::Block).convergent(), Asks(sync::bar);
    #[doc = "wait at barrier a; lanes of a warp may come one by one unless it says aligned"]
    BARRIER = "barrier cta?:cta mode:sync aligned?", "a:u32 b:u32?", VOLTA, PURE.barrier(Barrier::Block), Asks(sync::bar);
    #[doc = "arrive at barrier a without waiting"]
    BARRIER_ARRIVE = "barrier cta?:cta mode:arrive aligned?", "a:u32 b:u32", VOLTA, PURE.barrier(Barrier::Block), Asks(sync::bar);
    #[doc = "arrive at the cluster's barrier"]
    CLUSTER_ARRIVE = "barrier cluster mode:arrive order?:release|relaxed aligned?", "", HOPPER, PURE.barrier(Barrier::Cluster), Asks(sync::cluster);
    #[doc = "wait at the cluster's barrier"]
    CLUSTER_WAIT = "barrier cluster mode:wait order?:acquire aligned?", "", HOPPER, PURE.barrier(Barrier::Cluster), Asks(sync::cluster);
    #[doc = "let the next launch begin, or wait for the one before"]
    GRID = "griddepcontrol mode:launch_dependents|wait", "", HOPPER, PURE.fence(), Asks(sync::grid);
    #[doc = "change how many registers the threads of a warpgroup have"]
    SETMAXNREG = "setmaxnreg mode:inc|dec sync aligned u32", "#n:u32", WARPGROUP, PURE.convergent(), Asks(sync::setmaxnreg);
    #[doc = "the older vote of a block, kept for the text of others"]
    BARRIER_RED = "barrier cta?:cta mode:red op:and|or aligned? pred", "=d:pred a:u32 !c:pred", since((6, 0), (3, 0)), PURE.barrier(Barrier::Block), Asks(sync::bar);
}
