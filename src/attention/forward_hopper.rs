//! Attention on Hopper: `out = softmax(scale * q @ k.T) @ v` and the log-sum-exp of each row.
//!
//! A persistent grid takes tile after tile of queries, the longest first. One warpgroup fills rings of keys
//! and values through the tensor memory accelerator, across tiles too, so that the next tile's first keys
//! are there when the last tile's rows are written; `WG` warpgroups multiply, 64 queries each. A warpgroup
//! issues the scores of the next block of keys, then the product of the last block's probabilities with its
//! values, and computes its softmax while that product runs. Probabilities go from accumulator to operand
//! without leaving registers; rows leave through shared memory, slab by slab.
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

use tiki::prelude::*;

/// Forward.
#[tiki::kernel(target = "sm_90a", warpgroups = 1 + WG, shared = "227 KiB", grid = persistent, build(
    (E = f16, D = 64, BN = 128, WG = 2, QS = 2, OS = 1),
    (E = bf16, D = 64, BN = 128, WG = 2, QS = 2, OS = 1),
    (E = f16, D = 64, BN = 128, WG = 3, QS = 2, OS = 1),
    (E = bf16, D = 64, BN = 128, WG = 3, QS = 2, OS = 1),
    (E = f16, D = 96, BN = 128, WG = 2, QS = 2, OS = 3),
    (E = bf16, D = 96, BN = 128, WG = 2, QS = 2, OS = 3),
    (E = f16, D = 128, BN = 128, WG = 2, QS = 2, OS = 2),
    (E = bf16, D = 128, BN = 128, WG = 2, QS = 2, OS = 2),
    (E = f16, D = 128, BN = 176, WG = 2, QS = 1, OS = 1),
    (E = bf16, D = 128, BN = 176, WG = 2, QS = 1, OS = 1),
    (E = f16, D = 192, BN = 96, WG = 2, QS = 1, OS = 1),
    (E = bf16, D = 192, BN = 96, WG = 2, QS = 1, OS = 1),
    (E = f16, D = 256, BN = 64, WG = 2, QS = 1, OS = 2),
    (E = bf16, D = 256, BN = 64, WG = 2, QS = 1, OS = 2),
))]
pub fn attention_hopper<
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
    before: u32,
    after: u32,
) {
    require!(q.dim(3) == D && k.dim(3) == D && v.shape() == k.shape() && out.shape() == q.shape());
    require!(lse.dim(0) == q.dim(0) && lse.dim(1) == q.dim(1) && lse.dim(2) == q.dim(2));
    require!(k.dim(0) == q.dim(0) && k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0 && k.dim(2) >= 1);
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
    // Key `row + shift` is on the diagonal of query `row`: the last query sees the last key.
    let shift = keys as i32 - queries as i32;
    let left = shift - before as i32;
    let right = shift + after as i32;
    let rows = queries.div_ceil(64 * WG) as u32;
    let strips = heads * q.dim(0) as u32;
    // Tiles are dealt in pairs, the first with the last of a head: under a causal mask every pair is as long as
    // any other. A head's pairs stand together, for the second-level cache.
    let (grid, block) = (grid_dim().x as u32, block_idx().x as u32);
    let paired = rows * strips > grid;
    let pairs = if paired { rows.div_ceil(2) } else { rows };
    let dealt = |turn: u32| turn / 2 * grid + block;
    let there = |turn: u32| dealt(turn) < pairs * strips;
    let place = |turn: u32| {
        let (strip, at) = (dealt(turn) / pairs, dealt(turn) % pairs);
        (if turn % 2 == 0 { rows - 1 - at } else { at }, strip)
    };
    let after = |turn: u32, m: u32| {
        let second = paired && turn % 2 == 0 && 2 * m + 1 != rows;
        turn + if second { 1 } else { 2 - turn % 2 }
    };
    // The blocks of keys that the rows of a tile see: the first, and the one after the last.
    let span = |m: u32| {
        let row = m as i32 * (64 * WG) as i32;
        let end = min(max(row + 64 * WG as i32 + right, 1), keys as i32);
        let begin = min(max(row + left, 0), end - 1);
        (begin as u32 / BN as u32, (end as u32).div_ceil(BN as u32))
    };
    if warpgroup_idx() == 0 {
        set_registers(if WG == 3 { 32 } else { 40 });
        if elect_one() {
            let load = Load::tma();
            let mut turn = 0_u32;
            while there(turn) {
                let (m, strip) = place(turn);
                let (head, batch) = (strip % heads, (strip / heads) as usize);
                let q_g = q.at([batch, head as usize]);
                let k_g = k.at([batch, (head / group) as usize]);
                let v_g = v.at([batch, (head / group) as usize]);
                let (from, to) = span(m);
                let s = q_pipe.acquire();
                load.copy_into(
                    &q_g.tile([64 * WG, D], [m as usize, 0]),
                    q_s.stage(s),
                    &q_pipe,
                    s,
                );
                for i in 0..to - from {
                    let at = [(to - 1 - i) as usize, 0];
                    let s = k_pipe.acquire();
                    load.copy_into(&k_g.tile([BN, D], at), k_s.stage(s), &k_pipe, s);
                    let s = v_pipe.acquire();
                    load.copy_into(&v_g.tile([BN, D], at), v_s.stage(s), &v_pipe, s);
                }
                turn = after(turn, m);
            }
        }
    } else if there(0) {
        set_registers(if WG == 3 { 160 } else { 232 });
        let part = warpgroup_idx() - 1;
        let gemm = Gemm::<E>::warpgroup(Warp::new(4, 1));
        let (store, own) = (Store::tma(), Barrier::named(128));
        let (first, second, third) = (
            Barrier::named(256),
            Barrier::named(256),
            Barrier::named(256),
        );
        // One warpgroup's softmax runs while another's products do: they take turns on the tensor cores.
        let take = || {
            if part == 0 {
                first.sync();
            } else if WG == 2 || part == 1 {
                second.sync();
            } else {
                third.sync();
            }
        };
        let pass = || {
            if part == WG - 1 {
                first.arrive();
            } else if part == 0 {
                second.arrive();
            } else {
                third.arrive();
            }
        };
        let sees = |row: i32, r: usize, at: i32| {
            at < keys as i32 && at <= row + r as i32 + right && at >= row + r as i32 + left
        };
        // A row that sees nothing so far keeps its zeros: minus infinity less itself would not be a number.
        let lowered = |p: f32| {
            if p == f32::NEG_INFINITY {
                0.0
            } else {
                -(p * scale_log2)
            }
        };
        // Rows leave normalised, through shared memory.
        let mut leave = |acc: &Register<f32>,
                         peak: &Register<f32>,
                         total: &Register<f32>,
                         m: u32,
                         strip: u32| {
            let (head, batch) = ((strip % heads) as usize, (strip / heads) as usize);
            let row = WG * m as usize + part;
            let inverse = total.map(|l| if l == 0.0 { 0.0 } else { recip(l) });
            let o = acc.rows(&inverse, |a, i| a * i).cast::<E>();
            let log = peak.zip(total, |p, l| {
                if l == 0.0 {
                    f32::NEG_INFINITY
                } else {
                    fma(p, scale_log2, log2(l))
                }
            });
            lse.at_mut([batch, head]).tile_mut([64], [row]).store(&log);
            #[unroll]
            for g in 0..D / slab / OS {
                if elect_one() {
                    store.wait_read(0);
                }
                own.sync();
                #[unroll]
                for i in 0..OS {
                    out_s
                        .stage(OS * part + i)
                        .store(&o.tile([64, slab], [0, g * OS + i]));
                }
                fence_async();
                own.sync();
                if elect_one() {
                    #[unroll]
                    for i in 0..OS {
                        let to = out
                            .at_mut([batch, head])
                            .tile_mut([64, slab], [row, g * OS + i]);
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
        let (mut m, mut strip) = place(0);
        let (mut from, to) = span(m);
        let mut j = to - 1;
        let mut hold = q_pipe.wait();
        let s = k_pipe.wait();
        let score = gemm.issue(
            q_s.stage(hold).tile([64, D], [part, 0]),
            k_s.stage(s),
            gemm.zeros([64, BN]),
        );
        warpgroup_wait(0);
        k_pipe.release(s);
        if j == from {
            q_pipe.release(hold);
        }
        let (row, begin) = (
            (m as usize * 64 * WG + 64 * part) as i32,
            (j * BN as u32) as i32,
        );
        let score = score
            .retire()
            .mask(|[r, c]| sees(row, r, begin + c as i32), f32::NEG_INFINITY);
        let mut peak = score.row_max();
        let base = peak.map(lowered);
        let prob = score.rows(&base, |x, s| exp2_fast(fma(x, scale_log2, s)));
        let mut total = prob.row_sum();
        let mut held = prob.cast::<E>();
        let mut acc = gemm.zeros([64, D]);
        loop {
            // What is held belongs to the last block of its tile: the next scores are another tile's.
            let ended = j == from;
            let (last_m, last_strip) = (m, strip);
            if ended {
                turn = after(turn, m);
                if !there(turn) {
                    break;
                }
                (m, strip) = place(turn);
                (from, j) = span(m);
                hold = q_pipe.wait();
            }
            j -= 1;
            let s = k_pipe.wait();
            take();
            let score = gemm.issue(
                q_s.stage(hold).tile([64, D], [part, 0]),
                k_s.stage(s),
                gemm.zeros([64, BN]),
            );
            let t = v_pipe.wait();
            let next = gemm.issue(held, v_s.stage(t).t(), acc);
            pass();
            warpgroup_wait(1);
            k_pipe.release(s);
            if j == from {
                q_pipe.release(hold);
            }
            let (row, begin) = (
                (m as usize * 64 * WG + 64 * part) as i32,
                (j * BN as u32) as i32,
            );
            let mut score = score.retire();
            if begin < row + 63 + left || begin + BN as i32 > min(row + 1 + right, keys as i32) {
                score = score.mask(|[r, c]| sees(row, r, begin + c as i32), f32::NEG_INFINITY);
            }
            let old = peak.map(|p| if ended { f32::NEG_INFINITY } else { p });
            let top = old.zip(&score.row_max(), f32::max);
            let base = top.map(lowered);
            let fade = old.zip(&base, |p, s| exp2_fast(fma(p, scale_log2, s)));
            let prob = score.rows(&base, |x, s| exp2_fast(fma(x, scale_log2, s)));
            let sum = prob.row_sum();
            warpgroup_wait(0);
            v_pipe.release(t);
            held = prob.cast::<E>();
            acc = next.retire();
            if ended {
                leave(&acc, &peak, &total, last_m, last_strip);
                acc = acc.map(|_| 0.0);
                total = sum;
            } else {
                acc = acc.rows(&fade, |a, f| a * f);
                total = &(&total * &fade) + &sum;
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
