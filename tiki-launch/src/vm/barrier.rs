//! Barriers of a block, by number, and the cluster's.
//!
//! A warp that comes whole counts as 32 threads, as on a GPU; lanes that come one by one count when all
//! lanes of their warp are there.

use super::block::Team;
use super::exec::{After, Ctx, Result};
use super::fault::Code;
use super::launch::Env;
use super::program::{Act, Step};
use super::warp::{Frag, State, Warp};
use crate::vm::meaning::ask::{Ask, Fold};
use crate::vm::meaning::{LANES, put_plane};

impl Team {
    /// Threads come to a barrier.
    pub(super) fn bar(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &mut Warp,
        _cur: &Frag,
        (id, count): (u32, Option<u32>),
        wait: bool,
        (fold, bits): (Fold, u32),
    ) -> Result<After> {
        if id >= 16 {
            return Err(ctx.fault(
                self,
                warp,
                Code::Resources,
                ctx.mask,
                format!("barrier {id}: a block has 16"),
            ));
        }
        if let Some(n) = count
            && (n == 0 || n % 32 != 0)
        {
            return Err(ctx.fault(
                self,
                warp,
                Code::DivergentBarrier,
                ctx.mask,
                format!("barrier {id} for {n} threads: not a multiple of 32"),
            ));
        }
        self.watch_bar(ctx, warp, id, wait);
        let bar = &mut self.blocks[ctx.b].bars[id as usize];
        if bar.open && bar.expected != count {
            let say = |n: Option<u32>| n.map_or("all".to_string(), |n| n.to_string());
            let text = format!(
                "barrier {id} is for {} threads here, for {} where others came",
                say(count),
                say(bar.expected)
            );
            return Err(ctx.fault(self, warp, Code::DivergentBarrier, ctx.mask, text));
        }
        if !bar.open {
            (bar.open, bar.expected) = (true, count);
            (bar.popc, bar.all, bar.any) = (0, true, false);
        }
        bar.popc += (bits & ctx.mask).count_ones();
        bar.all &= bits & ctx.mask == ctx.mask;
        bar.any |= bits & ctx.mask != 0;
        if ctx.mask == warp.alive {
            bar.arrived += 32;
        } else {
            let at = bar
                .partial
                .iter()
                .position(|p| p.0 == warp.index)
                .unwrap_or_else(|| {
                    bar.partial.push((warp.index, 0));
                    bar.partial.len() - 1
                });
            bar.partial[at].1 |= ctx.mask;
            if bar.partial[at].1 & warp.alive == warp.alive {
                bar.partial.swap_remove(at);
                bar.arrived += 32;
            }
        }
        let generation = bar.generation;
        self.tape_bar(ctx.b, warp.index, id, generation);
        let complete = self.settle(ctx.b, id as usize, Some(warp.index), warp.alive != 0);
        if !wait {
            return Ok(After::Next);
        }
        if complete {
            self.tape_bar_over(ctx.b, warp.index, id, generation);
            let result = self.blocks[ctx.b].bars[id as usize].result;
            put_fold(warp, ctx.step, ctx.mask, fold, result);
            return Ok(After::Next);
        }
        Ok(After::Wait(
            State::Bar {
                id: id as u8,
                generation,
            },
            true,
        ))
    }

    /// Ends a barrier's generation if all have come. `own` is the warp that is taken out of its block just now.
    fn settle(&mut self, b: usize, id: usize, own: Option<u32>, own_alive: bool) -> bool {
        let block = &mut self.blocks[b];
        let alive = block
            .warps
            .iter()
            .enumerate()
            .filter(|(i, w)| {
                if Some(*i as u32) == own {
                    own_alive
                } else {
                    w.alive != 0
                }
            })
            .count() as u32;
        let bar = &mut block.bars[id];
        let need = bar.expected.unwrap_or(32 * alive);
        if !bar.open || bar.arrived < need {
            return false;
        }
        bar.result = (bar.popc, bar.all, bar.any);
        bar.generation += 1;
        bar.arrived = 0;
        bar.open = false;
        bar.partial.clear();
        true
    }

    /// A warp has left: barriers for all may be complete now.
    pub(super) fn settle_bars(&mut self, b: usize, own: u32) {
        for id in 0..16 {
            if self.blocks[b].bars[id].open && self.blocks[b].bars[id].expected.is_none() {
                self.settle(b, id, Some(own), false);
            }
        }
    }

    /// A fragment wakes behind a barrier: it takes the result.
    pub(super) fn after_bar(
        &self,
        env: &Env<'_>,
        warp: &mut Warp,
        frag: usize,
        result: (u32, bool, bool),
    ) {
        let f = &warp.frags[frag];
        let step = &env.kernel.code[f.pc as usize - 1];
        let mask = f.mask;
        if let Act::Ask(Ask::Bar { fold, .. }) = step.act {
            put_fold(warp, step, mask, fold, result);
        }
    }

    /// Ends a phase of the cluster's barrier if all threads that are left have come.
    pub(super) fn cluster_step(&mut self, leaving: u32) {
        self.cluster_alive -= leaving;
        if self.cluster_arrived > 0 && self.cluster_arrived >= self.cluster_alive {
            self.cluster_arrived = 0;
            self.cluster_generation += 1;
        }
    }
}

/// Writes what a barrier with a fold gives.
fn put_fold(warp: &mut Warp, step: &Step, mask: u32, fold: Fold, result: (u32, bool, bool)) {
    let slot = step.args.s[0] as usize;
    let bit = |yes: bool| if yes { mask } else { 0 };
    match fold {
        Fold::None => {}
        Fold::Popc => put_plane(&mut warp.file.words[slot], &[result.0; LANES], mask),
        Fold::And => warp.file.preds[slot] = bit(result.1) | (warp.file.preds[slot] & !mask),
        Fold::Or => warp.file.preds[slot] = bit(result.2) | (warp.file.preds[slot] & !mask),
    }
}
