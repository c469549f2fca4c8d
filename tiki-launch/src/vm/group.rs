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
use super::options::Async;
use super::products::{From, Job};
use super::warp::{Frag, Warp};
use crate::vm::meaning::ask::Multiply;
use crate::vm::meaning::tensor::model;
use tiki_kernel::isa::Ty;
use tiki_kernel::isa::descriptor;

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descriptor {
    is: descriptor::Descriptor,
    /// The depth is strided rather than contiguous.
    transposed: bool,
}

impl Descriptor {
    fn read(bits: u64, transposed: bool) -> Descriptor {
        Descriptor {
            is: descriptor::Descriptor::read(bits),
            transposed,
        }
    }
    /// Number of the swizzle among those of tensor maps.
    pub(super) fn spread(&self) -> u8 {
        self.is.width.trailing_zeros() as u8 - 4
    }
    /// The depth is strided rather than contiguous.
    pub(super) fn transposed(&self) -> bool {
        self.transposed
    }
    /// Byte of an element.
    pub(super) fn at(&self, mn: u64, k: u64, size: u64) -> u64 {
        let descriptor::Descriptor {
            start,
            leading,
            stride,
            width: w,
        } = self.is;
        let per = 16 / size;
        let off = match (self.transposed, w) {
            (false, 16) => {
                (mn % 8) * 16 + (mn / 8) * stride + (k / per) * leading + (k % per) * size
            }
            (false, _) => (mn % 8) * w + (mn / 8) * stride + k * size,
            (true, 16) => {
                (mn % per) * size + (mn / per) * stride + (k % 8) * 16 + (k / 8) * leading
            }
            (true, _) => {
                (mn * size) % w + (mn * size / w) * leading + (k % 8) * w + (k / 8) * stride
            }
        };
        let at = start + off;
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
        self.watch_multiply(ctx, warp, x, issued.a.as_ref(), &issued.b, cur.pc);
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

    /// Elements of a matrix of shared memory, row by row. They lie in pieces of 16 bytes that no swizzle
    /// breaks up.
    #[allow(clippy::too_many_arguments)]
    fn fetch_matrix(
        &self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        d: &Descriptor,
        t: Ty,
        (first, rows, depth): (usize, usize, usize),
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let size = u64::from(t.bits() / 8);
        let per = 16 / size as usize;
        let shared = &self.blocks[ctx.b].shared;
        out.resize(rows * depth, 0);
        let (across, along) = if d.transposed {
            (rows / per, depth)
        } else {
            (rows, depth / per)
        };
        for i in 0..across {
            for j in 0..along {
                let (row, k) = if d.transposed {
                    (i * per, j)
                } else {
                    (i, j * per)
                };
                let at = d.at((first + row) as u64, k as u64, size);
                let (_, at) = self.shared_at(ctx, warp, at, 16, 0)?;
                if !shared.known(at, 16) {
                    let text = format!(
                        "the descriptor's element ({}, {k}) lies at shared byte {at}, and of the 16 bytes there \
                         something was not written",
                        first + row
                    );
                    return Err(ctx.fault(self, warp, Code::Undefined, u32::MAX, text));
                }
                let step = if d.transposed { depth } else { 1 };
                let words = &shared.words[at / 4..at / 4 + 4];
                for e in 0..per {
                    let word = words[e * size as usize / 4];
                    let bits = word >> (8 * (e * size as usize % 4));
                    out[row * depth + k + e * step] = bits & (u32::MAX >> (32 - t.bits()));
                }
            }
        }
        Ok(())
    }

    fn group_now(&mut self, ctx: &Ctx<'_, '_>, warp: &mut Warp, i: &Issued) -> Result<()> {
        let x = &i.shape;
        let (n, k) = (x.n as usize, x.k as usize);
        let mut products = std::mem::take(&mut self.products);
        let mut fetched = Ok(());
        if let Some(d) = &i.a {
            let first = 16 * (warp.index as usize % 4);
            fetched = self.fetch_matrix(ctx, warp, d, x.a, (first, 16, k), &mut products.a_bits);
        }
        if fetched.is_ok() {
            fetched = self.fetch_matrix(ctx, warp, &i.b, x.b, (0, n, k), &mut products.b_bits);
        }
        if fetched.is_ok() {
            let list = &ctx.step.args.list[ctx.step.args.s[0] as usize..];
            let planes = if x.sums == Ty::F16 { n / 4 } else { n / 2 };
            let job = Job {
                shape: *x,
                model: model(ctx.env.options.tensor_cores, x.a, true),
                a: match i.a {
                    Some(_) => From::Bits,
                    None => From::Planes(&ctx.step.args.list[ctx.step.args.s[1] as usize..][..4]),
                },
                b: From::Bits,
                c: &list[..planes],
                d: &list[..planes],
                accumulate: i.accumulate,
                negate: i.negate,
            };
            ctx.env
                .level
                .products(&mut products, &job, &mut warp.file.words);
        }
        self.products = products;
        fetched
    }
}
