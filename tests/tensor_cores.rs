//! Products and attention on the virtual machine.
//!
//! Invariant: the products of `examples/gemm.rs` lie within the forward bound of an f32 sum of exact
//! products, rounded once, at every edge of the tiles; attention agrees with an f64 reference. Witness:
//! shapes around the tile's edges, in every order of asynchronous completion.

mod suite;

use suite::inputs::mixed;
use tiki::prelude::*;

#[allow(dead_code)]
#[path = "../examples/attention.rs"]
mod attention;
#[allow(dead_code)]
#[path = "../examples/attention_hopper.rs"]
mod attention_hopper;
#[allow(dead_code)]
#[path = "../examples/gemm.rs"]
mod gemm;

fn halves(count: usize, seed: u64) -> Vec<f16> {
    mixed(count, seed)
        .into_iter()
        .map(|v| f16::from_f64(v.clamp(-8.0, 8.0)))
        .collect()
}

/// Checks a product of any shape against exact products and the forward bound of their f32 sum.
fn check_product(
    (m, n, k): (usize, usize, usize),
    launch: impl Fn(
        &tiki::Stream,
        &tiki::Tensor<f16, 2>,
        &tiki::Tensor<f16, 2>,
        &mut tiki::Tensor<f16, 2>,
    ),
) {
    let device = tiki::Device::vm().expect("the virtual machine opens");
    let (a, b) = (halves(m * k, 1), halves(n * k, 2));
    let da = device.tensor_from(&a, [m, k]).unwrap();
    let db = device.tensor_from(&b, [n, k]).unwrap();
    let poison = vec![f16::from_f32(-777.0); m * n];
    let mut c = device.tensor_from(&poison, [m, n]).unwrap();
    launch(&device.stream(), &da, &db, &mut c);
    let got = c.to_vec().unwrap();
    for i in 0..m * n {
        let terms = (0..k).map(|t| a[i / n * k + t].to_f64() * b[i % n * k + t].to_f64());
        let (exact, size) = terms.fold((0.0, 0.0), |(s, z), t| (s + t, z + t.abs()));
        let bound =
            k as f64 * 2f64.powi(-23) * size + exact.abs() * 2f64.powi(-11) + 2f64.powi(-25);
        let off = (got[i].to_f64() - exact).abs();
        assert!(
            off <= bound,
            "{m} x {n} x {k}, element {i}: {} is {off:.2e} off, bound {bound:.2e}",
            got[i]
        );
    }
}

#[test]
fn products_of_any_shape() {
    for shape in [
        (1, 2, 8),
        (16, 8, 16),
        (64, 64, 64),
        (65, 66, 72),
        (130, 62, 200),
        (7, 300, 40),
        (3, 4, 0),
    ] {
        check_product(shape, |stream, a, b, c| {
            gemm::gemm_ampere::<f16, 64, 64, 64, 3>::launch(stream, a, b, c).unwrap();
        });
    }
}

#[test]
fn products_through_the_accelerator() {
    for shape in [(8, 8, 8), (128, 64, 64), (130, 72, 200), (257, 136, 72)] {
        check_product(shape, |stream, a, b, c| {
            gemm::gemm_hopper::<f16, 128, 64, 64, 6>::launch(stream, a, b, c).unwrap();
        });
    }
}

/// Attention of one head in f64.
fn reference(
    q: &[f64],
    k: &[f64],
    v: &[f64],
    (queries, keys, width): (usize, usize, usize),
    scale: f64,
    causal: bool,
) -> (Vec<f64>, Vec<f64>) {
    let (mut out, mut lse) = (vec![0.0; queries * width], vec![f64::NEG_INFINITY; queries]);
    for r in 0..queries {
        let kept: Vec<usize> = (0..keys).filter(|&c| !causal || c <= r).collect();
        let dot = |c: usize| {
            (0..width)
                .map(|d| q[r * width + d] * k[c * width + d])
                .sum::<f64>()
                * scale
        };
        let scores: Vec<f64> = kept.iter().map(|&c| dot(c)).collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
        let total: f64 = weights.iter().sum();
        if total > 0.0 {
            lse[r] = top + total.ln();
        }
        for (w, c) in weights.iter().zip(&kept) {
            for d in 0..width {
                out[r * width + d] += w / total * v[c * width + d];
            }
        }
    }
    (out, lse)
}

#[test]
fn attention_with_edges_and_shared_heads() {
    let device = tiki::Device::vm().expect("the virtual machine opens");
    let stream = device.stream();
    const D: usize = 64;
    let scale = 1.0 / (D as f64).sqrt();
    for (heads, shared, queries, keys, causal) in [
        (2, 1, 65, 65, true),
        (1, 1, 1, 130, false),
        (2, 2, 64, 64, false),
        (1, 1, 70, 3, true),
        (1, 1, 5, 0, false),
    ] {
        let q = halves(heads * queries * D, 3);
        let (k, v) = (halves(shared * keys * D, 4), halves(shared * keys * D, 5));
        let load = |t: &[f16], h, n| device.tensor_from(t, [1, h, n, D]).unwrap();
        let (dq, dk, dv) = (
            load(&q, heads, queries),
            load(&k, shared, keys),
            load(&v, shared, keys),
        );
        let mut out = device
            .tensor_from(
                &vec![f16::from_f32(-777.0); q.len()],
                [1, heads, queries, D],
            )
            .unwrap();
        let mut lse = device
            .tensor_from(&vec![-777.0_f32; heads * queries], [1, heads, queries])
            .unwrap();
        let base2 = (scale * std::f64::consts::LOG2_E) as f32;
        attention::attention::<f16, 64, 64, 64>::launch(
            &stream, &dq, &dk, &dv, &mut out, &mut lse, base2, causal,
        )
        .unwrap();
        let (out, lse) = (out.to_vec().unwrap(), lse.to_vec().unwrap());
        let wide = |t: &[f16]| t.iter().map(|v| v.to_f64()).collect::<Vec<_>>();
        for h in 0..heads {
            let s = h / (heads / shared);
            let part = |t: &[f16], i: usize, n: usize| wide(&t[i * n * D..(i + 1) * n * D]);
            let (qs, ks, vs) = (part(&q, h, queries), part(&k, s, keys), part(&v, s, keys));
            let (expected, expected_lse) =
                reference(&qs, &ks, &vs, (queries, keys, D), scale, causal);
            // Probabilities and results are rounded to f16: 2^-11 each of at most the greatest value.
            let size = vs.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
            for (i, e) in expected.iter().enumerate() {
                let got = out[h * queries * D + i].to_f64();
                assert!(
                    (got - e).abs() <= 2.5 * size * 2f64.powi(-11),
                    "head {h} of {queries} x {keys}, element {i}: {got} for {e}"
                );
            }
            for (i, e) in expected_lse.iter().enumerate() {
                let got = f64::from(lse[h * queries + i]) * std::f64::consts::LN_2;
                assert!(
                    got == *e || (got - e).abs() <= 1e-4,
                    "log-sum-exp {i}: {got} for {e}"
                );
            }
        }
    }
}

#[test]
fn attention_through_the_accelerator() {
    const D: usize = 128;
    let device = tiki::Device::vm().expect("the virtual machine opens");
    let stream = device.stream();
    let scale = 1.0 / (D as f64).sqrt();
    for (queries, keys) in [(130, 130), (1, 300), (64, 5)] {
        let (q, k, v) = (
            halves(queries * D, 3),
            halves(keys * D, 4),
            halves(keys * D, 5),
        );
        let load = |t: &[f16], n| device.tensor_from(t, [1, 1, n, D]).unwrap();
        let (dq, dk, dv) = (load(&q, queries), load(&k, keys), load(&v, keys));
        let poison = vec![f16::from_f32(-777.0); q.len()];
        let mut out = device.tensor_from(&poison, [1, 1, queries, D]).unwrap();
        let mut lse = device
            .tensor_from(&vec![-777.0_f32; queries], [1, 1, queries])
            .unwrap();
        let base2 = (scale * std::f64::consts::LOG2_E) as f32;
        attention_hopper::attention_hopper::<f16, D, 128>::launch(
            &stream, &dq, &dk, &dv, &mut out, &mut lse, base2,
        )
        .unwrap();
        let wide = |t: &[f16]| t.iter().map(|v| v.to_f64()).collect::<Vec<_>>();
        let (qs, ks, vs) = (wide(&q), wide(&k), wide(&v));
        let (expected, expected_lse) = reference(&qs, &ks, &vs, (queries, keys, D), scale, false);
        let size = vs.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
        for (got, e) in out.to_vec().unwrap().iter().zip(&expected) {
            assert!(
                (got.to_f64() - e).abs() <= 2.5 * size * 2f64.powi(-11),
                "{queries} x {keys}: {got} for {e}"
            );
        }
        for (got, e) in lse.to_vec().unwrap().iter().zip(&expected_lse) {
            let got = f64::from(*got) * std::f64::consts::LN_2;
            assert!((got - e).abs() <= 1e-4, "log-sum-exp: {got} for {e}");
        }
    }
}
