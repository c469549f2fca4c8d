//! Where the run loop tells the tape what happens.

use super::super::access::addresses;
use super::super::block::Team;
use super::super::exec::Ctx;
use super::super::program::{ABSENT, Act};
use super::super::race::shared_place;
use super::super::warp::Warp;
use super::Phase;
use super::tape::{Kind, Tape};
use crate::vm::meaning::Ask;
use tiki_kernel::isa::Space;

impl Team {
    #[inline(always)]
    fn taped(&mut self, f: impl FnOnce(&mut Tape, &Team)) {
        if let Some(mut tape) = self.tape.take() {
            f(&mut tape, self);
            self.tape = Some(tape);
        }
    }
    /// A warp issues an instruction; the lanes of the mask execute it.
    pub(in crate::vm) fn tape_step(&mut self, ctx: &Ctx<'_, '_>, warp: &Warp, pc: u32) {
        self.taped(|tape, team| {
            let w = tape.row(ctx.b, warp.index);
            let code = &ctx.env.kernel.code;
            match &ctx.step.act {
                Act::Ask(ask) if ctx.mask != 0 => {
                    tape.step(code, w, pc, phase_of(ask));
                    tape.ask(team, ctx, warp, w, pc, ask);
                }
                _ => tape.step(code, w, pc, Phase::Compute),
            }
        });
    }
    /// A warp comes to a barrier of its block.
    pub(in crate::vm) fn tape_bar(&mut self, b: usize, warp: u32, id: u32, generation: u64) {
        self.taped(|tape, _| tape.arrive_bar(tape.row(b, warp), (b, id), generation));
    }
    /// It goes on behind one.
    pub(in crate::vm) fn tape_bar_over(&mut self, b: usize, warp: u32, id: u32, generation: u64) {
        self.taped(|tape, _| tape.passed_bar(tape.row(b, warp), (b, id), generation));
    }
    /// It goes on behind the cluster's barrier.
    pub(in crate::vm) fn tape_cluster_over(&mut self, b: usize, warp: u32, generation: u64) {
        self.taped(|tape, _| tape.passed_cluster(tape.row(b, warp), generation));
    }
    /// It has found the last phase of objects over.
    pub(in crate::vm) fn tape_over(&mut self, b: usize, warp: u32, places: &[(u32, u32)]) {
        self.taped(|tape, team| {
            for place in places {
                let now = team.objects.phase(place.0, place.1).unwrap_or(0);
                if let Some(n) = now.checked_sub(1) {
                    tape.passed(tape.row(b, warp), *place, n);
                }
            }
        });
    }
}

/// What an instruction that asks something of the machine is, in its own tick.
fn phase_of(ask: &Ask) -> Phase {
    let global = |space: Space| matches!(space, Space::Global | Space::Generic);
    match ask {
        Ask::Load(a) if global(a.space) => Phase::Load,
        Ask::Store(a) if global(a.space) => Phase::Store,
        Ask::Atomic(a) if global(a.space) => Phase::Store,
        Ask::WmmaLoad { space, .. } if global(*space) => Phase::Load,
        Ask::WmmaStore { space, .. } if global(*space) => Phase::Store,
        Ask::Multiply(_) | Ask::MultiplySparse(_) | Ask::Wmma { .. } => Phase::Product,
        Ask::Bar { wait: true, .. }
        | Ask::ClusterWait
        | Ask::CopyWait
        | Ask::ObjectWait { .. }
        | Ask::BulkWait { .. }
        | Ask::GroupWait => Phase::Wait,
        _ => Phase::Compute,
    }
}

impl Tape {
    fn ask(&mut self, team: &Team, ctx: &Ctx<'_, '_>, warp: &Warp, w: usize, pc: u32, ask: &Ask) {
        let keep = || ctx.step.args.imm.max(0) as usize;
        match *ask {
            Ask::CopyIssue => self.begin_grouped(w, pc, Phase::Load, Kind::Copies),
            Ask::CopyCommit => self.close(w, Kind::Copies),
            Ask::CopyWait => {
                let all = ctx.step.args.s[0] == ABSENT;
                self.waited(w, Kind::Copies, (!all).then(keep));
            }
            Ask::BulkStore { .. } | Ask::BoxStore { .. } => {
                self.begin_grouped(w, pc, Phase::Store, Kind::Stores);
            }
            Ask::BulkCommit => self.close(w, Kind::Stores),
            Ask::BulkWait { .. } => self.waited(w, Kind::Stores, Some(keep())),
            Ask::GroupMultiply { .. } => {
                self.begin_grouped(w, pc, Phase::Product, Kind::Multiplies);
            }
            Ask::GroupCommit => self.close(w, Kind::Multiplies),
            Ask::GroupWait => self.waited(w, Kind::Multiplies, Some(keep())),
            Ask::ClusterArrive { .. } => self.arrive_cluster(w, team.cluster_generation),
            Ask::BulkLoad { mask } | Ask::BoxLoad { mask, .. } => {
                for (i, (rank, byte)) in places(team, ctx, warp, 2) {
                    let mask = ctx.given(mask);
                    let blocks = mask.map(|s| warp.file.words[s as usize].0[i]);
                    let ranks = (0..16).filter(|r| blocks.map_or(*r == rank, |b| b >> r & 1 == 1));
                    let all: Vec<_> = ranks.filter_map(|r| now(team, (r, byte))).collect();
                    self.begin_counted(w, pc, Phase::Load, &all);
                }
            }
            Ask::BulkPeer | Ask::StoreAsync(_) => {
                let phase = match ask {
                    Ask::BulkPeer => Phase::Load,
                    _ => Phase::Store,
                };
                let last = ctx.step.addresses.len().saturating_sub(1);
                let mut all: Vec<_> = places(team, ctx, warp, last)
                    .into_iter()
                    .filter_map(|(_, p)| now(team, p))
                    .collect();
                all.dedup();
                self.begin_counted(w, pc, phase, &all);
            }
            Ask::ObjectInit => {
                for (_, place) in places(team, ctx, warp, 0) {
                    self.object_made(place);
                }
            }
            Ask::ObjectArrive { .. } => {
                let last = ctx.step.addresses.len().saturating_sub(1);
                for (_, place) in places(team, ctx, warp, last) {
                    if let Some((place, n)) = now(team, place) {
                        self.arrive(w, place, n);
                    }
                }
            }
            Ask::CopyArrive { .. } => {
                if let Some((_, place)) = places(team, ctx, warp, 0).first()
                    && let Some((place, n)) = now(team, *place)
                {
                    self.hand_over(w, place, n);
                }
            }
            _ => {}
        }
    }
}

/// Barrier objects that an operand names, lane by lane.
fn places(team: &Team, ctx: &Ctx<'_, '_>, warp: &Warp, operand: usize) -> Vec<(usize, (u32, u32))> {
    let Some(address) = ctx.step.addresses.get(operand) else {
        return vec![];
    };
    let at = addresses(warp, address, ctx.mask);
    (0..32)
        .filter(|i| ctx.mask >> i & 1 == 1)
        .filter_map(|i| {
            let (b, byte) = shared_place(team, ctx.b, at[i] & ((1 << 36) - 1), 8)?;
            Some((i, (b as u32, byte as u32)))
        })
        .collect()
}

/// An object and the number of its current phase.
fn now(team: &Team, place: (u32, u32)) -> Option<((u32, u32), u64)> {
    Some((place, team.objects.phase(place.0, place.1)?))
}
