//! Blocks of a cluster that leave while others may still use their shared memory.
//!
//! A block's memory stays until its last warp has left. So what a warp of another block did there must be known, at the
//! end, to some warp of the block: then that one left after it. What the accelerator does there is counted by a barrier object
//! of the block, and told of where that is left unbalanced.

use super::super::block::Team;
use super::super::fault::Code;
use super::super::launch::Env;
use super::Watch;
use super::cell::Stamp;
use super::clock::Known;
use super::line::LINE;
use super::report::Place;
use std::collections::BTreeMap;

impl Watch {
    /// All warps have left: what was done in a block that nobody there knows of.
    pub(super) fn left_early(&mut self, team: &Team, env: &Env<'_>) {
        if team.blocks.len() < 2 {
            return;
        }
        for b in 0..team.blocks.len() {
            let own = b * self.per_block..(b + 1) * self.per_block;
            let mut known = Known::default();
            for w in own.clone() {
                self.settle(team, b, w);
                known.join(&self.sides[w].known);
            }
            let mut late: BTreeMap<u32, (Stamp, bool, usize)> = BTreeMap::new();
            let shadow = &self.shared[b];
            for (n, line) in shadow.lines() {
                for i in 0..LINE {
                    let cell = line.cell(i);
                    let more = shadow.lists.of(&cell);
                    for (s, wrote) in [(cell.write, true), (cell.read, false)].iter().chain(more) {
                        let agent = usize::from(s.agent);
                        let another = agent < self.sides.len() && !own.contains(&agent);
                        if s.mask() != 0 && another && known.seen.get(s.agent) < s.clock {
                            late.entry(s.pc).or_insert((*s, *wrote, 4 * (n * LINE + i)));
                        }
                    }
                }
            }
            for (pc, (s, wrote, byte)) in late {
                let Some(step) = env.kernel.code.get(pc as usize) else {
                    continue;
                };
                if !self.found.is_new(Code::SharedRace, step.line) {
                    continue;
                }
                let (name, byte, _) = self.name(env, Place::Shared { block: b, byte });
                let does = if wrote { "writes" } else { "reads" };
                let text = format!(
                    "{does} {name} at byte {byte} in block {b} of the cluster, which may have left: nothing orders its end behind that"
                );
                let (block, warp) = (
                    usize::from(s.agent) / self.per_block,
                    usize::from(s.agent) % self.per_block,
                );
                let id = team.blocks[block].id;
                let f = env.fault_at(Code::SharedRace, text, step, id, warp as u32, 0);
                self.found.add(*f);
            }
        }
    }
}
