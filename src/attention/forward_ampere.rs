//! Attention on everything from Ampere on: `out = softmax(scale * q @ k.T) @ v` and the log-sum-exp of each row.
//!
//! A block of four warps holds 64 queries and walks over the blocks of keys that they see; the copy of the next
//! block's keys and values runs beside the products of this one. Scores and probabilities stay in registers.
//!
//! ```text
//! S = Q K'   P = exp2(S - peak)   total = total * fade + sum(P)   O = O * fade + P V    fade = exp2(old peak - peak)
//! ```
//!
//! Rows and the scale are those of [`super::forward_hopper`].

use super::place::{Place, log_sum};
use super::running::lowered;
use tiki::prelude::*;

/// The algorithm; `seen` and `scored` are those of [`super::forward_hopper::attend`].
#[tiki::device]
pub fn attend_ampere<E: Half, const D: usize, const BN: usize>(
    q: &Global<E, 4>,
    k: &Global<E, 4>,
    v: &Global<E, 4>,
    out: &mut Global<E, 4>,
    lse: &mut Global<f32, 3>,
    scale_log2: f32,
    seen: impl Fn(i32) -> (i32, i32),
    scored: impl Fn(Register<f32>, Place, bool) -> Register<f32>,
) {
    // The last queries first: under a causal mask they see the most.
    let (head, batch) = (block_idx().y, block_idx().z);
    let m = q.dim(2).div_ceil(64) - 1 - block_idx().x;
    let kv_head = head / (q.dim(1) / k.dim(1));
    let (k_g, v_g) = (k.at([batch, kv_head]), v.at([batch, kv_head]));
    let q_s = Shared::<E>::new(Layout::k_major::<E>([64, D]));
    let k_s = Shared::<E>::stages(2, Layout::k_major::<E>([BN, D]));
    let v_s = Shared::<E>::stages(2, Layout::k_major::<E>([BN, D]));
    let (load, pipe) = (Load::cp_async(128), Pipeline::cp_async(2));
    let gemm = Gemm::<E>::new(Warp::new(4, 1));
    let row = (m * 64) as i32;
    let keys = k.dim(2) as i32;
    let (from, to) = seen(row);
    let last = (min(max(to, 0), keys) as usize).div_ceil(BN);
    let first = (min(max(from, 0), keys) as usize / BN).min(last);
    let fetch = |j: usize| {
        let s = pipe.acquire();
        load.copy(&k_g.tile([BN, D], [j, 0]), k_s.stage(s));
        load.copy(&v_g.tile([BN, D], [j, 0]), v_s.stage(s));
        pipe.commit();
    };
    load.copy(&q.at([batch, head]).tile([64, D], [m, 0]), q_s);
    fetch(first);
    let mut acc = gemm.zeros([64, D]);
    let mut peak = acc.row_vector(f32::NEG_INFINITY);
    let mut total = acc.row_vector(0.0);
    for j in first..last {
        let s = pipe.wait();
        fetch(j + 1);
        let key = (j * BN) as i32;
        let at = Place {
            batch,
            head,
            row,
            key,
        };
        let score = scored(gemm.dot(q_s, k_s.stage(s)), at, false);
        let next = peak.zip(&score.row_max(), f32::max);
        let base = next.map(|p| lowered(p, scale_log2, 0.0));
        let fade = peak.zip(&base, |p, s| exp2_fast(fma(p, scale_log2, s)));
        let prob = score.rows(&base, |x, s| exp2_fast(fma(x, scale_log2, s)));
        total = &(&total * &fade) + &prob.row_sum();
        acc = acc.rows(&fade, |a, f| a * f);
        gemm.accumulate(prob.cast::<E>(), v_s.stage(s).t(), &mut acc);
        peak = next;
    }
    let inverse = total.map(|l| if l == 0.0 { 0.0 } else { recip(l) });
    let log = peak.zip(&total, |p, l| log_sum(p, l, scale_log2));
    let o = acc.rows(&inverse, |a, i| a * i).cast::<E>();
    out.at_mut([batch, head])
        .tile_mut([64, D], [m, 0])
        .store(&o);
    lse.at_mut([batch, head]).tile_mut([64], [m]).store(&log);
}
