//! Loads, stores and atomics.
//!
//! Every access is held against its buffer and its alignment before a byte moves. Lanes that do not take
//! part get the address of one that does, so that the loops below need no tests.

use super::block::Team;
use super::exec::{Ctx, Result};
use super::fault::{Code, Fault};
use super::launch::Env;
use super::memory::{Buffer, split};
use super::planes::{Dest, narrow, word_of};
use super::program::{Address, Start};
use super::warp::Warp;
use crate::vm::meaning::ask::Access;
use crate::vm::meaning::moves::{OWN_RANK, RANK_SHIFT, locate};
use crate::vm::meaning::{LANES, put_plane};
use std::sync::atomic::Ordering::Relaxed;
use tiki_kernel::isa::Space;

pub(super) type Addresses = [u64; LANES];

/// Addresses of the lanes; lanes outside the mask get that of a lane inside.
pub(super) fn addresses(warp: &Warp, a: &Address, mask: u32) -> Addresses {
    let words = &warp.file.words;
    let mut out: Addresses = match a.start {
        Start::Fixed => [a.offset as u64; LANES],
        Start::Narrow(s) => words[s as usize]
            .0
            .map(|w| u64::from(w.wrapping_add(a.offset as u32))),
        Start::Wide(s) => {
            let (lo, hi) = (&words[s as usize].0, &words[s as usize + 1].0);
            std::array::from_fn(|i| {
                (u64::from(lo[i]) | u64::from(hi[i]) << 32).wrapping_add_signed(a.offset)
            })
        }
    };
    if mask != u32::MAX {
        let one = out[mask.trailing_zeros() as usize & 31];
        for (i, x) in out.iter_mut().enumerate() {
            if mask >> i & 1 == 0 {
                *x = one;
            }
        }
    }
    out
}

/// Lanes of a space: which of them lie there, and their addresses in it.
pub(super) struct Part {
    pub(super) space: Space,
    pub(super) mask: u32,
    pub(super) at: Addresses,
}

/// The one space of an access, unless its addresses are generic.
#[inline(always)]
fn fixed(space: Space, own: bool) -> Option<Space> {
    Some(match space {
        _ if own => Space::Local,
        Space::Generic => return None,
        Space::SharedCta | Space::SharedCluster => Space::Shared,
        Space::ParamEntry | Space::ParamFunc => Space::Param,
        s => s,
    })
}

/// Splits generic addresses by space; other accesses are one part.
pub(super) fn parts(
    space: Space,
    own: bool,
    mask: u32,
    at: Addresses,
) -> ([Option<Part>; 5], usize) {
    let mut out = [None, None, None, None, None];
    if let Some(space) = fixed(space, own) {
        out[0] = Some(Part { space, mask, at });
        return (out, 1);
    }
    let (mut n, mut left) = (0, mask);
    while left != 0 && n < 5 {
        let (space, _) = locate(at[left.trailing_zeros() as usize]);
        let mut part = Part {
            space,
            mask: 0,
            at: [0; LANES],
        };
        for i in 0..LANES {
            let (s, a) = locate(at[i]);
            if left >> i & 1 == 1 && s == space {
                part.mask |= 1 << i;
                part.at[i] = a;
            }
        }
        left &= !part.mask;
        let one = part.at[part.mask.trailing_zeros() as usize];
        for i in 0..LANES {
            if part.mask >> i & 1 == 0 {
                part.at[i] = one;
            }
        }
        out[n] = Some(part);
        n += 1;
    }
    (out, n)
}

/// Lanes whose address is no multiple of `to`.
fn misaligned(at: &Addresses, mask: u32, to: u64) -> u32 {
    let all = at.iter().fold(0, |a, x| a | x);
    if all & (to - 1) == 0 {
        return 0;
    }
    (0..LANES)
        .filter(|i| mask >> i & 1 == 1 && at[*i] & (to - 1) != 0)
        .fold(0, |m, i| m | 1 << i)
}

impl Team {
    pub(super) fn aligned(
        &self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        at: &Addresses,
        mask: u32,
        to: u64,
    ) -> Result<()> {
        let bad = misaligned(at, mask, to);
        if bad == 0 {
            return Ok(());
        }
        let x = at[bad.trailing_zeros() as usize];
        Err(ctx.fault(
            self,
            warp,
            Code::Alignment,
            bad,
            format!("address {x:#x} is not a multiple of {to}"),
        ))
    }

    /// The buffer that all lanes' addresses belong to, and the bytes in it.
    pub(super) fn global<'e>(
        &self,
        ctx: &Ctx<'_, 'e>,
        warp: &Warp,
        at: &Addresses,
        mask: u32,
        bytes: u64,
    ) -> Result<(&'e Buffer, [usize; LANES])> {
        let env: &Env<'e> = ctx.env;
        let (id, _) = split(at[mask.trailing_zeros() as usize]);
        let Some(Some(buffer)) = env.table.get(id) else {
            let x = at[mask.trailing_zeros() as usize];
            let text = if x == 0 {
                "a null address".to_string()
            } else {
                format!("address {x:#x} belongs to no buffer")
            };
            return Err(ctx.fault(self, warp, Code::Bounds, mask, text));
        };
        let base = at[0] & !(crate::vm::meaning::moves::GLOBAL - 1);
        let size = buffer.bytes.len() as u64;
        let mut worst = 0;
        for x in at {
            worst = worst.max(x.wrapping_sub(base));
        }
        if worst > size || worst + bytes > size {
            return Err(self.outside(ctx, warp, at, mask, bytes, env));
        }
        Ok((buffer, at.map(|x| (x - base) as usize)))
    }

    fn outside(
        &self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        at: &Addresses,
        mask: u32,
        bytes: u64,
        env: &Env<'_>,
    ) -> Box<Fault> {
        let bad = |i: &usize| {
            let (id, off) = split(at[*i]);
            let size = env
                .table
                .get(id)
                .and_then(|b| b.as_ref())
                .map_or(0, |b| b.bytes.len() as u64);
            mask >> i & 1 == 1 && off + bytes > size
        };
        let lanes = (0..LANES).filter(bad).fold(0, |m, i| m | 1u32 << i);
        let first = if lanes == 0 {
            mask.trailing_zeros()
        } else {
            lanes.trailing_zeros()
        } as usize;
        let (id, off) = split(at[first]);
        let buffer = env.table.get(id).and_then(|b| b.as_ref());
        let name = buffer.map_or("no buffer".into(), |b| format!("`{}`", b.name));
        let size = buffer.map_or(0, |b| b.bytes.len());
        let text = if lanes == 0 {
            "lanes access different buffers".to_string()
        } else {
            format!("bytes {off} to {} of {name}, which has {size}", off + bytes)
        };
        let mut f = ctx.fault(self, warp, Code::Bounds, lanes, text);
        f.buffer = buffer.map(|b| b.name.clone());
        f
    }

    /// Block of the cluster and byte of its shared memory of a shared address.
    pub(super) fn shared_at(
        &self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        x: u64,
        bytes: u64,
        lane: usize,
    ) -> Result<(usize, usize)> {
        let rank = (x >> RANK_SHIFT) as usize;
        let own = rank == 0 || rank == OWN_RANK as usize;
        let b = if own { ctx.b } else { rank - 1 };
        let at = x & ((1 << RANK_SHIFT) - 1);
        match self.blocks.get(b) {
            Some(block) if x >> 32 == 0 && at + bytes <= block.shared.len as u64 => {
                Ok((b, at as usize))
            }
            Some(block) if x >> 32 == 0 => {
                let text = format!(
                    "bytes {at} to {} of shared memory, which has {}",
                    at + bytes,
                    block.shared.len
                );
                Err(ctx.fault(self, warp, Code::Bounds, 1 << lane, text))
            }
            _ => Err(ctx.fault(
                self,
                warp,
                Code::Bounds,
                1 << lane,
                format!("shared address {x:#x} is of no block of the cluster"),
            )),
        }
    }

    /// All lanes in this block's own shared memory and in bounds: their bytes.
    fn shared_own(&self, ctx: &Ctx<'_, '_>, at: &Addresses, bytes: u64) -> Option<[u32; LANES]> {
        let worst = at.iter().fold(0, |a: u64, x| a.max(*x));
        (worst.saturating_add(bytes) <= self.blocks[ctx.b].shared.len as u64)
            .then(|| at.map(|x| x as u32))
    }

    pub(super) fn unwritten(
        &self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        lane: usize,
        at: usize,
    ) -> Box<Fault> {
        ctx.fault(
            self,
            warp,
            Code::Undefined,
            1 << lane,
            format!("reads shared byte {at}, which nothing has written"),
        )
    }

    pub(super) fn load(&mut self, ctx: &Ctx<'_, '_>, a: &Access, warp: &mut Warp) -> Result<()> {
        let address = &ctx.step.addresses[ctx.slot(a.addr) as usize];
        let at = addresses(warp, address, ctx.mask);
        if let Some(space) = fixed(a.space, address.own) {
            let part = Part {
                space,
                mask: ctx.mask,
                at,
            };
            return self.load_part(ctx, a, warp, &part, Dest::new(ctx, a));
        }
        let (list, n) = parts(a.space, address.own, ctx.mask, at);
        for part in list.iter().take(n).flatten() {
            self.load_part(ctx, a, warp, part, Dest::new(ctx, a))?;
        }
        Ok(())
    }

    /// A load of one value from given addresses into a plane.
    pub(super) fn load_at(
        &mut self,
        ctx: &Ctx<'_, '_>,
        a: &Access,
        warp: &mut Warp,
        at: &Addresses,
        slot: u32,
    ) -> Result<()> {
        self.watch_elements(ctx, warp, a, at, false);
        let (list, n) = parts(a.space, false, ctx.mask, *at);
        for part in list.iter().take(n).flatten() {
            self.load_part(ctx, a, warp, part, Dest { slot, list: None })?;
        }
        Ok(())
    }

    /// A store of one value of a plane to given addresses.
    pub(super) fn store_at(
        &mut self,
        ctx: &Ctx<'_, '_>,
        a: &Access,
        warp: &mut Warp,
        at: &Addresses,
        slot: u32,
    ) -> Result<()> {
        self.watch_elements(ctx, warp, a, at, true);
        let (list, n) = parts(a.space, false, ctx.mask, *at);
        for part in list.iter().take(n).flatten() {
            self.store_part(ctx, a, warp, part, Dest { slot, list: None })?;
        }
        Ok(())
    }

    fn load_part(
        &mut self,
        ctx: &Ctx<'_, '_>,
        a: &Access,
        warp: &mut Warp,
        p: &Part,
        dest: Dest<'_>,
    ) -> Result<()> {
        let total = a.bytes * a.count;
        self.aligned(ctx, warp, &p.at, p.mask, u64::from(total))?;
        match p.space {
            Space::Global => {
                let (buffer, off) = self.global(ctx, warp, &p.at, p.mask, u64::from(total))?;
                self.defined(ctx, warp, buffer, (&off, p.mask), total as usize)?;
                let words = buffer.bytes.words();
                dest.each(a, |slot, k| {
                    let mut out = [0; LANES];
                    for i in 0..LANES {
                        out[i] = words[(off[i] + k) / 4].load(Relaxed);
                    }
                    narrow(a, &mut out, |i| off[i] + k);
                    put_plane(&mut warp.file.words[slot as usize], &out, p.mask);
                });
            }
            Space::Shared => {
                if let Some(off) = self.shared_own(ctx, &p.at, u64::from(total)) {
                    let shared = &self.blocks[ctx.b].shared;
                    if !shared.written.is_empty() {
                        for i in 0..LANES {
                            if p.mask >> i & 1 == 1
                                && !shared.known(off[i] as usize, total as usize)
                            {
                                return Err(self.unwritten(ctx, warp, i, off[i] as usize));
                            }
                        }
                    }
                    dest.each(a, |slot, k| {
                        let mut out = [0; LANES];
                        for i in 0..LANES {
                            out[i] = shared.words[(off[i] as usize + k) / 4];
                        }
                        narrow(a, &mut out, |i| off[i] as usize + k);
                        put_plane(&mut warp.file.words[slot as usize], &out, p.mask);
                    });
                } else {
                    for i in (0..LANES).filter(|i| p.mask >> i & 1 == 1) {
                        let (b, at) = self.shared_at(ctx, warp, p.at[i], u64::from(total), i)?;
                        if !self.blocks[b].shared.known(at, total as usize) {
                            return Err(self.unwritten(ctx, warp, i, at));
                        }
                        let shared = &self.blocks[b].shared;
                        dest.each(a, |slot, k| {
                            let mut out = [0; LANES];
                            out[i] = shared.words[(at + k) / 4];
                            narrow(a, &mut out, |_| at + k);
                            warp.file.words[slot as usize].0[i] = out[i];
                        });
                    }
                }
            }
            Space::Local => {
                let off = self.own_range(ctx, warp, p, total)?;
                dest.each(a, |slot, k| {
                    let mut out = [0; LANES];
                    for i in 0..LANES {
                        out[i] = warp.local[(off[i] + k) / 4].0[i];
                    }
                    narrow(a, &mut out, |i| off[i] + k);
                    put_plane(&mut warp.file.words[slot as usize], &out, p.mask);
                });
            }
            _ => {
                let bytes: &[u8] = if p.space == Space::Const {
                    &ctx.env.program.consts
                } else {
                    &ctx.env.params
                };
                for i in 0..LANES {
                    if p.at[i].saturating_add(u64::from(total)) > bytes.len() as u64 {
                        let text = format!(
                            "bytes {} to {} of {}, which has {}",
                            p.at[i],
                            p.at[i].saturating_add(u64::from(total)),
                            p.space_name(),
                            bytes.len()
                        );
                        return Err(ctx.fault(self, warp, Code::Bounds, 1 << i, text));
                    }
                }
                dest.each(a, |slot, k| {
                    let mut out = [0; LANES];
                    for i in 0..LANES {
                        let at = (p.at[i] as usize + k) / 4 * 4;
                        out[i] = word_of(bytes, at);
                    }
                    narrow(a, &mut out, |i| p.at[i] as usize + k);
                    put_plane(&mut warp.file.words[slot as usize], &out, p.mask);
                });
            }
        }
        Ok(())
    }

    fn own_range(
        &self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        p: &Part,
        total: u32,
    ) -> Result<[usize; LANES]> {
        let size = warp.local.len() as u64 * 4;
        for i in 0..LANES {
            if p.at[i]
                .checked_add(u64::from(total))
                .is_none_or(|end| end > size)
            {
                let text = format!(
                    "bytes {} to {} of local memory, which has {size}",
                    p.at[i],
                    p.at[i].wrapping_add(u64::from(total))
                );
                return Err(ctx.fault(self, warp, Code::Bounds, 1 << i, text));
            }
        }
        Ok(p.at.map(|x| x as usize))
    }

    pub(super) fn store(&mut self, ctx: &Ctx<'_, '_>, a: &Access, warp: &mut Warp) -> Result<()> {
        let address = &ctx.step.addresses[ctx.slot(a.addr) as usize];
        let at = addresses(warp, address, ctx.mask);
        if let Some(space) = fixed(a.space, address.own) {
            let part = Part {
                space,
                mask: ctx.mask,
                at,
            };
            return self.store_part(ctx, a, warp, &part, Dest::new(ctx, a));
        }
        let (list, n) = parts(a.space, address.own, ctx.mask, at);
        for part in list.iter().take(n).flatten() {
            self.store_part(ctx, a, warp, part, Dest::new(ctx, a))?;
        }
        Ok(())
    }

    fn store_part(
        &mut self,
        ctx: &Ctx<'_, '_>,
        a: &Access,
        warp: &mut Warp,
        p: &Part,
        source: Dest<'_>,
    ) -> Result<()> {
        let total = a.bytes * a.count;
        self.aligned(ctx, warp, &p.at, p.mask, u64::from(total))?;
        let lanes = || (0..LANES).filter(|i| p.mask >> i & 1 == 1);
        match p.space {
            Space::Global => {
                let (buffer, off) = self.global(ctx, warp, &p.at, p.mask, u64::from(total))?;
                if buffer.written.is_some() {
                    lanes().for_each(|i| buffer.mark(off[i], total as usize));
                }
                let words = buffer.bytes.words();
                source.each(a, |slot, k| {
                    let from = &warp.file.words[slot as usize].0;
                    if a.bytes < 4 {
                        for i in lanes() {
                            buffer
                                .bytes
                                .store(off[i] + k, a.bytes as usize, u64::from(from[i]));
                        }
                    } else if p.mask == u32::MAX {
                        for i in 0..LANES {
                            words[(off[i] + k) / 4].store(from[i], Relaxed);
                        }
                    } else {
                        for i in lanes() {
                            words[(off[i] + k) / 4].store(from[i], Relaxed);
                        }
                    }
                });
            }
            Space::Shared => {
                if let Some(off) = self.shared_own(ctx, &p.at, u64::from(total)) {
                    let shared = &mut self.blocks[ctx.b].shared;
                    source.each(a, |slot, k| {
                        let from = &warp.file.words[slot as usize].0;
                        if a.bytes < 4 || !shared.written.is_empty() {
                            let size = a.bytes.min(4) as usize;
                            for i in lanes() {
                                shared.store(off[i] as usize + k, size, u64::from(from[i]));
                            }
                        } else {
                            for i in lanes() {
                                shared.words[(off[i] as usize + k) / 4] = from[i];
                            }
                        }
                    });
                } else {
                    for i in lanes() {
                        let (b, at) = self.shared_at(ctx, warp, p.at[i], u64::from(total), i)?;
                        let size = a.bytes.min(4) as usize;
                        let shared = &mut self.blocks[b].shared;
                        source.each(a, |slot, k| {
                            shared.store(
                                at + k,
                                size,
                                u64::from(warp.file.words[slot as usize].0[i]),
                            )
                        });
                    }
                }
            }
            Space::Local => {
                let off = self.own_range(ctx, warp, p, total)?;
                let Warp { file, local, .. } = warp;
                source.each(a, |slot, k| {
                    let from = &file.words[slot as usize].0;
                    for i in lanes() {
                        if a.bytes >= 4 {
                            local[(off[i] + k) / 4].0[i] = from[i];
                        } else {
                            let at = off[i] + k;
                            let shift = 8 * (at & 3);
                            let ones = if a.bytes == 2 { 0xffffu32 } else { 0xff };
                            let w = &mut local[at / 4].0[i];
                            *w = (*w & !(ones << shift)) | ((from[i] & ones) << shift);
                        }
                    }
                });
            }
            _ => {
                let text = format!("writes {}", p.space_name());
                return Err(ctx.fault(self, warp, Code::Bounds, p.mask, text));
            }
        }
        Ok(())
    }
}

impl Part {
    pub(super) fn space_name(&self) -> &'static str {
        match self.space {
            Space::Const => "constant memory",
            Space::Param => "the parameters",
            Space::Local => "local memory",
            Space::Shared => "shared memory",
            _ => "global memory",
        }
    }
}
