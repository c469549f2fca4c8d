//! A warp's matrices: 8 x 8 tiles of 16-bit elements, and multiplies.
//!
//! With `g` = lane / 4 and `t` = lane % 4: a tile's register holds row `g`, columns `2t` and `2t + 1`.
//! Fragments of a multiply: see [`place_a`], [`place_b`] and [`place_c`].

use super::access::addresses;
use super::block::Team;
use super::exec::{Ctx, Result};
use super::fault::Code;
use super::products::{From, Job, Products};
use super::warp::Warp;
use crate::vm::meaning::LANES;
use crate::vm::meaning::ask::Multiply;
use crate::vm::meaning::tensor::model;
use tiki_kernel::isa::Ty;

impl Team {
    /// Block and byte of each row of the matrices of a matrix load or store.
    fn matrix_rows(
        &self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        num: u32,
    ) -> Result<[(usize, usize); LANES]> {
        let at = addresses(warp, &ctx.step.addresses[0], u32::MAX);
        let lanes = if num == 4 {
            u32::MAX
        } else {
            (1 << (8 * num)) - 1
        };
        let mut used = at;
        used.iter_mut()
            .enumerate()
            .for_each(|(i, x)| *x = if lanes >> i & 1 == 1 { *x } else { at[0] });
        self.aligned(ctx, warp, &used, lanes, 16)?;
        let mut rows = [(0, 0); LANES];
        for (i, row) in rows.iter_mut().enumerate().take(8 * num as usize) {
            *row = self.shared_at(ctx, warp, at[i], 16, i)?;
        }
        Ok(rows)
    }

    pub(super) fn matrix_load(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &mut Warp,
        num: u32,
        trans: bool,
    ) -> Result<()> {
        let rows = self.matrix_rows(ctx, warp, num)?;
        for (i, (b, at)) in rows.iter().enumerate().take(8 * num as usize) {
            if !self.blocks[*b].shared.known(*at, 16) {
                return Err(ctx.fault(
                    self,
                    warp,
                    Code::Undefined,
                    1 << i,
                    format!(
                        "reads shared bytes {at} to {}, not all of which were written",
                        at + 16
                    ),
                ));
            }
        }
        for m in 0..num as usize {
            let slot = ctx.step.args.list[ctx.step.args.s[0] as usize + m] as usize;
            for lane in 0..LANES {
                let (g, t) = (lane / 4, lane % 4);
                let half = |row: usize| {
                    let (b, at) = rows[8 * m + row];
                    self.blocks[b].shared.load(at + 2 * g, 2) as u32
                };
                warp.file.words[slot].0[lane] = if trans {
                    half(2 * t) | half(2 * t + 1) << 16
                } else {
                    let (b, at) = rows[8 * m + g];
                    self.blocks[b].shared.words[at / 4 + t]
                };
            }
        }
        Ok(())
    }

    pub(super) fn matrix_store(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &mut Warp,
        num: u32,
        trans: bool,
    ) -> Result<()> {
        let rows = self.matrix_rows(ctx, warp, num)?;
        for m in 0..num as usize {
            let slot = ctx.step.args.list[ctx.step.args.s[1] as usize + m] as usize;
            for lane in 0..LANES {
                let (g, t) = (lane / 4, lane % 4);
                let word = warp.file.words[slot].0[lane];
                for h in 0..2 {
                    let (row, col) = if trans {
                        (2 * t + h, g)
                    } else {
                        (g, 2 * t + h)
                    };
                    let (b, at) = rows[8 * m + row];
                    self.blocks[b].shared.store(
                        at + 2 * col,
                        2,
                        u64::from(word >> (16 * h) & 0xffff),
                    );
                }
            }
        }
        Ok(())
    }
}

/// `movmatrix`: the transpose of a tile.
pub(super) fn transpose(ctx: &Ctx<'_, '_>, warp: &mut Warp) {
    let from = warp.file.words[ctx.slot(1) as usize].0;
    let element = |row: usize, col: usize| from[4 * row + col / 2] >> (16 * (col % 2)) & 0xffff;
    let out = std::array::from_fn(|lane| {
        let (g, t) = (lane / 4, lane % 4);
        element(2 * t, g) | element(2 * t + 1, g) << 16
    });
    warp.file.words[ctx.slot(0) as usize].0 = out;
}

/// Elements of a 32-bit register of a type.
pub(super) fn per_word(t: Ty) -> usize {
    (32 / t.bits().max(8)) as usize
}

/// Row and column of element `e` of register `r` of A: registers go down by 8 rows, then right.
pub(super) fn place_a(t: Ty, lane: usize, r: usize, e: usize) -> (usize, usize) {
    let (g, q, per) = (lane / 4, lane % 4, per_word(t));
    (g + 8 * (r % 2), per * q + e + 4 * per * (r / 2))
}
/// Depth and column of element `e` of register `r` of B.
pub(super) fn place_b(t: Ty, lane: usize, r: usize, e: usize) -> (usize, usize) {
    let (g, q, per) = (lane / 4, lane % 4, per_word(t));
    (per * q + e + 4 * per * r, g)
}
/// Row and column of accumulator `i`.
pub(super) fn place_c(lane: usize, i: usize) -> (usize, usize) {
    (lane / 4 + 8 * (i / 2 % 2), 2 * (lane % 4) + i % 2)
}

/// Element `e` of a word.
pub(super) fn element(t: Ty, word: u32, e: usize) -> u32 {
    match t.bits() {
        32 => word,
        16 => word >> (16 * e) & 0xffff,
        _ => word >> (8 * e) & 0xff,
    }
}

/// Planes of an operand in braces, or the first plane of one without.
fn plane(ctx: &Ctx<'_, '_>, at: usize, k: usize) -> usize {
    let args = &ctx.step.args;
    let s = args.s[at] as usize;
    if args.list.is_empty() {
        s
    } else {
        args.list[s + k] as usize
    }
}

/// `mma.sync`.
pub(super) fn multiply(products: &mut Products, ctx: &Ctx<'_, '_>, warp: &mut Warp, x: &Multiply) {
    if x.a == Ty::F64 {
        return multiply_f64(ctx, warp);
    }
    let (m, n, k) = (x.m as usize, x.n as usize, x.k as usize);
    let regs_a = m * k / (LANES * per_word(x.a));
    let regs_b = (k * n / (LANES * per_word(x.b))).max(1);
    let regs_c = if x.sums == Ty::F16 { 2 } else { 4 };
    let args = &ctx.step.args;
    let list = |at: usize, count: usize| {
        let first = args.s[at] as usize;
        &args.list[first..first + count]
    };
    // B of one register may stand without braces.
    let plain_b = [args.s[2]];
    let b = if regs_b == 1 && args.list.len() == regs_a + 2 * regs_c {
        &plain_b
    } else {
        list(2, regs_b)
    };
    let job = Job {
        shape: *x,
        model: model(ctx.env.options.tensor_cores, x.a, false),
        a: From::Planes(list(1, regs_a)),
        b: From::Planes(b),
        c: list(3, regs_c),
        d: list(0, regs_c),
        accumulate: true,
        negate: false,
    };
    ctx.env.level.products(products, &job, &mut warp.file.words);
}

/// 8 x 8 x 4 in f64: a chain of fused multiply-adds along the depth.
fn multiply_f64(ctx: &Ctx<'_, '_>, warp: &mut Warp) {
    let read = |warp: &Warp, slot: usize, lane: usize| {
        f64::from_bits(
            u64::from(warp.file.words[slot].0[lane])
                | u64::from(warp.file.words[slot + 1].0[lane]) << 32,
        )
    };
    let (a, b) = (plane(ctx, 1, 0), plane(ctx, 2, 0));
    let (d, c) = (
        [0, 1].map(|k| plane(ctx, 0, k)),
        [0, 1].map(|k| plane(ctx, 3, k)),
    );
    let mut out = [[0f64; LANES]; 2];
    for lane in 0..LANES {
        let (g, t) = (lane / 4, lane % 4);
        for (i, o) in out.iter_mut().enumerate() {
            let col = 2 * t + i;
            let start = read(warp, c[i], lane);
            o[lane] = (0..4).fold(start, |s, k| {
                read(warp, a, 4 * g + k).mul_add(read(warp, b, 4 * col + k), s)
            });
        }
    }
    for (i, o) in out.iter().enumerate() {
        for (lane, v) in o.iter().enumerate() {
            let bits = if v.is_nan() {
                0x7ff8_0000_0000_0000
            } else {
                v.to_bits()
            };
            warp.file.words[d[i]].0[lane] = bits as u32;
            warp.file.words[d[i] + 1].0[lane] = (bits >> 32) as u32;
        }
    }
}
