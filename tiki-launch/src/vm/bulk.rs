//! Bulk copies: of bytes and of boxes of tensors, by one thread each.
//!
//! Loads are counted by a barrier object; stores belong to groups of the thread, as [`super::transfer`]'s
//! copies do.

use super::access::addresses;
use super::block::Team;
use super::engine::Pending;
use super::exec::{After, Ctx, Result};
use super::fault::Code;
use super::launch::Env;
use super::map_read::read_box;
use super::options::Async;
use super::tensor_map::Box;
use super::warp::Warp;
use crate::vm::meaning::Ask;
use tiki_kernel::isa::{Atom, Ty};

/// A store of a thread.
#[derive(Debug, Clone)]
pub(super) enum Store {
    Bytes {
        from: usize,
        to: u64,
        bytes: usize,
        reduce: Option<(Atom, Ty)>,
    },
    Box {
        map: Box,
        from: usize,
        reduce: Option<Atom>,
    },
}

impl Team {
    pub(super) fn bulk(&mut self, ctx: &Ctx<'_, '_>, ask: &Ask, warp: &mut Warp) -> Result<After> {
        for i in (0..32).filter(|i| ctx.mask >> i & 1 == 1) {
            self.bulk_lane(ctx, ask, warp, i)?;
        }
        Ok(After::Next)
    }

    fn bulk_lane(&mut self, ctx: &Ctx<'_, '_>, ask: &Ask, warp: &mut Warp, i: usize) -> Result<()> {
        let one = 1u32 << i;
        let address = |warp: &Warp, k: usize| addresses(warp, &ctx.step.addresses[k], one)[i];
        let word = |warp: &Warp, slot: u32| warp.file.words[slot as usize].0[i];
        let lazy = ctx.env.options.completion != Async::Eager;
        match *ask {
            Ask::BulkCommit if lazy => {
                let lane = warp.transfers.lane(i);
                let group = std::mem::take(&mut lane.stores);
                lane.store_groups.push_back(group);
            }
            Ask::BulkWait { .. } => {
                let keep = ctx.step.args.imm.max(0) as usize;
                while lazy && warp.transfers.lane(i).store_groups.len() > keep {
                    let group = warp
                        .transfers
                        .lane(i)
                        .store_groups
                        .pop_front()
                        .unwrap_or_default();
                    for s in &group {
                        self.store_now(ctx.env, ctx.b, s)
                            .map_err(|t| ctx.fault(self, warp, Code::Bounds, one, t))?;
                    }
                }
            }
            Ask::BulkLoad { mask } => {
                let bytes = self.bulk_size(ctx, warp, word(warp, ctx.slot(2)), i)?;
                let (dst, src, bar) = (address(warp, 0), address(warp, 1), address(warp, 2));
                self.aligned(ctx, warp, &[dst; 32], one, 16)?;
                self.aligned(ctx, warp, &[src; 32], one, 16)?;
                let (buffer, off) = self.global(ctx, warp, &[src; 32], one, bytes as u64)?;
                self.defined(ctx, warp, buffer, (&off, one), bytes)?;
                let (blocks, at, object) =
                    self.receivers(ctx, warp, i, dst, bytes, bar, ctx.given(mask))?;
                self.issue(
                    ctx,
                    warp,
                    i,
                    Pending::Load {
                        from: src,
                        at,
                        bytes,
                        blocks,
                        object,
                    },
                )?;
            }
            Ask::BulkPeer => {
                let bytes = self.bulk_size(ctx, warp, word(warp, ctx.slot(2)), i)?;
                let to = self.shared_at(ctx, warp, address(warp, 0), bytes as u64, i)?;
                let from = self.shared_at(ctx, warp, address(warp, 1), bytes as u64, i)?;
                let (b, at) = self.shared_at(ctx, warp, address(warp, 2), 8, i)?;
                self.issue(
                    ctx,
                    warp,
                    i,
                    Pending::Peer {
                        from,
                        to,
                        bytes,
                        object: (b as u32, at as u32),
                    },
                )?;
            }
            Ask::BoxLoad { mask, .. } => {
                let map = self.tensor_box(ctx, warp, i, 1)?;
                self.defined_box(ctx, warp, i, &map)?;
                let (dst, bar) = (address(warp, 0), address(warp, 2));
                self.aligned(ctx, warp, &[dst; 32], one, 128)?;
                let (blocks, at, object) =
                    self.receivers(ctx, warp, i, dst, map.bytes(), bar, ctx.given(mask))?;
                let map = std::boxed::Box::new(map);
                self.issue(
                    ctx,
                    warp,
                    i,
                    Pending::LoadBox {
                        map,
                        at,
                        blocks,
                        object,
                    },
                )?;
            }
            Ask::BulkStore { reduce } => {
                let bytes = self.bulk_size(ctx, warp, word(warp, ctx.slot(2)), i)?;
                let (to, from) = (address(warp, 0), address(warp, 1));
                self.aligned(ctx, warp, &[to; 32], one, 16)?;
                self.aligned(ctx, warp, &[from; 32], one, 16)?;
                let (buffer, off) = self.global(ctx, warp, &[to; 32], one, bytes as u64)?;
                if reduce.is_some() {
                    self.defined(ctx, warp, buffer, (&off, one), bytes)?;
                }
                let (_, from) = self.shared_at(ctx, warp, from, bytes as u64, i)?;
                self.keep(
                    ctx,
                    warp,
                    i,
                    Store::Bytes {
                        from,
                        to,
                        bytes,
                        reduce,
                    },
                )?;
            }
            Ask::BoxStore { reduce } => {
                let map = self.tensor_box(ctx, warp, i, 0)?;
                if reduce.is_some() {
                    self.defined_box(ctx, warp, i, &map)?;
                }
                let from = address(warp, 1);
                self.aligned(ctx, warp, &[from; 32], one, 128)?;
                let (_, from) = self.shared_at(ctx, warp, from, map.bytes() as u64, i)?;
                self.keep(ctx, warp, i, Store::Box { map, from, reduce })?;
            }
            _ => {}
        }
        Ok(())
    }

    fn bulk_size(&self, ctx: &Ctx<'_, '_>, warp: &Warp, n: u32, i: usize) -> Result<usize> {
        if n == 0 || !n.is_multiple_of(16) {
            return Err(ctx.fault(
                self,
                warp,
                Code::Alignment,
                1 << i,
                format!("a bulk copy of {n} bytes: not a multiple of 16"),
            ));
        }
        Ok(n as usize)
    }

    /// Blocks that a load goes to, its byte in each, and that of the barrier object.
    #[allow(clippy::too_many_arguments)]
    fn receivers(
        &self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        i: usize,
        dst: u64,
        bytes: usize,
        bar: u64,
        mask: Option<u32>,
    ) -> Result<(Vec<usize>, usize, u32)> {
        let (b, at) = self.shared_at(ctx, warp, dst, bytes as u64, i)?;
        let (_, object) = self.shared_at(ctx, warp, bar, 8, i)?;
        let blocks = match mask {
            None => vec![b],
            Some(slot) => {
                let bits = warp.file.words[slot as usize].0[i] & 0xffff;
                if bits >> self.blocks.len() != 0 || bits == 0 {
                    let text = format!(
                        "a multicast to blocks {bits:#b} of a cluster of {}",
                        self.blocks.len()
                    );
                    return Err(ctx.fault(self, warp, Code::Launch, 1 << i, text));
                }
                (0..16).filter(|r| bits >> r & 1 == 1).collect()
            }
        };
        Ok((blocks, at, object as u32))
    }

    fn tensor_box(&self, ctx: &Ctx<'_, '_>, warp: &Warp, i: usize, k: usize) -> Result<Box> {
        read_box(ctx, warp, i, k).map_err(|t| ctx.fault(self, warp, Code::TensorMap, 1 << i, t))
    }

    /// What a box covers of its tensor is read: something must have written it.
    fn defined_box(&self, ctx: &Ctx<'_, '_>, warp: &Warp, i: usize, map: &Box) -> Result<()> {
        if !map.is_tracked(ctx.env) {
            return Ok(());
        }
        let mut ranges = map.ranges(ctx.env).into_iter();
        ranges.try_for_each(|range| self.defined_for(ctx, warp, i, range))
    }

    fn issue(&mut self, ctx: &Ctx<'_, '_>, warp: &Warp, i: usize, work: Pending) -> Result<()> {
        self.put_off(ctx.env, work)
            .map(|_| ())
            .map_err(|t| ctx.fault(self, warp, Code::Object, 1 << i, t))
    }

    fn keep(&mut self, ctx: &Ctx<'_, '_>, warp: &mut Warp, i: usize, s: Store) -> Result<()> {
        if ctx.env.options.completion == Async::Eager {
            return self
                .store_now(ctx.env, ctx.b, &s)
                .map_err(|t| ctx.fault(self, warp, Code::Bounds, 1 << i, t));
        }
        warp.transfers.lane(i).stores.push(s);
        Ok(())
    }

    /// Moves the bytes of a store.
    pub(super) fn store_now(
        &mut self,
        env: &Env<'_>,
        b: usize,
        s: &Store,
    ) -> std::result::Result<(), String> {
        let shared = &self.blocks[b].shared;
        match s {
            Store::Box { map, from, reduce } => map.store(env, shared, *from, *reduce),
            Store::Bytes {
                from,
                to,
                bytes,
                reduce,
            } => {
                let (id, off) = super::memory::split(*to);
                let Some(Some(buffer)) = env.table.get(id) else {
                    return Err(format!(
                        "a bulk store to {to:#x}, which belongs to no buffer"
                    ));
                };
                let (size, combine) = match reduce {
                    None => (4, None),
                    Some((op, t)) => (
                        t.bytes() as usize,
                        crate::vm::meaning::memory::combine(*op, *t),
                    ),
                };
                buffer.mark(off as usize, *bytes);
                for k in (0..*bytes).step_by(size) {
                    let v = shared.load(from + k, size);
                    let at = off as usize + k;
                    let v = combine.map_or(v, |f| f(buffer.bytes.load(at, size), v));
                    buffer.bytes.store(at, size, v);
                }
                Ok(())
            }
        }
    }

    /// Stores that a warp left under way.
    pub(super) fn flush_stores(
        &mut self,
        env: &Env<'_>,
        b: usize,
        w: usize,
    ) -> std::result::Result<(), String> {
        let transfers = std::mem::take(&mut self.blocks[b].warps[w].transfers);
        for lane in transfers.lanes {
            for s in lane.store_groups.iter().flatten().chain(&lane.stores) {
                self.store_now(env, b, s)?;
            }
        }
        Ok(())
    }
}
