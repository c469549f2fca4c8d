//! Attention and its gradients in f64, by the definition: whole rows, no tiles, no running maximum.

use tiki::prelude::{bf16, f16};

/// Extents and options of one case.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub batch: usize,
    pub heads: usize,
    pub key_heads: usize,
    pub queries: usize,
    pub keys: usize,
    pub width: usize,
    pub causal: bool,
    pub window: Option<(usize, usize)>,
    pub scale: f64,
    pub deterministic: bool,
}

impl Case {
    /// Whether a query sees a key.
    pub fn sees(&self, r: usize, c: usize) -> bool {
        let diagonal = r as i64 + self.keys as i64 - self.queries as i64;
        let (before, after) = self.window.unwrap_or((1 << 40, 1 << 40));
        let after = if self.causal { 0 } else { after as i64 };
        (diagonal - before as i64..=diagonal + after).contains(&(c as i64))
    }

    pub fn q_shape(&self) -> [usize; 4] {
        [self.batch, self.heads, self.queries, self.width]
    }

    pub fn k_shape(&self) -> [usize; 4] {
        [self.batch, self.key_heads, self.keys, self.width]
    }

    pub fn options(&self) -> tiki::attention::Options {
        tiki::attention::Options {
            scale: Some(self.scale as f32),
            causal: self.causal,
            window: self.window,
            deterministic: self.deterministic,
        }
    }
}

/// What attention gives.
pub struct Result64 {
    pub out: Vec<f64>,
    /// Natural.
    pub lse: Vec<f64>,
}

/// What its backward pass gives.
pub struct Gradients64 {
    pub q: Vec<f64>,
    pub k: Vec<f64>,
    pub v: Vec<f64>,
}

/// Where the parts of a query head lie.
fn heads(case: &Case) -> impl Iterator<Item = (usize, usize)> + '_ {
    (0..case.batch * case.heads).map(|h| {
        let (batch, head) = (h / case.heads, h % case.heads);
        let group = case.heads / case.key_heads;
        (h, batch * case.key_heads + head / group)
    })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Probabilities of a row over the keys it sees, and its log-sum-exp.
fn probabilities(case: &Case, q: &[f64], k: &[f64], r: usize) -> (Vec<(usize, f64)>, f64) {
    let d = case.width;
    let scores: Vec<(usize, f64)> = (0..case.keys)
        .filter(|c| case.sees(r, *c))
        .map(|c| (c, dot(q, &k[c * d..(c + 1) * d]) * case.scale))
        .collect();
    let top = scores.iter().map(|s| s.1).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = scores.iter().map(|s| (s.1 - top).exp()).sum();
    let prob = scores
        .iter()
        .map(|s| (s.0, (s.1 - top).exp() / total))
        .collect();
    let lse = if total > 0.0 {
        top + total.ln()
    } else {
        f64::NEG_INFINITY
    };
    (prob, lse)
}

pub fn forward(case: &Case, q: &[f64], k: &[f64], v: &[f64]) -> Result64 {
    let d = case.width;
    let mut out = vec![0.0; q.len()];
    let mut lse = Vec::new();
    for (h, s) in heads(case) {
        let part = |t: &'_ [f64]| -> Vec<f64> { t[s * case.keys * d..][..case.keys * d].to_vec() };
        let (k, v) = (part(k), part(v));
        for r in 0..case.queries {
            let at = (h * case.queries + r) * d;
            let (prob, log) = probabilities(case, &q[at..at + d], &k, r);
            lse.push(log);
            for (c, p) in prob {
                for i in 0..d {
                    out[at + i] += p * v[c * d + i];
                }
            }
        }
    }
    Result64 { out, lse }
}

/// Gradients of `sum(d_out * out) + sum(d_lse * lse)`.
pub fn backward(
    case: &Case,
    [q, k, v]: [&[f64]; 3],
    d_out: &[f64],
    d_lse: Option<&[f64]>,
) -> Gradients64 {
    let d = case.width;
    let (mut dq, mut dk, mut dv) = (vec![0.0; q.len()], vec![0.0; k.len()], vec![0.0; v.len()]);
    for (h, s) in heads(case) {
        let base = s * case.keys * d;
        for r in 0..case.queries {
            let at = (h * case.queries + r) * d;
            let own = &q[at..at + d];
            let (prob, _) = probabilities(case, own, &k[base..base + case.keys * d], r);
            let g = &d_out[at..at + d];
            let d_prob: Vec<f64> = prob
                .iter()
                .map(|(c, _)| dot(g, &v[base + c * d..][..d]))
                .collect();
            let delta: f64 = prob.iter().zip(&d_prob).map(|(p, dp)| p.1 * dp).sum();
            let extra = d_lse.map_or(0.0, |l| l[h * case.queries + r]);
            for ((c, p), dp) in prob.iter().zip(&d_prob) {
                let ds = p * (dp - delta + extra) * case.scale;
                let key = base + c * d;
                for i in 0..d {
                    dq[at + i] += ds * k[key + i];
                    dk[key + i] += ds * own[i];
                    dv[key + i] += p * g[i];
                }
            }
        }
    }
    Gradients64 {
        q: dq,
        k: dk,
        v: dv,
    }
}

/// A 16-bit float of the cases.
pub trait Narrow: tiki::attention::Attends + Copy {
    fn narrow(x: f64) -> Self;
    fn wide(self) -> f64;
    /// Half a unit in the last place, relative.
    const HALF_ULP: f64;
}

macro_rules! narrow {
    ($($t:ty, $ulp:expr;)*) => {$(
        impl Narrow for $t {
            fn narrow(x: f64) -> Self { <$t>::from_f64(x) }
            fn wide(self) -> f64 { self.to_f64() }
            const HALF_ULP: f64 = $ulp;
        }
    )*};
}

narrow! {
    f16, 1.0 / 2048.0;
    bf16, 1.0 / 256.0;
}

pub fn wide<E: Narrow>(t: &[E]) -> Vec<f64> {
    t.iter().map(|v| v.wide()).collect()
}

/// Numbers without a pattern.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
    /// Close to a normal: a sum of four.
    pub fn normal(&mut self) -> f64 {
        let mut one = || (self.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
        (one() + one() + one() + one()) * 0.866
    }
    pub fn tensor<E: Narrow>(&mut self, count: usize) -> Vec<E> {
        (0..count).map(|_| E::narrow(self.normal())).collect()
    }
}
