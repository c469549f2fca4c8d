//! What the lanes of a warp tell one another: shuffles, votes and matches.

use super::block::Team;
use super::exec::{Ctx, Result, member_mask};
use super::fault::Code;
use super::warp::Warp;
use crate::vm::meaning::{LANES, put_plane};
use tiki_kernel::isa::{Shfl, Vote};

pub(super) fn shuffle(team: &Team, ctx: &Ctx<'_, '_>, warp: &mut Warp, mode: Shfl) -> Result<()> {
    let words = &warp.file.words;
    let (a, bb, cc) = (
        words[ctx.slot(1) as usize].0,
        words[ctx.slot(2) as usize].0,
        words[ctx.slot(3) as usize].0,
    );
    let mut out = [0; LANES];
    let (mut inside, mut strangers) = (0u32, 0u32);
    for lane in 0..LANES as u32 {
        let (b, c) = (bb[lane as usize] & 31, cc[lane as usize]);
        let (segment, clamp) = (c >> 8 & 31, c & 31);
        let (low, high) = (lane & segment, (lane & segment) | (clamp & !segment));
        let (j, ok) = match mode {
            Shfl::Up => {
                let j = lane as i32 - b as i32;
                (j as u32, j >= high as i32)
            }
            Shfl::Down => (lane + b, lane + b <= high),
            Shfl::Bfly => (lane ^ b, lane ^ b <= high),
            Shfl::Idx => {
                let j = low | (b & !segment);
                (j, j <= high)
            }
        };
        let j = if ok { j & 31 } else { lane };
        out[lane as usize] = a[j as usize];
        inside |= u32::from(ok) << lane;
        if ctx.mask >> j & 1 == 0 {
            strangers |= 1 << lane;
        }
    }
    if ctx.env.options.checks == super::Checks::All && strangers & ctx.mask != 0 {
        return Err(ctx.fault(
            team,
            warp,
            Code::Mask,
            strangers & ctx.mask,
            "reads a lane that does not take part",
        ));
    }
    put_plane(&mut warp.file.words[ctx.slot(0) as usize], &out, ctx.mask);
    let p = &mut warp.file.preds[ctx.step.args.pair as usize];
    *p = (inside & ctx.mask) | (*p & !ctx.mask);
    Ok(())
}

pub(super) fn vote(ctx: &Ctx<'_, '_>, warp: &mut Warp, mode: Vote) {
    let lanes = ctx.mask & member_mask(ctx, warp, 2);
    let yes = ctx.condition(warp, ctx.slot(1)) & lanes;
    let answer = match mode {
        Vote::Ballot => {
            put_plane(
                &mut warp.file.words[ctx.slot(0) as usize],
                &[yes; LANES],
                ctx.mask,
            );
            return;
        }
        Vote::All => yes == lanes,
        Vote::Any => yes != 0,
        Vote::Uni => yes == lanes || yes == 0,
    };
    let p = &mut warp.file.preds[ctx.slot(0) as usize];
    *p = (if answer { ctx.mask } else { 0 }) | (*p & !ctx.mask);
}

pub(super) fn matching(ctx: &Ctx<'_, '_>, warp: &mut Warp, all: bool, wide: bool) {
    let lanes = ctx.mask & member_mask(ctx, warp, 2);
    let slot = ctx.slot(1) as usize;
    let value = |i: usize| {
        u64::from(warp.file.words[slot].0[i])
            | if wide {
                u64::from(warp.file.words[slot + 1].0[i]) << 32
            } else {
                0
            }
    };
    let mut out = [0; LANES];
    for (i, o) in out.iter_mut().enumerate() {
        *o = (0..LANES)
            .filter(|j| lanes >> j & 1 == 1 && value(*j) == value(i))
            .fold(0, |m, j| m | 1 << j);
    }
    let mut same = 0;
    if all {
        let agreed = (0..LANES)
            .filter(|i| lanes >> i & 1 == 1)
            .all(|i| out[i] == lanes);
        out = [if agreed { lanes } else { 0 }; LANES];
        same = if agreed { u32::MAX } else { 0 };
    }
    put_plane(&mut warp.file.words[ctx.slot(0) as usize], &out, ctx.mask);
    let p = &mut warp.file.preds[ctx.step.args.pair as usize];
    *p = (same & ctx.mask) | (*p & !ctx.mask);
}
