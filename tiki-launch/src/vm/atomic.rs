//! Atomics: lane by lane, in the order of their numbers.

use super::access::{addresses, parts};
use super::block::Team;
use super::exec::{Ctx, Result};
use super::fault::Code;
use super::warp::Warp;
use tiki_kernel::isa::Space;
use tiki_kernel::isa::meaning::LANES;
use tiki_kernel::isa::meaning::ask::Atomic;

impl Team {
    pub(super) fn atomic(&mut self, ctx: &Ctx<'_, '_>, a: &Atomic, warp: &mut Warp) -> Result<()> {
        let address = &ctx.step.addresses[ctx.slot(a.addr) as usize];
        let at = addresses(warp, address, ctx.mask);
        let (list, n) = parts(a.space, address.own, ctx.mask, at);
        for p in list.iter().take(n).flatten() {
            self.aligned(ctx, warp, &p.at, p.mask, u64::from(a.bytes * a.count))?;
            let global = match p.space {
                Space::Global => {
                    Some(self.global(ctx, warp, &p.at, p.mask, u64::from(a.bytes * a.count))?)
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
            for i in (0..LANES).filter(|i| p.mask >> i & 1 == 1) {
                let place = match global {
                    Some(_) => (0, 0),
                    None => self.shared_at(ctx, warp, p.at[i], u64::from(a.bytes * a.count), i)?,
                };
                for k in 0..a.count as usize {
                    let value = |at: u8| read_value(ctx, warp, at, a.count, k, size, i);
                    let b = value(a.value);
                    let change = |old: u64| match a.cas {
                        Some(c) => (old == b).then(|| value(c)),
                        None if global.is_some() => Some((a.apply_global)(old, b)),
                        None => Some((a.apply)(old, b)),
                    };
                    let ones = if size == 8 {
                        u64::MAX
                    } else {
                        (1 << (8 * size)) - 1
                    };
                    let old = match &global {
                        Some((buffer, off)) => {
                            let at = off[i] + k * size;
                            if !ctx.env.kernel.communicates {
                                // Other blocks may be at it: they run on other threads.
                                buffer.bytes.change(at, |old| (a.apply_global)(old, b));
                                continue;
                            }
                            let old = buffer.bytes.load(at, size);
                            if let Some(new) = change(old) {
                                buffer.bytes.store(at, size, new & ones);
                            }
                            old
                        }
                        None => {
                            let shared = &mut self.blocks[place.0].shared;
                            let at = place.1 + k * size;
                            if !shared.known(at, size) {
                                return Err(self.unwritten(ctx, warp, i, at));
                            }
                            let old = shared.load(at, size);
                            if let Some(new) = change(old) {
                                shared.store(at, size, new & ones);
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
) -> u64 {
    let slot = slot_of(ctx, at, count, k);
    let low = u64::from(warp.file.words[slot].0[lane]);
    match size {
        8 => low | u64::from(warp.file.words[slot + 1].0[lane]) << 32,
        4 => low,
        n => low & ((1 << (8 * n)) - 1),
    }
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
    v: u64,
) {
    let slot = slot_of(ctx, at, count, k);
    warp.file.words[slot].0[lane] = v as u32;
    if size == 8 {
        warp.file.words[slot + 1].0[lane] = (v >> 32) as u32;
    }
}
