//! What passes knowledge on: fences, ordered accesses, barriers and barrier objects.

use super::super::block::Team;
use super::super::exec::Ctx;
use super::super::fault::Code;
use super::super::warp::Warp;
use super::clock::{Known, Released};
use super::{Due, Flag, Kind, Object, Watch};
use crate::vm::meaning::ask::Sync;
use std::collections::HashMap;

/// What an access does at a place of which others may learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touch {
    Read,
    /// What was released there before is over.
    Write,
    /// Reads and writes at once: what was released there before stays.
    Change,
    /// The same, and the old value reaches nobody here.
    Reduce,
}

impl Watch {
    /// A fence: what unordered accesses told before it is known behind it, and what is known here is what
    /// unordered writes behind it release.
    pub(super) fn fence(&mut self, w: usize, wide: bool, init: bool) {
        let side = &mut self.sides[w];
        if init {
            side.known.made.join(&side.known.seen);
        } else {
            if let Some(heard) = side.heard.take() {
                side.known.join(&heard);
            }
            match &mut side.at_fence {
                Some((known, to)) => {
                    known.set(&side.known);
                    *to = wide;
                }
                None => side.at_fence = Some((Box::new(side.known.clone()), wide)),
            }
        }
        self.tick(w);
    }

    /// A fence between the ordinary and the asynchronous path.
    pub(super) fn fence_proxy(&mut self, w: usize) {
        let known = &mut self.sides[w].known;
        known.fenced.join(&known.seen);
        known.made.join(&known.seen);
        self.tick(w);
    }

    /// Reads and writes places of which others may learn.
    pub(super) fn exchange(
        &mut self,
        flags: &mut HashMap<(usize, usize), Flag>,
        w: usize,
        places: impl Iterator<Item = (usize, usize)> + Clone,
        order: Sync,
        touch: Touch,
    ) {
        let team = self.team;
        let side = &mut self.sides[w];
        if matches!(touch, Touch::Read | Touch::Change) {
            for place in places.clone() {
                let Some(flag) = flags.get(&place) else {
                    continue;
                };
                let mut all: Vec<&Released> = flag.values().collect();
                all.sort_by_key(|r| r.team);
                for r in all {
                    if order.acquire {
                        r.tell(&mut side.known, team, order.wide);
                    } else {
                        // The fence that makes it known may be wide; the access must be too.
                        let heard = side.heard.get_or_insert_default();
                        r.tell(heard, team, order.wide);
                    }
                }
            }
        }
        if touch == Touch::Read {
            return;
        }
        let released = if order.release {
            Some(Released::new(team, &side.known, order.wide))
        } else {
            let fence = side.at_fence.as_ref();
            fence.map(|(k, wide)| Released::new(team, k, *wide && order.wide))
        };
        for place in places {
            if touch == Touch::Write
                && let Some(flag) = flags.get_mut(&place)
                && released.is_none()
            {
                flag.clear();
            }
            if let Some(r) = &released {
                let flag = flags.entry(place).or_default();
                if touch == Touch::Write {
                    flag.retain(|t, _| *t == team);
                }
                match flag.get_mut(&team) {
                    Some(old) => {
                        let mut both = old.known.clone();
                        both.join(&r.known);
                        let wide = r.abroad.is_some() || old.abroad.is_some();
                        *old = Released::new(team, &both, wide);
                    }
                    None => {
                        flag.insert(team, r.clone());
                    }
                }
            }
        }
    }

    /// A warp comes to a barrier of its block.
    pub(in crate::vm) fn bar(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        id: u8,
        wait: bool,
    ) {
        let w = self.number(ctx, warp);
        self.settle(team, ctx.b, w);
        let generation = team.blocks[ctx.b].bars[id as usize].generation;
        let gather = self.bars.entry((ctx.b, id)).or_default();
        if gather.generation != generation {
            gather.begin(generation, &mut self.spare);
        }
        gather.known.borrow_mut().join(&self.sides[w].known);
        if wait {
            let due = Due {
                bar: Some(id),
                generation,
                known: gather.known.clone(),
            };
            self.sides[w].due.push(due);
        }
        self.tick(w);
    }

    pub(super) fn cluster_arrive(&mut self, team: &Team, w: usize, release: bool) {
        let generation = team.cluster_generation;
        if self.cluster.generation != generation {
            self.cluster.begin(generation, &mut self.spare);
        }
        if release {
            self.cluster.known.borrow_mut().join(&self.sides[w].known);
        }
        self.sides[w].cluster = Some(self.cluster.clone());
        self.tick(w);
    }
    pub(super) fn cluster_wait(&mut self, w: usize) {
        if let Some(g) = self.sides[w].cluster.take() {
            self.sides[w].due.push(Due {
                bar: None,
                generation: g.generation,
                known: g.known,
            });
        }
    }

    /// The object at a place, brought to the phase that it is in.
    pub(super) fn object_now(&mut self, team: &Team, place: (u32, u32)) -> Option<&mut Object> {
        let phase = team.objects.phase(place.0, place.1)?;
        let o = self.objects.get_mut(&place)?;
        if o.phase != phase {
            o.done.join(&o.gather);
            o.gather.clear();
            o.phase = phase;
        }
        Some(o)
    }

    /// A barrier object is made.
    pub(super) fn object_init(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        place: (u32, u32),
        lane: usize,
    ) {
        let w = self.number(ctx, warp);
        if self.objects.get(&place).is_some_and(|o| !o.ended) {
            let text = format!(
                "the barrier object at shared byte {} is made again, and nobody has ended it",
                place.1
            );
            self.complain(team, ctx, warp, Code::Object, 1 << lane, text);
        }
        let agent = self.fresh(Kind::Object(place.0));
        let made = (w as u16, self.now(w));
        let o = Object {
            agent,
            phase: 0,
            gather: Known::default(),
            done: Known::default(),
            made,
            ended: false,
        };
        self.objects.insert(place, o);
    }

    /// Whether the making of an object is seen by those who use it; a finding if not. Others are the
    /// asynchronous path and other blocks.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn object_seen(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        place: (u32, u32),
        lane: usize,
        by_others: bool,
    ) {
        let w = self.number(ctx, warp);
        let Some(o) = self.objects.get(&place) else {
            return;
        };
        let (agent, clock) = o.made;
        let known = &self.sides[w].known;
        let seen = agent as usize == w || known.seen.get(agent) >= clock;
        let made = known.made.get(agent) >= clock;
        let text = if !seen {
            "nothing orders its making before this use"
        } else if by_others && !made {
            "no fence shows its making to the asynchronous path or to other blocks"
        } else {
            return;
        };
        let text = format!("the barrier object at shared byte {}: {text}", place.1);
        self.complain(team, ctx, warp, Code::Init, 1 << lane, text);
    }

    /// Lanes arrive at objects.
    pub(super) fn object_arrive(
        &mut self,
        team: &Team,
        w: usize,
        places: &[(u32, u32)],
        release: bool,
    ) {
        if release {
            let known = std::mem::take(&mut self.sides[w].known);
            for place in places {
                if let Some(o) = self.object_now(team, *place) {
                    o.gather.join(&known);
                }
            }
            self.sides[w].known = known;
        }
        self.tick(w);
    }

    /// Lanes found that phases of objects are over.
    pub(in crate::vm) fn object_over(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        places: &[(u32, u32)],
        acquire: bool,
    ) {
        let w = self.number(ctx, warp);
        for place in places {
            self.object_seen(team, ctx, warp, *place, ctx.leader(), false);
            let mut known = std::mem::take(&mut self.sides[w].known);
            if let Some(o) = self.object_now(team, *place) {
                if acquire {
                    known.join(&o.done);
                }
                known.seen.raise(o.agent, o.phase as u32);
            }
            self.sides[w].known = known;
        }
    }
}
