//! Attention on Hopper: `out = softmax(scale * q @ k.T) @ v` and the log-sum-exp of each row.
//!
//! One warpgroup fills rings of keys and values through the tensor memory accelerator; two multiply, 64
//! queries each. A warpgroup issues the scores of the next block of keys, then the product of the last
//! block's probabilities with its values, and computes its softmax while that product runs. Probabilities
//! go from accumulator to operand without leaving registers.
//!
//! Logarithms are binary: `scale_log2` is the scale times log2(e), `lse` times ln 2 is natural.
//!
//! `cargo run --release --example attention_hopper -- [HEADS LENGTH]` checks sampled rows against f64 and
//! prints the speed (head dimension 128).

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;

#[tiki::kernel(target = "sm_90a", warpgroups = 3, shared = "227 KiB", grid = [q.dim(2).div_ceil(128), q.dim(1), q.dim(0)], build(
    (E = f16, D = 128, BN = 128),
    (E = bf16, D = 128, BN = 128),
))]
pub fn attention_hopper<E: Half, const D: usize, const BN: usize>(
    q: &Global<E, 4>,
    k: &Global<E, 4>,
    v: &Global<E, 4>,
    out: &mut Global<E, 4>,
    lse: &mut Global<f32, 3>,
    scale_log2: f32,
) {
    require!(q.dim(3) == D && k.dim(3) == D && v.shape() == k.shape() && out.shape() == q.shape());
    require!(lse.dim(0) == q.dim(0) && lse.dim(1) == q.dim(1) && lse.dim(2) == q.dim(2));
    require!(k.dim(0) == q.dim(0) && k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0 && k.dim(2) >= 1);
    let q_s = Shared::<E>::stages(1, Layout::k_major::<E>([128, D]));
    let k_s = Shared::<E>::stages(2, Layout::k_major::<E>([BN, D]));
    let v_s = Shared::<E>::stages(2, Layout::k_major::<E>([BN, D]));
    let q_pipe = Pipeline::tma(1, 2);
    let k_pipe = Pipeline::tma(2, 2);
    let v_pipe = Pipeline::tma(2, 2);
    let (first, second) = (Barrier::named(256), Barrier::named(256));
    let (m, head, batch) = (block_idx().x, block_idx().y, block_idx().z);
    let kv_head = head / (q.dim(1) / k.dim(1));
    let keys = k.dim(2);
    let blocks = keys.div_ceil(BN);
    if warpgroup_idx() == 0 {
        set_registers(24);
        if elect_one() {
            let load = Load::tma();
            let (k_g, v_g) = (k.at([batch, kv_head]), v.at([batch, kv_head]));
            let s = q_pipe.acquire();
            load.copy_into(
                &q.at([batch, head]).tile([128, D], [m, 0]),
                q_s.stage(s),
                &q_pipe,
                s,
            );
            // The last block first: it alone may reach past the keys.
            for j in 0..blocks {
                let s = k_pipe.acquire();
                load.copy_into(
                    &k_g.tile([BN, D], [blocks - 1 - j, 0]),
                    k_s.stage(s),
                    &k_pipe,
                    s,
                );
                let s = v_pipe.acquire();
                load.copy_into(
                    &v_g.tile([BN, D], [blocks - 1 - j, 0]),
                    v_s.stage(s),
                    &v_pipe,
                    s,
                );
            }
        }
    } else {
        set_registers(240);
        let half = warpgroup_idx() - 1;
        let gemm = Gemm::<E>::warpgroup(Warp::new(4, 1));
        let q_t = q_s.stage(q_pipe.wait()).tile([64, D], [half, 0]);
        // One warpgroup's softmax runs while the other's products do: they take turns on the tensor cores.
        if half == 1 {
            first.arrive();
        }
        let s = k_pipe.wait();
        let score = gemm.issue(q_t, k_s.stage(s), gemm.zeros([64, BN]));
        warpgroup_wait(0);
        k_pipe.release(s);
        let begin = (blocks - 1) * BN;
        let score = score
            .retire()
            .mask(|[_, c]| begin + c < keys, f32::NEG_INFINITY);
        let mut peak = score.row_max();
        let shift = peak.map(|p| -(p * scale_log2));
        let prob = score.rows(&shift, |x, s| exp2_fast(fma(x, scale_log2, s)));
        let mut total = prob.row_sum();
        let mut held = prob.cast::<E>();
        let mut acc = gemm.zeros([64, D]);
        for _ in 1..blocks {
            let s = k_pipe.wait();
            if half == 0 {
                first.sync();
            } else {
                second.sync();
            }
            let score = gemm.issue(q_t, k_s.stage(s), gemm.zeros([64, BN]));
            let t = v_pipe.wait();
            let next = gemm.issue(held, v_s.stage(t).t(), acc);
            if half == 0 {
                second.arrive();
            } else {
                first.arrive();
            }
            warpgroup_wait(1);
            k_pipe.release(s);
            let score = score.retire();
            let top = peak.zip(&score.row_max(), f32::max);
            let fade = peak.zip(&top, |old, new| exp2_fast((old - new) * scale_log2));
            let shift = top.map(|p| -(p * scale_log2));
            let prob = score.rows(&shift, |x, s| exp2_fast(fma(x, scale_log2, s)));
            total = &(&total * &fade) + &prob.row_sum();
            peak = top;
            warpgroup_wait(0);
            v_pipe.release(t);
            held = prob.cast::<E>();
            acc = next.retire().rows(&fade, |a, f| a * f);
        }
        let t = v_pipe.wait();
        let last = gemm.issue(held, v_s.stage(t).t(), acc);
        warpgroup_wait(0);
        let inverse = total.map(recip);
        let o = last.retire().rows(&inverse, |a, i| a * i).cast::<E>();
        out.at_mut([batch, head])
            .tile_mut([64, D], [2 * m + half, 0])
            .store(&o);
        let log = peak.zip(&total, |p, l| p * scale_log2 + log2(l));
        lse.at_mut([batch, head])
            .tile_mut([64], [2 * m + half])
            .store(&log);
    }
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    const D: usize = 128;
    let extent = |nth: usize, default: usize| program::number(nth, "an extent", default);
    let (heads, length) = (extent(1, 2)?, extent(2, 200)?);
    let device = tiki::Device::open_default()?;
    let stream = device.stream();
    let random = |seed: u64| -> Vec<f16> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        // A sum of four is close enough to a normal.
        (0..heads * length * D)
            .map(|_| f16::from_f32(next() + next() + next() + next()))
            .collect()
    };
    let (q, k, v) = (random(1), random(2), random(3));
    let shape = [1, heads, length, D];
    let (dq, dk, dv) = (
        device.tensor_from(&q, shape)?,
        device.tensor_from(&k, shape)?,
        device.tensor_from(&v, shape)?,
    );
    let mut out = device.zeros::<f16, 4>(shape)?;
    let mut lse = device.zeros::<f32, 3>([1, heads, length])?;
    let scale = 1.0 / (D as f64).sqrt();
    let base2 = (scale * std::f64::consts::LOG2_E) as f32;
    attention_hopper::<f16, D, 128>::launch(&stream, &dq, &dk, &dv, &mut out, &mut lse, base2)?;
    let (got, got_lse) = (out.to_vec()?, lse.to_vec()?);
    let mut worst = 0.0_f64;
    for row in (0..heads * length).step_by((heads * length / 61).max(1)) {
        let head = row / length;
        let at = |t: &[f16], r: usize, d: usize| t[(head * length + r) * D + d].to_f64();
        let query = |d: usize| q[row * D + d].to_f64();
        let scores: Vec<f64> = (0..length)
            .map(|c| (0..D).map(|d| query(d) * at(&k, c, d)).sum::<f64>() * scale)
            .collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
        let total: f64 = weights.iter().sum();
        // Probabilities and the result are rounded to f16; the values are at most 4.
        let bound = 2.5 * 4.0 * 2f64.powi(-11);
        for d in 0..D {
            let exact: f64 = weights
                .iter()
                .enumerate()
                .map(|(c, w)| w / total * at(&v, c, d))
                .sum();
            worst = program::further(worst, (got[row * D + d].to_f64() - exact).abs() / bound);
        }
        let log = f64::from(got_lse[row]) * std::f64::consts::LN_2;
        worst = program::further(worst, (log - top - total.ln()).abs() / 1e-4);
    }
    let time = tiki::bench::Bench {
        samples: 10,
        warm_up: 1,
        ..Default::default()
    }
    .run(&stream, || {
        attention_hopper::<f16, D, 128>::launch(&stream, &dq, &dk, &dv, &mut out, &mut lse, base2)
    })?;
    let flops = 4.0 * (heads * length * length * D) as f64 / time.median() / 1e6;
    println!(
        "{}: attention of {heads} heads, {length} tokens in {:.1} us, {flops:.3} TFLOP/s",
        device.name(),
        time.median()
    );
    println!("worst error: {worst:.3} of the bound");
    println!("{}", attention_hopper::<f16, D, 128>::REPORT);
    Ok(worst <= 1.0)
}

fn main() -> ExitCode {
    program::end(run())
}
