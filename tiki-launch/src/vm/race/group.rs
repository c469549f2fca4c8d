//! A warpgroup's multiplies: the operands they read while they run.
//!
//! The four warps of a group issue the same multiplies in the same order; the n-th of each is one. A warp
//! that waits for it knows it to be over.

use super::super::block::Team;
use super::super::exec::Ctx;
use super::super::fault::Code;
use super::super::group::Descriptor;
use super::super::warp::Warp;
use super::cell::{ASYNC, Stamp};
use super::place::shared_place;
use super::report::Hits;
use super::{Kind, SPREAD, Watch};
use crate::vm::meaning::ask::Multiply;
use std::collections::VecDeque;

/// A warpgroup.
#[derive(Debug)]
pub(super) struct Group {
    agent: u16,
    /// Multiplies that not all four warps have issued: number, step, operands, and who has.
    open: VecDeque<Issue>,
    /// How many each warp has issued.
    count: [u32; 4],
}

#[derive(Debug)]
struct Issue {
    number: u32,
    pc: u32,
    a: Option<Descriptor>,
    b: Descriptor,
    by: u32,
}

impl Watch {
    /// A warp issues its part of a multiply.
    #[allow(clippy::too_many_arguments)]
    pub(in crate::vm) fn multiply(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        x: &Multiply,
        a: Option<&Descriptor>,
        b: &Descriptor,
        pc: u32,
    ) {
        let w = self.number(ctx, warp);
        let (first, rank) = (w - w % self.per_block % 4, w % self.per_block % 4);
        if !self.groups.contains_key(&first) {
            let agent = self.fresh(Kind::Multiplies(first));
            let group = Group {
                agent,
                open: VecDeque::new(),
                count: [0; 4],
            };
            self.groups.insert(first, group);
        }
        self.sides[w].multiplies.issue(1);
        let Some(group) = self.groups.get_mut(&first) else {
            return;
        };
        group.count[rank] += 1;
        let (number, agent) = (group.count[rank], group.agent);
        self.sides[w].multiplies.agent = Some(agent);
        let mut wrong = None;
        match group.open.iter_mut().find(|o| o.number == number) {
            Some(o) => {
                if o.pc != pc {
                    wrong = Some("the warps of the group execute different multiplies together");
                } else if o.a.as_ref() != a || o.b != *b {
                    wrong = Some("the warps of the group give different descriptors");
                }
                o.by |= 1 << rank;
            }
            None => group.open.push_back(Issue {
                number,
                pc,
                a: a.copied(),
                b: *b,
                by: 1 << rank,
            }),
        }
        group.open.retain(|o| o.by != 0xf);
        if let Some(text) = wrong {
            self.complain(team, ctx, warp, Code::Warpgroup, u32::MAX, text.into());
        }
        self.hold(team, ctx, warp, x, a.is_none(), number);
        let s = Stamp {
            clock: number,
            agent,
            ..self.stamp(w, pc, ASYNC)
        };
        let mut hits = Hits::default();
        let k = x.k as usize;
        if let Some(d) = a {
            let rows = 16 * rank..16 * rank + 16;
            self.operand(team, ctx, warp, d, rows, (k, x.a.bits() / 8), s, &mut hits);
        }
        self.operand(
            team,
            ctx,
            warp,
            b,
            0..x.n as usize,
            (k, x.b.bits() / 8),
            s,
            &mut hits,
        );
        self.tell(team, ctx, warp, hits, "a multiply reads");
    }

    /// Marks an operand in pieces of 16 bytes, which a descriptor keeps together.
    #[allow(clippy::too_many_arguments)]
    fn operand(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        d: &Descriptor,
        mn: std::ops::Range<usize>,
        (depth, size): (usize, u32),
        s: Stamp,
        hits: &mut Hits,
    ) {
        let w = self.number(ctx, warp);
        let per = (16 / size as usize).max(1);
        let mut spread = None;
        let mut piece = |watch: &mut Watch, at: u64| {
            let Some(place) = shared_place(team, ctx.b, at & !15, 16) else {
                return;
            };
            watch.mark_shared(w, place, 16, s, false, u32::MAX, hits);
            let lane = watch.shared[place.0]
                .cell(place.1 / 4)
                .map(|c| (c.write.lane, c.write.bits));
            if let Some((lane, bits)) = lane
                && bits & ASYNC != 0
                && (SPREAD..SPREAD + 4).contains(&lane)
                && lane != SPREAD + d.spread()
            {
                spread.get_or_insert((lane - SPREAD, place.1));
            }
        };
        if d.transposed() {
            for k in 0..depth {
                for m in mn.clone().step_by(per) {
                    piece(self, d.at(m as u64, k as u64, u64::from(size)));
                }
            }
        } else {
            for m in mn {
                for k in (0..depth).step_by(per) {
                    piece(self, d.at(m as u64, k as u64, u64::from(size)));
                }
            }
        }
        if let Some((mode, at)) = spread {
            let bytes = |m: u8| [16, 32, 64, 128][m as usize & 3];
            let text = format!(
                "the descriptor is for a spread over {} bytes, the copy that filled shared byte {at} spreads over {}",
                bytes(d.spread()),
                bytes(mode)
            );
            self.complain(team, ctx, warp, Code::Warpgroup, u32::MAX, text);
        }
    }

    pub(super) fn multiplies_close(&mut self, w: usize) {
        self.sides[w].multiplies.close(1);
    }
    pub(super) fn multiplies_wait(&mut self, w: usize, keep: u32) {
        let side = &mut self.sides[w];
        let over = side.multiplies.wait(1, keep);
        if let Some(agent) = side.multiplies.agent {
            side.known.seen.raise(agent, over);
        }
        side.registers.release(over);
    }
    /// Whether a warp has multiplies under way.
    pub(super) fn multiplies_left(&self, w: usize) -> bool {
        let m = &self.sides[w].multiplies;
        m.agent.is_some() && m.over() < m.last()
    }
    /// Groups of which the warps did not issue the same number of multiplies.
    pub(super) fn uneven_groups(&self) -> Vec<(usize, [u32; 4])> {
        let mut all: Vec<_> = self
            .groups
            .iter()
            .filter(|(_, g)| g.count.iter().any(|n| *n != g.count[0]))
            .map(|(w, g)| (*w, g.count))
            .collect();
        all.sort_unstable();
        all
    }
}
