//! Asynchronous statements: which room lowers which.

use super::Lower;
use crate::ir::{Async, MmaKind, Special};
use crate::isa::{self, Cmp, FenceSpace, Ty};
use crate::ptx::Operand;
use crate::target::Feature;

use super::control::ALL_LANES;

/// Threads of a warpgroup.
pub(super) const WARPGROUP: u32 = 128;

impl<'a> Lower<'a> {
    pub(super) fn asynchronous(&mut self, a: &'a Async) {
        match a {
            Async::CopyTile {
                view,
                into,
                dist,
                vector,
                cache,
            } => self.copy_tile(view, into, dist, *vector, *cache),
            Async::CommitCopies => self.ins(None, isa::cp_async_commit(), vec![]),
            Async::WaitCopies(n) => self.ins(None, isa::cp_async_wait(), vec![Operand::int(*n)]),
            Async::TensorCopy(copy) => self.tensor_copy(copy),
            Async::CommitStores => self.ins(None, isa::bulk_commit(), vec![]),
            Async::WaitStores { newest, read } => {
                let op = if *read {
                    isa::bulk_wait_read()
                } else {
                    isa::bulk_wait().unset("read")
                };
                self.ins(None, op, vec![Operand::int(*newest)]);
            }
            Async::FenceAsync => {
                self.ins(None, isa::fence_proxy_async(FenceSpace::Shared), vec![]);
            }
            Async::Mma(mma) => match mma.kind {
                MmaKind::Warp => self.warp_product(mma, false),
                MmaKind::WarpThrice => self.warp_product(mma, true),
                MmaKind::Warpgroup { zero } => self.warpgroup_product(mma, zero),
            },
            Async::WaitProducts(n) => self.ins(None, isa::wgmma_wait(), vec![Operand::int(*n)]),
            Async::Transaction { barrier, op } => self.transaction(barrier, op),
            Async::FenceBarriers => self.ins(None, isa::fence_mbarrier_init(), vec![]),
            Async::SetRegisters { count, more } => {
                self.ins(None, isa::set_registers(*more), vec![Operand::int(*count)]);
            }
            Async::ClusterBarrier => {
                self.ins(None, isa::cluster_arrive(), vec![]);
                self.ins(None, isa::cluster_wait(), vec![]);
            }
            Async::DependentLaunch => self.ins(None, isa::dependent_launch(), vec![]),
            Async::DependentWait => self.ins(None, isa::dependent_wait(), vec![]),
        }
    }

    /// The number of the thread's warpgroup, broadcast from lane 0, so that the assembler knows it to be
    /// the same for the warp.
    pub(super) fn warpgroup(&mut self) -> Operand {
        self.once(super::emit::Once::Special("warpgroup"), |l| {
            l.holding("thread and block numbers", |l| {
                let t = l.thread();
                let by = Operand::int(WARPGROUP.ilog2());
                let mine = l.def(Ty::B32, isa::shr(Ty::U32), [t, by]);
                l.broadcast(mine)
            })
        })
    }

    /// Lane 0's value.
    pub(super) fn broadcast(&mut self, value: Operand) -> Operand {
        let [first, clamp] = [Operand::int(0), Operand::int(31)];
        let mask = Operand::int(ALL_LANES);
        self.def(
            Ty::B32,
            isa::shfl(isa::Shfl::Idx),
            [value, first, clamp, mask],
        )
    }

    /// True for one lane of the warp.
    pub(super) fn elect(&mut self) -> Operand {
        if self.kernel.target.has(Feature::Tma) {
            let p = self.reg(Ty::Pred);
            let to = Operand::pair(Operand::Sink, p);
            self.ins(None, isa::elect(), vec![to, Operand::int(ALL_LANES)]);
            return p.into();
        }
        let lane = self.special_value(Special::Lane);
        self.def(
            Ty::Pred,
            isa::setp(Cmp::Eq, Ty::U32),
            [lane, Operand::int(0)],
        )
    }
}
