//! Attention whose scores are a function of product and place: linear biases, a soft cap, documents.
//!
//! [`kernels::score`] is the function, [`kernels::slope`] its derivative. Both are given to the library's algorithms, whose kernels are
//! made here; the products, the pipelines and the softmax are the library's. A score's function sees the product before
//! it is scaled and must leave minus infinity, which is what the band has masked, as it is.
//!
//! `cargo run --release --features attention --example attention_scores` compares all three, forward and backward, with
//! f64, on Hopper's schedule or Ampere's, as the device is.

mod kernels;

use kernels::{CAP, scores_ampere, scores_backward_ampere, scores_backward_hopper, scores_hopper};
use std::process::ExitCode;
use tiki::attention::{self, Attended, AttentionError, Gradients, Options, Schedule};
use tiki::prelude::f16;
use tiki::{Device, Tensor};

/// One call: the tensors on the device.
#[derive(Debug)]
pub struct Given<'a> {
    pub q: &'a Tensor<f16, 4>,
    pub k: &'a Tensor<f16, 4>,
    pub v: &'a Tensor<f16, 4>,
    pub span: u32,
    pub d_out: &'a Tensor<f16, 4>,
}

macro_rules! passes {
    ($($kind:literal)*) => {
        /// Forward and backward under a causal mask.
        pub fn run_passes(
            kind: usize,
            given: &Given<'_>,
        ) -> Result<(Attended<f16>, Gradients<f16>), AttentionError> {
            let Given { q, k, v, span, d_out } = *given;
            let (options, stream) = (Options::causal(), q.device().stream());
            let (before, after) = (1 << 30, 0);
            let forward = attention::forward_with(q, k, v, &options, |schedule, out, lse, log2| {
                let scale = log2 / std::f32::consts::LOG2_E;
                match (schedule, kind) {
                    $((Schedule::Hopper, $kind) => scores_hopper::<$kind>::launch(
                        &stream, q, k, v, out, lse, scale, span, before, after),
                    (Schedule::Ampere, $kind) => scores_ampere::<$kind>::launch(
                        &stream, q, k, v, out, lse, scale, span, before, after),)*
                    _ => unreachable!("three functions"),
                }
            })?;
            let gradients = attention::backward_with(
                &stream, q, k, v, &forward, d_out, None, &options,
                |p, dk, dv| match (p.schedule, kind) {
                    $((Schedule::Hopper, $kind) => scores_backward_hopper::<$kind>::launch(
                        &stream, q, k, v, d_out, p.top, p.delta, p.sums, p.turns, dk, dv, p.scale, span, before, after),
                    (Schedule::Ampere, $kind) => scores_backward_ampere::<$kind>::launch(
                        &stream, q, k, v, d_out, p.top, p.delta, p.sums, p.turns, dk, dv, p.scale, span, before, after),)*
                    _ => unreachable!("three functions"),
                },
            )?;
            Ok((forward, gradients))
        }
    };
}

passes!(0 1 2);

/// Output, dQ, dK and dV of one head in f64, by the definition; `d` wide, `n` long.
fn exact(
    kind: usize,
    [q, k, v, g]: [&[f64]; 4],
    (head, heads): (usize, usize),
    (n, span): (usize, usize),
) -> [Vec<f64>; 4] {
    let d = q.len() / n;
    let (scale, cap) = (1.0 / (d as f64).sqrt(), f64::from(CAP));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let row = |t: &[f64], i: usize| t[i * d..(i + 1) * d].to_vec();
    let [mut out, mut dq, mut dk, mut dv] = [(); 4].map(|()| vec![0.0; n * d]);
    for r in 0..n {
        let seen = (0..=r).filter(|c| kind != 2 || *c / span == r / span);
        let seen: Vec<usize> = seen.collect();
        let raw: Vec<f64> = seen
            .iter()
            .map(|c| dot(&row(q, r), &row(k, *c)) * scale)
            .collect();
        let fall = (-8.0 * (head + 1) as f64 / heads as f64).exp2();
        let score = raw.iter().zip(&seen).map(|(x, c)| match kind {
            0 => x + fall * (*c as f64 - r as f64),
            1 => cap * (x / cap).tanh(),
            _ => *x,
        });
        let score: Vec<f64> = score.collect();
        let top = score.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = score.iter().map(|s| (s - top).exp()).sum();
        let prob: Vec<f64> = score.iter().map(|s| (s - top).exp() / total).collect();
        let up = row(g, r);
        let d_prob: Vec<f64> = seen.iter().map(|c| dot(&up, &row(v, *c))).collect();
        let delta = dot(&prob, &d_prob);
        for (i, c) in seen.iter().enumerate() {
            let slope = if kind == 1 {
                1.0 - (raw[i] / cap).tanh().powi(2)
            } else {
                1.0
            };
            let ds = prob[i] * (d_prob[i] - delta) * slope * scale;
            for j in 0..d {
                out[r * d + j] += prob[i] * v[c * d + j];
                dq[r * d + j] += ds * k[c * d + j];
                dk[c * d + j] += ds * q[r * d + j];
                dv[c * d + j] += prob[i] * up[j];
            }
        }
    }
    [out, dq, dk, dv]
}

/// How far each function is off, of the output, dQ, dK and dV: the distance's norm by the result's.
pub fn distances(
    device: &Device,
    heads: usize,
    length: usize,
) -> Result<[[f64; 4]; 3], AttentionError> {
    const D: usize = 128;
    const SPAN: usize = 37;
    let count = heads * length * D;
    let numbers = |seed: usize| -> Vec<f16> {
        let at = |i: usize| {
            let x = (i + seed * count) as u64;
            let x = x.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            3.0 * (x >> 40) as f32 / (1 << 24) as f32 - 1.5
        };
        (0..count).map(|i| f16::from_f32(at(i))).collect()
    };
    let host = [1, 2, 3, 4].map(numbers);
    let to = |t: &Vec<f16>| device.tensor_from(t, [1, heads, length, D]);
    let (q, k, v, g) = (to(&host[0])?, to(&host[1])?, to(&host[2])?, to(&host[3])?);
    let given = Given {
        q: &q,
        k: &k,
        v: &v,
        span: SPAN as u32,
        d_out: &g,
    };
    let mut off = [[0.0; 4]; 3];
    for (kind, off) in off.iter_mut().enumerate() {
        let (forward, back) = run_passes(kind, &given)?;
        let got = [&forward.out, &back.q, &back.k, &back.v];
        let mut sums = [(0.0, 0.0); 4];
        let got = [
            got[0].to_vec()?,
            got[1].to_vec()?,
            got[2].to_vec()?,
            got[3].to_vec()?,
        ];
        for head in 0..heads {
            let own = head * length * D..(head + 1) * length * D;
            let wide = |t: &Vec<f16>| {
                t[own.clone()]
                    .iter()
                    .map(|x| x.to_f64())
                    .collect::<Vec<_>>()
            };
            let [q, k, v, g] = [0, 1, 2, 3].map(|i| wide(&host[i]));
            let expected = exact(kind, [&q, &k, &v, &g], (head, heads), (length, SPAN));
            for (i, expected) in expected.iter().enumerate() {
                for (g, e) in wide(&got[i]).iter().zip(expected) {
                    sums[i].0 += (g - e).powi(2);
                    sums[i].1 += e.powi(2);
                }
            }
        }
        for (off, (apart, whole)) in off.iter_mut().zip(sums) {
            *off = (apart / whole).sqrt();
            if off.is_nan() {
                *off = f64::INFINITY;
            }
        }
    }
    Ok(off)
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let device = Device::open_default()?;
    let off = distances(&device, 2, 150)?;
    for (name, off) in ["linear biases", "soft cap", "documents"].iter().zip(off) {
        let [out, dq, dk, dv] = off;
        println!(
            "{}: {name}: out {out:.1e}, dQ {dq:.1e}, dK {dk:.1e}, dV {dv:.1e} of its norm off",
            device.name()
        );
    }
    // Probabilities and their gradients are rounded to f16, and the result.
    Ok(off.iter().flatten().all(|off| *off <= 1e-3))
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("error: a result is further from its definition than it may be");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
