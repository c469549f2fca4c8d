//! Where the run loop tells the watch what happens.

use super::super::access::{Addresses, addresses};
use super::super::block::Team;
use super::super::exec::Ctx;
use super::super::fault::Code;
use super::super::group::Descriptor;
use super::super::launch::Env;
use super::super::program::{ABSENT, Act, Step};
use super::super::warp::Warp;
use super::place::shared_place;
use super::{Known, Watch};
use crate::vm::meaning::Ask;
use crate::vm::meaning::ask::{Access, Multiply};

/// Objects that lanes name: lane by lane, and each once.
type Places<'a> = (&'a [(usize, (u32, u32))], &'a [(u32, u32)]);

impl Team {
    /// Runs `f` with the watch, if there is one.
    #[inline(always)]
    fn watched(&mut self, f: impl FnOnce(&mut Watch, &Team)) {
        if let Some(mut watch) = self.watch.take() {
            f(&mut watch, self);
            self.watch = Some(watch);
        }
    }

    /// Before a straight piece: what is owed to a warp is given.
    #[inline]
    pub(in crate::vm) fn watch_settle(&mut self, b: usize, warp: &Warp) {
        if self.watch.as_ref().is_some_and(|w| w.owes(b, warp.index)) {
            self.watched(|watch, team| {
                let w = b * watch.per_block + warp.index as usize;
                watch.settle(team, b, w);
            });
        }
    }
    /// Before a request that concerns the executing lanes alone.
    #[inline(always)]
    pub(in crate::vm) fn watch_ask(&mut self, ctx: &Ctx<'_, '_>, ask: &Ask, warp: &Warp, pc: u32) {
        if self.watch.is_some() {
            self.watched(|watch, team| watch.ask(team, ctx, ask, warp, pc));
        }
    }
    /// Lanes of a warp have met for an instruction.
    pub(in crate::vm) fn watch_meeting(&mut self, ctx: &Ctx<'_, '_>, warp: &Warp, pc: u32) {
        self.watched(|watch, team| watch.meeting(team, ctx, warp, pc));
    }
    /// A warp comes to a barrier of its block.
    pub(in crate::vm) fn watch_bar(&mut self, ctx: &Ctx<'_, '_>, warp: &Warp, id: u32, wait: bool) {
        self.watched(|watch, team| watch.bar(team, ctx, warp, id as u8, wait));
    }
    /// Lanes have found phases of objects over.
    pub(in crate::vm) fn watch_over(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        places: &[(u32, u32)],
        acquire: bool,
    ) {
        self.watched(|watch, team| watch.object_over(team, ctx, warp, places, acquire));
    }
    /// An access of a matrix load or store by elements.
    pub(in crate::vm) fn watch_elements(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        a: &Access,
        at: &Addresses,
        write: bool,
    ) {
        let pc = pc_of(ctx);
        self.watched(|watch, team| watch.access(team, ctx, warp, a, false, *at, pc, write));
    }
    /// A warp issues its part of a warpgroup's multiply.
    #[allow(clippy::too_many_arguments)]
    pub(in crate::vm) fn watch_multiply(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        x: &Multiply,
        a: Option<&Descriptor>,
        b: &Descriptor,
        pc: u32,
    ) {
        self.watched(|watch, team| {
            let w = watch.number(ctx, warp);
            watch.settle(team, ctx.b, w);
            watch.multiply(team, ctx, warp, x, a, b, pc);
        });
    }
    /// All warps have left.
    pub(in crate::vm) fn watch_end(&mut self, env: &Env<'_>) {
        self.watched(|watch, team| watch.end(team, env));
    }
}

impl Watch {
    fn ask(&mut self, team: &Team, ctx: &Ctx<'_, '_>, ask: &Ask, warp: &Warp, pc: u32) {
        let w = self.number(ctx, warp);
        self.settle(team, ctx.b, w);
        match *ask {
            Ask::Load(ref a) | Ask::Store(ref a) => {
                let write = matches!(ask, Ask::Store(_));
                let address = &ctx.step.addresses[ctx.slot(a.addr) as usize];
                let at = addresses(warp, address, ctx.mask);
                self.access(team, ctx, warp, a, address.own, at, pc, write);
            }
            Ask::Atomic(ref a) => self.atomic(team, ctx, warp, a, pc),
            Ask::Fence { wide, init } => self.fence(w, wide, init),
            Ask::FenceProxy { shared: true, .. } => self.fence_proxy(w),
            Ask::MapAcquire { addr } => {
                let address = &ctx.step.addresses[ctx.slot(addr) as usize];
                self.map_acquired(w, addresses(warp, address, ctx.mask)[ctx.leader()]);
            }
            Ask::ClusterArrive { release } => self.cluster_arrive(team, w, release),
            Ask::ClusterWait => self.cluster_wait(w),
            Ask::CopyIssue => self.copies(team, ctx, warp, pc),
            Ask::CopyCommit => self.copies_close(w, ctx.mask),
            Ask::CopyWait => {
                let all = ctx.step.args.s[0] == ABSENT;
                let keep = (!all).then(|| ctx.step.args.imm.max(0) as u32);
                self.copies_wait(w, ctx.mask, keep);
            }
            Ask::GroupFence => self.sides[w].registers.fence(),
            Ask::GroupCommit => self.multiplies_close(w),
            Ask::GroupWait => self.multiplies_wait(w, ctx.step.args.imm.max(0) as u32),
            Ask::BulkLoad { .. }
            | Ask::BulkPeer
            | Ask::BulkStore { .. }
            | Ask::BoxLoad { .. }
            | Ask::BoxStore { .. }
            | Ask::BulkCommit
            | Ask::BulkWait { .. } => self.bulk(team, ctx, ask, warp, pc),
            Ask::CopyArrive { .. }
            | Ask::ObjectInit
            | Ask::ObjectInval
            | Ask::ObjectArrive { .. }
            | Ask::StoreAsync(_) => self.object(team, ctx, ask, warp, pc),
            _ => {}
        }
    }

    fn object(&mut self, team: &Team, ctx: &Ctx<'_, '_>, ask: &Ask, warp: &Warp, pc: u32) {
        let Some(address) = ctx.step.addresses.last() else {
            return;
        };
        let at = addresses(warp, address, ctx.mask);
        let mut places = std::mem::take(&mut self.objects_at);
        let mut only = std::mem::take(&mut self.objects_once);
        places.extend((0..32).filter(|i| ctx.mask >> i & 1 == 1).filter_map(|i| {
            let p = shared_place(team, ctx.b, at[i] & ((1 << 36) - 1), 8)?;
            Some((i, (p.0 as u32, p.1 as u32)))
        }));
        only.extend(places.iter().map(|p| p.1));
        only.dedup();
        self.object_at(team, ctx, ask, warp, pc, (&places, &only));
        places.clear();
        only.clear();
        (self.objects_at, self.objects_once) = (places, only);
    }

    fn object_at(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        ask: &Ask,
        warp: &Warp,
        pc: u32,
        (places, only): Places<'_>,
    ) {
        let w = self.number(ctx, warp);
        match *ask {
            Ask::ObjectInit => {
                for (i, p) in places {
                    self.object_init(team, ctx, warp, *p, *i);
                }
            }
            Ask::ObjectInval => {
                for p in only {
                    if let Some(o) = self.objects.get_mut(p) {
                        o.ended = true;
                    }
                }
            }
            Ask::ObjectArrive { release, .. } => {
                for (i, p) in places {
                    let far = p.0 as usize != ctx.b;
                    self.object_seen(team, ctx, warp, *p, *i, far);
                }
                self.object_arrive(team, w, only, release);
            }
            Ask::CopyArrive { .. } => self.copies_arrive(team, w, only),
            Ask::StoreAsync(a) => {
                let bytes = (a.bytes * a.count) as usize;
                self.store_async(team, ctx, warp, bytes, places, pc);
            }
            _ => {}
        }
    }

    /// Lanes of a warp meet.
    fn meeting(&mut self, team: &Team, ctx: &Ctx<'_, '_>, warp: &Warp, pc: u32) {
        let w = self.number(ctx, warp);
        self.settle(team, ctx.b, w);
        match ctx.step.act {
            Act::Ask(Ask::MatrixLoad { num, .. }) => self.rows(team, ctx, warp, num, pc, false),
            Act::Ask(Ask::MatrixStore { num, .. }) => self.rows(team, ctx, warp, num, pc, true),
            Act::Ask(
                Ask::SyncWarp | Ask::Shuffle(_) | Ask::Vote(_) | Ask::Match { .. } | Ask::Redux(_),
            ) => self.tick(w),
            _ => {}
        }
    }

    /// What is left undone when all warps have left.
    fn end(&mut self, team: &Team, env: &Env<'_>) {
        let last = env.kernel.code.last();
        let Some(step) = last else { return };
        let say = |watch: &mut Watch, code: Code, b: usize, w: usize, text: String| {
            if watch.found.is_new(code, step.line) {
                let f = env.fault_at(code, text, step, team.blocks[b].id, w as u32, 0);
                watch.found.add(*f);
            }
        };
        for (b, at, text) in team.objects.unbalanced() {
            say(
                self,
                Code::Bytes,
                b as usize,
                0,
                format!("at the end, {text}"),
            );
            let _ = at;
        }
        for w in 0..self.sides.len() {
            let (b, n) = (w / self.per_block, w % self.per_block);
            let readings = &self.sides[w].readings;
            if readings.agent.is_some() && readings.over() < readings.last() {
                let text = "the block ends while a store of the accelerator may still read its shared memory";
                say(self, Code::Overwritten, b, n, text.into());
            }
            if self.multiplies_left(w) {
                let text = "the warp ends without having waited for its multiplies";
                say(self, Code::Warpgroup, b, n, text.into());
            }
        }
        for (w, count) in self.uneven_groups() {
            let text = format!(
                "the warps of a group have issued {count:?} multiplies: they must issue the same"
            );
            say(
                self,
                Code::Warpgroup,
                w / self.per_block,
                w % self.per_block,
                text,
            );
        }
        self.left_early(team, env);
        // What the warps knew is of no use to anybody now.
        self.sides
            .iter_mut()
            .for_each(|s| s.known = Known::default());
    }
}

/// Number of the step that runs.
pub(in crate::vm) fn pc_of(ctx: &Ctx<'_, '_>) -> u32 {
    let first = ctx.env.kernel.code.as_ptr().addr();
    let own = std::ptr::from_ref(ctx.step).addr();
    (own.wrapping_sub(first) / size_of::<Step>()) as u32
}
