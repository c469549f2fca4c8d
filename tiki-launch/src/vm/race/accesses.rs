//! Ordinary accesses: loads, stores, atomics and matrix rows, lane by lane.

use super::super::access::{Addresses, addresses, parts};
use super::super::block::Team;
use super::super::costs;
use super::super::exec::Ctx;
use super::super::launch::Env;
use super::super::warp::Warp;
use super::blocks::Global;
use super::cell::{Clash, STRONG, Stamp};
use super::line::Shadow;
use super::place::{Piece, Range, global_place, shared_place};
use super::report::{Hits, Place};
use super::sync::Touch;
use super::{View, Watch};
use crate::vm::meaning::LANES;
use crate::vm::meaning::ask::{Access, Atomic, Sync};
use std::sync::PoisonError;
use tiki_kernel::isa::Space;

/// Puts a stamp on bytes; the first clash and its word.
#[inline]
pub(super) fn enter(
    shadow: &mut Shadow,
    range: Range,
    s: Stamp,
    write: bool,
    view: &View<'_>,
) -> Option<(Clash, usize)> {
    let mut first = None;
    let of = |mask| Stamp {
        bits: s.bits | mask,
        ..s
    };
    for piece in range.pieces() {
        let clash = match piece {
            Piece::Line(line) => shadow.enter_line(line, of(0xf), write, view),
            Piece::Word(word, mask) => shadow
                .enter(word, of(mask), write, view)
                .map(|clash| (clash, word)),
        };
        first = first.or(clash);
    }
    first
}

impl Watch {
    /// Puts a stamp on shared bytes.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn mark_shared(
        &mut self,
        w: usize,
        (block, at): (usize, usize),
        bytes: usize,
        s: Stamp,
        write: bool,
        lanes: u32,
        hits: &mut Hits,
    ) {
        let mut first = None;
        {
            let clock = self.now(w);
            let Watch {
                sides,
                shared,
                team,
                lanes,
                ..
            } = self;
            let view = View {
                team: *team,
                agent: w as u16,
                clock,
                known: &sides[w].known,
                lanes: *lanes,
            };
            let shadow = &mut shared[block];
            if let Some((clash, word)) = enter(shadow, Range { at, bytes }, s, write, &view) {
                first = Some((clash, 4 * word));
            }
        }
        if let Some((clash, byte)) = first {
            let code = self.classify(&clash, w, false, write);
            hits.add(code, clash, lanes, Place::Shared { block, byte });
        }
    }

    /// Puts a stamp on global bytes.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn mark_global(
        &mut self,
        global: &mut Global,
        w: usize,
        (buffer, at): (usize, usize),
        bytes: usize,
        s: Stamp,
        write: bool,
        lanes: u32,
        hits: &mut Hits,
    ) {
        let view = self.view(w);
        let first = enter(global.shadow(buffer), Range { at, bytes }, s, write, &view);
        if let Some((clash, word)) = first {
            let byte = 4 * word;
            let code = self.classify(&clash, w, true, write);
            hits.add(code, clash, lanes, Place::Global { buffer, byte });
        }
    }

    /// Runs `f` with the global memory that this team's accesses are held against.
    pub(super) fn with_global(&mut self, env: &Env<'_>, f: impl FnOnce(&mut Watch, &mut Global)) {
        if env.kernel.communicates {
            let mut all = env.global.lock().unwrap_or_else(PoisonError::into_inner);
            f(self, &mut all);
        } else {
            let mut own = std::mem::take(&mut self.global);
            f(self, &mut own);
            self.global = own;
        }
    }

    /// An access of lanes at their addresses.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn access(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        a: &Access,
        own: bool,
        at: Addresses,
        pc: u32,
        write: bool,
    ) {
        let total = (a.bytes * a.count) as usize;
        let strong = if a.strong { STRONG } else { 0 };
        let what = if write { "writes" } else { "reads" };
        self.lanes_at(
            team,
            ctx,
            warp,
            (a.space, own),
            at,
            total,
            pc,
            (write, strong),
            what,
        );
        if a.strong {
            let touch = if write { Touch::Write } else { Touch::Read };
            self.strong(team, ctx, warp, (a.space, own), at, a.order, touch);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn lanes_at(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        (space, own): (Space, bool),
        at: Addresses,
        total: usize,
        pc: u32,
        (write, strong): (bool, u8),
        what: &str,
    ) {
        let w = self.number(ctx, warp);
        let stamp = self.stamp(w, pc, strong);
        let mut hits = Hits::default();
        let (list, n) = parts(space, own, ctx.mask, at);
        for p in list.iter().take(n).flatten() {
            if self.lanes {
                let kind = match (p.space, write) {
                    (Space::Shared, false) => Some(costs::Kind::SharedLoad),
                    (Space::Shared, true) => Some(costs::Kind::SharedStore),
                    (Space::Global, _) => Some(costs::Kind::Global),
                    _ => None,
                };
                if let Some(kind) = kind {
                    self.costs.count(pc, kind, &p.at, p.mask, total as u32);
                }
            }
            let lanes = (0..LANES).filter(|i| p.mask >> i & 1 == 1);
            match p.space {
                Space::Shared => {
                    for i in lanes {
                        if let Some(place) = shared_place(team, ctx.b, p.at[i], total as u64) {
                            let s = Stamp {
                                lane: i as u8,
                                ..stamp
                            };
                            self.mark_shared(w, place, total, s, write, 1 << i, &mut hits);
                        }
                    }
                }
                Space::Global => self.with_global(ctx.env, |watch, global| {
                    for i in lanes {
                        if let Some(place) = global_place(ctx.env, p.at[i], total as u64) {
                            let s = Stamp {
                                lane: i as u8,
                                ..stamp
                            };
                            watch.mark_global(global, w, place, total, s, write, 1 << i, &mut hits);
                        }
                    }
                }),
                Space::Local => {
                    self.own_memory(team, ctx, warp, (&p.at, p.mask), total, write);
                }
                _ => {}
            }
        }
        self.tell(team, ctx, warp, hits, what);
    }

    /// An atomic: a strong write that may acquire and release.
    pub(super) fn atomic(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        a: &Atomic,
        pc: u32,
    ) {
        let address = &ctx.step.addresses[ctx.slot(a.addr) as usize];
        let at = addresses(warp, address, ctx.mask);
        let total = (a.bytes * a.count) as usize;
        let space = (a.space, address.own);
        self.lanes_at(
            team,
            ctx,
            warp,
            space,
            at,
            total,
            pc,
            (true, STRONG),
            "changes",
        );
        let touch = if a.old.is_some() {
            Touch::Change
        } else {
            Touch::Reduce
        };
        self.strong(team, ctx, warp, space, at, a.order, touch);
    }

    /// Rows of matrices, 16 bytes each.
    pub(super) fn rows(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        num: u32,
        pc: u32,
        write: bool,
    ) {
        let w = self.number(ctx, warp);
        let at = addresses(warp, &ctx.step.addresses[0], u32::MAX);
        let stamp = self.stamp(w, pc, 0);
        let mut hits = Hits::default();
        if self.lanes {
            let lanes = (u64::from(1u8) << (8 * num)).wrapping_sub(1) as u32;
            self.costs.count(pc, costs::Kind::Matrices, &at, lanes, 16);
        }
        for (i, x) in at.iter().enumerate().take(8 * num as usize) {
            if let Some(place) = shared_place(team, ctx.b, *x, 16) {
                let s = Stamp {
                    lane: i as u8,
                    ..stamp
                };
                self.mark_shared(w, place, 16, s, write, 1 << i, &mut hits);
            }
        }
        self.tell(
            team,
            ctx,
            warp,
            hits,
            if write { "writes" } else { "reads" },
        );
    }

    /// What ordered accesses tell one another, through the places they touch.
    #[allow(clippy::too_many_arguments)]
    fn strong(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        (space, own): (Space, bool),
        at: Addresses,
        order: Sync,
        touch: Touch,
    ) {
        let w = self.number(ctx, warp);
        let (list, n) = parts(space, own, ctx.mask, at);
        let mut places = std::mem::take(&mut self.places);
        for p in list.iter().take(n).flatten() {
            for i in (0..LANES).filter(|i| p.mask >> i & 1 == 1) {
                let place = match p.space {
                    Space::Shared => shared_place(team, ctx.b, p.at[i], 4).map(|p| (true, p)),
                    Space::Global => global_place(ctx.env, p.at[i], 4).map(|p| (false, p)),
                    _ => None,
                };
                if let Some((shared, (a, b))) = place
                    && !places.contains(&(shared, (a, b / 4)))
                {
                    places.push((shared, (a, b / 4)));
                }
            }
        }
        if places.iter().any(|p| p.0) {
            let mut flags = std::mem::take(&mut self.flags);
            let shared = places.iter().filter(|p| p.0).map(|p| p.1);
            self.exchange(&mut flags, w, shared, order, touch);
            self.flags = flags;
        }
        if places.iter().any(|p| !p.0) {
            let global = places.iter().filter(|p| !p.0).map(|p| p.1);
            self.with_global(ctx.env, |watch, g| {
                watch.exchange(&mut g.flags, w, global, order, touch);
            });
        }
        places.clear();
        self.places = places;
        if touch != Touch::Read {
            self.tick(w);
        }
    }
}
