//! Gradients of attention on everything from Ampere on.
//!
//! A block of eight warps holds 64 keys and their values, and walks over the queries that see them, of every query
//! head of its key head, `BM` at once; the copy of the next queries and output gradients runs beside the products
//! of these. [`attention_backward_tile`] is what happens to one tile; probabilities and their gradients go through
//! shared memory, because each of them is the left operand of one product as it lies and transposed.
//!
//! dQ is summed in memory: a block of keys waits for its turn at each tile of queries, so that dQ, like dK
//! and dV, is the same bits on every run. Rows and the scale are those of [`super::forward_hopper`].

use super::place::Place;
use tiki::prelude::*;

/// The loops around the tile; the functions are those of [`super::backward_hopper::attend_backward`], of scores that are
/// queries by keys.
#[tiki::device]
pub fn attend_backward_ampere<E: Half, const D: usize, const BM: usize>(
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
    first: impl Fn(i32) -> i32,
    limited: impl Fn(Register<f32>, Place) -> Register<f32>,
    scored: impl Fn(&Register<f32>, Place) -> Register<f32>,
    graded: impl Fn(Register<f32>, &Register<f32>, &Register<f32>, Place) -> Register<f32>,
) {
    let (n, kv_head, batch) = (block_idx().x, block_idx().y, block_idx().z);
    let k_s = Shared::<E>::new(Layout::k_major::<E>([64, D]));
    let v_s = Shared::<E>::new(Layout::k_major::<E>([64, D]));
    let q_s = Shared::<E>::stages(2, Layout::k_major::<E>([BM, D]));
    let g_s = Shared::<E>::stages(2, Layout::k_major::<E>([BM, D]));
    let prob_s = Shared::<E>::new(Layout::k_major::<E>([BM, 64]));
    let ds_s = Shared::<E>::new(Layout::k_major::<E>([BM, 64]));
    let (load, pipe) = (Load::cp_async(256), Pipeline::cp_async(2));
    let kv = Gemm::<E>::new(Warp::new(4, 2));
    let group = q.dim(1) / k.dim(1);
    let queries = q.dim(2) as i32;
    let key = (n * 64) as i32;
    let from = min(max(seen_from(key), 0), queries) as usize / BM;
    let each = (min(max(seen_to(key), 0), queries) as usize)
        .div_ceil(BM)
        .max(from)
        - from;
    let step = |i: usize| (kv_head * group + i / each, from + i % each);
    let fetch = |i: usize| {
        let (head, m) = step(i);
        let s = pipe.acquire();
        load.copy(&q.at([batch, head]).tile([BM, D], [m, 0]), q_s.stage(s));
        load.copy(&d_out.at([batch, head]).tile([BM, D], [m, 0]), g_s.stage(s));
        pipe.commit();
    };
    let mut d_key = kv.zeros([64, D]);
    let mut d_value = kv.zeros([64, D]);
    if each > 0 {
        load.copy(&k.at([batch, kv_head]).tile([64, D], [n, 0]), k_s);
        load.copy(&v.at([batch, kv_head]).tile([64, D], [n, 0]), v_s);
        fetch(0);
        for i in 0..each * group {
            let s = pipe.wait();
            // After the last step the first one's tiles again, unused.
            fetch(if i + 1 < each * group { i + 1 } else { 0 });
            let (head, m) = step(i);
            let row = (m * BM) as i32;
            let share = attention_backward_tile::<E>(
                q_s.stage(s),
                k_s,
                v_s,
                g_s.stage(s),
                prob_s,
                ds_s,
                &top.at([batch, head]).tile([BM], [m]),
                &delta.at([batch, head]).tile([BM], [m]),
                scale_log2,
                Place {
                    batch,
                    head,
                    row,
                    key,
                },
                &limited,
                &scored,
                &graded,
                &mut d_key,
                &mut d_value,
            );
            // Blocks of keys add in their order; those before this one began before it.
            let turn = [batch, head, m];
            let before = max(first(row), 0) as u32 / 64;
            if thread_idx() == 0 {
                while turns.get_with(turn, Order::Acquire, Scope::Device) + before < n as u32 {}
            }
            sync_block();
            let sum = sums.at_mut([batch, head]).tile_mut([BM, D], [m, 0]);
            let old = sum.load_like(&share);
            sum.store(&(&old + &share));
            sync_block();
            if thread_idx() == 0 {
                turns.red_add(turn, 1, Order::Release, Scope::Device);
            }
        }
    }
    let d_key = d_key.map(|x| x * scale).cast::<E>();
    dk.at_mut([batch, kv_head])
        .tile_mut([64, D], [n, 0])
        .store(&d_key);
    let d_value = d_value.cast::<E>();
    dv.at_mut([batch, kv_head])
        .tile_mut([64, D], [n, 0])
        .store(&d_value);
}

/// One tile of queries and keys: adds to dK and dV, and returns this tile's share of dQ; the scale is left to the caller. The
/// operands lie in shared memory, `prob_s` and `ds_s` are lent.
#[tiki::device]
pub fn attention_backward_tile<E: Half>(
    q: Shared<E>,
    k: Shared<E>,
    v: Shared<E>,
    d_out: Shared<E>,
    prob_s: Shared<E>,
    ds_s: Shared<E>,
    top: &View<f32, 1>,
    delta: &View<f32, 1>,
    scale_log2: f32,
    at: Place,
    limited: impl Fn(Register<f32>, Place) -> Register<f32>,
    scored: impl Fn(&Register<f32>, Place) -> Register<f32>,
    graded: impl Fn(Register<f32>, &Register<f32>, &Register<f32>, Place) -> Register<f32>,
    d_key: &mut Register<f32>,
    d_value: &mut Register<f32>,
) -> Register<f32> {
    let qk = Gemm::<E>::new(Warp::new(2, 4));
    let kv = Gemm::<E>::new(Warp::new(4, 2));
    let score = limited(qk.dot(q, k), at);
    let peak = top.load_like(&score.row_vector(0.0));
    let prob = scored(&score, at).rows(&peak, |x, p| exp2_fast(fma(x, scale_log2, -p)));
    prob_s.store(&prob.cast::<E>());
    let d_prob = qk.dot(d_out, v);
    let mean = delta.load_like(&score.row_vector(0.0));
    let ds = d_prob.rows(&mean, |x, d| x - d).zip(&prob, |x, p| x * p);
    ds_s.store(&graded(ds, &prob, &peak, at).cast::<E>());
    sync_block();
    kv.accumulate(prob_s.t(), d_out.t(), d_value); // dV += P' dO
    kv.accumulate(ds_s.t(), q.t(), d_key); // dK += dS' Q
    qk.dot(ds_s, k.t()) // dQ = dS K
}

/// `dq = scale * sums`.
#[tiki::kernel(threads = 256, grid = [sums.dim(2).div_ceil(16), sums.dim(1), sums.dim(0)], build(
    (E = [f16, bf16], D = [64, 96, 128, 192, 256]),
))]
pub fn attention_round<E: Half, const D: usize>(
    sums: &Global<f32, 4>,
    dq: &mut Global<E, 4>,
    scale: f32,
) {
    require!(sums.shape() == dq.shape() && dq.dim(3) == D);
    let (m, head, batch) = (block_idx().x, block_idx().y, block_idx().z);
    let map = ThreadMap::rows(256, 16).vector_up_to(8);
    let rows = sums.at([batch, head]).tile([16, D], [m, 0]).load(map);
    let rows = rows.map(|x| x * scale).cast::<E>();
    dq.at_mut([batch, head])
        .tile_mut([16, D], [m, 0])
        .store(&rows);
}
