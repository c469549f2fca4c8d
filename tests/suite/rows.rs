//! The kernels that came with the training step: norms, softmax and their gradients at widths known at build
//! time, the other gate, and conversions.
//!
//! Where a result is a sum of terms that may cancel, a bound relative to it does not exist: the difference is compared
//! with the terms' magnitude, in units of 2^-24 counted as elsewhere, and half a unit in the last place of the
//! result's own type.

use super::cases::{Result, SOFT, U, poisoned, push, push_near, softmax_reference, typed, wide};
use super::formulas::{log_softmax, near, norm_gradient, normed, per_row, softmax_gradient, tree};
use super::inputs::mixed;
use super::kernels::{
    cast::cast,
    layer_norm::{add_layer_norm, layer_norm},
    rms_norm_backward::{column_sum, rms_norm_backward},
    silu::gelu_mul,
    softmax::{log_softmax_rows, softmax_rows},
    softmax_backward::softmax_backward,
};
use super::{Apart, Outcome, Real, judge};
use tiki::Device;
use tiki::prelude::*;

macro_rules! cases {
    ($($t:ident, $widths:tt;)*) => {$(
        fn $t(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
            type E = $t;
            let stream = device.stream();
            let eps = 1e-5_f32;
            cases!(norms E, device, stream, eps, out, $widths);
            gelus::<E>(device, out, |g, u, y| gelu_mul::<E>::launch(&stream, g, u, y))
        }
    )*};
    (norms $e:ident, $device:ident, $stream:ident, $eps:ident, $out:ident, [$(($rows:literal, $n:tt, $norm:literal, $add:literal, $back:literal, $grad:literal)),*]) => {$(
        {
            let (rows, n) = ($rows, $n);
            let name = |what: &str| format!("{what} {} {rows} x {n}", $e::NAME);
            let of = |seed: u64| typed::<$e>(&mixed(rows * n, seed + n as u64));
            let (x, other) = (of(1), of(2));
            let (w, b) = (typed::<$e>(&mixed(n, 3)), typed::<$e>(&mixed(n, 4)));
            let (dx, dother) = ($device.tensor_from(&x, [rows, n])?, $device.tensor_from(&other, [rows, n])?);
            let (dw, db) = ($device.tensor_from(&w, [n])?, $device.tensor_from(&b, [n])?);
            let (xs, os, ws, bs) = (wide(&x), wide(&other), wide(&w), wide(&b));
            let row = |v: &[f64], r: usize| v[r * n..(r + 1) * n].to_vec();
            let wide_eps = f64::from($eps);

            let mut y = poisoned::<$e, 2>($device, [rows, n])?;
            layer_norm::<$e, $n, $norm>::launch(&$stream, &dx, &dw, &db, &mut y, $eps)?;
            let got = y.to_vec()?;
            let [want, terms] = per_row(rows, |r| normed(&row(&xs, r), &ws, &bs, wide_eps));
            let bound = (tree(n) + 10.0) * U;
            push_near($out, name("layer_norm"), &got, near(&got, &want, &terms, bound));

            let mut sum = poisoned::<$e, 2>($device, [rows, n])?;
            let mut y = poisoned::<$e, 2>($device, [rows, n])?;
            add_layer_norm::<$e, $n, $add>::launch(&$stream, &dx, &dother, &dw, &db, &mut sum, &mut y, $eps)?;
            let (got, sums) = (y.to_vec()?, sum.to_vec()?);
            let added: Vec<f64> = xs.iter().zip(&os).map(|(a, b)| a + b).collect();
            let rounded = typed::<$e>(&added.iter().map(|v| f64::from(*v as f32)).collect::<Vec<_>>());
            let wrong = rounded.iter().zip(&sums).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
            let verdict = if wrong == 0 { Ok("exact".into()) } else { Err(format!("{wrong} wrong")) };
            push($out, name("add_layer_norm, the sum"), None, &sums, verdict);
            let [want, terms] = per_row(rows, |r| normed(&row(&added, r), &ws, &bs, wide_eps));
            push_near($out, name("add_layer_norm"), &got, near(&got, &want, &terms, bound));

            let p = typed::<$e>(&softmax_reference(&xs, rows, n, false));
            let mut d = poisoned::<$e, 2>($device, [rows, n])?;
            softmax_backward::<$e, $n, $back>::launch(&$stream, &$device.tensor_from(&p, [rows, n])?, &dother, &mut d)?;
            let got = d.to_vec()?;
            let ps = wide(&p);
            let [want, terms] = per_row(rows, |r| softmax_gradient(&row(&ps, r), &row(&os, r)));
            // No approximate unit takes part.
            push($out, name("softmax_backward"), None, &got, near(&got, &want, &terms, (tree(n) + 4.0) * U).verdict);

            // More blocks than rows, as many, and fewer.
            for blocks in [rows + 1, 2] {
                let mut d = poisoned::<$e, 2>($device, [rows, n])?;
                let mut parts = poisoned::<f32, 2>($device, [blocks, n])?;
                let mut dweight = poisoned::<$e, 1>($device, [n])?;
                rms_norm_backward::<$e, $n, $grad>::launch(&$stream, &dx, &dw, &dother, &mut d, &mut parts, $eps)?;
                column_sum::<$e>::launch(&$stream, &parts, &mut dweight)?;
                let (got, weights) = (d.to_vec()?, dweight.to_vec()?);
                let [want, terms, shares, sizes] =
                    per_row(rows, |r| norm_gradient(&row(&xs, r), &ws, &row(&os, r), wide_eps));
                let label = |what: &str| format!("{} by {blocks} blocks", name(what));
                push_near($out, label("rms_norm_backward"), &got, near(&got, &want, &terms, (2.0 * tree(n) + 14.0) * U));
                let down = |v: &[f64]| (0..n).map(|c| (0..rows).map(|r| v[r * n + c]).sum()).collect::<Vec<f64>>();
                let bound = (rows as f64 + 0.5 * tree(n) + 10.0) * U;
                push_near($out, label("its weight"), &weights, near(&weights, &down(&shares), &down(&sizes), bound));
            }
        }
    )*};
}

cases! {
    f32, [(3, 576, 96, 96, 96, 96), (2, 4096, 512, 256, 1024, 512)];
    f16, [(3, 576, 96, 96, 96, 96), (2, 4096, 128, 128, 512, 256)];
    bf16, [(3, 576, 96, 96, 96, 96), (2, 4096, 128, 128, 512, 256)];
}

macro_rules! softmaxes {
    ($device:ident, $out:ident; $(($e:ident, $n:tt, $threads:literal)),*) => {$({
        let rows = 3;
        let x = typed::<$e>(&mixed(rows * $n, $n).iter().map(|v| v.clamp(-40.0, 40.0)).collect::<Vec<_>>());
        let (xs, stream) = (wide(&x), $device.stream());
        let input = $device.tensor_from(&x, [rows, $n])?;
        let mut y = poisoned::<$e, 2>($device, [rows, $n])?;
        softmax_rows::<$e, $n, $threads>::launch(&stream, &input, &mut y)?;
        let got = y.to_vec()?;
        let bound = (80.0 + 2.0 * 4.0 + tree($n) + 3.0) * U;
        let verdict = judge(&got, &softmax_reference(&xs, rows, $n, false), bound);
        push($out, format!("softmax_rows {} {rows} x {}", $e::NAME, $n), Some(SOFT), &got, verdict);
        softmaxes!(log $device, $out, stream, input, xs, rows, $e, $n, $threads);
    })*};
    (log $device:ident, $out:ident, $stream:ident, $input:ident, $xs:ident, $rows:ident, $e:ident, 16384, $threads:literal) => {};
    (log $device:ident, $out:ident, $stream:ident, $input:ident, $xs:ident, $rows:ident, $e:ident, $n:tt, $threads:literal) => {
        let mut y = poisoned::<$e, 2>($device, [$rows, $n])?;
        log_softmax_rows::<$e, $n, $threads>::launch(&$stream, &$input, &mut y)?;
        let got = y.to_vec()?;
        let [want, terms] = per_row($rows, |r| log_softmax(&$xs[r * $n..(r + 1) * $n]));
        // The logarithm's absolute error of 2^-22 counts four.
        let verdict = near(&got, &want, &terms, (tree($n) + 16.0) * U);
        push_near($out, format!("log_softmax_rows {} {} x {}", $e::NAME, $rows, $n), &got, verdict);
    };
}

fn gelus<E: Real>(
    device: &Device,
    out: &mut Vec<Outcome>,
    launch: impl Fn(&tiki::Tensor<E, 1>, &tiki::Tensor<E, 1>, &mut tiki::Tensor<E, 1>) -> Result<()>,
) -> Result<()> {
    for n in [1, 1023, 5000] {
        let mut g = typed::<E>(&mixed(n, 31).iter().map(|v| v * 2.0).collect::<Vec<_>>());
        if n > 10 {
            for (i, v) in [f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0]
                .into_iter()
                .enumerate()
            {
                g[2 * i] = E::from_wide(v);
            }
        }
        let u = typed::<E>(&mixed(n, 32));
        let mut y = poisoned::<E, 1>(device, [n])?;
        launch(
            &device.tensor_from(&g, [n])?,
            &device.tensor_from(&u, [n])?,
            &mut y,
        )?;
        let got = y.to_vec()?;
        let inner = |g: f64| (8.0 / std::f64::consts::PI).sqrt() * (g + 0.044_715 * g.powi(3));
        let pairs: Vec<(f64, f64)> = wide(&g).into_iter().zip(wide(&u)).collect();
        let finite: Vec<usize> = (0..n).filter(|&i| pairs[i].0.is_finite()).collect();
        let gelu = |i: &usize| pairs[*i].0 / (1.0 + (-inner(pairs[*i].0)).exp()) * pairs[*i].1;
        let want: Vec<f64> = finite.iter().map(gelu).collect();
        // The argument's four roundings and the constants' two are amplified by its size on the falling side.
        let amplified = |i: &usize| gelu(i).abs() * (1.0 + (-inner(pairs[*i].0)).clamp(0.0, 110.0));
        let terms: Vec<f64> = finite.iter().map(amplified).collect();
        let shown: Vec<E> = finite.iter().map(|&i| got[i]).collect();
        let found = near(&shown, &want, &terms, 14.0 * U);
        let mut apart = vec![0.0; n];
        for (&i, far) in finite.iter().zip(&found.apart) {
            apart[i] = *far;
        }
        let mut verdict = found.verdict;
        for i in (0..n).filter(|&i| pairs[i].0.is_infinite()) {
            let limit = if pairs[i].0 > 0.0 {
                f64::INFINITY * pairs[i].1
            } else {
                0.0
            };
            if got[i].wide_of() != limit {
                verdict = Err(format!("{} at {}", got[i].wide_of(), pairs[i].0));
            }
        }
        push(
            out,
            format!("gelu_mul {} {n}", E::NAME),
            Apart::Each(apart),
            &got,
            verdict,
        );
    }
    Ok(())
}

fn casts(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    for n in [0, 1, 2047, 5003] {
        let mut x: Vec<f32> = typed(&mixed(n, 41));
        // Past the largest of f16, its ties and its subnormals.
        for (place, v) in
            x.iter_mut()
                .zip([65520.0, 65519.0, -7e4, 1e-7, 2049.0, 2051.0, f32::INFINITY])
        {
            *place = v;
        }
        let mut y = poisoned::<f16, 1>(device, [n])?;
        cast::<f32, f16>::launch(&device.stream(), &device.tensor_from(&x, [n])?, &mut y)?;
        let got = y.to_vec()?;
        let mut back = poisoned::<f32, 1>(device, [n])?;
        cast::<f16, f32>::launch(&device.stream(), &y, &mut back)?;
        let back = back.to_vec()?;
        let wrong = (0..n)
            .filter(|&i| {
                got[i].to_bits() != f16::from_f32(x[i]).to_bits() || back[i] != got[i].to_f32()
            })
            .count();
        let verdict = if wrong == 0 {
            Ok("exact".into())
        } else {
            Err(format!("{wrong} wrong"))
        };
        push(out, format!("cast {n}"), None, &got, verdict);
    }
    Ok(())
}

/// All of them.
pub fn all(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    f32(device, out)?;
    f16(device, out)?;
    bf16(device, out)?;
    softmaxes!(device, out; (f16, 1024, 64), (bf16, 1024, 64), (f32, 1024, 64), (f16, 4096, 128), (bf16, 4096, 128), (f32, 4096, 512), (f16, 16384, 256), (f32, 16384, 256));
    casts(device, out)
}
