//! Attention on Hopper: `out = softmax(scale * q @ k.T) @ v` and the log-sum-exp of each row.
//!
//! A persistent grid takes tile after tile of queries, the longest first. One warpgroup fills rings of keys
//! and values through the tensor memory accelerator, across tiles too, so that the next tile's first keys
//! are there when the last tile's rows are written; `WG` warpgroups multiply, 64 queries each. A warpgroup
//! issues the scores of the next block of keys, then the product of the last block's probabilities with its
//! values, and computes its softmax while that product runs. Probabilities go from accumulator to operand
//! without leaving registers; rows leave through shared memory, slab by slab.
//!
//! What a row's exponentials are lowered by, its base, is a maximum that the row has had, not always the last: sums,
//! accumulator and log-sum-exp share it, so it cancels. Probabilities are made with the base there is. Only if
//! some exceed what their type holds, or the row has seen nothing yet, the maximum is taken, probabilities are made anew, and
//! sums and accumulator fade. Three warpgroups have no registers for scores and probabilities at once: they take the
//! maximum of each block, and it becomes the base when it is 8 binary digits above it.
//!
//! ```text
//! keys       .. j-1       j      j+1        blocks of BN, the last first: it alone may reach past the keys
//! tensor     S(j) P(j+1)V  |  S(j-1) P(j)V  |      one warpgroup; the others take their turns between
//! softmax                P(j)            P(j-1)
//! ```
//!
//! Query `r` sees keys `r + shift - before ..= r + shift + after`, where `shift` is keys less queries. Blocks
//! that no row of a tile sees are skipped; only blocks that some row sees in part are masked, before the maximum.
//! Logarithms are binary: `scale_log2` is the scale times log2(e), `lse` times ln 2 is natural.

use super::deal::{after, deal_of, there, tile_of};
use super::place::{Place, log_sum};
use super::running::{in_parts, lowered, risen, too_much};
use super::turns::{pass_turn, take_turn};
use tiki::prelude::*;

/// The algorithm: `seen` says which keys the tile of queries that begins at a row sees (from, to; it may say more, outside
/// the keys too), `scored` makes of products what the softmax is of, minus infinity where nothing is seen; the last
/// block of keys is `outer`: it may reach past them.
#[tiki::device]
pub fn attend<
    E: Half,
    const D: usize,
    const BN: usize,
    const WG: usize,
    const QS: usize,
    const OS: usize,
>(
    q: &Global<E, 4>,
    k: &Global<E, 4>,
    v: &Global<E, 4>,
    out: &mut Global<E, 4>,
    lse: &mut Global<f32, 3>,
    scale_log2: f32,
    seen: impl Fn(i32) -> (i32, i32),
    scored: impl Fn(Register<f32>, Place, bool) -> Register<f32>,
) {
    // Columns of a slab of the output, `OS` of which a warpgroup stages at once.
    let slab = if D % 64 == 0 { 64 } else { 32 };
    let q_s = Shared::<E>::stages(QS, Layout::k_major::<E>([64 * WG, D]));
    let k_s = Shared::<E>::stages(2, Layout::k_major::<E>([BN, D]));
    let v_s = Shared::<E>::stages(2, Layout::k_major::<E>([BN, D]));
    let out_s = Shared::<E>::stages(WG * OS, Layout::k_major::<E>([64, slab]));
    let q_pipe = Pipeline::tma(QS, WG);
    let k_pipe = Pipeline::tma(2, WG);
    let v_pipe = Pipeline::tma(2, WG);
    let (queries, keys) = (q.dim(2), k.dim(2));
    let (heads, group) = (q.dim(1) as u32, (q.dim(1) / k.dim(1)) as u32);
    // What bounds have in common for all tiles is computed here, once.
    let _ = seen(0);
    let deal = deal_of(queries.div_ceil(64 * WG) as u32, heads * q.dim(0) as u32);
    // The blocks of keys that the rows of a tile see: the first, and the one after the last.
    let span = |m: u32| {
        let row = m as i32 * (64 * WG) as i32;
        let (from, to) = seen(row);
        let end = min(max(to, 1), keys as i32);
        let begin = min(max(from, 0), end - 1);
        (begin as u32 / BN as u32, (end as u32).div_ceil(BN as u32))
    };
    if warpgroup_idx() == 0 {
        set_registers(if WG == 3 { 32 } else { 40 });
        if elect_one() {
            let load = Load::tma();
            let mut turn = 0_u32;
            while there(deal, turn) {
                let (m, strip) = tile_of(deal, turn);
                let (head, batch) = (strip % heads, (strip / heads) as usize);
                let q_g = q.at([batch, head as usize]);
                let k_g = k.at([batch, (head / group) as usize]);
                let v_g = v.at([batch, (head / group) as usize]);
                let (from, to) = span(m);
                let s = q_pipe.acquire();
                let tile = q_g.tile([64 * WG, D], [m as usize, 0]);
                load.copy_into(&tile, q_s.stage(s), &q_pipe, s);
                for i in 0..to - from {
                    let at = [(to - 1 - i) as usize, 0];
                    let s = k_pipe.acquire();
                    load.copy_into(&k_g.tile([BN, D], at), k_s.stage(s), &k_pipe, s);
                    let s = v_pipe.acquire();
                    load.copy_into(&v_g.tile([BN, D], at), v_s.stage(s), &v_pipe, s);
                }
                turn = after(deal, turn, m);
            }
        }
    } else if there(deal, 0) {
        set_registers(if WG == 3 { 160 } else { 232 });
        let part = warpgroup_idx() - 1;
        let gemm = Gemm::<E>::warpgroup(Warp::new(4, 1));
        let (store, own) = (Store::tma(), Barrier::named(128));
        // One warpgroup's softmax runs while another's products do: they take turns on the tensor cores.
        let turn_of = || Barrier::named(256);
        let (first, second, third) = (turn_of(), turn_of(), turn_of());
        let products = |hold: usize, s: usize| {
            let own = q_s.stage(hold).tile([64, D], [part, 0]);
            gemm.issue(own, k_s.stage(s), gemm.zeros([64, BN]))
        };
        let stands = |m: u32, strip: u32, j: u32| Place {
            batch: (strip / heads) as usize,
            head: (strip % heads) as usize,
            row: (m as usize * 64 * WG + 64 * part) as i32,
            key: (j * BN as u32) as i32,
        };
        let probable = |x: f32, base: f32| exp2_fast(fma(x, scale_log2, base));
        let base_of = |p: f32| lowered(p, scale_log2, 0.0);
        // Rows leave normalised, through shared memory.
        let mut leave = |acc: &Register<f32>,
                         peak: &Register<f32>,
                         total: &Register<f32>,
                         m: u32,
                         strip: u32| {
            let (head, batch) = ((strip % heads) as usize, (strip / heads) as usize);
            let row = WG * m as usize + part;
            let total = total.row_sum();
            let inverse = total.map(|l| if l == 0.0 { 0.0 } else { recip(l) });
            let o = acc.rows(&inverse, |a, i| a * i).cast::<E>();
            let log = peak.zip(&total, |p, l| log_sum(p, l, scale_log2));
            lse.at_mut([batch, head]).tile_mut([64], [row]).store(&log);
            #[unroll]
            for g in 0..D / slab / OS {
                if elect_one() {
                    store.wait_read(0);
                }
                own.sync();
                #[unroll]
                for i in 0..OS {
                    let piece = o.tile([64, slab], [0, g * OS + i]);
                    out_s.stage(OS * part + i).store(&piece);
                }
                fence_async();
                own.sync();
                if elect_one() {
                    #[unroll]
                    for i in 0..OS {
                        let mut own = out.at_mut([batch, head]);
                        let to = own.tile_mut([64, slab], [row, g * OS + i]);
                        store.copy(out_s.stage(OS * part + i), to);
                    }
                    store.commit();
                }
            }
        };
        if part == WG - 1 {
            first.arrive();
        }
        let mut turn = 0_u32;
        let (mut m, mut strip) = tile_of(deal, 0);
        let (mut from, to) = span(m);
        let mut j = to - 1;
        let mut hold = q_pipe.wait();
        let s = k_pipe.wait();
        let score = products(hold, s);
        warpgroup_wait(0);
        k_pipe.release(s);
        if j == from {
            q_pipe.release(hold);
        }
        let score = scored(score.retire(), stands(m, strip, j), true);
        let mut peak = score.row_max();
        let prob = score.rows(&peak.map(base_of), probable);
        let mut total = in_parts::<BN>(&prob);
        let mut held = prob.cast::<E>();
        let mut acc = gemm.zeros([64, D]);
        loop {
            // What is held belongs to the last block of its tile: the next scores are another tile's.
            let ended = j == from;
            let (last_m, last_strip) = (m, strip);
            if ended {
                turn = after(deal, turn, m);
                if !there(deal, turn) {
                    break;
                }
                (m, strip) = tile_of(deal, turn);
                (from, j) = span(m);
                hold = q_pipe.wait();
            }
            j -= 1;
            let s = k_pipe.wait();
            take_turn::<WG>(part, &first, &second, &third);
            let score = products(hold, s);
            let t = v_pipe.wait();
            let next = gemm.issue(held, v_s.stage(t).t(), acc);
            pass_turn::<WG>(part, &first, &second, &third);
            warpgroup_wait(1);
            k_pipe.release(s);
            if j == from {
                q_pipe.release(hold);
            }
            let score = scored(score.retire(), stands(m, strip, j), false);
            let old = peak.map(|p| if ended { f32::NEG_INFINITY } else { p });
            let raised = ended || (WG == 3 && risen(&old, &score.row_max(), scale_log2));
            let mut top = old.map(|p| p);
            if raised {
                top = old.zip(&score.row_max(), f32::max);
            }
            let none = if WG == 3 { 0.0 } else { f32::INFINITY };
            let base = top.map(|p| lowered(p, scale_log2, none));
            let prob = score.rows(&base, probable);
            let mut sum = in_parts::<BN>(&prob);
            let mut next_held = prob.cast::<E>();
            let anew = WG < 3 && too_much(&sum);
            if anew {
                top = old.zip(&score.row_max(), f32::max);
                let prob = score.rows(&top.map(base_of), probable);
                sum = in_parts::<BN>(&prob);
                next_held = prob.cast::<E>();
            }
            warpgroup_wait(0);
            v_pipe.release(t);
            held = next_held;
            acc = next.retire();
            if ended {
                leave(&acc, &peak, &total, last_m, last_strip);
                acc = acc.map(|_| 0.0);
                total = sum;
            } else if raised || anew {
                let fade = old.zip(&top.map(base_of), probable);
                acc = acc.rows(&fade, |a, f| a * f);
                total = &total.rows(&fade, |l, f| l * f) + &sum;
            } else {
                total = &total + &sum;
            }
            peak = top;
        }
        let t = v_pipe.wait();
        let last = gemm.issue(held, v_s.stage(t).t(), acc);
        warpgroup_wait(0);
        v_pipe.release(t);
        leave(&last.retire(), &peak, &total, m, strip);
        if elect_one() {
            store.wait(0);
        }
    }
}
