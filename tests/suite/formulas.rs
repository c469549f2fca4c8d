//! Formulas in f64 of the kernels of a training step, each with the magnitude of its terms, and the judgement
//! of results that are sums of terms which may cancel.

use super::Real;

/// What a comparison found, and how far two results may be apart that both pass it, each element.
pub struct Near {
    pub verdict: Result<String, String>,
    pub apart: Vec<f64>,
}

/// Each result within `bound` of the magnitude of its terms, and half a unit in the last place.
pub fn near<E: Real>(got: &[E], want: &[f64], terms: &[f64], bound: f64) -> Near {
    assert!(got.len() == want.len() && want.len() == terms.len());
    let half = 2f64.powi(-E::BITS - 1);
    // Half the spacing of subnormals.
    let least = match E::NAME {
        "f16" => 2f64.powi(-25),
        "bf16" => 2f64.powi(-134),
        _ => 2f64.powi(-126),
    };
    let (mut worst, mut wrong, mut apart) = (0.0_f64, 0, Vec::new());
    for ((g, w), t) in got.iter().zip(want).zip(terms) {
        let allowed = bound * t + half * (w.abs() + bound * t) + least;
        apart.push(2.0 * allowed);
        // Correctly rounded, past the largest number too.
        if g.wide_of() == E::from_wide(*w).wide_of() {
            continue;
        }
        let off = (g.wide_of() - w).abs();
        // Also true of NaN.
        if off.is_nan() || off > allowed {
            wrong += 1;
        }
        worst = worst.max(off / allowed);
    }
    let text = format!("worst {worst:.2} of the bound, {bound:.2e} of the terms");
    let verdict = if wrong == 0 {
        Ok(text)
    } else {
        Err(format!("{text}, {wrong} outside"))
    };
    Near { verdict, apart }
}

pub fn tree(n: usize) -> f64 {
    (n as f64).log2().ceil()
}

pub fn per_row<const K: usize>(rows: usize, f: impl Fn(usize) -> [Vec<f64>; K]) -> [Vec<f64>; K] {
    let mut all: [Vec<f64>; K] = std::array::from_fn(|_| Vec::new());
    for r in 0..rows {
        for (all, part) in all.iter_mut().zip(f(r)) {
            all.extend(part);
        }
    }
    all
}

/// LayerNorm of one row, and the magnitude of its terms.
pub fn normed(x: &[f64], w: &[f64], b: &[f64], eps: f64) -> [Vec<f64>; 2] {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let size = x.iter().map(|v| v.abs()).sum::<f64>() / n;
    let r = 1.0 / (x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n + eps).sqrt();
    let y = (0..x.len()).map(|i| (x[i] - mean) * r * w[i] + b[i]);
    let terms = (0..x.len()).map(|i| (x[i].abs() + size) * r * w[i].abs() + b[i].abs());
    [y.collect(), terms.collect()]
}

pub fn log_softmax(x: &[f64]) -> [Vec<f64>; 2] {
    let top = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let log = x.iter().map(|v| (v - top).exp()).sum::<f64>().ln();
    let y = x.iter().map(|v| v - top - log);
    let terms = x.iter().map(|v| v.abs() + top.abs() + log + 1.0);
    [y.collect(), terms.collect()]
}

pub fn softmax_gradient(y: &[f64], g: &[f64]) -> [Vec<f64>; 2] {
    let dot: f64 = y.iter().zip(g).map(|(y, g)| y * g).sum();
    let size: f64 = y.iter().zip(g).map(|(y, g)| (y * g).abs()).sum();
    let pairs = || y.iter().zip(g);
    [
        pairs().map(|(y, g)| y * (g - dot)).collect(),
        pairs().map(|(y, g)| y.abs() * (g.abs() + size)).collect(),
    ]
}

/// Of the input and its terms; of the weight and its terms, this row's share.
pub fn norm_gradient(x: &[f64], w: &[f64], g: &[f64], eps: f64) -> [Vec<f64>; 4] {
    let n = x.len();
    let r = 1.0 / (x.iter().map(|v| v * v).sum::<f64>() / n as f64 + eps).sqrt();
    let s: Vec<f64> = g.iter().zip(w).map(|(g, w)| g * w).collect();
    let mean = s.iter().zip(x).map(|(s, x)| s * x).sum::<f64>() / n as f64;
    let size = s.iter().zip(x).map(|(s, x)| (s * x).abs()).sum::<f64>() / n as f64;
    let each = |f: &dyn Fn(usize) -> f64| (0..n).map(f).collect::<Vec<f64>>();
    [
        each(&|i| r * (s[i] - x[i] * r * r * mean)),
        each(&|i| r * (s[i].abs() + x[i].abs() * r * r * size)),
        each(&|i| g[i] * x[i] * r),
        each(&|i| (g[i] * x[i] * r).abs()),
    ]
}

/// Of the input and its terms; of the weight and its terms, this row's share (the bias's share is the gradient).
pub fn layer_norm_gradient(x: &[f64], w: &[f64], g: &[f64], eps: f64) -> [Vec<f64>; 4] {
    let n = x.len();
    let mean_of = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>() / n as f64;
    let mean = mean_of(&|i| x[i]);
    let far = mean_of(&|i| x[i].abs());
    let r = 1.0 / (mean_of(&|i| (x[i] - mean).powi(2)) + eps).sqrt();
    let unit: Vec<f64> = x.iter().map(|v| (v - mean) * r).collect();
    let wide: Vec<f64> = x.iter().map(|v| (v.abs() + far) * r).collect();
    let s: Vec<f64> = g.iter().zip(w).map(|(g, w)| g * w).collect();
    let (level, slope) = (mean_of(&|i| s[i]), mean_of(&|i| s[i] * unit[i]));
    let (size, steep) = (
        mean_of(&|i| s[i].abs()),
        mean_of(&|i| (s[i] * wide[i]).abs()),
    );
    let each = |f: &dyn Fn(usize) -> f64| (0..n).map(f).collect::<Vec<f64>>();
    [
        each(&|i| r * (s[i] - level - unit[i] * slope)),
        each(&|i| r * (s[i].abs() + size + wide[i] * steep)),
        each(&|i| g[i] * unit[i]),
        each(&|i| g[i].abs() * wide[i]),
    ]
}

/// Invariant: the gradients' formulas are the derivatives of the forward ones. Witness: central differences in f64, in
/// every direction.
#[test]
fn gradients_are_finite_differences() {
    let series = |n: usize, step: usize| -> Vec<f64> {
        (0..n)
            .map(|i| (i * step % 101) as f64 / 50.0 - 1.0)
            .collect()
    };
    let (n, eps, h) = (9, 1e-3, 1e-5);
    let (x, w, g) = (series(n, 37), series(n, 17), series(n, 71));
    let along = |f: &dyn Fn(&[f64]) -> Vec<f64>, x: &[f64], i: usize| -> f64 {
        let moved = |by: f64| {
            let mut x = x.to_vec();
            x[i] += by;
            f(&x).iter().zip(&g).map(|(y, g)| y * g).sum::<f64>()
        };
        (moved(h) - moved(-h)) / (2.0 * h)
    };
    let same = |what: &str, got: &[f64], f: &dyn Fn(&[f64]) -> Vec<f64>, x: &[f64]| {
        for (i, d) in got.iter().enumerate() {
            let want = along(f, x, i);
            assert!((d - want).abs() < 1e-8, "{what} {i}: {d}, {want}");
        }
    };
    let none = vec![0.0; n];
    let layer = |x: &[f64]| normed(x, &w, &none, eps)[0].clone();
    let by_weight = |w: &[f64]| normed(&x, w, &none, eps)[0].clone();
    let [d_x, _, d_w, _] = layer_norm_gradient(&x, &w, &g, eps);
    same("LayerNorm", &d_x, &layer, &x);
    same("LayerNorm's weight", &d_w, &by_weight, &w);
    let rms = |x: &[f64], w: &[f64]| -> Vec<f64> {
        let mean = x.iter().map(|v| v * v).sum::<f64>() / n as f64;
        let r = 1.0 / (mean + eps).sqrt();
        x.iter().zip(w).map(|(x, w)| x * r * w).collect()
    };
    let [d_x, _, d_w, _] = norm_gradient(&x, &w, &g, eps);
    same("RMSNorm", &d_x, &|x| rms(x, &w), &x);
    same("RMSNorm's weight", &d_w, &|w| rms(&x, w), &w);
    let logs = |x: &[f64]| log_softmax(x)[0].clone();
    let soft = |x: &[f64]| logs(x).iter().map(|v| v.exp()).collect::<Vec<f64>>();
    same("softmax", &softmax_gradient(&soft(&x), &g)[0], &soft, &x);
    let sum: f64 = g.iter().sum();
    let d: Vec<f64> = soft(&x).iter().zip(&g).map(|(p, g)| g - p * sum).collect();
    same("its logarithm", &d, &logs, &x);
}
