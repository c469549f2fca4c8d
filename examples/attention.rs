//! Attention by tiled online softmax: `out = softmax(scale * q @ k.T) @ v`, and the log-sum-exp of each row.
//!
//! A block holds a tile of queries and walks over the keys; scores stay in registers, so no matrix of
//! queries by keys is ever in memory. Query head h uses key head h / (query heads / key heads). With
//! `causal`, query r sees keys 0 to r. A fully masked row gives zeros, and minus infinity as its
//! log-sum-exp; a masked place does not leak, whatever it holds. Logarithms are binary throughout:
//! `scale_log2` is the scale times log2(e), and `lse` times ln 2 is the natural log-sum-exp.
//!
//! `cargo run --release --example attention -- [FILE [TIMELINE]]` reads `q`, `k` and `v` of a safetensors file and
//! compares with its `attention_expected` and `lse_expected`. With `--features attention`, on
//! Hopper or the virtual machine, `tiki::attention` does the same and its gradients are compared with f64.
//!
//! With a second file, `pipeline.svg` or `pipeline.json`, it runs on the virtual machine and writes for each kernel what
//! the first block's warps loaded, waited for and multiplied at what time (`pipeline-KERNEL.svg`; JSON for Perfetto).

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::prelude::*;

#[tiki::kernel(target = "sm_80", warps = 4, grid = [q.dim(2).div_ceil(BM), q.dim(1), q.dim(0)], build(
    (E = f16, D = 64, BM = 64, BN = 64),
    (E = bf16, D = 64, BM = 64, BN = 64),
    (E = f16, D = 128, BM = 64, BN = 64),
    (E = bf16, D = 128, BM = 64, BN = 64),
))]
pub fn attention<E: Half, const D: usize, const BM: usize, const BN: usize>(
    q: &Global<E, 4>,
    k: &Global<E, 4>,
    v: &Global<E, 4>,
    out: &mut Global<E, 4>,
    lse: &mut Global<f32, 3>,
    scale_log2: f32,
    causal: bool,
) {
    require!(q.dim(3) == D && k.dim(3) == D && v.shape() == k.shape() && out.shape() == q.shape());
    require!(lse.dim(0) == q.dim(0) && lse.dim(1) == q.dim(1) && lse.dim(2) == q.dim(2));
    require!(k.dim(0) == q.dim(0) && k.dim(1) >= 1 && q.dim(1) % k.dim(1) == 0);
    let (m, head, batch) = (block_idx().x, block_idx().y, block_idx().z);
    let kv_head = head / (q.dim(1) / k.dim(1));
    let (q, k_g, v_g) = (
        q.at([batch, head]),
        k.at([batch, kv_head]),
        v.at([batch, kv_head]),
    );
    let q_s = Shared::<E>::new(Layout::k_major::<E>([BM, D]));
    let k_s = Shared::<E>::stages(2, Layout::k_major::<E>([BN, D]));
    let v_s = Shared::<E>::stages(2, Layout::k_major::<E>([BN, D]));
    let (load, pipe) = (Load::cp_async(128), Pipeline::cp_async(2));
    let gemm = Gemm::<E>::new(Warp::new(4, 1));
    let keys = k.dim(2);
    let blocks = if causal {
        ((m + 1) * BM).min(keys).div_ceil(BN)
    } else {
        keys.div_ceil(BN)
    };
    let fetch = |j: usize| {
        let s = pipe.acquire();
        load.copy(&k_g.tile([BN, D], [j, 0]), k_s.stage(s));
        load.copy(&v_g.tile([BN, D], [j, 0]), v_s.stage(s));
        pipe.commit();
    };
    load.copy(&q.tile([BM, D], [m, 0]), q_s);
    fetch(0);
    let mut acc = gemm.zeros([BM, D]);
    let mut peak = acc.row_vector(f32::NEG_INFINITY);
    let mut total = acc.row_vector(0.0);
    for j in 0..blocks {
        let s = pipe.wait();
        fetch(j + 1);
        let score = gemm.dot(q_s, k_s.stage(s)).map(|x| x * scale_log2).mask(
            |[r, c]| j * BN + c < keys && (!causal || j * BN + c <= m * BM + r),
            f32::NEG_INFINITY,
        );
        let next = peak.zip(&score.row_max(), f32::max);
        // A fully masked row stays zero, never NaN.
        let safe = next.map(|x| if x == f32::NEG_INFINITY { 0.0 } else { x });
        let fade = peak.zip(&safe, |old, new| exp2(old - new));
        let prob = score.rows(&safe, |x, top| exp2(x - top));
        total = &(&total * &fade) + &prob.row_sum();
        acc = acc.rows(&fade, |a, f| a * f);
        gemm.accumulate(prob.cast::<E>(), v_s.stage(s).t(), &mut acc); // acc += prob @ v
        peak = next;
    }
    let inverse = total.map(|l| if l == 0.0 { 0.0 } else { recip(l) });
    let log = peak.zip(&total, |p, l| {
        if l == 0.0 {
            f32::NEG_INFINITY
        } else {
            p + log2(l)
        }
    });
    out.at_mut([batch, head])
        .tile_mut([BM, D], [m, 0])
        .store(&acc.rows(&inverse, |a, i| a * i).cast::<E>());
    lse.at_mut([batch, head]).tile_mut([BM], [m]).store(&log);
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let file = program::tensors()?;
    let timeline = std::env::args().nth(2);
    let recorder = tiki::vm::Recorder::of([0; 3]);
    let device = match &timeline {
        None => tiki::Device::open_default()?,
        Some(_) => recording(&recorder)?,
    };
    let stream = device.stream();
    let read = |name: &str| -> Result<tiki::Tensor<f16, 4>, Box<dyn std::error::Error>> {
        let t = file.load::<f16, 3>(&device, name)?;
        let [heads, length, width] = t.shape();
        Ok(t.reshape([1, heads, length, width])?)
    };
    let (q, k, v) = (read("q")?, read("k")?, read("v")?);
    let [_, heads, length, width] = q.shape();
    let mut out = device.zeros::<f16, 4>(q.shape())?;
    let mut lse = device.zeros::<f32, 3>([1, heads, length])?;
    let scale = std::f32::consts::LOG2_E / (width as f32).sqrt();
    attention::<f16, 64, 64, 64>::launch(&stream, &q, &k, &v, &mut out, &mut lse, scale, true)?;
    let expected = file.read_as::<f64>("attention_expected", &[heads, length, width])?;
    let lse_expected = file.read_as::<f64>("lse_expected", &[heads, length])?;
    let comparison = tiki::report::compare(&out.to_vec()?, &expected)?;
    let got = lse.to_vec()?;
    // Probabilities are rounded to f16 before the second product: 2^-11 of the values' size; the rest is f32.
    let size = expected.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    let bound = 2.0 * size * 2f64.powi(-11);
    let lse_off = got
        .iter()
        .zip(&lse_expected)
        .map(|(g, e)| (f64::from(*g) * std::f64::consts::LN_2 - e).abs())
        .fold(0.0, program::further);
    println!(
        "{}: causal attention of {heads} heads, {length} tokens, width {width}",
        device.name()
    );
    println!("{comparison}");
    println!(
        "out: at most {:.2e} off (bound {bound:.2e}); log-sum-exp: {lse_off:.2e} (bound 1e-5)",
        comparison.max_abs
    );
    println!("{}", attention::<f16, 64, 64, 64>::REPORT);
    let mut right =
        comparison.special_mismatches == 0 && comparison.max_abs <= bound && lse_off <= 1e-5;
    #[cfg(feature = "attention")]
    if device.capability() == (9, 0) {
        let expected = (&expected[..], &lse_expected[..], bound);
        right &= library(&stream, [&q, &k, &v], expected)?;
    }
    if let Some(file) = &timeline {
        draw(&recorder, std::path::Path::new(file))?;
    }
    Ok(right)
}

/// A virtual machine of a Hopper card that records its launches.
fn recording(recorder: &tiki::vm::Recorder) -> Result<tiki::Device, Box<dyn std::error::Error>> {
    let options = tiki::vm::Options {
        timeline: Some(recorder.clone()),
        ..Default::default()
    };
    let mut hopper = tiki::compiler::target::Target::all();
    let hopper = hopper.find(|t| t.row().capability == (9, 0));
    let target = hopper.ok_or("no such target")?;
    Ok(tiki::Device::vm_with(target, options)?)
}

/// Writes each kernel's timeline to a file that has its name.
fn draw(
    recorder: &tiki::vm::Recorder,
    file: &std::path::Path,
) -> Result<(), Box<dyn std::error::Error>> {
    let part =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().to_string();
    let (stem, form) = (part(file.file_stem()), part(file.extension()));
    for timeline in recorder.take() {
        let to = file.with_file_name(format!("{stem}-{}.{form}", timeline.kernel));
        timeline.save(&to)?;
        println!("{}: {} ticks", to.display(), timeline.end());
    }
    Ok(())
}

/// The same by `tiki::attention`, and its gradients.
#[cfg(feature = "attention")]
fn library(
    stream: &tiki::Stream,
    [q, k, v]: [&tiki::Tensor<f16, 4>; 3],
    (expected, lse_expected, bound): (&[f64], &[f64], f64),
) -> Result<bool, Box<dyn std::error::Error>> {
    let options = tiki::attention::Options::causal();
    let attended = tiki::attention(q, k, v, &options)?;
    let comparison = tiki::report::compare(&attended.out.to_vec()?, expected)?;
    // Of nothing, nothing is off: no tokens, no error.
    let share = |off: f64, of: f64| if off == 0.0 { 0.0 } else { off / of };
    let forward_off = share(comparison.max_abs, bound);
    let lse_off = attended
        .lse
        .to_vec()?
        .iter()
        .zip(lse_expected)
        .map(|(g, e)| (f64::from(*g) * std::f64::consts::LN_2 - e).abs())
        .fold(0.0, program::further);
    // Any gradient of the output will do: the output's own, half of the sum of its squares.
    let gradients =
        tiki::attention::backward(stream, q, k, v, &attended, &attended.out, None, &options)?;
    let exact = gradients_of([q, k, v, &attended.out])?;
    let got = [&gradients.q, &gradients.k, &gradients.v];
    let mut worst = 0.0_f64;
    for ((name, got), exact) in ["dq", "dk", "dv"].iter().zip(got).zip(&exact) {
        let norm = exact.iter().map(|e| e * e).sum::<f64>().sqrt();
        let apart = got
            .to_vec()?
            .iter()
            .zip(exact)
            .map(|(g, e)| (g.to_f64() - e).powi(2))
            .sum::<f64>()
            .sqrt();
        let off = share(apart, norm);
        println!("{name}: {off:.2e} of its norm off (bound 1e-3)");
        // A NaN is the worst of all.
        worst = if off <= 1e-3 {
            worst.max(off / 1e-3)
        } else {
            f64::INFINITY
        };
    }
    println!("tiki::attention: out {forward_off:.3} of the bound, log-sum-exp {lse_off:.2e} off");
    let whole = comparison.special_mismatches == 0 && forward_off <= 1.0 && lse_off <= 1e-5;
    Ok(whole && worst <= 1.0)
}

/// Gradients of causal attention in f64, by its definition.
#[cfg(feature = "attention")]
fn gradients_of(
    [q, k, v, g]: [&tiki::Tensor<f16, 4>; 4],
) -> Result<[Vec<f64>; 3], Box<dyn std::error::Error>> {
    let ([_, heads, n, d], shared) = (q.shape(), k.shape()[1]);
    let wide = |t: &tiki::Tensor<f16, 4>| -> Result<Vec<f64>, tiki::LaunchError> {
        Ok(t.to_vec()?.iter().map(|x| x.to_f64()).collect())
    };
    let (q, k, v, g) = (wide(q)?, wide(k)?, wide(v)?, wide(g)?);
    let (mut dq, mut dk, mut dv) = (vec![0.0; q.len()], vec![0.0; k.len()], vec![0.0; v.len()]);
    let scale = 1.0 / (d as f64).sqrt();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    for row in 0..heads * n {
        let (at, base) = (row * d, row / n / (heads / shared) * n * d);
        let keys = 0..=row % n;
        let key = |c: usize| base + c * d..base + (c + 1) * d;
        let (own, up) = (&q[at..at + d], &g[at..at + d]);
        let scores: Vec<f64> = keys.clone().map(|c| dot(own, &k[key(c)]) * scale).collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = scores.iter().map(|s| (s - top).exp()).sum();
        let prob: Vec<f64> = scores.iter().map(|s| (s - top).exp() / total).collect();
        let d_prob: Vec<f64> = keys.clone().map(|c| dot(up, &v[key(c)])).collect();
        let delta = dot(&prob, &d_prob);
        for c in keys {
            let ds = prob[c] * (d_prob[c] - delta) * scale;
            for (i, j) in key(c).enumerate() {
                dq[at + i] += ds * k[j];
                dk[j] += ds * own[i];
                dv[j] += prob[c] * up[i];
            }
        }
    }
    Ok([dq, dk, dv])
}

fn main() -> ExitCode {
    program::end(run())
}
