//! Copies and stores that run beside the threads.
//!
//! What they read and write is held against other accesses when they are issued, as if they began then; it
//! is over when a wait says so.

use super::super::access::addresses;
use super::super::block::Team;
use super::super::exec::Ctx;
use super::super::fault::Code;
use super::super::map_read::box_of;
use super::super::program::ABSENT;
use super::super::tensor_map::Box as TensorBox;
use super::super::warp::Warp;
use super::cell::{ASYNC, COPY, Stamp};
use super::outgoing::Moved;
use super::place::{global_place, shared_place};
use super::report::Hits;
use super::{Kind, PLAIN, SPREAD, Watch};
use crate::vm::meaning::Ask;

impl Watch {
    /// Copies of lanes.
    pub(super) fn copies(&mut self, team: &Team, ctx: &Ctx<'_, '_>, warp: &Warp, pc: u32) {
        let w = self.number(ctx, warp);
        let bytes = ctx.step.args.imm.clamp(0, 16) as usize;
        let agent = match self.sides[w].copies.agent {
            Some(a) => a,
            None => {
                let a = self.fresh(Kind::Copies(w));
                self.sides[w].copies.agent = Some(a);
                a
            }
        };
        let number = self.sides[w].copies.issue(ctx.mask);
        let to = addresses(warp, &ctx.step.addresses[0], ctx.mask);
        let from = addresses(warp, &ctx.step.addresses[1], ctx.mask);
        let size = ctx.step.args.s[3];
        let read = self.stamp(w, pc, 0);
        let write = Stamp {
            clock: number,
            agent,
            ..self.stamp(w, pc, COPY)
        };
        let (mut hits, mut read_hits) = (Hits::default(), Hits::default());
        for i in (0..32).filter(|i| ctx.mask >> i & 1 == 1) {
            if let Some(place) = shared_place(team, ctx.b, to[i], bytes as u64) {
                let s = Stamp {
                    lane: i as u8,
                    ..write
                };
                self.mark_shared(w, place, bytes, s, true, 1 << i, &mut hits);
            }
        }
        self.with_global(ctx.env, |watch, global| {
            for i in (0..32).filter(|i| ctx.mask >> i & 1 == 1) {
                let valid = match size {
                    ABSENT => bytes,
                    s => (warp.file.words[s as usize].0[i] as usize).min(bytes),
                };
                if valid > 0
                    && let Some(place) = global_place(ctx.env, from[i], valid as u64)
                {
                    let s = Stamp {
                        lane: i as u8,
                        ..read
                    };
                    watch.mark_global(global, w, place, valid, s, false, 1 << i, &mut read_hits);
                }
            }
        });
        self.tell(team, ctx, warp, hits, "a copy writes");
        self.tell(team, ctx, warp, read_hits, "a copy reads");
    }

    pub(super) fn copies_close(&mut self, w: usize, mask: u32) {
        self.sides[w].copies.close(mask);
    }
    pub(super) fn copies_wait(&mut self, w: usize, mask: u32, keep: Option<u32>) {
        let side = &mut self.sides[w];
        if keep.is_none() {
            side.copies.close(mask);
        }
        let over = side.copies.wait(mask, keep.unwrap_or(0));
        if let Some(agent) = side.copies.agent {
            side.known.seen.raise(agent, over);
        }
    }
    /// Copies so far are counted by objects: who waits for them knows of the copies.
    pub(super) fn copies_arrive(&mut self, team: &Team, w: usize, places: &[(u32, u32)]) {
        let Some(agent) = self.sides[w].copies.agent else {
            return;
        };
        let last = self.sides[w].copies.last();
        for place in places {
            if let Some(o) = self.object_now(team, *place) {
                o.gather.seen.raise(agent, last);
            }
        }
    }

    /// What an object counts: its agent and the number of the phase that will be over.
    fn delivery(&mut self, team: &Team, place: (u32, u32)) -> Option<(u16, u32)> {
        let o = self.object_now(team, place)?;
        Some((o.agent, o.phase as u32 + 1))
    }

    /// Bulk copies and stores, one lane each.
    pub(super) fn bulk(&mut self, team: &Team, ctx: &Ctx<'_, '_>, ask: &Ask, warp: &Warp, pc: u32) {
        let w = self.number(ctx, warp);
        for i in (0..32).filter(|i| ctx.mask >> i & 1 == 1) {
            let map = match ask {
                Ask::BoxLoad { .. } => Some(1),
                Ask::BoxStore { .. } => Some(0),
                _ => None,
            };
            if let Some(k) = map.filter(|_| !self.maps.is_empty()) {
                let at = addresses(warp, &ctx.step.addresses[k], 1 << i)[i];
                self.map_used(team, ctx, warp, (i, at));
            }
            match *ask {
                Ask::BulkLoad { mask } => {
                    let n = warp.file.words[ctx.slot(2) as usize].0[i] as usize;
                    self.deliver(team, ctx, warp, i, (ctx.given(mask), pc), n, PLAIN, None);
                }
                Ask::BoxLoad { mask, .. } => {
                    let Some(b) = box_of(ctx, warp, i, 1) else {
                        continue;
                    };
                    let (n, spread) = (b.bytes(), SPREAD + b.map.swizzle as u8);
                    self.deliver(
                        team,
                        ctx,
                        warp,
                        i,
                        (ctx.given(mask), pc),
                        n,
                        spread,
                        Some(&b),
                    );
                }
                Ask::BulkPeer => self.peer(team, ctx, warp, i, pc),
                Ask::BulkStore { reduce } => {
                    let to = addresses(warp, &ctx.step.addresses[0], 1 << i)[i];
                    let from = addresses(warp, &ctx.step.addresses[1], 1 << i)[i];
                    let bytes = warp.file.words[ctx.slot(2) as usize].0[i] as usize;
                    let place = global_place(ctx.env, to, bytes as u64);
                    let ranges: Vec<_> = place.into_iter().map(|(b, at)| (b, at, bytes)).collect();
                    self.hand_over(
                        team,
                        ctx,
                        warp,
                        i,
                        pc,
                        Moved { from, bytes },
                        &ranges,
                        reduce.is_some(),
                    );
                }
                Ask::BoxStore { reduce } => {
                    let Some(b) = box_of(ctx, warp, i, 0) else {
                        continue;
                    };
                    let from = addresses(warp, &ctx.step.addresses[1], 1 << i)[i];
                    let ranges = b.ranges(ctx.env);
                    let moved = Moved {
                        from,
                        bytes: b.bytes(),
                    };
                    self.hand_over(team, ctx, warp, i, pc, moved, &ranges, reduce.is_some());
                }
                Ask::BulkCommit => {
                    self.sides[w].readings.close(1 << i);
                    self.sides[w].writings.close(1 << i);
                }
                Ask::BulkWait { read } => {
                    let keep = ctx.step.args.imm.max(0) as u32;
                    let side = &mut self.sides[w];
                    let over = side.readings.wait(1 << i, keep);
                    if let Some(agent) = side.readings.agent {
                        side.known.seen.raise(agent, over);
                    }
                    if !read {
                        let over = side.writings.wait(1 << i, keep);
                        if let Some(agent) = side.writings.agent {
                            side.known.seen.raise(agent, over);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// A copy from global to shared memory that a barrier object counts.
    #[allow(clippy::too_many_arguments)]
    fn deliver(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        i: usize,
        (mask, pc): (Option<u32>, u32),
        bytes: usize,
        spread: u8,
        tensor: Option<&TensorBox>,
    ) {
        let w = self.number(ctx, warp);
        let at = |k: usize| addresses(warp, &ctx.step.addresses[k], 1 << i)[i];
        let (Some(dst), Some(bar)) = (
            shared_place(team, ctx.b, at(0), bytes as u64),
            shared_place(team, ctx.b, at(2) & ((1 << 36) - 1), 8),
        ) else {
            return;
        };
        let blocks: Vec<usize> = match mask {
            None => vec![dst.0],
            Some(slot) => {
                let bits = warp.file.words[slot as usize].0[i] & 0xffff;
                (0..team.blocks.len())
                    .filter(|r| bits >> r & 1 == 1)
                    .collect()
            }
        };
        let mut hits = Hits::default();
        for b in blocks {
            let place = (b as u32, bar.1 as u32);
            self.object_seen(team, ctx, warp, place, i, true);
            let Some((agent, clock)) = self.delivery(team, place) else {
                continue;
            };
            self.unread(team, ctx, warp, i, (b, dst.1), bytes);
            let s = Stamp {
                clock,
                agent,
                lane: spread,
                ..self.stamp(w, pc, ASYNC)
            };
            self.mark_shared(w, (b, dst.1), bytes, s, true, 1 << i, &mut hits);
        }
        self.tell(team, ctx, warp, hits, "a copy writes");
        let mut hits = Hits::default();
        let read = Stamp {
            lane: i as u8,
            ..self.stamp(w, pc, ASYNC)
        };
        let ranges = match tensor {
            Some(b) => b.ranges(ctx.env),
            None => global_place(ctx.env, at(1), bytes as u64)
                .into_iter()
                .map(|(b, at)| (b, at, bytes))
                .collect(),
        };
        self.with_global(ctx.env, |watch, global| {
            for (buffer, at, n) in ranges {
                watch.mark_global(global, w, (buffer, at), n, read, false, 1 << i, &mut hits);
            }
        });
        self.tell(team, ctx, warp, hits, "a copy reads");
    }

    /// A stage that is filled again though nobody has read what was there.
    fn unread(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        i: usize,
        (b, at): (usize, usize),
        bytes: usize,
    ) {
        let mut words = at / 4..(at + bytes) / 4;
        let all = words.all(|word| {
            let cell = self.shared[b].cell(word);
            cell.is_some_and(|c| c.write.bits & ASYNC != 0 && c.untouched())
        });
        if all && bytes > 0 {
            let text = format!(
                "fills shared bytes {at} to {} again, and nobody has read what an earlier copy brought there",
                at + bytes
            );
            self.complain(team, ctx, warp, Code::Pipeline, 1 << i, text);
        }
    }

    /// A copy between blocks.
    fn peer(&mut self, team: &Team, ctx: &Ctx<'_, '_>, warp: &Warp, i: usize, pc: u32) {
        let w = self.number(ctx, warp);
        let bytes = warp.file.words[ctx.slot(2) as usize].0[i] as usize;
        let at = |k: usize| addresses(warp, &ctx.step.addresses[k], 1 << i)[i];
        let (Some(to), Some(from), Some(bar)) = (
            shared_place(team, ctx.b, at(0), bytes as u64),
            shared_place(team, ctx.b, at(1), bytes as u64),
            shared_place(team, ctx.b, at(2), 8),
        ) else {
            return;
        };
        let place = (bar.0 as u32, bar.1 as u32);
        self.object_seen(team, ctx, warp, place, i, true);
        let Some((agent, clock)) = self.delivery(team, place) else {
            return;
        };
        let s = Stamp {
            clock,
            agent,
            lane: PLAIN,
            ..self.stamp(w, pc, ASYNC)
        };
        let mut hits = Hits::default();
        self.mark_shared(w, from, bytes, s, false, 1 << i, &mut hits);
        self.tell(team, ctx, warp, hits, "a copy reads");
        let mut hits = Hits::default();
        self.mark_shared(w, to, bytes, s, true, 1 << i, &mut hits);
        self.tell(team, ctx, warp, hits, "a copy writes");
    }

    /// Words that a thread stores to another block; the barrier object there counts them.
    pub(super) fn store_async(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        bytes: usize,
        places: &[(usize, (u32, u32))],
        pc: u32,
    ) {
        let w = self.number(ctx, warp);
        let to = addresses(warp, &ctx.step.addresses[0], ctx.mask);
        let mut hits = Hits::default();
        for (i, place) in places {
            self.object_seen(team, ctx, warp, *place, *i, true);
            let Some((agent, clock)) = self.delivery(team, *place) else {
                continue;
            };
            if let Some(at) = shared_place(team, ctx.b, to[*i], bytes as u64) {
                let s = Stamp {
                    clock,
                    agent,
                    lane: *i as u8,
                    ..self.stamp(w, pc, ASYNC)
                };
                self.mark_shared(w, at, bytes, s, true, 1 << i, &mut hits);
            }
        }
        self.tell(team, ctx, warp, hits, "writes");
    }
}
