//! The rest of the library: rows of any width, cross entropy, rotary embedding, gradients of LayerNorm and of the
//! logarithm of softmax, a norm with residual, extremes of rows, permutations.

use super::cases::{Result, U, poisoned, push, push_near, softmax_reference, typed, wide};
use super::formulas::{layer_norm_gradient, log_softmax, near, normed, per_row, tree};
use super::inputs::mixed;
use super::kernels::{
    cross_entropy::{cross_entropy, cross_entropy_backward},
    layer_norm_backward::{column_sums, layer_norm_backward},
    long_rows::{layer_norm_long, rms_norm_long, softmax_long},
    permute::{permute, swap_last},
    rms_norm::add_rms_norm,
    rope::{rope_halves, rope_pairs},
    row_sum::row_extremes,
    softmax_backward::log_softmax_backward,
};
use super::{Outcome, Real, judge};
use tiki::Device;
use tiki::prelude::*;

const EPS: f32 = 1e-5;

fn verdict(wrong: usize) -> std::result::Result<String, String> {
    match wrong {
        0 => Ok("exact".into()),
        n => Err(format!("{n} wrong")),
    }
}

macro_rules! long_rows {
    ($device:ident, $out:ident, $e:ident, $v:literal; $($shape:expr),*) => {$({
        let (stream, [rows, n]) = ($device.stream(), $shape);
        let name = |what: &str| format!("{what} {} {rows} x {n}", $e::NAME);
        let x = typed::<$e>(&mixed(rows * n, 51 + n as u64));
        let (w, b) = (typed::<$e>(&mixed(n, 52)), typed::<$e>(&mixed(n, 53)));
        let (xs, ws, bs) = (wide(&x), wide(&w), wide(&b));
        let row = |r: usize| &xs[r * n..(r + 1) * n];
        let dx = $device.tensor_from(&x, $shape)?;
        let (dw, db) = ($device.tensor_from(&w, [n])?, $device.tensor_from(&b, [n])?);
        let mut y = poisoned::<$e, 2>($device, $shape)?;
        rms_norm_long::<$e, $v>::launch(&stream, &dx, &dw, &mut y, EPS)?;
        let got = y.to_vec()?;
        let [want] = per_row(rows, |r| {
            let mean = row(r).iter().map(|v| v * v).sum::<f64>() / n as f64;
            let scale = 1.0 / (mean + f64::from(EPS)).sqrt();
            [row(r).iter().zip(&ws).map(|(x, w)| x * scale * w).collect()]
        });
        let sum = tree(n) + 20.0;
        push($out, name("rms_norm_long"), Some(8.0), &got, judge(&got, &want, sum * U));

        let mut y = poisoned::<$e, 2>($device, $shape)?;
        layer_norm_long::<$e, $v>::launch(&stream, &dx, &dw, &db, &mut y, EPS)?;
        let got = y.to_vec()?;
        let [want, terms] = per_row(rows, |r| normed(row(r), &ws, &bs, f64::from(EPS)));
        push_near($out, name("layer_norm_long"), &got, near(&got, &want, &terms, sum * U));

        // The exponential's argument is rounded: smaller inputs than those of the norms.
        let x = typed::<$e>(&xs.iter().map(|v| v.clamp(-30.0, 30.0)).collect::<Vec<_>>());
        let (xs, dx) = (wide(&x), $device.tensor_from(&x, $shape)?);
        let mut y = poisoned::<$e, 2>($device, $shape)?;
        softmax_long::<$e, false, $v>::launch(&stream, &dx, &mut y)?;
        let got = y.to_vec()?;
        let want = softmax_reference(&xs, rows, n, false);
        push($out, name("softmax_long"), Some(2.0 * (sum + 180.0)), &got, judge(&got, &want, (sum + 180.0) * U));
        let mut y = poisoned::<$e, 2>($device, $shape)?;
        softmax_long::<$e, true, $v>::launch(&stream, &dx, &mut y)?;
        let got = y.to_vec()?;
        let [want, terms] = per_row(rows, |r| log_softmax(&xs[r * n..(r + 1) * n]));
        push_near($out, name("log_softmax_long"), &got, near(&got, &want, &terms, (sum + 60.0) * U));
    })*};
}

/// Infinity and NaN in a row, and a row of minus infinity alone.
fn special_rows(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    let n = 5000;
    let mut x = vec![1.0f32; 4 * n];
    x[4999] = f32::NAN;
    x[n + 4500] = f32::NEG_INFINITY;
    x[2 * n..3 * n].fill(f32::NEG_INFINITY);
    x[3 * n + 7] = f32::from_bits(1);
    let input = device.tensor_from(&x, [4, n])?;
    let mut y = poisoned::<f32, 2>(device, [4, n])?;
    softmax_long::<f32, false, 1>::launch(&device.stream(), &input, &mut y)?;
    let got = y.to_vec()?;
    let even = 1.0 / (n as f32 - 1.0);
    let rests = 1.0 / (n as f64 - 1.0 + f64::exp(-1.0));
    let close = |v: f32, w: f64| (f64::from(v) - w).abs() < 1e-9;
    let wrong = got[..n].iter().filter(|v| !v.is_nan()).count()
        + usize::from(got[n + 4500] != 0.0 || !close(got[n], even.into()))
        + got[2 * n..3 * n].iter().filter(|v| **v != 0.0).count()
        + usize::from(!close(got[3 * n], rests));
    push(
        out,
        "special rows of softmax_long".into(),
        Some(2.0 * (tree(n) + 200.0)),
        &got,
        verdict(wrong),
    );
    let mut y = poisoned::<f32, 2>(device, [4, n])?;
    let w = device.tensor_from(&vec![1.0f32; n], [n])?;
    rms_norm_long::<f32, 1>::launch(&device.stream(), &input, &w, &mut y, EPS)?;
    let got = y.to_vec()?;
    // Infinity over infinity at its place, zero beside it.
    let wrong = got[..n].iter().filter(|v| !v.is_nan()).count()
        + usize::from(!got[n + 4500].is_nan() || got[n] != 0.0);
    push(
        out,
        "special rows of rms_norm_long".into(),
        Some(8.0),
        &got,
        verdict(wrong),
    );
    Ok(())
}

fn losses<E: Real + Float>(
    device: &Device,
    out: &mut Vec<Outcome>,
    launch: impl Fn(&[E], &[u32], [usize; 2]) -> Result<(Vec<f32>, Vec<E>)>,
) -> Result<()> {
    let _ = device;
    for [rows, n] in [
        [3, 1],
        [3, 31],
        [3, 129],
        [3, 576],
        [3, 1024],
        [2, 4096],
        [2, 10_007],
        [2, 16384],
        [2, 65536],
    ] {
        let x = typed::<E>(
            &mixed(rows * n, 61 + n as u64)
                .iter()
                .map(|v| v.clamp(-30.0, 30.0))
                .collect::<Vec<_>>(),
        );
        // The last row's target is none.
        let target: Vec<u32> = (0..rows)
            .map(|r| if r + 1 == rows { n } else { r * 37 % n } as u32)
            .collect();
        let (loss, d) = launch(&x, &target, [rows, n])?;
        let xs = wide(&x);
        let (mut want, mut terms) = (Vec::new(), Vec::new());
        let (mut grads, mut sizes) = (Vec::new(), Vec::new());
        for r in 0..rows {
            let row = &xs[r * n..(r + 1) * n];
            let [logs, places] = log_softmax(row);
            let at = target[r] as usize;
            want.push(if at < n { -logs[at] } else { 0.0 });
            terms.push(if at < n { places[at] } else { 1.0 });
            grads.extend((0..n).map(|c| {
                if at < n {
                    0.5 * (logs[c].exp() - f64::from(u8::from(c == at)))
                } else {
                    0.0
                }
            }));
            // The kept logarithm is off by what the loss is off by and by its own rounding, the exponential by its argument's;
            // a probability of nearly 1 keeps that when 1 is taken from it. Below the least normal number nothing is promised.
            sizes.extend((0..n).map(|c| {
                let off = tree(n) + 88.0 + (row[c] - logs[c]).abs() + 4.0 * logs[c].abs();
                0.5 * (logs[c].exp() * off + 2.0 * f64::from(u8::from(c == at)))
                    + f64::from(f32::MIN_POSITIVE) / U
            }));
        }
        let bound = (tree(n) + 80.0) * U;
        push_near(
            out,
            format!("cross_entropy {} {rows} x {n}", E::NAME),
            &loss,
            near(&loss, &want, &terms, bound),
        );
        push_near(
            out,
            format!("its gradient {} {rows} x {n}", E::NAME),
            &d,
            near(&d, &grads, &sizes, U),
        );
    }
    Ok(())
}

macro_rules! losses {
    ($device:ident, $out:ident; $(($e:ident, $t:literal, $b:literal)),*) => {$(
        losses::<$e>($device, $out, |x, target, shape| {
            let stream = $device.stream();
            let [rows, _] = shape;
            let (dx, dt) = ($device.tensor_from(x, shape)?, $device.tensor_from(target, [rows])?);
            let (mut loss, mut sums) = (poisoned::<f32, 1>($device, [rows])?, poisoned::<f32, 1>($device, [rows])?);
            cross_entropy::<$e, 1, $t, $b>::launch(&stream, &dx, &dt, &mut loss, &mut sums)?;
            let half = $device.tensor_from(&vec![0.5f32; rows], [rows])?;
            let mut d = poisoned::<$e, 2>($device, shape)?;
            cross_entropy_backward::<$e, 1>::launch(&stream, &dx, &dt, &sums, &half, &mut d)?;
            Ok((loss.to_vec()?, d.to_vec()?))
        })?;
    )*};
}

macro_rules! gradients {
    ($device:ident, $out:ident; $(($e:ident, $n:tt, $t:literal, $ln:literal, $rms:literal)),*) => {$({
        let (stream, rows, n) = ($device.stream(), 3, $n);
        let name = |what: &str| format!("{what} {} {rows} x {n}", $e::NAME);
        let (x, g) = (typed::<$e>(&mixed(rows * n, 91)), typed::<$e>(&mixed(rows * n, 92)));
        let w = typed::<$e>(&mixed(n, 93));
        let (xs, gs, ws) = (wide(&x), wide(&g), wide(&w));
        let part = |v: &[f64], r: usize| v[r * n..(r + 1) * n].to_vec();
        let (dx, dg) = ($device.tensor_from(&x, [rows, n])?, $device.tensor_from(&g, [rows, n])?);
        let dw = $device.tensor_from(&w, [n])?;

        let y = typed::<$e>(&per_row(rows, |r| log_softmax(&part(&xs, r)))[0].iter().map(|v| v.clamp(-40.0, 0.0)).collect::<Vec<_>>());
        let ys = wide(&y);
        let mut d = poisoned::<$e, 2>($device, [rows, n])?;
        log_softmax_backward::<$e, $n, $t>::launch(&stream, &$device.tensor_from(&y, [rows, n])?, &dg, &mut d)?;
        let got = d.to_vec()?;
        let [want, terms] = per_row(rows, |r| {
            let (y, g) = (part(&ys, r), part(&gs, r));
            let (sum, size) = (g.iter().sum::<f64>(), g.iter().map(|v| v.abs()).sum::<f64>());
            let pairs = || y.iter().zip(&g);
            [pairs().map(|(y, g)| g - y.exp() * sum).collect(), pairs().map(|(y, g)| g.abs() + y.exp() * size).collect()]
        });
        push_near($out, name("log_softmax_backward"), &got, near(&got, &want, &terms, (tree(n) + 90.0) * U));

        for blocks in [rows + 1, 2] {
            let mut d = poisoned::<$e, 2>($device, [rows, n])?;
            let mut parts = poisoned::<f32, 3>($device, [2, blocks, n])?;
            let mut sums = poisoned::<$e, 2>($device, [2, n])?;
            layer_norm_backward::<$e, $n, $ln>::launch(&stream, &dx, &dw, &dg, &mut d, &mut parts, EPS)?;
            column_sums::<$e>::launch(&stream, &parts, &mut sums)?;
            let (got, sums) = (d.to_vec()?, sums.to_vec()?);
            let [want, terms, shares, sizes] =
                per_row(rows, |r| layer_norm_gradient(&part(&xs, r), &ws, &part(&gs, r), f64::from(EPS)));
            let label = |what: &str| format!("{} by {blocks} blocks", name(what));
            push_near($out, label("layer_norm_backward"), &got, near(&got, &want, &terms, (3.0 * tree(n) + 24.0) * U));
            let down = |v: &[f64]| (0..n).map(|c| (0..rows).map(|r| v[r * n + c]).sum()).collect::<Vec<f64>>();
            let bound = (rows as f64 + 2.0 * tree(n) + 16.0) * U;
            push_near($out, label("its weight"), &sums[..n], near(&sums[..n], &down(&shares), &down(&sizes), bound));
            let (bias, size) = (down(&gs), down(&gs.iter().map(|v| v.abs()).collect::<Vec<_>>()));
            push($out, label("its bias"), None, &sums[n..], near(&sums[n..], &bias, &size, rows as f64 * U).verdict);
        }

        let (mut sum, mut y) = (poisoned::<$e, 2>($device, [rows, n])?, poisoned::<$e, 2>($device, [rows, n])?);
        add_rms_norm::<$e, $n, $rms>::launch(&stream, &dx, &dg, &dw, &mut sum, &mut y, EPS)?;
        let (sums, got) = (sum.to_vec()?, y.to_vec()?);
        let added: Vec<f64> = xs.iter().zip(&gs).map(|(a, b)| a + b).collect();
        let wrong = added.iter().zip(&sums).filter(|(a, s)| $e::from_wide(f64::from(**a as f32)).to_bits() != s.to_bits()).count();
        push($out, name("add_rms_norm, the sum"), None, &sums, verdict(wrong));
        let [want] = per_row(rows, |r| {
            let row = part(&added, r);
            let mean = row.iter().map(|v| v * v).sum::<f64>() / n as f64;
            let scale = 1.0 / (mean + f64::from(EPS)).sqrt();
            [row.iter().zip(&ws).map(|(v, w)| v * scale * w).collect()]
        });
        // The sum may cancel: its rounding counts against its terms.
        let terms: Vec<f64> = want.iter().zip(&added).enumerate().map(|(i, (y, s))| y.abs() * (1.0 + (xs[i].abs() + gs[i].abs()) / s.abs().max(1e-30))).collect();
        push_near($out, name("add_rms_norm"), &got, near(&got, &want, &terms, (tree(n) + 10.0) * U));
    })*};
}

macro_rules! turned {
    ($device:ident, $out:ident; $($e:ident),*) => {$({
        let (stream, tokens, heads, half) = ($device.stream(), 3, 33, 32);
        let count = tokens * heads * 2 * half;
        let x = typed::<$e>(&mixed(count, 95));
        let angle = |i: usize| (i * 7 % 1013) as f64 / 100.0;
        let table = |f: fn(f64) -> f64| (0..tokens * half).map(|i| f(angle(i)) as f32).collect::<Vec<f32>>();
        let (c, s) = (table(f64::cos), table(f64::sin));
        let (dc, ds) = ($device.tensor_from(&c, [tokens, half])?, $device.tensor_from(&s, [tokens, half])?);
        let xs = wide(&x);
        for pairs in [false, true] {
            let got = if pairs {
                let mut y = poisoned::<$e, 4>($device, [tokens, heads, half, 2])?;
                let input = $device.tensor_from(&x, [tokens, heads, half, 2])?;
                rope_pairs::<$e, 32, false>::launch(&stream, &input, &dc, &ds, &mut y)?;
                y.to_vec()?
            } else {
                let mut y = poisoned::<$e, 3>($device, [tokens, heads, 2 * half])?;
                let input = $device.tensor_from(&x, [tokens, heads, 2 * half])?;
                rope_halves::<$e, 32, false>::launch(&stream, &input, &dc, &ds, &mut y)?;
                y.to_vec()?
            };
            let (mut want, mut terms) = (vec![0.0; count], vec![0.0; count]);
            for head in 0..tokens * heads {
                for i in 0..half {
                    let (a, b) = if pairs { (2 * i, 2 * i + 1) } else { (i, i + half) };
                    let (a, b) = (head * 2 * half + a, head * 2 * half + b);
                    let at = head / heads * half + i;
                    let (c, s) = (f64::from(c[at]), f64::from(s[at]));
                    (want[a], want[b]) = (xs[a] * c - xs[b] * s, xs[a] * s + xs[b] * c);
                    (terms[a], terms[b]) = ((xs[a] * c).abs() + (xs[b] * s).abs(), (xs[a] * s).abs() + (xs[b] * c).abs());
                }
            }
            push($out, format!("rope {} pairs {pairs}", $e::NAME), None, &got, near(&got, &want, &terms, 3.0 * U).verdict);
        }
    })*};
}

/// The greatest, the least and its place; copies in any order of axes.
fn exact(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    let stream = device.stream();
    for [rows, n] in [
        [3, 1],
        [3, 31],
        [3, 129],
        [3, 576],
        [3, 1024],
        [3, 4096],
        [2, 10_007],
        [1, 65536],
    ] {
        let mut x: Vec<f32> = typed(&mixed(rows * n, 97));
        if n > 5000 {
            x[4100] = -4000.0;
            x[9000] = -4000.0;
            x[(rows - 1) * n + 5000] = f32::NAN;
        }
        let input = device.tensor_from(&x, [rows, n])?;
        let (mut most, mut least) = (
            poisoned::<f32, 1>(device, [rows])?,
            poisoned::<f32, 1>(device, [rows])?,
        );
        let mut place = device.zeros::<u32, 1>([rows])?;
        row_extremes::<f32, 1>::launch(&stream, &input, &mut most, &mut least, &mut place)?;
        let (most, least, place) = (most.to_vec()?, least.to_vec()?, place.to_vec()?);
        let wrong = (0..rows).filter(|&r| {
            let row = &x[r * n..(r + 1) * n];
            if let Some(at) = row.iter().position(|v| v.is_nan()) {
                return !(most[r].is_nan() && least[r].is_nan() && place[r] as usize == at);
            }
            let (high, low) = row
                .iter()
                .fold((row[0], row[0]), |(h, l), v| (h.max(*v), l.min(*v)));
            let at = row.iter().position(|v| *v == low);
            most[r] != high || least[r] != low || Some(place[r] as usize) != at
        });
        push(
            out,
            format!("row_extremes {rows} x {n}"),
            None,
            &least,
            verdict(wrong.count()),
        );
    }
    let shape = [2, 5, 33, 270];
    let x: Vec<f32> = (0..shape.iter().product()).map(|i| i as f32).collect();
    let turned = device
        .tensor_from(&x, shape)?
        .swap_axes(0, 2)?
        .swap_axes(1, 3)?;
    let mut y = poisoned::<f32, 4>(device, turned.shape())?;
    permute::<f32>::launch(&stream, &turned, &mut y)?;
    let got = y.to_vec()?;
    let [a, b, c, d] = shape;
    let from = |n: usize| {
        let (k, l, i, j) = (n / (d * a * b), n / (a * b) % d, n / b % a, n % b);
        x[((i * b + j) * c + k) * d + l]
    };
    let wrong = (0..x.len()).filter(|n| got[*n] != from(*n)).count();
    push(out, "permute".into(), None, &got, verdict(wrong));
    for [b, m, n] in [[2, 70, 129], [1, 64, 64]] {
        let x: Vec<bf16> = (0..b * m * n)
            .map(|i| bf16::from_f32((i % 251) as f32))
            .collect();
        let mut y = poisoned::<bf16, 3>(device, [b, n, m])?;
        swap_last::<bf16>::launch(&stream, &device.tensor_from(&x, [b, m, n])?, &mut y)?;
        let got = y.to_vec()?;
        let from = |i: usize| x[i / (m * n) * m * n + i % m * n + i / m % n];
        let wrong = (0..x.len())
            .filter(|i| got[*i].to_bits() != from(*i).to_bits())
            .count();
        push(
            out,
            format!("swap_last {b} x {m} x {n}"),
            None,
            &got,
            verdict(wrong),
        );
    }
    // No rows: nothing is launched. No columns: a fact says so.
    let (none, mut y) = (
        device.zeros::<f32, 2>([0, 7])?,
        device.zeros::<f32, 2>([0, 7])?,
    );
    softmax_long::<f32, false, 1>::launch(&stream, &none, &mut y)?;
    let (none, mut y) = (
        device.zeros::<f32, 2>([3, 0])?,
        device.zeros::<f32, 2>([3, 0])?,
    );
    let refused = softmax_long::<f32, false, 1>::launch(&stream, &none, &mut y);
    let wrong = usize::from(!refused.is_err_and(|e| e.to_string().contains("x.dim(1) > 0")));
    push(
        out,
        "no columns are refused".into(),
        None,
        &[0.0f32],
        verdict(wrong),
    );
    Ok(())
}

/// All of them.
pub fn all(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    long_rows!(device, out, f32, 1; [2, 1], [2, 31], [2, 129], [2, 576], [2, 1024], [2, 4096], [1, 16384], [1, 65536]);
    long_rows!(device, out, f16, 1; [2, 129], [1, 5000]);
    long_rows!(device, out, f16, 8; [1, 16384]);
    long_rows!(device, out, bf16, 8; [2, 1024], [1, 65536]);
    special_rows(device, out)?;
    losses!(device, out; (f32, 256, 4), (f16, 128, 5), (bf16, 128, 5));
    gradients!(device, out; (f32, 576, 96, 96, 96), (f16, 4096, 256, 512, 512), (bf16, 576, 96, 96, 96));
    turned!(device, out; f32, f16, bf16);
    exact(device, out)
}
