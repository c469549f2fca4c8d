//! A warp's products of a sparse A: of every four elements of a row two are given (of every two one, if they have 32
//! bits), and numbers that say where they stand.
//!
//! What is given of A lies as an A of half the depth; a sum is that of a product of half the depth, of what is given and
//! the elements of B that meet it. The numbers, two bits for an element (four for one of 32 bits, `0100` and `1110`), lie
//! in lanes of the row's group of four, which the selector names where not all have some:
//!
//! ```text
//! 16 and 32 bits   row g in the low half, row g + 8 in the high one; 8 (or 4) elements a lane:
//!                  the selected lane, or the selected pair of lanes for twice as many
//! 8 bits           row g in even lanes, row g + 8 in odd ones; 16 elements a lane:
//!                  the selected pair of lanes, or both for twice as many
//! ```
//!
//! Layout and sums are those of an H200 (`tests/sparse/`).

use super::exec::Ctx;
use super::matrix::{element, per_word};
use super::warp::Warp;
use crate::vm::meaning::LANES;
use crate::vm::meaning::ask::Multiply;
use crate::vm::meaning::tensor::{
    Model, Num, dot_f16, dot_f32, joined_f16, joined_f32, model, take_apart,
};
use tiki_kernel::isa::Ty;

/// Most elements of a row that are given.
const MOST: usize = 32;

/// Elements of a row whose places lie in one lane.
fn per_lane(t: Ty) -> usize {
    match t.bits() {
        8 => 16,
        16 => 8,
        _ => 4,
    }
}

/// Whether lanes come in pairs: for two parts of a row, or for two rows.
fn pairs(x: &Multiply) -> bool {
    x.a.bits() == 8 || x.k as usize / 2 > per_lane(x.a)
}

/// Holds a selector against the lanes that there are.
pub(super) fn selects(x: &Multiply, selector: i64) -> Result<(), String> {
    let most = match (pairs(x), x.a.bits() == 8 && x.k == 64) {
        (_, true) => 0,
        (true, _) => 1,
        _ => 3,
    };
    if (0..=most).contains(&selector) {
        return Ok(());
    }
    Err(format!("selector {selector}: 0 to {most} are possible"))
}

/// The depth at which element `j` of what is given of a row stands.
fn depth_of(x: &Multiply, words: &[u32; LANES], selector: usize, row: usize, j: usize) -> usize {
    let (bits, per) = (x.a.bits(), per_lane(x.a));
    let (half, part) = (row / 8, j / per);
    let own = match (bits, pairs(x)) {
        (8, _) if x.k == 64 => 2 * part + half,
        (8, _) => 2 * selector + half,
        (_, true) => 2 * selector + part,
        _ => selector,
    };
    let step = if bits == 32 { 4 } else { 2 };
    let at = step * (j % per) + if bits == 8 { 0 } else { 16 * half };
    let code = words[4 * (row % 8) + own] >> at;
    match bits {
        32 => 2 * j + usize::from(code & 0xf == 0xe),
        _ => 4 * (j / 2) + (code & 3) as usize,
    }
}

/// Computes it.
pub(super) fn multiply(ctx: &Ctx<'_, '_>, warp: &mut Warp, x: &Multiply) {
    let (depth, given) = (x.k as usize, x.k as usize / 2);
    let per = per_word(x.a);
    let half = x.sums == Ty::F16;
    let args = &ctx.step.args;
    let list = |at: usize, count: usize| {
        let first = args.s[at] as usize;
        &args.list[first..first + count]
    };
    let (a, b) = (list(1, given / (2 * per)), list(2, depth / (4 * per)));
    let sums = if half { 2 } else { 4 };
    let (c, d) = (list(3, sums), list(0, sums));
    let words = &warp.file.words;
    let places = words[ctx.slot(4) as usize].0;
    let selector = args.imm.max(0) as usize;
    let mut out = [[0u32; LANES]; 4];
    for row in 0..16 {
        let of_a = |j: usize| {
            let (lane, r) = (4 * (row % 8) + j / per % 4, row / 8 + 2 * (j / (4 * per)));
            element(x.a, words[a[r] as usize].0[lane], j % per)
        };
        let mut at = [0; MOST];
        for (j, at) in at.iter_mut().enumerate().take(given) {
            *at = depth_of(x, &places, selector, row, j);
        }
        for col in 0..8 {
            let of_b = |j: usize| {
                let (lane, r) = (4 * col + at[j] / per % 4, at[j] / (4 * per));
                element(x.b, words[b[r] as usize].0[lane], at[j] % per)
            };
            let (lane, i) = (4 * (row % 8) + col / 2, 2 * (row / 8) + col % 2);
            let before = if half {
                words[c[i / 2] as usize].0[lane] >> (16 * (i % 2)) & 0xffff
            } else {
                words[c[i] as usize].0[lane]
            };
            out[i][lane] = if x.sums == Ty::S32 {
                let int = |t: Ty, v: u32| match t {
                    Ty::S8 => i32::from(v as u8 as i8),
                    _ => i32::from(v as u8),
                };
                let sum: i32 = (0..given)
                    .map(|j| int(x.a, of_a(j)) * int(x.b, of_b(j)))
                    .sum();
                if x.clamp {
                    (before as i32).saturating_add(sum) as u32
                } else {
                    (before as i32).wrapping_add(sum) as u32
                }
            } else {
                let m = model(ctx.env.options.tensor_cores, x.a, false);
                dot(x, m, given, before, of_a, of_b)
            };
        }
    }
    for (k, p) in d.iter().enumerate() {
        warp.file.words[*p as usize].0 = if half {
            std::array::from_fn(|lane| out[2 * k][lane] | out[2 * k + 1][lane] << 16)
        } else {
            out[k]
        };
    }
}

/// An accumulator and the products of what is given, group by group.
fn dot(
    x: &Multiply,
    m: Model,
    given: usize,
    before: u32,
    of_a: impl Fn(usize) -> u32,
    of_b: impl Fn(usize) -> u32,
) -> u32 {
    let half = x.sums == Ty::F16;
    let n = m.group(given);
    let plain = Model {
        terms: n,
        apart: false,
        ..m
    };
    let mut sum = if m.apart { 0 } else { before };
    for first in (0..given).step_by(n) {
        let (mut p, mut q) = ([Num::default(); MOST], [Num::default(); MOST]);
        for k in 0..n {
            let j = m.term(first + k, given);
            (p[k], q[k]) = (take_apart(x.a, of_a(j)), take_apart(x.b, of_b(j)));
            if m.apart {
                (p[k], q[k]) = (p[k].widened(), q[k].widened());
            }
        }
        sum = if half {
            dot_f16(plain, &p[..n], &q[..n], sum as u16).into()
        } else {
            dot_f32(plain, &p[..n], &q[..n], sum)
        };
    }
    match (m.apart, half) {
        (false, _) => sum,
        (true, true) => joined_f16(before as u16, sum as u16).into(),
        (true, false) => joined_f32(before, sum),
    }
}
