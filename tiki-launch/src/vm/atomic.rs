//! Atomics: lane by lane, in the order of their numbers.

use super::access::{addresses, parts};
use super::block::Team;
use super::exec::{Ctx, Result};
use super::fault::Code;
use super::warp::Warp;
use crate::vm::meaning::LANES;
use crate::vm::meaning::ask::Atomic;
use tiki_kernel::isa::Space;

impl Team {
    pub(super) fn atomic(&mut self, ctx: &Ctx<'_, '_>, a: &Atomic, warp: &mut Warp) -> Result<()> {
        let address = &ctx.step.addresses[ctx.slot(a.addr) as usize];
        let at = addresses(warp, address, ctx.mask);
        let (list, n) = parts(a.space, address.own, ctx.mask, at);
        for p in list.iter().take(n).flatten() {
            self.aligned(ctx, warp, &p.at, p.mask, u64::from(a.bytes * a.count))?;
            let global = match p.space {
                Space::Global => {
                    let bytes = u64::from(a.bytes * a.count);
                    let (buffer, off) = self.global(ctx, warp, &p.at, p.mask, bytes)?;
                    self.defined(ctx, warp, buffer, (&off, p.mask), bytes as usize)?;
                    Some((buffer, off))
                }
                Space::Shared => None,
                _ => {
                    return Err(ctx.fault(
                        self,
                        warp,
                        Code::Bounds,
                        p.mask,
                        format!("an atomic on {}", p.space_name()),
                    ));
                }
            };
            let size = a.bytes as usize;
            let ones = u128::MAX >> (128 - 8 * size);
            for i in (0..LANES).filter(|i| p.mask >> i & 1 == 1) {
                let place = match global {
                    Some(_) => (0, 0),
                    None => self.shared_at(ctx, warp, p.at[i], u64::from(a.bytes * a.count), i)?,
                };
                for k in 0..a.count as usize {
                    let value = |at: u8| read_value(ctx, warp, at, a.count, k, size, i);
                    let b = value(a.value);
                    let change = |old: u128| match a.cas {
                        Some(c) => (old == b).then(|| value(c)),
                        // The only other one of 16 bytes puts its operand there.
                        None if size > 8 => Some(b),
                        None if global.is_some() => {
                            Some(u128::from((a.apply_global)(old as u64, b as u64)))
                        }
                        None => Some(u128::from((a.apply)(old as u64, b as u64))),
                    };
                    let old = match &global {
                        Some((buffer, off)) => {
                            let at = off[i] + k * size;
                            if !ctx.env.kernel.communicates {
                                // Other blocks may be at it: they run on other threads.
                                let b = b as u64;
                                buffer.bytes.change(at, |old| (a.apply_global)(old, b));
                                continue;
                            }
                            let old = halves(size, |k, n| buffer.bytes.load(at + k, n));
                            if let Some(new) = change(old) {
                                for (k, n, v) in pieces(size, new & ones) {
                                    buffer.bytes.store(at + k, n, v);
                                }
                            }
                            old
                        }
                        None => {
                            let shared = &mut self.blocks[place.0].shared;
                            let at = place.1 + k * size;
                            if !shared.known(at, size) {
                                return Err(self.unwritten(ctx, warp, i, at));
                            }
                            let old = halves(size, |k, n| shared.load(at + k, n));
                            if let Some(new) = change(old) {
                                for (k, n, v) in pieces(size, new & ones) {
                                    shared.store(at + k, n, v);
                                }
                            }
                            old
                        }
                    };
                    if let Some(d) = a.old {
                        write_value(ctx, warp, d, a.count, k, size, i, old);
                    }
                }
            }
        }
        Ok(())
    }
}

/// A value of up to 16 bytes out of loads of up to 8: of the byte behind the first, and how many.
fn halves(size: usize, load: impl Fn(usize, usize) -> u64) -> u128 {
    match size {
        16 => u128::from(load(0, 8)) | u128::from(load(8, 8)) << 64,
        n => u128::from(load(0, n)),
    }
}
/// The same taken apart: byte, bytes and value.
fn pieces(size: usize, v: u128) -> impl Iterator<Item = (usize, usize, u64)> {
    (0..size.div_ceil(8)).map(move |k| (8 * k, size.min(8), (v >> (64 * k)) as u64))
}

fn slot_of(ctx: &Ctx<'_, '_>, at: u8, count: u32, k: usize) -> usize {
    let s = ctx.slot(at) as usize;
    if count > 1 {
        ctx.step.args.list[s + k] as usize
    } else {
        s
    }
}
fn read_value(
    ctx: &Ctx<'_, '_>,
    warp: &Warp,
    at: u8,
    count: u32,
    k: usize,
    size: usize,
    lane: usize,
) -> u128 {
    let slot = slot_of(ctx, at, count, k);
    let word = |j: usize| u128::from(warp.file.words[slot + j].0[lane]) << (32 * j);
    let all = (0..size.div_ceil(4)).fold(0, |v, j| v | word(j));
    all & u128::MAX >> (128 - 8 * size)
}
#[allow(clippy::too_many_arguments)]
fn write_value(
    ctx: &Ctx<'_, '_>,
    warp: &mut Warp,
    at: u8,
    count: u32,
    k: usize,
    size: usize,
    lane: usize,
    v: u128,
) {
    let slot = slot_of(ctx, at, count, k);
    for j in 0..size.div_ceil(4) {
        warp.file.words[slot + j].0[lane] = (v >> (32 * j)) as u32;
    }
}
