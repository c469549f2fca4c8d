//! Functions that a driver brings along: a module declares and calls them, and nobody wrote their bodies.
//!
//! What threads print is collected by team, lane by lane in the order of their numbers, and put together in the order
//! of the blocks: it does not depend on the number of host threads. A failed assertion ends the launch with the words
//! that it was given.

use super::block::Team;
use super::decode::Decoder;
use super::exec::{Ctx, Result};
use super::fault::Code;
use super::memory::split;
use super::printf::{self, Arguments, Want};
use super::program::Act;
use super::warp::Warp;
use crate::vm::meaning::moves::locate;
use std::sync::{Arc, Mutex, PoisonError};
use tiki_kernel::isa::Space;
use tiki_kernel::isa::row::Kind;
use tiki_kernel::ptx::{Function, Inst, Operand};

/// Bytes that are kept of what a launch prints: what a card keeps, unless it is told otherwise.
pub(super) const MOST: usize = 1 << 20;
/// Longest string.
const LONGEST: usize = 1 << 16;

/// What such a function does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// Prints a format and its arguments: addresses of both; gives how many arguments there were.
    Print,
    /// Says that something that must hold does not: addresses of the condition and the file, line, address of the
    /// function, bytes of a character.
    Refute,
}

/// A function: its name, the bytes of its parameters and of what it gives.
#[derive(Debug)]
pub(super) struct Known {
    name: &'static str,
    params: &'static [u64],
    result: Option<u64>,
    what: What,
}

const KNOWN: &[Known] = &[
    Known {
        name: "vprintf",
        params: &[8, 8],
        result: Some(4),
        what: What::Print,
    },
    Known {
        name: "__assertfail",
        params: &[8, 8, 4, 8, 8],
        result: None,
        what: What::Refute,
    },
];

/// The function of this name.
pub(super) fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|k| k.name == name)
}

/// A call of one: where its parameters and its result lie in a thread's own memory.
#[derive(Debug)]
pub(super) struct Outside {
    known: &'static Known,
    params: Vec<u32>,
    result: Option<u32>,
}

/// Takes what the launches print whose options name it; more than a launch keeps is cut off.
#[derive(Debug, Clone, Default)]
pub struct Printed(Arc<Mutex<String>>);

impl Printed {
    /// What was printed since the last call, also by a launch that broke.
    #[must_use]
    pub fn take(&self) -> String {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
    pub(super) fn add(&self, text: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += text;
    }
}

impl<'m> Decoder<'m> {
    /// A call of a function that has no body here, if it is such a one.
    pub(super) fn outside(
        &self,
        n: usize,
        f: &Function,
        i: &Inst,
    ) -> std::result::Result<Option<Act>, String> {
        let pats = &i.op.row.form().pats;
        let called = pats.iter().zip(&i.operands).find_map(|(p, o)| match o {
            Operand::Var(name, _) if p.kind == Kind::Func => Some(name),
            _ => None,
        });
        let Some(name) = called else { return Ok(None) };
        let Some(known) = known(name).filter(|_| self.module.function(name).is_none()) else {
            return Ok(None);
        };
        let list = |which: &str, bytes: &[u64]| -> std::result::Result<Vec<u32>, String> {
            let given = pats.iter().zip(&i.operands).find_map(|(p, o)| match o {
                Operand::Params(v) if p.name == which => Some(v.as_slice()),
                _ => None,
            });
            let given = given.unwrap_or_default();
            let place = |o: &Operand, want: u64| {
                let Operand::Var(name, _) = o else {
                    return None;
                };
                let var = f.vars.iter().find(|v| v.name == *name)?;
                let place = self.own_places[n].get(name)?;
                (var.bytes() == want).then_some(place.address as u32)
            };
            let all: Option<Vec<u32>> = (given.len() == bytes.len())
                .then(|| given.iter().zip(bytes).map(|(o, b)| place(o, *b)).collect())
                .flatten();
            all.ok_or_else(|| format!("`{name}` takes and gives variables of other sizes"))
        };
        Ok(Some(Act::Outside(Outside {
            params: list("a", known.params)?,
            result: list("r", known.result.as_slice())?.first().copied(),
            known,
        })))
    }
}

/// Arguments of a lane, one behind the other.
struct Packed<'a, 'e> {
    team: &'a Team,
    ctx: &'a Ctx<'a, 'e>,
    warp: &'a Warp,
    lane: usize,
    at: u64,
}

impl Arguments for Packed<'_, '_> {
    type Wrong = String;
    fn number(&mut self, want: Want) -> std::result::Result<u64, String> {
        let bytes = if want == Want::Narrow { 4 } else { 8 };
        let at = self.at.next_multiple_of(bytes);
        self.at = at + bytes;
        (0..bytes).try_fold(0, |all, k| {
            let byte = self
                .team
                .generic_byte(self.ctx, self.warp, self.lane, at + k)?;
            Ok(all | u64::from(byte) << (8 * k))
        })
    }
    fn string(&mut self, at: u64) -> std::result::Result<Vec<u8>, String> {
        self.team.string(self.ctx, self.warp, self.lane, at)
    }
}

impl Team {
    /// A byte that a lane's generic address names.
    fn generic_byte(
        &self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        lane: usize,
        x: u64,
    ) -> std::result::Result<u8, String> {
        let (space, at) = locate(x);
        let byte = |word: u32| word.to_le_bytes()[at as usize & 3];
        let n = at as usize;
        let found = match space {
            Space::Global => {
                let (id, off) = split(x);
                let buffer = ctx.env.table.get(id).and_then(|b| b.as_ref());
                buffer
                    .filter(|b| off < b.bytes.len() as u64)
                    .map(|b| b.bytes.load(off as usize, 1) as u8)
            }
            Space::Const => ctx.env.program.consts.get(n).copied(),
            Space::Param => ctx.env.params.get(n).copied(),
            Space::Local => warp.local.get(n / 4).map(|w| byte(w.0[lane])),
            _ => {
                let shared = &self.blocks[ctx.b].shared;
                (n < shared.len).then(|| byte(shared.words[n / 4]))
            }
        };
        found.ok_or_else(|| {
            format!("there is no byte at {x:#x}, where a format or its arguments are to lie")
        })
    }

    fn string(
        &self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        lane: usize,
        at: u64,
    ) -> std::result::Result<Vec<u8>, String> {
        let mut out = vec![];
        while out.len() < LONGEST {
            match self.generic_byte(ctx, warp, lane, at.wrapping_add(out.len() as u64))? {
                0 => return Ok(out),
                b => out.push(b),
            }
        }
        Ok(out)
    }

    /// The lanes that execute call a function that has no body here.
    pub(super) fn call_outside(
        &mut self,
        ctx: &Ctx<'_, '_>,
        call: &Outside,
        warp: &mut Warp,
    ) -> Result<()> {
        for lane in (0..32).filter(|i| ctx.mask >> i & 1 == 1) {
            let word = |k: u32| u64::from(warp.local[(k / 4) as usize].0[lane]);
            let given: Vec<u64> = call
                .params
                .iter()
                .zip(call.known.params)
                .map(|(at, bytes)| match bytes {
                    8 => word(*at) | word(*at + 4) << 32,
                    _ => word(*at),
                })
                .collect();
            let said = match call.known.what {
                What::Print => self.print(ctx, warp, lane, &given),
                What::Refute => {
                    let text = |at: u64| {
                        let bytes = self.string(ctx, warp, lane, at).unwrap_or_default();
                        String::from_utf8_lossy(&bytes).into_owned()
                    };
                    let text = format!(
                        "assertion `{}` does not hold, {}:{} in `{}`",
                        text(given[0]),
                        text(given[1]),
                        given[2],
                        text(given[3])
                    );
                    return Err(ctx.fault(self, warp, Code::Trap, 1 << lane, text));
                }
            };
            let taken =
                said.map_err(|text| ctx.fault(self, warp, Code::Bounds, 1 << lane, text))?;
            if let Some(at) = call.result {
                warp.local[(at / 4) as usize].0[lane] = taken;
            }
        }
        let to = call.result.filter(|_| ctx.mask != 0);
        if let Some(at) = to {
            self.watch_passed(ctx, warp, at, 4);
        }
        Ok(())
    }

    /// Prints for a lane; what the call gives.
    fn print(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        lane: usize,
        given: &[u64],
    ) -> std::result::Result<u32, String> {
        if given[0] == 0 {
            return Ok(-1i32 as u32);
        }
        let format = self.string(ctx, warp, lane, given[0])?;
        let mut out = vec![];
        let mut from = Packed {
            team: self,
            ctx,
            warp,
            lane,
            at: given[1],
        };
        let taken = printf::print(&format, &mut from, &mut out)?;
        let room = MOST.saturating_sub(self.printed.len());
        self.printed.extend(out.iter().take(room));
        Ok(taken)
    }
}
