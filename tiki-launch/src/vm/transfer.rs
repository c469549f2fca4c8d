//! Copies of threads that are under way: `cp.async` groups.
//!
//! Eager, a copy happens when it is issued and there is nothing to keep. Late, it happens at the wait that
//! needs it, group by group; with a seed, at a wait or earlier, as the seed says.

/// One copy of one lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copy {
    /// Destination in shared memory.
    pub(super) to: u32,
    /// Source in global memory.
    pub(super) from: u64,
    /// Bytes.
    pub(super) bytes: u32,
    /// Bytes that come from the source; the rest is zero.
    pub(super) valid: u32,
}

/// Copies of a warp's lanes.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    /// Of each lane: the open group, then closed groups, oldest first.
    pub(super) lanes: Vec<Lane>,
    /// Generation of the cluster's barrier that this warp has come to.
    pub(super) cluster: u64,
    /// Multiplies of the open group, and closed groups, oldest first.
    pub(super) multiplies: Vec<super::group::Issued>,
    pub(super) groups: std::collections::VecDeque<Vec<super::group::Issued>>,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Lane {
    pub(super) open: Vec<Copy>,
    pub(super) closed: std::collections::VecDeque<Vec<Copy>>,
    /// Bulk stores, likewise.
    pub(super) stores: Vec<super::bulk::Store>,
    pub(super) store_groups: std::collections::VecDeque<Vec<super::bulk::Store>>,
}

impl Transfers {
    /// All copies of a lane that are under way.
    pub(super) fn take(&mut self, lane: usize) -> Vec<Copy> {
        let lane = self.lane(lane);
        let mut all: Vec<Copy> = lane.closed.drain(..).flatten().collect();
        all.append(&mut lane.open);
        all
    }
    pub(super) fn lane(&mut self, lane: usize) -> &mut Lane {
        if self.lanes.is_empty() {
            self.lanes = vec![Lane::default(); 32];
        }
        &mut self.lanes[lane]
    }
}

use super::access::addresses;
use super::block::Team;
use super::exec::{Ctx, Result};
use super::fault::Code;
use super::launch::Env;
use super::options::Async;
use super::program::ABSENT;
use super::warp::Warp;

impl Team {
    /// `cp.async`: checked when it is issued, whenever it happens.
    pub(super) fn copy_issue(&mut self, ctx: &Ctx<'_, '_>, warp: &mut Warp) -> Result<()> {
        let bytes = ctx.step.args.imm as u32;
        let to = addresses(warp, &ctx.step.addresses[0], ctx.mask);
        let from = addresses(warp, &ctx.step.addresses[1], ctx.mask);
        if ![4, 8, 16].contains(&bytes) {
            return Err(ctx.fault(
                self,
                warp,
                Code::Launch,
                ctx.mask,
                format!("a copy of {bytes} bytes: 4, 8 or 16 are possible"),
            ));
        }
        self.aligned(ctx, warp, &to, ctx.mask, u64::from(bytes))?;
        self.aligned(ctx, warp, &from, ctx.mask, u64::from(bytes))?;
        let size = ctx.step.args.s[3];
        for i in (0..32).filter(|i| ctx.mask >> i & 1 == 1) {
            let valid = if size == ABSENT {
                bytes
            } else {
                warp.file.words[size as usize].0[i].min(bytes)
            };
            let (b, _) = self.shared_at(ctx, warp, to[i], u64::from(bytes), i)?;
            if b != ctx.b {
                return Err(ctx.fault(
                    self,
                    warp,
                    Code::Bounds,
                    1 << i,
                    "copies into another block",
                ));
            }
            if valid > 0 {
                let at = [from[i]; 32];
                let (buffer, off) = self.global(ctx, warp, &at, 1 << i, u64::from(valid))?;
                self.defined(ctx, warp, buffer, (&off, 1 << i), valid as usize)?;
            }
            let copy = Copy {
                to: to[i] as u32,
                from: from[i],
                bytes,
                valid,
            };
            match ctx.env.options.completion {
                Async::Eager => self.copy_now(ctx.env, ctx.b, &copy),
                _ => warp.transfers.lane(i).open.push(copy),
            }
        }
        Ok(())
    }

    /// Moves the bytes of one copy.
    pub(super) fn copy_now(&mut self, env: &Env<'_>, b: usize, c: &Copy) {
        let shared = &mut self.blocks[b].shared;
        let (id, off) = super::memory::split(c.from);
        for k in (0..c.bytes).step_by(4) {
            let mut word = 0u32;
            if c.valid > k
                && let Some(Some(buffer)) = env.table.get(id)
            {
                let n = (c.valid - k).min(4);
                for j in 0..n {
                    word |=
                        (buffer.bytes.load((off + u64::from(k + j)) as usize, 1) as u32) << (8 * j);
                }
            }
            shared.store((c.to + k) as usize, 4, u64::from(word));
        }
    }

    pub(super) fn copy_commit(&mut self, ctx: &Ctx<'_, '_>, warp: &mut Warp) {
        if ctx.env.options.completion == Async::Eager {
            return;
        }
        for i in (0..32).filter(|i| ctx.mask >> i & 1 == 1) {
            let lane = warp.transfers.lane(i);
            let group = std::mem::take(&mut lane.open);
            lane.closed.push_back(group);
        }
    }

    /// Completes what a wait needs: all but the newest groups; without a number, everything.
    pub(super) fn copy_wait(&mut self, ctx: &Ctx<'_, '_>, warp: &mut Warp) -> Result<()> {
        if ctx.env.options.completion == Async::Eager {
            return Ok(());
        }
        let all = ctx.step.args.s[0] == ABSENT;
        let keep = if all {
            0
        } else {
            ctx.step.args.imm.max(0) as usize
        };
        for i in (0..32).filter(|i| ctx.mask >> i & 1 == 1) {
            if all {
                let group = std::mem::take(&mut warp.transfers.lane(i).open);
                warp.transfers.lane(i).closed.push_back(group);
            }
            while warp.transfers.lane(i).closed.len() > keep {
                for c in warp
                    .transfers
                    .lane(i)
                    .closed
                    .pop_front()
                    .unwrap_or_default()
                {
                    self.copy_now(ctx.env, ctx.b, &c);
                }
            }
        }
        Ok(())
    }
}
