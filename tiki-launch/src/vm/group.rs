//! A warpgroup's multiplies.
//!
//! A multiply of a warpgroup falls into four of a warp: each has 16 rows of A and of D of its own and all
//! of B. Operands in shared memory lie behind a descriptor: with W the bytes of the swizzle,
//!
//! ```text
//! depth contiguous, W     (mn % 8) W + (mn / 8) stride + k size
//! depth contiguous, none  (mn % 8) 16 + (mn / 8) stride + (k / T) leading + (k % T) size         T = 16 / size
//! depth strided, W        (mn size) % W + (mn size / W) leading + (k % 8) W + (k / 8) stride
//! depth strided, none     (mn % T) size + (mn / T) stride + (k % 8) 16 + (k / 8) leading
//! ```
//!
//! from the start address on; then bits 7 and up of the address are XORed into bits 4 to 6.
//!
//! Late, a multiply happens at the wait that needs it: it reads shared memory and registers then.

use super::block::Team;
use super::exec::{After, Ctx, Result};
use super::fault::Code;
use super::matrix::{GENERATION, dot_int, per_word, place_a};
use super::options::Async;
use super::warp::{Frag, Warp};
use tiki_kernel::isa::Ty;
use tiki_kernel::isa::meaning::LANES;
use tiki_kernel::isa::meaning::ask::Multiply;
use tiki_kernel::isa::meaning::tensor::{Num, dot_f16, dot_f32, model, take_apart};

/// A multiply, issued.
#[derive(Debug, Clone)]
pub(super) struct Issued {
    shape: Multiply,
    /// Step that issued it.
    pc: u32,
    /// Descriptor of A, unless A is in registers.
    a: Option<Descriptor>,
    b: Descriptor,
    accumulate: bool,
    negate: bool,
}

#[derive(Debug, Clone, Copy)]
struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    /// Bytes of the swizzle, 16 for none.
    width: u64,
    /// The depth is strided rather than contiguous.
    transposed: bool,
}

impl Descriptor {
    fn read(bits: u64, transposed: bool) -> Descriptor {
        let field = |at: u32| (bits >> at & 0x3fff) << 4;
        let width = [16, 128, 64, 32][(bits >> 62) as usize];
        Descriptor {
            start: field(0),
            leading: field(16),
            stride: field(32),
            width,
            transposed,
        }
    }
    /// Byte of an element.
    fn at(&self, mn: u64, k: u64, size: u64) -> u64 {
        let (w, per) = (self.width, 16 / size);
        let off = match (self.transposed, w) {
            (false, 16) => {
                (mn % 8) * 16 + (mn / 8) * self.stride + (k / per) * self.leading + (k % per) * size
            }
            (false, _) => (mn % 8) * w + (mn / 8) * self.stride + k * size,
            (true, 16) => {
                (mn % per) * size + (mn / per) * self.stride + (k % 8) * 16 + (k / 8) * self.leading
            }
            (true, _) => {
                (mn * size) % w
                    + (mn * size / w) * self.leading
                    + (k % 8) * w
                    + (k / 8) * self.stride
            }
        };
        let at = self.start + off;
        at ^ (((at >> 7) & (w / 16 - 1)) << 4)
    }
}

impl Team {
    pub(super) fn group_multiply(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &mut Warp,
        cur: &mut Frag,
        x: &Multiply,
        registers: bool,
    ) -> Result<After> {
        if cur.mask != u32::MAX || ctx.mask != u32::MAX {
            return Err(ctx.fault(
                self,
                warp,
                Code::Mask,
                !ctx.mask,
                "an instruction of a whole warp is executed by a part of it",
            ));
        }
        if self.blocks[ctx.b].warps.len() < (warp.index as usize / 4 + 1) * 4 {
            return Err(ctx.fault(
                self,
                warp,
                Code::Warpgroup,
                ctx.mask,
                "the block has no whole warpgroup here",
            ));
        }
        let wide = |slot: u32| {
            let s = slot as usize;
            u64::from(warp.file.words[s].0[0]) | u64::from(warp.file.words[s + 1].0[0]) << 32
        };
        let immediate = |k: usize| match ctx.step.args.s.get(k) {
            Some(s) if *s != super::program::ABSENT => warp.file.words[*s as usize].0[0],
            _ => 0,
        };
        let float = x.sums != Ty::S32;
        let two = x.a.bits() == 16;
        let (ta, tb) = match (two, registers) {
            (true, false) => (immediate(6) == 1, immediate(7) == 1),
            (true, true) => (false, immediate(6) == 1),
            _ => (false, false),
        };
        let issued = Issued {
            shape: *x,
            pc: cur.pc,
            a: (!registers).then(|| Descriptor::read(wide(ctx.slot(1)), ta)),
            b: Descriptor::read(wide(ctx.slot(2)), tb),
            accumulate: ctx.condition(warp, ctx.slot(3)) & 1 == 1,
            negate: float && (immediate(4) as i32) * (immediate(5) as i32) < 0,
        };
        match ctx.env.options.completion {
            Async::Eager => self.group_now(ctx, warp, &issued)?,
            _ => warp.transfers.multiplies.push(issued),
        }
        Ok(After::Next)
    }

    /// Closes the group of multiplies.
    pub(super) fn group_commit(&mut self, ctx: &Ctx<'_, '_>, warp: &mut Warp) {
        if ctx.env.options.completion != Async::Eager {
            let group = std::mem::take(&mut warp.transfers.multiplies);
            warp.transfers.groups.push_back(group);
        }
    }

    /// Completes all groups of multiplies but the newest.
    pub(super) fn group_wait(&mut self, ctx: &Ctx<'_, '_>, warp: &mut Warp) -> Result<()> {
        let keep = ctx.step.args.imm.max(0) as usize;
        while warp.transfers.groups.len() > keep {
            for issued in warp.transfers.groups.pop_front().unwrap_or_default() {
                let step = &ctx.env.kernel.code[issued.pc as usize];
                let at = Ctx {
                    env: ctx.env,
                    b: ctx.b,
                    step,
                    mask: ctx.mask,
                };
                self.group_now(&at, warp, &issued)?;
            }
        }
        Ok(())
    }

    /// A matrix of shared memory, taken apart: `rows` x `k` bits.
    #[allow(clippy::too_many_arguments)]
    fn fetch_matrix(
        &self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        d: &Descriptor,
        t: Ty,
        first: usize,
        rows: usize,
        k: usize,
    ) -> Result<Vec<u32>> {
        let size = u64::from(t.bits() / 8);
        let mut out = Vec::with_capacity(rows * k);
        for r in 0..rows {
            for c in 0..k {
                let at = d.at((first + r) as u64, c as u64, size);
                let (b, at) = self.shared_at(ctx, warp, at, size, 0)?;
                let shared = &self.blocks[b].shared;
                if !shared.known(at, size as usize) {
                    let text = format!(
                        "the descriptor's element ({}, {c}) lies at shared byte {at}, which nothing has written",
                        first + r
                    );
                    return Err(ctx.fault(self, warp, Code::Undefined, u32::MAX, text));
                }
                out.push(shared.load(at, size as usize) as u32);
            }
        }
        Ok(out)
    }

    fn group_now(&mut self, ctx: &Ctx<'_, '_>, warp: &mut Warp, i: &Issued) -> Result<()> {
        let x = &i.shape;
        let (n, k) = (x.n as usize, x.k as usize);
        let first = 16 * (warp.index as usize % 4);
        let a = match &i.a {
            Some(d) => self.fetch_matrix(ctx, warp, d, x.a, first, 16, k)?,
            None => {
                let mut a = vec![0; 16 * k];
                let per = per_word(x.a);
                for lane in 0..LANES {
                    for r in 0..4 {
                        let slot = ctx.step.args.list[ctx.step.args.s[1] as usize + r] as usize;
                        for e in 0..per {
                            let (row, col) = place_a(x.a, lane, r, e);
                            let word = warp.file.words[slot].0[lane];
                            let bits = x.a.bits();
                            a[row * k + col] = if bits == 32 {
                                word
                            } else {
                                word >> (bits * e as u32) & ((1 << bits) - 1)
                            };
                        }
                    }
                }
                a
            }
        };
        let b = self.fetch_matrix(ctx, warp, &i.b, x.b, 0, n, k)?;
        let list = &ctx.step.args.list[ctx.step.args.s[0] as usize..];
        if x.sums == Ty::S32 {
            for j in 0..n / 2 {
                let plane = &mut warp.file.words[list[j] as usize].0;
                for (lane, p) in plane.iter_mut().enumerate() {
                    let (row, col) = place_d(lane, j);
                    let c = if i.accumulate { *p as i32 } else { 0 };
                    *p = dot_int(x, &a[row * k..(row + 1) * k], &b[col * k..(col + 1) * k], c);
                }
            }
            return Ok(());
        }
        let sign = if i.negate { -1 } else { 1 };
        let an: Vec<Num> = a
            .iter()
            .map(|v| take_apart(x.a, *v))
            .map(|v| Num {
                sig: v.sig * sign,
                ..v
            })
            .collect();
        let bn: Vec<Num> = b.iter().map(|v| take_apart(x.b, *v)).collect();
        let md = model(GENERATION, x.a, true);
        for j in 0..n / 2 {
            for lane in 0..LANES {
                let (row, col) = place_d(lane, j);
                let (p, q) = (&an[row * k..(row + 1) * k], &bn[col * k..(col + 1) * k]);
                if x.sums == Ty::F16 {
                    let word = &mut warp.file.words[list[j / 2] as usize].0[lane];
                    let shift = 16 * (j % 2);
                    let c = if i.accumulate {
                        (*word >> shift) as u16
                    } else {
                        0
                    };
                    *word = (*word & !(0xffff << shift)) | u32::from(dot_f16(md, p, q, c)) << shift;
                } else {
                    let word = &mut warp.file.words[list[j] as usize].0[lane];
                    *word = dot_f32(md, p, q, if i.accumulate { *word } else { 0 });
                }
            }
        }
        Ok(())
    }
}

/// Row (of the warp's 16) and column of accumulator `i`.
fn place_d(lane: usize, i: usize) -> (usize, usize) {
    (
        lane / 4 + 8 * (i / 2 % 2),
        8 * (i / 4) + 2 * (lane % 4) + i % 2,
    )
}
