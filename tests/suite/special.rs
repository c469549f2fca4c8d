//! Every row kernel on rows of special values.
//!
//! The rows: outliers, a NaN, an infinity of either sign, subnormals alone, zeros alone. The reference is the formula in f64,
//! whose NaN and infinities come about as those of f32 do: where it has one the result must have the same, and
//! elsewhere lie within the bound.

use super::cases::{Result, U, poisoned, push, push_near, typed, wide};
use super::formulas::{
    Near, layer_norm_gradient, log_softmax, near, norm_gradient, normed, per_row, softmax_gradient,
    tree,
};
use super::inputs::mixed;
use super::kernels::{
    cross_entropy::cross_entropy,
    layer_norm::{add_layer_norm, layer_norm},
    layer_norm_backward::{column_sums, layer_norm_backward},
    long_rows::{layer_norm_long, softmax_long},
    rms_norm::add_rms_norm,
    rms_norm_backward::{column_sum, rms_norm_backward},
    row_sum::row_sum,
    silu::gelu_mul,
    softmax_backward::{log_softmax_backward, softmax_backward},
};
use super::{Apart, Outcome, Real};
use tiki::Device;
use tiki::prelude::*;

pub const EPS: f32 = 1e-5;
pub const ROWS: usize = 6;

/// Where the reference is NaN or infinite the result is the same; elsewhere it is near.
pub fn like<E: Real>(got: &[E], want: &[f64], terms: &[f64], bound: f64) -> Near {
    let finite: Vec<usize> = (0..want.len()).filter(|&i| want[i].is_finite()).collect();
    let other = |i: usize, w: f64| {
        let g = got[i].wide_of();
        !(g == w || g.is_nan() && w.is_nan())
    };
    let wrong: Vec<(usize, f64, f64)> = (0..want.len())
        .filter(|&i| !want[i].is_finite() && other(i, want[i]))
        .map(|i| (i, got[i].wide_of(), want[i]))
        .collect();
    let of = |v: &[f64]| finite.iter().map(|&i| v[i]).collect::<Vec<f64>>();
    let shown: Vec<E> = finite.iter().map(|&i| got[i]).collect();
    let special = want.len() - finite.len();
    let found = near(&shown, &of(want), &of(terms), bound);
    // Special values are the same on every device.
    let mut apart = vec![0.0; want.len()];
    for (&i, far) in finite.iter().zip(&found.apart) {
        apart[i] = *far;
    }
    let verdict = match wrong.first() {
        Some(first) => {
            let text = "special values are others: place, result, reference";
            Err(format!("{} {text}: {first:?} ..", wrong.len()))
        }
        None => found
            .verdict
            .map(|text| format!("{special} special, {text}")),
    };
    Near { verdict, apart }
}

/// The rows of this file.
pub fn given<E: Real>(n: usize, seed: u64) -> Vec<E> {
    let mut x = mixed(ROWS * n, seed);
    let at = |r: usize, i: usize| r * n + i % n;
    x[at(1, 5)] = f64::NAN;
    x[at(2, 300)] = f64::INFINITY;
    x[at(3, 7)] = f64::NEG_INFINITY;
    // The smallest subnormal of the type, small multiples of it, and both signs.
    let least = match E::NAME {
        "f16" => 2f64.powi(-24),
        "bf16" => 2f64.powi(-133),
        _ => 2f64.powi(-149),
    };
    for i in 0..n {
        let sign = if i % 3 == 0 { -1.0 } else { 1.0 };
        x[at(4, i)] = sign * least * (i % 5) as f64;
        x[at(5, i)] = 0.0 * sign;
    }
    typed(&x)
}

macro_rules! norms {
    ($device:ident, $out:ident; $(($e:ident, $n:tt, $ln:literal, $rms:literal, $grad:literal, $soft:literal)),*) => {$({
        let (stream, n) = ($device.stream(), $n);
        let name = |what: &str| format!("special rows, {what} {} {n}", $e::NAME);
        let (x, g) = (given::<$e>(n, 201), typed::<$e>(&mixed(ROWS * n, 202)));
        let (w, b) = (typed::<$e>(&mixed(n, 203)), typed::<$e>(&mixed(n, 204)));
        let (xs, gs, ws, bs) = (wide(&x), wide(&g), wide(&w), wide(&b));
        let part = |v: &[f64], r: usize| v[r * n..(r + 1) * n].to_vec();
        let (dx, dg) = ($device.tensor_from(&x, [ROWS, n])?, $device.tensor_from(&g, [ROWS, n])?);
        let (dw, db) = ($device.tensor_from(&w, [n])?, $device.tensor_from(&b, [n])?);
        let eps = f64::from(EPS);
        let bound = (tree(n) + 20.0) * U;

        let [want, terms] = per_row(ROWS, |r| normed(&part(&xs, r), &ws, &bs, eps));
        let mut y = poisoned::<$e, 2>($device, [ROWS, n])?;
        layer_norm::<$e, $n, $ln>::launch(&stream, &dx, &dw, &db, &mut y, EPS)?;
        let got = y.to_vec()?;
        push_near($out, name("layer_norm"), &got, like(&got, &want, &terms, bound));
        let mut y = poisoned::<$e, 2>($device, [ROWS, n])?;
        layer_norm_long::<$e, 1>::launch(&stream, &dx, &dw, &db, &mut y, EPS)?;
        let got = y.to_vec()?;
        push_near($out, name("layer_norm_long"), &got, like(&got, &want, &terms, bound));
        let zero = $device.tensor_from(&vec![$e::from_wide(0.0); ROWS * n], [ROWS, n])?;
        let mut sum = poisoned::<$e, 2>($device, [ROWS, n])?;
        let mut y = poisoned::<$e, 2>($device, [ROWS, n])?;
        add_layer_norm::<$e, $n, $ln>::launch(&stream, &dx, &zero, &dw, &db, &mut sum, &mut y, EPS)?;
        let got = y.to_vec()?;
        push_near($out, name("add_layer_norm"), &got, like(&got, &want, &terms, bound));

        let rms = |r: usize| {
            let row = part(&xs, r);
            let scale = 1.0 / (row.iter().map(|v| v * v).sum::<f64>() / n as f64 + eps).sqrt();
            let y: Vec<f64> = row.iter().zip(&ws).map(|(x, w)| x * scale * w).collect();
            [y.clone(), y.iter().map(|v| v.abs()).collect()]
        };
        let [want, terms] = per_row(ROWS, rms);
        let mut y = poisoned::<$e, 2>($device, [ROWS, n])?;
        add_rms_norm::<$e, $n, $rms>::launch(&stream, &dx, &zero, &dw, &mut sum, &mut y, EPS)?;
        let got = y.to_vec()?;
        push_near($out, name("add_rms_norm"), &got, like(&got, &want, &terms, bound));

        let [want, terms] = per_row(ROWS, |r| {
            let [y, t, ..] = norm_gradient(&part(&xs, r), &ws, &part(&gs, r), eps);
            [y, t]
        });
        let mut d = poisoned::<$e, 2>($device, [ROWS, n])?;
        let mut parts = poisoned::<f32, 2>($device, [2, n])?;
        let mut dweight = poisoned::<$e, 1>($device, [n])?;
        rms_norm_backward::<$e, $n, $rms>::launch(&stream, &dx, &dw, &dg, &mut d, &mut parts, EPS)?;
        column_sum::<$e>::launch(&stream, &parts, &mut dweight)?;
        let got = d.to_vec()?;
        push_near($out, name("rms_norm_backward"), &got, like(&got, &want, &terms, 2.0 * bound));
        // A NaN in one row is in every sum over the rows.
        let spoilt = dweight.to_vec()?.iter().filter(|v| v.wide_of().is_nan()).count();
        let verdict = if spoilt == n { Ok("all NaN".into()) } else { Err(format!("{spoilt} of {n} are NaN")) };
        push($out, name("its weight"), Apart::Each(vec![0.0; n]), &dweight.to_vec()?, verdict);

        let [want, terms] = per_row(ROWS, |r| {
            let [y, t, ..] = layer_norm_gradient(&part(&xs, r), &ws, &part(&gs, r), eps);
            [y, t]
        });
        let mut d = poisoned::<$e, 2>($device, [ROWS, n])?;
        let mut parts = poisoned::<f32, 3>($device, [2, 2, n])?;
        let mut sums = poisoned::<$e, 2>($device, [2, n])?;
        layer_norm_backward::<$e, $n, $grad>::launch(&stream, &dx, &dw, &dg, &mut d, &mut parts, EPS)?;
        column_sums::<$e>::launch(&stream, &parts, &mut sums)?;
        let got = d.to_vec()?;
        push_near($out, name("layer_norm_backward"), &got, like(&got, &want, &terms, 3.0 * bound));

        // Probabilities are ordinary; what comes back is not.
        let p = typed::<$e>(&per_row(ROWS, |r| log_softmax(&part(&gs, r)))[0].iter().map(|v| v.exp()).collect::<Vec<_>>());
        // A smaller exponential would vanish in f32, and infinity times nothing is another special value.
        let logs = &per_row(ROWS, |r| log_softmax(&part(&gs, r)))[0];
        let logs = typed::<$e>(&logs.iter().map(|v| v.clamp(-40.0, 0.0)).collect::<Vec<_>>());
        let (ps, ls) = (wide(&p), wide(&logs));
        let [want, terms] = per_row(ROWS, |r| softmax_gradient(&part(&ps, r), &part(&xs, r)));
        let mut d = poisoned::<$e, 2>($device, [ROWS, n])?;
        softmax_backward::<$e, $n, $soft>::launch(&stream, &$device.tensor_from(&p, [ROWS, n])?, &dx, &mut d)?;
        let got = d.to_vec()?;
        push_near($out, name("softmax_backward"), &got, like(&got, &want, &terms, bound));
        let [want, terms] = per_row(ROWS, |r| {
            let (y, g) = (part(&ls, r), part(&xs, r));
            let (sum, size) = (g.iter().sum::<f64>(), g.iter().map(|v| v.abs()).sum::<f64>());
            let pairs = || y.iter().zip(&g);
            [pairs().map(|(y, g)| g - y.exp() * sum).collect(), pairs().map(|(y, g)| g.abs() + y.exp() * size).collect()]
        });
        let mut d = poisoned::<$e, 2>($device, [ROWS, n])?;
        log_softmax_backward::<$e, $n, $rms>::launch(&stream, &$device.tensor_from(&logs, [ROWS, n])?, &dx, &mut d)?;
        let got = d.to_vec()?;
        push_near($out, name("log_softmax_backward"), &got, like(&got, &want, &terms, bound + 90.0 * U));
    })*};
}

/// Reductions, losses, the other gate.
fn rest<E: Real + Float>(
    device: &Device,
    out: &mut Vec<Outcome>,
    launch: impl Fn(&[E], usize) -> Result<(Vec<f32>, Vec<E>, Vec<f32>)>,
) -> Result<()> {
    let _ = device;
    let n = 576;
    let name = |what: &str| format!("special rows, {what} {}", E::NAME);
    let mut x = given::<E>(n, 205);
    // Exponentials: no outliers.
    for v in &mut x {
        if v.wide_of().is_finite() {
            *v = E::from_wide(v.wide_of().clamp(-30.0, 30.0));
        }
    }
    let xs = wide(&x);
    let (sums, logs, losses) = launch(&x, n)?;
    let row = |r: usize| &xs[r * n..(r + 1) * n];
    let want: Vec<f64> = (0..ROWS).map(|r| row(r).iter().sum()).collect();
    let terms: Vec<f64> = (0..ROWS)
        .map(|r| row(r).iter().map(|v| v.abs()).sum())
        .collect();
    push_near(
        out,
        name("row_sum"),
        &sums,
        like(&sums, &want, &terms, 12.0 * U),
    );
    let [want, terms] = per_row(ROWS, |r| log_softmax(row(r)));
    let bound = (tree(n) + 60.0) * U;
    push_near(
        out,
        name("log_softmax_long"),
        &logs,
        like(&logs, &want, &terms, bound),
    );
    let at = |r: usize| r * n + r * 37 % n;
    let (lost, size): (Vec<f64>, Vec<f64>) =
        (0..ROWS).map(|r| (-want[at(r)], terms[at(r)])).unzip();
    let bound = (tree(n) + 80.0) * U;
    push_near(
        out,
        name("cross_entropy"),
        &losses,
        like(&losses, &lost, &size, bound),
    );
    Ok(())
}

macro_rules! rest {
    ($device:ident, $out:ident; $(($e:ident, $t:literal, $b:literal)),*) => {$(
        rest::<$e>($device, $out, |x, n| {
            let (stream, input) = ($device.stream(), $device.tensor_from(x, [ROWS, n])?);
            let mut sums = poisoned::<f32, 1>($device, [ROWS])?;
            row_sum::<$e, 1>::launch(&stream, &input, &mut sums)?;
            let mut logs = poisoned::<$e, 2>($device, [ROWS, n])?;
            softmax_long::<$e, true, 1>::launch(&stream, &input, &mut logs)?;
            let target: Vec<u32> = (0..ROWS).map(|r| (r * 37 % n) as u32).collect();
            let target = $device.tensor_from(&target, [ROWS])?;
            let (mut loss, mut all) = (poisoned::<f32, 1>($device, [ROWS])?, poisoned::<f32, 1>($device, [ROWS])?);
            cross_entropy::<$e, 1, $t, $b>::launch(&stream, &input, &target, &mut loss, &mut all)?;
            Ok((sums.to_vec()?, logs.to_vec()?, loss.to_vec()?))
        })?;
        {
            let x = given::<$e>(576, 206);
            let up = vec![$e::from_wide(1.0); x.len()];
            let mut y = poisoned::<$e, 1>($device, [x.len()])?;
            gelu_mul::<$e>::launch(&$device.stream(), &$device.tensor_from(&x, [x.len()])?, &$device.tensor_from(&up, [x.len()])?, &mut y)?;
            let got = y.to_vec()?;
            let inner = |g: f64| (8.0 / std::f64::consts::PI).sqrt() * (g + 0.044_715 * g.powi(3));
            let gelu = |g: &f64| if *g == f64::NEG_INFINITY { 0.0 } else { g / (1.0 + (-inner(*g)).exp()) };
            let xs = wide(&x);
            let want: Vec<f64> = xs.iter().map(gelu).collect();
            let terms: Vec<f64> = xs.iter().map(|g| gelu(g).abs() * (1.0 + (-inner(*g)).clamp(0.0, 110.0))).collect();
            push_near($out, format!("special values, gelu_mul {}", $e::NAME), &got, like(&got, &want, &terms, 14.0 * U));
        }
    )*};
}

/// All of them.
pub fn all(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    norms!(device, out; (f32, 576, 96, 96, 96, 96), (f16, 576, 96, 96, 96, 96), (bf16, 576, 96, 96, 96, 96));
    rest!(device, out; (f32, 256, 4), (f16, 128, 5), (bf16, 128, 5));
    Ok(())
}
