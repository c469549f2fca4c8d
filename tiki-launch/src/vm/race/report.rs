//! From clashes to findings.

use super::super::block::Team;
use super::super::exec::Ctx;
use super::super::fault::{Code, Other};
use super::super::launch::Env;
use super::super::warp::Warp;
use super::cell::{Clash, Stamp};
use super::{Kind, Watch};

/// Where a clash is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Shared { block: usize, byte: usize },
    Global { buffer: usize, byte: usize },
}

/// Clashes of one instruction, by code.
#[derive(Debug, Default)]
pub(super) struct Hits(Vec<Hit>);

#[derive(Debug)]
struct Hit {
    code: Code,
    clash: Clash,
    lanes: u32,
    place: Place,
}

impl Hits {
    #[cold]
    pub(super) fn add(&mut self, code: Code, clash: Clash, lanes: u32, place: Place) {
        match self.0.iter_mut().find(|h| h.code == code) {
            Some(h) => h.lanes |= lanes,
            None => self.0.push(Hit {
                code,
                clash,
                lanes,
                place,
            }),
        }
    }
}

/// What a stamp's agent does.
fn doing(kind: Option<Kind>, wrote: bool) -> &'static str {
    match (kind, wrote) {
        (Some(Kind::Copies(_)), _) => "a copy writes it",
        (Some(Kind::Readings(_)), _) => "a store of the accelerator reads it",
        (Some(Kind::Writings(_)), _) => "a store of the accelerator writes it",
        (Some(Kind::Multiplies(_)), _) => "a warpgroup's multiply reads it",
        (Some(Kind::Object(..)), true) => "a copy that a barrier object counts writes it",
        (Some(Kind::Object(..)), false) => "a copy that a barrier object counts reads it",
        (_, true) => "it is written",
        (_, false) => "it is read",
    }
}

impl Watch {
    pub(super) fn kind(&self, s: &Stamp) -> Option<Kind> {
        let warps = self.sides.len();
        if (s.agent as usize) < warps {
            return Some(Kind::Warp(s.agent as usize));
        }
        if s.team != self.team {
            return None;
        }
        self.kinds.get(s.agent as usize - warps).copied()
    }

    /// The code of a clash for a warp.
    pub(super) fn classify(&self, c: &Clash, w: usize, global: bool, write: bool) -> Code {
        if c.unfenced {
            return Code::ProxyFence;
        }
        if global {
            return Code::GlobalRace;
        }
        match (self.kind(&c.other), c.wrote) {
            (Some(Kind::Warp(o)), _) if o == w => Code::WarpSynchronous,
            (Some(Kind::Copies(_) | Kind::Object(..)), true) if !write => Code::InFlight,
            (Some(Kind::Copies(_) | Kind::Object(..)), true) => Code::Overwritten,
            (Some(Kind::Readings(_) | Kind::Multiplies(_) | Kind::Object(..)), false) => {
                Code::Overwritten
            }
            _ => Code::SharedRace,
        }
    }

    /// Turns clashes of an instruction into findings.
    pub(super) fn tell(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        hits: Hits,
        what: &str,
    ) {
        for h in hits.0 {
            if !self.found.is_new(h.code, ctx.step.line) {
                continue;
            }
            let (name, byte, local) = self.name(ctx.env, h.place);
            let kind = self.kind(&h.clash.other);
            let why = match h.code {
                Code::ProxyFence => "no fence between the two paths covers the write",
                Code::InFlight => "nothing waits for the copy before",
                Code::Overwritten => "nothing waits for that before",
                Code::WarpSynchronous => "the lanes do not meet in between",
                _ => "nothing orders the two",
            };
            let text = format!(
                "{what} {name} at byte {byte}, where {}: {why}",
                doing(kind, h.clash.wrote)
            );
            let mut f = ctx.fault(team, warp, h.code, h.lanes, text);
            f.buffer = local.then(|| name.trim_matches('`').to_string());
            f.index = Some(byte as u64);
            f.other = Some(self.other(ctx.env, team, &h.clash, kind));
            self.found.add(*f);
        }
    }

    fn other(&self, env: &Env<'_>, team: &Team, c: &Clash, kind: Option<Kind>) -> Other {
        let step = env.kernel.code.get(c.other.pc as usize);
        let w = match kind {
            Some(Kind::Warp(w) | Kind::Copies(w) | Kind::Readings(w) | Kind::Writings(w)) => w,
            Some(Kind::Multiplies(g)) => g,
            _ => 0,
        };
        let (b, warp) = (w / self.per_block, w % self.per_block);
        let block = if c.other.team == self.team {
            match kind {
                Some(Kind::Object(b)) => team.blocks[b as usize].id,
                _ => team.blocks[b].id,
            }
        } else {
            let size = team.blocks.len() as u32;
            env.block_ids(u64::from(c.other.team), size)[b.min(size as usize - 1)]
        };
        Other {
            block,
            warp: warp as u32,
            ptx_line: step.map_or(0, |s| s.line),
            source: step.and_then(|s| env.source(s)),
            what: if c.wrote { "writes" } else { "reads" }.into(),
        }
    }

    /// Name and byte of a place, and whether it is a variable's.
    pub(super) fn name(&self, env: &Env<'_>, p: Place) -> (String, usize, bool) {
        match p {
            Place::Shared { block, byte } => {
                let var = env.kernel.shared_vars.iter().find(|(start, len, _)| {
                    byte >= *start as usize && (*len == 0 || byte < (*start + *len) as usize)
                });
                match var {
                    Some((start, _, n)) => (format!("`{n}`"), byte - *start as usize, true),
                    None if self.shared.len() > 1 => (
                        format!("shared memory of block {block} of the cluster"),
                        byte,
                        false,
                    ),
                    None => ("shared memory".into(), byte, false),
                }
            }
            Place::Global { buffer, byte } => {
                let b = env.table.get(buffer).and_then(|b| b.as_ref());
                (
                    b.map_or("global memory".into(), |b| format!("`{}`", b.name)),
                    byte,
                    true,
                )
            }
        }
    }

    /// A finding of the executing warp that is no clash.
    pub(in crate::vm) fn complain(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        code: Code,
        lanes: u32,
        text: String,
    ) {
        if self.found.is_new(code, ctx.step.line) {
            self.found.add(*ctx.fault(team, warp, code, lanes, text));
        }
    }
}
