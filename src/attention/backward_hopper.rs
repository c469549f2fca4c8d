//! Gradients of attention on Hopper.
//!
//! A block holds 128 keys and their values, and walks over the queries that see them, of every query head of
//! its key head. One warp fills rings of queries and output gradients, with their rows' statistics, through
//! the tensor memory accelerator; two warpgroups multiply, 64 keys each. Scores and gradients of probabilities are computed
//! transposed, so that both leave a product as the left operand of the next; what dQ needs of both warpgroups
//! meets in shared memory.
//!
//! ```text
//! S' = K Q'   dP' = V dO'      P' = exp2(S' - lse)   dS' = P' * (dP' - delta)
//! dV += P' dO  dK += dS' Q     dQ += dS K            dQ: to memory by the accelerator, which adds
//! ```
//!
//! dK and dV stay in registers and are the same bits on every run; they leave through shared memory where keys and values
//! were. What the accelerator adds to dQ arrives in any order, unless `ORDERED`: then another warp hands it over. The last
//! keys that see a tile of queries add to it first, and each block waits for that of the keys behind its own, which began
//! before it and comes to the tile before it: dQ is the same bits on every run, too. Rows and the scale are those of
//! [`super::forward_hopper`].
//!
//! The last of `turns` of a key head counts the warpgroups that are through with it: dQ is made of its sums
//! ([`super::gradients`]) on multiprocessors that the last blocks leave idle.

use super::place::Place;
use tiki::prelude::*;

/// The algorithm: `seen_from` and `seen_to` say which queries see the 128 keys from a key on (they may say more); neither ever
/// decreases. Of products, keys by queries, `limited` makes minus infinity where nothing is seen, `scored` what the
/// softmax is of, and `graded` makes of the gradient of a score that of a product; it is given
/// the probabilities and their rows' binary log-sum-exps, of which the score is `(log2(prob) + top) / scale_log2`.
#[tiki::device]
pub fn attend_backward<E: Half, const D: usize, const BM: usize, const ORDERED: usize>(
    q: &Global<E, 4>,
    k: &Global<E, 4>,
    v: &Global<E, 4>,
    d_out: &Global<E, 4>,
    top: &Global<f32, 3>,
    delta: &Global<f32, 3>,
    sums: &mut Global<f32, 4>,
    turns: &mut Global<u32, 3>,
    dk: &mut Global<E, 4>,
    dv: &mut Global<E, 4>,
    scale: f32,
    scale_log2: f32,
    seen_from: impl Fn(i32) -> i32,
    seen_to: impl Fn(i32) -> i32,
    limited: impl Fn(Register<f32>, Place) -> Register<f32>,
    scored: impl Fn(&Register<f32>, Place) -> Register<f32>,
    graded: impl Fn(Register<f32>, &Register<f32>, &Register<f32>, Place) -> Register<f32>,
) {
    const BN: usize = 128;
    // Bytes of queries, gradients and sums that are in use at once.
    const CACHED: usize = 12 << 20;
    // Queries whose probabilities a product into dV takes at once.
    let share = if D == 128 { 16 } else { 32 };
    let k_s = Shared::<E>::stages(1, Layout::k_major::<E>([BN, D]));
    let v_s = Shared::<E>::stages(1, Layout::k_major::<E>([BN, D]));
    let q_s = Shared::<E>::stages(3, Layout::k_major::<E>([BM, D]));
    let g_s = Shared::<E>::stages(2, Layout::k_major::<E>([BM, D]));
    let ds_s = Shared::<E>::stages(2, Layout::k_major::<E>([BM, BN]));
    // Sums of dQ as a product leaves them: thread after thread, four values each.
    let dq_s = Shared::<f32>::stages(
        2,
        layout!(((8, 2, 4), (2, 4, 8)):((16, 2, 128), (1, 4, 512))),
    );
    let top_s = Shared::<f32>::stages(3, Layout::row_major([BM]));
    let delta_s = Shared::<f32>::stages(2, Layout::row_major([BM]));
    let kv_pipe = Pipeline::tma(1, 2);
    let q_pipe = Pipeline::tma(3, 2);
    let g_pipe = Pipeline::tma(2, 2);
    // In order: what a warpgroup leaves for dQ is there; it may be overwritten.
    let (full_0, empty_0) = (Barrier::named(160), Barrier::named(160));
    let (full_1, empty_1) = (Barrier::named(160), Barrier::named(160));
    let (queries, keys) = (q.dim(2), k.dim(2));
    let group = (q.dim(1) / k.dim(1)) as u32;
    // Heads whose queries and gradients fill a part of the second-level cache together; of these the first keys,
    // which more queries see, first; in order, the last.
    let (strips, blocks) = ((k.dim(1) * k.dim(0)) as u32, keys.div_ceil(BN) as u32);
    let width = ((CACHED / (D * 8)) as u32 / (queries as u32 * group))
        .max(1)
        .min(strips);
    let block = block_idx().x as u32;
    let (head, at) = (block / (width * blocks) * width, block % (width * blocks));
    let here = width.min(strips - head);
    let n = if ORDERED == 1 {
        blocks - 1 - at / here
    } else {
        at / here
    };
    let (strip, n) = (head + at % here, n as usize);
    let kv_heads = k.dim(1) as u32;
    let (kv_head, batch) = ((strip % kv_heads) as usize, (strip / kv_heads) as usize);
    let first_head = strip % kv_heads * group;
    // The blocks of queries that see the block's keys, for each head of the group.
    let first_key = (n * BN) as i32;
    let begin = |key: i32| min(max(seen_from(key), 0), queries as i32) as u32 / BM as u32;
    let from = begin(first_key);
    let to = (min(max(seen_to(first_key), 0), queries as i32) as u32).div_ceil(BM as u32);
    let each = max(to, from) - from;
    let steps = each * group;
    // Blocks begin at their own diagonal, so that they do not all add to the same rows of dQ.
    let ahead = if each > 0 {
        (n * BN / BM) as u32 % each
    } else {
        0
    };
    let ahead = if from > 0 || ORDERED == 1 { 0 } else { ahead };
    let (start, end) = (from + ahead, from + each);
    // Hands the accelerator what a warpgroup leaves for dQ, in its turn.
    let mut send = |part: usize, full: &Barrier, empty: &Barrier| {
        let store = Store::tma();
        // From where on the keys behind these are seen, and how many blocks of keys there are behind.
        let before = blocks - 1 - n as u32;
        let behind = if before == 0 {
            queries as u32
        } else {
            begin(first_key + BN as i32)
        };
        for j in 0..group {
            let at = [batch, (first_head + j) as usize];
            for i in 0..each {
                empty.arrive();
                full.sync();
                if elect_one() {
                    let (mut to, mut turn) = (sums.at_mut(at), turns.at_mut(at));
                    let tile = 2 * (from + i) as usize + part;
                    if from + i >= behind {
                        while turn.get_with([tile], Order::Acquire, Scope::Device) < before {}
                    }
                    let left = dq_s.stage(part).arranged(Layout::row_major([32, 128]));
                    store.reduce_add(left, to.tile_mut([32, 128], [tile, 0]));
                    store.commit();
                    store.wait(0);
                    turn.set_with([tile], before + 1, Order::Release, Scope::Device);
                }
            }
        }
    };
    if warpgroup_idx() == 0 {
        set_registers(24);
        if warp_idx() == 0 && elect_one() {
            dependent_launch();
            let load = Load::tma();
            let (k_g, v_g) = (k.at([batch, kv_head]), v.at([batch, kv_head]));
            let s = kv_pipe.acquire();
            load.copy_into(&k_g.tile([BN, D], [n, 0]), k_s.stage(s), &kv_pipe, s);
            load.copy_into(&v_g.tile([BN, D], [n, 0]), v_s.stage(s), &kv_pipe, s);
            let (mut head, mut m) = (first_head, start);
            for _ in 0..steps {
                let (at, row) = ([batch, head as usize], m as usize);
                let s = q_pipe.acquire();
                let (rows, of) = (q.at(at).tile([BM, D], [row, 0]), top.at(at));
                load.copy_into(&rows, q_s.stage(s), &q_pipe, s);
                load.copy_into(&of.tile([BM], [row]), top_s.stage(s), &q_pipe, s);
                let s = g_pipe.acquire();
                let (rows, of) = (d_out.at(at).tile([BM, D], [row, 0]), delta.at(at));
                load.copy_into(&rows, g_s.stage(s), &g_pipe, s);
                load.copy_into(&of.tile([BM], [row]), delta_s.stage(s), &g_pipe, s);
                m += 1;
                if m == end {
                    m = from;
                }
                if m == start {
                    head += 1;
                }
            }
        }
        if ORDERED == 1 && warp_idx() == 1 {
            send(0, &full_0, &empty_0);
        }
        if ORDERED == 1 && warp_idx() == 2 {
            send(1, &full_1, &empty_1);
        }
    } else {
        set_registers(240);
        let part = warpgroup_idx() - 1;
        let gemm = Gemm::<E>::warpgroup(Warp::new(4, 1));
        let (store, own, both) = (Store::tma(), Barrier::named(128), Barrier::named(256));
        let kv = kv_pipe.wait();
        let (k_t, v_t) = (k_s.stage(kv), v_s.stage(kv));
        let (k_own, v_own) = (k_t.tile([64, D], [part, 0]), v_t.tile([64, D], [part, 0]));
        let key = first_key + (64 * part) as i32;
        let mut d_key = gemm.zeros([64, D]);
        let mut d_value = gemm.zeros([64, D]);
        if steps > 0 {
            // The scores of a step are issued before the last step's gradients are: the tensor cores have work
            // while warps compute.
            let mut s = q_pipe.wait();
            let mut scores = gemm.issue(k_own, q_s.stage(s), gemm.zeros([64, BM]));
            let (mut head, mut m) = (first_head as usize, start);
            for i in 0..steps {
                let row = (m * BM as u32) as i32;
                let t = g_pipe.wait();
                let d_prob = gemm.issue(v_own, g_s.stage(t), gemm.zeros([64, BM]));
                warpgroup_wait(1);
                let at = Place {
                    batch,
                    head,
                    row,
                    key,
                };
                let score = limited(scores.retire(), at);
                let peak = top_s.stage(s).load_like(&score.col_vector(0.0));
                let prob = scored(&score, at).cols(&peak, |x, p| exp2_fast(fma(x, scale_log2, -p)));
                // dV takes the probabilities a few queries at a time, so that what follows of the softmax runs beside
                // its products.
                let some = |h: usize| prob.tile([64, share], [0, h]).cast::<E>();
                let g_t = g_s.stage(t);
                let mut value = gemm.issue(some(0), g_t.tile([share, D], [0, 0]).t(), d_value);
                warpgroup_wait(1);
                let d_prob = d_prob.retire();
                let mean = delta_s.stage(t).load_like(&d_prob.col_vector(0.0));
                let ds = d_prob.cols(&mean, |x, d| x - d).zip(&prob, |x, p| x * p);
                let ds = graded(ds, &prob, &peak, at).cast::<E>();
                let ds_t = ds_s.stage((i % 2) as usize);
                #[unroll]
                for h in 0..BM / share {
                    let to = ds_t.tile([share, 64], [h, part]).t();
                    to.store(&ds.tile([64, share], [0, h]));
                    if h + 1 < BM / share {
                        value = value.issue(some(h + 1), g_t.tile([share, D], [h + 1, 0]).t());
                    }
                }
                fence_async();
                warpgroup_wait(0);
                d_value = value.retire();
                g_pipe.release(t);
                let old = s;
                if i + 1 < steps {
                    s = q_pipe.wait();
                }
                scores = gemm.issue(k_own, q_s.stage(s), score.zeroed());
                both.sync();
                let query = if BM == 128 {
                    gemm.issue(
                        ds_t.tile([64, BN], [part, 0]),
                        k_t.t(),
                        gemm.zeros([64, 64]),
                    )
                } else {
                    gemm.issue(
                        ds_t,
                        k_t.tile([BN, 64], [0, part]).t(),
                        gemm.zeros([64, 64]),
                    )
                };
                let next = gemm.issue(ds, q_s.stage(old).t(), d_key);
                warpgroup_wait(1);
                if ORDERED == 1 && part == 0 {
                    empty_0.sync();
                } else if ORDERED == 1 {
                    empty_1.sync();
                } else {
                    if elect_one() {
                        store.wait_read(0);
                    }
                    own.sync();
                }
                let staged = dq_s.stage(part);
                staged.store(&query.retire());
                fence_async();
                if ORDERED == 1 && part == 0 {
                    full_0.arrive();
                } else if ORDERED == 1 {
                    full_1.arrive();
                } else {
                    own.sync();
                    if elect_one() {
                        let to = sums
                            .at_mut([batch, head])
                            .tile_mut([32, 128], [2 * m as usize + part, 0]);
                        store.reduce_add(staged.arranged(Layout::row_major([32, 128])), to);
                        store.commit();
                    }
                }
                warpgroup_wait(0);
                d_key = next.retire();
                q_pipe.release(old);
                m += 1;
                if m == end {
                    m = from;
                }
                if m == start {
                    head += 1;
                }
            }
            warpgroup_wait(0);
        }
        // The place of the result is computed anew: nothing of it lives through the loop.
        let (kv_head, at) = ((first_head / group) as usize, [(key / 64) as usize, 0]);
        let (mut dv, mut dk) = (dv.at_mut([batch, kv_head]), dk.at_mut([batch, kv_head]));
        let (dv, dk) = (dv.tile_mut([64, D], at), dk.tile_mut([64, D], at));
        let d_value = d_value.cast::<E>();
        let d_key = d_key.map(|x| x * scale).cast::<E>();
        if D == 128 {
            // Neither warpgroup needs keys or values any more.
            both.sync();
            v_own.store(&d_value);
            k_own.store(&d_key);
            fence_async();
            own.sync();
            if elect_one() {
                store.copy(v_own, dv);
                store.copy(k_own, dk);
                store.commit();
            }
        } else {
            dv.store(&d_value);
            dk.store(&d_key);
        }
        if elect_one() {
            store.wait(0);
            if ORDERED == 0 {
                // Told once its sums are written: what makes dQ of them need not wait for other heads.
                let last = [batch, kv_head, turns.dim(2) - 1];
                turns.red_add(last, 1, Order::Release, Scope::Device);
            }
        }
    }
}
