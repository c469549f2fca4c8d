//! Stores from shared to global memory by the accelerator: it reads at one side and writes at the other, and
//! each is over at a wait of its own.

use super::super::block::Team;
use super::super::exec::Ctx;
use super::super::warp::Warp;
use super::cell::{ASYNC, STRONG, Stamp};
use super::place::shared_place;
use super::report::Hits;
use super::{Kind, Watch};

/// What a store moves.
pub(super) struct Moved {
    pub(super) from: u64,
    pub(super) bytes: usize,
}

impl Watch {
    /// A store from shared to global memory by the accelerator.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn hand_over(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        i: usize,
        pc: u32,
        moved: Moved,
        ranges: &[(usize, usize, usize)],
        reduce: bool,
    ) {
        let w = self.number(ctx, warp);
        if self.sides[w].readings.agent.is_none() {
            let (r, s) = (self.fresh(Kind::Readings(w)), self.fresh(Kind::Writings(w)));
            self.sides[w].readings.agent = Some(r);
            self.sides[w].writings.agent = Some(s);
        }
        let side = &mut self.sides[w];
        let number = (side.readings.issue(1 << i), side.writings.issue(1 << i));
        let agents = (
            side.readings.agent.unwrap_or(0),
            side.writings.agent.unwrap_or(0),
        );
        let own = Stamp {
            lane: i as u8,
            ..self.stamp(w, pc, ASYNC)
        };
        let mut hits = Hits::default();
        if let Some(place) = shared_place(team, ctx.b, moved.from, moved.bytes as u64) {
            let s = Stamp {
                clock: number.0,
                agent: agents.0,
                ..own
            };
            self.mark_shared(w, place, moved.bytes, s, false, 1 << i, &mut hits);
        }
        self.tell(team, ctx, warp, hits, "a store of the accelerator reads");
        let mut hits = Hits::default();
        let strong = if reduce { STRONG } else { 0 };
        let s = Stamp {
            clock: number.1,
            agent: agents.1,
            bits: ASYNC | strong,
            ..own
        };
        self.with_global(ctx.env, |watch, global| {
            for (buffer, at, n) in ranges {
                watch.mark_global(global, w, (*buffer, *at), *n, s, true, 1 << i, &mut hits);
            }
        });
        self.tell(team, ctx, warp, hits, "a store of the accelerator writes");
    }
}
