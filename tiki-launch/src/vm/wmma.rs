//! The older warp-wide matrix interface: fragments whose layout is the implementation's own.
//!
//! Ours: a 16-bit fragment's register `r` of a lane holds elements `2 (8 lane + r)` and the next of the
//! matrix in row order (16 elements a lane: half a row); an accumulator's holds element `8 lane + r`.

use super::access::addresses;
use super::block::Team;
use super::exec::{Ctx, Result};
use super::program::ABSENT;
use super::warp::Warp;
use crate::vm::meaning::LANES;
use crate::vm::meaning::ask::Access;
use crate::vm::meaning::tensor::{Num, dot_f32, model, take_apart};
use tiki_kernel::isa::{Space, Ty};

type Shape = (u32, u32, u32);

impl Team {
    pub(super) fn wmma_load(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &mut Warp,
        which: char,
        row: bool,
        (m, n, k): Shape,
        space: Space,
    ) -> Result<()> {
        let (rows, cols, size) = match which {
            'a' => (m, k, 2),
            'b' => (k, n, 2),
            _ => (m, n, 4),
        };
        let stride = self.stride(ctx, warp, 2, row, rows, cols);
        let words = (rows * cols) as usize / LANES / (4 / size as usize);
        let mut out = vec![[0u32; LANES]; words];
        let base = addresses(warp, &ctx.step.addresses[0], ctx.mask);
        for e in 0..(rows * cols) as usize / LANES {
            let at = std::array::from_fn(|lane| {
                base[lane].wrapping_add(
                    element_at(lane, e, (rows * cols) as usize, cols, row, stride) * size,
                )
            });
            let values = self.fetch(ctx, warp, space, &at, size as u32)?;
            let per = 4 / size as usize;
            for lane in 0..LANES {
                out[e / per][lane] |= values[lane] << (8 * size as usize * (e % per));
            }
        }
        for (r, o) in out.iter().enumerate() {
            let slot = ctx.step.args.list[ctx.step.args.s[0] as usize + r] as usize;
            warp.file.words[slot].0 = *o;
        }
        Ok(())
    }

    pub(super) fn wmma_store(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &mut Warp,
        row: bool,
        (m, n, _): Shape,
        space: Space,
    ) -> Result<()> {
        let stride = self.stride(ctx, warp, 2, row, m, n);
        let base = addresses(warp, &ctx.step.addresses[0], ctx.mask);
        for e in 0..(m * n) as usize / LANES {
            let slot = ctx.step.args.list[ctx.step.args.s[1] as usize + e] as usize;
            let at = std::array::from_fn(|lane| {
                base[lane].wrapping_add(element_at(lane, e, (m * n) as usize, n, row, stride) * 4)
            });
            self.put(ctx, warp, space, &at, slot)?;
        }
        Ok(())
    }

    fn stride(
        &self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        at: usize,
        row: bool,
        rows: u32,
        cols: u32,
    ) -> u64 {
        match ctx.step.args.s[at] {
            ABSENT => u64::from(if row { cols } else { rows }),
            s => u64::from(ctx.uniform(warp, s)),
        }
    }

    /// One value of each lane, by the ordinary path.
    fn fetch(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &mut Warp,
        space: Space,
        at: &[u64; LANES],
        bytes: u32,
    ) -> Result<[u32; LANES]> {
        let kept = warp.file.words[0].0;
        let a = Access {
            space,
            bytes,
            count: 1,
            signed: false,
            addr: 0,
            value: 7,
            strong: false,
            order: Default::default(),
        };
        self.load_at(ctx, &a, warp, at, 0)?;
        let out = warp.file.words[0].0;
        warp.file.words[0].0 = kept;
        Ok(out)
    }

    fn put(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &mut Warp,
        space: Space,
        at: &[u64; LANES],
        slot: usize,
    ) -> Result<()> {
        let a = Access {
            space,
            bytes: 4,
            count: 1,
            signed: false,
            addr: 0,
            value: 7,
            strong: false,
            order: Default::default(),
        };
        self.store_at(ctx, &a, warp, at, slot as u32)
    }
}

/// Place in memory of element `e` of a lane.
fn element_at(lane: usize, e: usize, all: usize, cols: u32, row: bool, stride: u64) -> u64 {
    let linear = (lane * (all / LANES) + e) as u64;
    let (r, c) = (linear / u64::from(cols), linear % u64::from(cols));
    if row { r * stride + c } else { c * stride + r }
}

/// D = A B + C.
pub(super) fn multiply(ctx: &Ctx<'_, '_>, warp: &mut Warp, (m, n, k): Shape) {
    let (m, n, k) = (m as usize, n as usize, k as usize);
    let planes = |at: usize| {
        ctx.step.args.list[ctx.step.args.s[at] as usize..]
            .iter()
            .take(8)
            .map(|s| *s as usize)
            .collect::<Vec<_>>()
    };
    let (d, a, b, c) = (planes(0), planes(1), planes(2), planes(3));
    let half = |p: &[usize], all: usize, i: usize| {
        let per = all / LANES;
        let (lane, e) = (i / per, i % per);
        warp.file.words[p[e / 2]].0[lane] >> (16 * (e % 2)) & 0xffff
    };
    let an: Vec<Num> = (0..m * k)
        .map(|i| take_apart(Ty::F16, half(&a, m * k, i)))
        .collect();
    let bn: Vec<Num> = (0..n * k)
        .map(|i| take_apart(Ty::F16, half(&b, n * k, (i % k) * n + i / k)))
        .collect();
    let md = model(ctx.env.options.tensor_cores, Ty::F16, false);
    let mut out = [[0u32; LANES]; 8];
    for i in 0..m * n {
        let (row, col) = (i / n, i % n);
        let old = warp.file.words[c[i % 8]].0[i / 8];
        out[i % 8][i / 8] = dot_f32(
            md,
            &an[row * k..(row + 1) * k],
            &bn[col * k..(col + 1) * k],
            old,
        );
    }
    for (p, o) in d.iter().zip(&out) {
        warp.file.words[*p].0 = *o;
    }
}
