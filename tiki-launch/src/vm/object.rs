//! Barrier objects in shared memory.
//!
//! An object counts arrivals and bytes that are still to come; when both are zero its phase ends and the
//! count starts anew. Phases are numbered without end here: a parity is the last bit of the number of the
//! current phase. The object's own bytes in shared memory hold nothing.

use super::access::addresses;
use super::block::Team;
use super::engine::Pending;
use super::exec::{After, Ctx, Result};
use super::fault::Code;
use super::options::Async;
use super::program::ABSENT;
use super::warp::{State, Warp};
use crate::vm::meaning::Ask;
use std::collections::HashMap;

/// Largest count and largest number of pending bytes.
const LIMIT: i64 = (1 << 20) - 1;

#[derive(Debug, Clone, Copy)]
struct Object {
    count: u32,
    pending: i64,
    bytes: i64,
    phase: u64,
}

/// All objects of a team, by block and byte.
#[derive(Debug, Default)]
pub(super) struct Objects {
    all: HashMap<(u32, u32), Object>,
}

impl Objects {
    /// The current phase.
    pub(super) fn phase(&self, block: u32, at: u32) -> Option<u64> {
        self.all.get(&(block, at)).map(|o| o.phase)
    }
    pub(super) fn describe(&self, block: u32, at: u32, phase: u64) -> String {
        match self.all.get(&(block, at)) {
            Some(o) => format!(
                "barrier object at shared byte {at} of block {block} of its cluster, phase {phase}: {} of {} arrivals and {} bytes are to come",
                o.pending, o.count, o.bytes
            ),
            None => format!("a barrier object at shared byte {at} that is no more"),
        }
    }
    /// Objects whose bytes are not balanced.
    pub(super) fn unbalanced(&self) -> Vec<(u32, u32, String)> {
        let mut all: Vec<_> = self
            .all
            .iter()
            .filter(|(_, o)| o.bytes != 0)
            .map(|((b, at), o)| (*b, *at, self.describe(*b, *at, o.phase)))
            .collect();
        all.sort();
        all
    }
    /// Arrivals and bytes change; what is wrong with it, if anything.
    pub(super) fn change(
        &mut self,
        block: u32,
        at: u32,
        arrivals: i64,
        bytes: i64,
    ) -> std::result::Result<u64, String> {
        let Some(o) = self.all.get_mut(&(block, at)) else {
            return Err(format!("no barrier object was made at shared byte {at}"));
        };
        let phase = o.phase;
        o.bytes += bytes;
        if o.bytes.abs() > LIMIT {
            return Err(format!(
                "{} bytes are pending on the barrier object at shared byte {at}: at most {LIMIT} are possible",
                o.bytes
            ));
        }
        o.pending -= arrivals;
        if o.pending < 0 {
            return Err(format!(
                "more arrive than the {} that the barrier object at shared byte {at} is for",
                o.count
            ));
        }
        if o.pending == 0 && o.bytes == 0 {
            o.phase += 1;
            o.pending = i64::from(o.count);
        }
        Ok(phase)
    }
}

impl Team {
    /// Block and byte of a barrier object.
    fn object_at(&self, ctx: &Ctx<'_, '_>, warp: &Warp, x: u64, lane: usize) -> Result<(u32, u32)> {
        if !x.is_multiple_of(8) {
            return Err(ctx.fault(
                self,
                warp,
                Code::Alignment,
                1 << lane,
                format!("a barrier object at {x:#x}, which is not a multiple of 8"),
            ));
        }
        // Generic addresses may be given too.
        let (b, at) = self.shared_at(ctx, warp, x & ((1 << 36) - 1), 8, lane)?;
        Ok((b as u32, at as u32))
    }

    pub(super) fn object(
        &mut self,
        ctx: &Ctx<'_, '_>,
        ask: &Ask,
        warp: &mut Warp,
    ) -> Result<After> {
        let lanes: Vec<usize> = (0..32).filter(|i| ctx.mask >> i & 1 == 1).collect();
        let Some(address) = ctx.step.addresses.last() else {
            // The pending count of a token.
            for i in lanes {
                let token = warp.file.words[ctx.slot(1) as usize + 1].0[i];
                warp.file.words[ctx.slot(0) as usize].0[i] = token >> 8;
            }
            return Ok(After::Next);
        };
        let at = addresses(warp, address, ctx.mask);
        let places: Vec<(u32, u32)> = lanes
            .iter()
            .map(|i| self.object_at(ctx, warp, at[*i], *i))
            .collect::<Result<_>>()?;
        let wrong = |team: &Team, warp: &Warp, lane: usize, text: String| {
            Err(ctx.fault(team, warp, Code::Object, 1 << lane, text))
        };
        if let Ask::ObjectWait {
            parity,
            may_wait,
            acquire,
        } = *ask
        {
            return self.object_wait(ctx, warp, &lanes, &places, (parity, may_wait, acquire));
        }
        for (i, place) in lanes.into_iter().zip(places) {
            let number = |warp: &Warp, k: usize| match ctx.step.args.s[k] {
                ABSENT => 1,
                s => warp.file.words[s as usize].0[i],
            };
            let (b, at) = place;
            let result = match *ask {
                Ask::ObjectInit => {
                    let count = number(warp, 1);
                    if count == 0 || i64::from(count) > LIMIT {
                        return wrong(
                            self,
                            warp,
                            i,
                            format!(
                                "a barrier object for {count} arrivals: 1 to {LIMIT} are possible"
                            ),
                        );
                    }
                    self.objects.all.insert(
                        place,
                        Object {
                            count,
                            pending: i64::from(count),
                            bytes: 0,
                            phase: 0,
                        },
                    );
                    self.blocks[b as usize].shared.store(at as usize, 8, 0);
                    Ok(0)
                }
                Ask::ObjectInval => self
                    .objects
                    .all
                    .remove(&place)
                    .map(|o| o.phase)
                    .ok_or_else(|| format!("no barrier object was made at shared byte {at}")),
                Ask::ObjectArrive { drop, expect, .. } => {
                    let n = number(warp, 2);
                    let (arrivals, bytes) = if expect {
                        (1, i64::from(n))
                    } else {
                        (i64::from(n), 0)
                    };
                    if drop && let Some(o) = self.objects.all.get_mut(&place) {
                        o.count = o.count.saturating_sub(arrivals as u32);
                    }
                    let left = self.objects.all.get(&place).map_or(0, |o| o.pending);
                    let r = self.objects.change(b, at, arrivals, bytes);
                    if let Ok(phase) = r {
                        let d = ctx.slot(0) as usize;
                        warp.file.words[d].0[i] = phase as u32;
                        warp.file.words[d + 1].0[i] =
                            (left as u32) << 8 | (phase >> 32) as u32 & 0xff;
                    }
                    r
                }
                Ask::ObjectBytes { complete } => {
                    let n = i64::from(number(warp, 1));
                    self.objects.change(b, at, 0, if complete { -n } else { n })
                }
                Ask::CopyArrive { noinc } => {
                    if !noinc && let Some(o) = self.objects.all.get_mut(&place) {
                        o.pending += 1;
                    }
                    let copies = if ctx.env.options.completion == Async::Eager {
                        vec![]
                    } else {
                        warp.transfers.take(i)
                    };
                    self.put_off(
                        ctx.env,
                        Pending::Copies {
                            b: ctx.b,
                            copies,
                            object: place,
                        },
                    )
                }
                Ask::StoreAsync(a) => {
                    let from = addresses(warp, &ctx.step.addresses[0], ctx.mask);
                    let total = u64::from(a.bytes * a.count);
                    let (to, start) = self.shared_at(ctx, warp, from[i], total, i)?;
                    let mut words = vec![];
                    for k in 0..a.count {
                        let s = if a.count > 1 {
                            ctx.step.args.list[(ctx.slot(a.value) + k) as usize]
                        } else {
                            ctx.slot(a.value)
                        };
                        for w in 0..a.bytes / 4 {
                            words.push(warp.file.words[(s + w) as usize].0[i]);
                        }
                    }
                    self.put_off(
                        ctx.env,
                        Pending::Words {
                            b: to,
                            at: start,
                            words,
                            object: place,
                        },
                    )
                }
                _ => Ok(0),
            };
            if let Err(text) = result {
                return wrong(self, warp, i, text);
            }
        }
        Ok(After::Next)
    }

    fn object_wait(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &mut Warp,
        lanes: &[usize],
        places: &[(u32, u32)],
        (parity, may_wait, acquire): (bool, bool, bool),
    ) -> Result<After> {
        let mut over = 0u32;
        let mut waits = None;
        for (i, (b, at)) in lanes.iter().zip(places) {
            let Some(phase) = self.objects.phase(*b, *at) else {
                return Err(ctx.fault(
                    self,
                    warp,
                    Code::Object,
                    1 << i,
                    format!("no barrier object was made at shared byte {at}"),
                ));
            };
            let s = ctx.slot(2) as usize;
            let low = warp.file.words[s].0[*i];
            let ended = if parity {
                (phase & 1) as u32 != low & 1
            } else {
                phase > u64::from(low) | u64::from(warp.file.words[s + 1].0[*i] & 0xff) << 32
            };
            over |= u32::from(ended) << i;
            if !ended {
                waits.get_or_insert((*b, *at, phase));
            }
        }
        // A card may answer late: where somebody looks on, the first answer is that it is not over. So a wait
        // without its loop shows, whenever the phase ended.
        if self.watch.is_some() {
            let pc = super::race::pc_of(ctx);
            if !warp.told.contains(&pc) {
                warp.told.push(pc);
                let p = &mut warp.file.preds[ctx.slot(0) as usize];
                *p &= !ctx.mask;
                return Ok(After::Next);
            }
            if over != 0 {
                warp.told.retain(|t| *t != pc);
            }
        }
        let same = places.windows(2).all(|p| p[0] == p[1]);
        if let Some((block, at, phase)) = waits
            && may_wait
            && same
            && over == 0
            && ctx.step.guard.is_none()
        {
            return Ok(After::Wait(State::Object { block, at, phase }, false));
        }
        if over != 0 && (self.watch.is_some() || self.tape.is_some()) {
            let mut done: Vec<(u32, u32)> = lanes
                .iter()
                .zip(places)
                .filter(|(i, _)| over >> **i & 1 == 1)
                .map(|(_, p)| *p)
                .collect();
            done.dedup();
            self.watch_over(ctx, warp, &done, acquire);
            self.tape_over(ctx.b, warp.index, &done);
        }
        let p = &mut warp.file.preds[ctx.slot(0) as usize];
        *p = (over & ctx.mask) | (*p & !ctx.mask);
        Ok(After::Next)
    }
}
