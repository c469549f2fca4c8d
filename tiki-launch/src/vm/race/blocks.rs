//! Races between blocks that cannot see one another.
//!
//! Such blocks run on any number of host threads; each keeps its own record of global memory ([`Global`]).
//! When a team is over, its record is laid on what the teams before it left ([`Between`]), in the order of
//! their numbers: so what is found does not depend on the threads. Where blocks can see one another there is
//! one record for all, and the ordinary rules hold.

use super::super::fault::{Code, Fault, Other};
use super::super::launch::Env;
use super::Flag;
use super::cell::{Cell, STRONG, Stamp};
use super::line::{LINE, Shadow};
use std::collections::{BTreeMap, HashMap};

/// Global memory: by buffer, and what was released where.
#[derive(Debug, Default)]
pub(in crate::vm) struct Global {
    /// By number of the buffer.
    pub(super) shadows: Vec<Shadow>,
    pub(super) flags: HashMap<(usize, usize), Flag>,
}

impl Global {
    /// The record of a buffer.
    pub(super) fn shadow(&mut self, buffer: usize) -> &mut Shadow {
        if buffer >= self.shadows.len() {
            self.shadows.resize_with(buffer + 1, Shadow::default);
        }
        &mut self.shadows[buffer]
    }
}

/// A word as the teams so far have left it.
#[derive(Debug, Clone, Copy, Default)]
struct Left {
    /// Bytes written and read: by ordinary accesses in the low half, by atomic ones above.
    writes: u8,
    reads: u8,
    writer: (u32, u32),
    reader: (u32, u32),
}

/// What teams have done to global memory.
#[derive(Debug, Default)]
pub(in crate::vm) struct Between {
    lines: HashMap<(usize, usize), Box<[Left; LINE]>>,
}

fn half(s: &Stamp) -> u8 {
    if s.bits & STRONG == 0 {
        s.mask()
    } else {
        s.mask() << 4
    }
}
/// Bytes on which two masks conflict: not where both are atomic.
fn conflict(a: u8, b: u8) -> u8 {
    let (pa, sa, pb, sb) = (a & 0xf, a >> 4, b & 0xf, b >> 4);
    pa & (pb | sb) | sa & pb
}

impl Between {
    /// Lays the record of a team on what was there; what clashes.
    pub(in crate::vm) fn lay(&mut self, env: &Env<'_>, team: u32, global: Global) -> Vec<Fault> {
        let mut found = BTreeMap::new();
        for (buffer, shadow) in global.shadows.iter().enumerate() {
            for (n, line) in shadow.lines() {
                let old = self
                    .lines
                    .entry((buffer, n))
                    .or_insert_with(|| Box::new([Left::default(); LINE]));
                for (i, left) in old.iter_mut().enumerate() {
                    let cell = line.cell(i);
                    let byte = 4 * (n * LINE + i);
                    let clash = meet(&cell, shadow.lists.of(&cell), left, team);
                    if let Some((mine, theirs, wrote)) = clash {
                        let mine = mine.of_word(i);
                        found.entry(mine.pc).or_insert_with(|| {
                            fault(env, team, (buffer, byte), &mine, theirs, wrote)
                        });
                    }
                }
            }
        }
        found.into_values().collect()
    }
}

/// A team's cell meets what the teams before left: the clash, if any, and what is left then.
fn meet(
    cell: &Cell,
    more: &[(Stamp, bool)],
    left: &mut Left,
    team: u32,
) -> Option<(Stamp, (u32, u32), bool)> {
    let own = [(cell.write, true), (cell.read, false)];
    let all = || own.iter().chain(more).filter(|(s, _)| s.mask() != 0);
    let mut clash = None;
    for (s, wrote) in all() {
        if conflict(half(s), left.writes) != 0 {
            clash.get_or_insert((*s, left.writer, true));
        } else if *wrote && conflict(half(s), left.reads) != 0 {
            clash.get_or_insert((*s, left.reader, false));
        }
    }
    for (s, wrote) in all() {
        if *wrote {
            if left.writes == 0 {
                left.writer = (team, s.pc);
            }
            left.writes |= half(s);
        } else {
            if left.reads == 0 {
                left.reader = (team, s.pc);
            }
            left.reads |= half(s);
        }
    }
    clash
}

fn fault(
    env: &Env<'_>,
    team: u32,
    (buffer, byte): (usize, usize),
    mine: &Stamp,
    (other, pc): (u32, u32),
    wrote: bool,
) -> Fault {
    let size: u32 = env.cluster.iter().map(|c| c.max(&1)).product();
    let id = |t: u32| env.block_ids(u64::from(t), size)[0];
    let name = env.table.get(buffer).and_then(|b| b.as_ref());
    let name = name.map_or("?".to_string(), |b| b.name.clone());
    let did = if wrote { "writes" } else { "reads" };
    let text = format!(
        "`{name}` at byte {byte} is used by two blocks, of which one writes it, and nothing orders them"
    );
    let step = &env.kernel.code[mine.pc as usize];
    let lanes = if mine.lane < 32 { 1 << mine.lane } else { 0 };
    let mut f = env.fault_at(Code::GlobalRace, text, step, id(team), 0, lanes);
    f.buffer = Some(name);
    f.index = Some(byte as u64);
    let step = env.kernel.code.get(pc as usize);
    f.other = Some(Other {
        block: id(other),
        warp: 0,
        ptx_line: step.map_or(0, |s| s.line),
        source: step.and_then(|s| env.source(s)),
        what: did.into(),
    });
    *f
}
