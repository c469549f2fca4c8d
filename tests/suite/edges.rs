//! Gradients at the widths that the examples do not build, the rotation's gradient, and special values where order counts.

use super::Outcome;
use super::cases::{Result, U, poisoned, push, push_near, typed, wide};
use super::formulas::{
    layer_norm_gradient, log_softmax, near, norm_gradient, per_row, softmax_gradient, tree,
};
use super::inputs::mixed;
use super::kernels::{
    Edges,
    layer_norm_backward::column_sums,
    recurrence::recurrence,
    rms_norm_backward::column_sum,
    rope::{rope_halves, rope_pairs},
    row_sum::row_extremes,
};
use super::special::{EPS, ROWS, given, like};
use tiki::Device;
use tiki::prelude::*;

/// What the rotation's transpose gives, which is its gradient: both pairings, and special values in them.
fn rotations(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    let (stream, tokens, heads, half) = (device.stream(), 3, 5, 32);
    let count = tokens * heads * 2 * half;
    let mut x: Vec<f32> = typed(&mixed(count, 207));
    x[3] = f32::NAN;
    x[70] = f32::INFINITY;
    x[131] = f32::from_bits(5);
    let table = |f: fn(f64) -> f64| -> Vec<f32> {
        let angles = (0..tokens * half).map(|i| (i * 7 % 1013) as f64 / 100.0);
        angles.map(|a| f(a) as f32).collect()
    };
    let (c, s) = (table(f64::cos), table(f64::sin));
    let dc = device.tensor_from(&c, [tokens, half])?;
    let ds = device.tensor_from(&s, [tokens, half])?;
    let xs = wide(&x);
    for pairs in [false, true] {
        let got = if pairs {
            let mut y = poisoned::<f32, 4>(device, [tokens, heads, half, 2])?;
            let input = device.tensor_from(&x, [tokens, heads, half, 2])?;
            rope_pairs::<f32, 32, true>::launch(&stream, &input, &dc, &ds, &mut y)?;
            y.to_vec()?
        } else {
            let mut y = poisoned::<f32, 3>(device, [tokens, heads, 2 * half])?;
            let input = device.tensor_from(&x, [tokens, heads, 2 * half])?;
            rope_halves::<f32, 32, true>::launch(&stream, &input, &dc, &ds, &mut y)?;
            y.to_vec()?
        };
        let (mut want, mut terms) = (vec![0.0; count], vec![0.0; count]);
        for head in 0..tokens * heads {
            for i in 0..half {
                let (a, b) = if pairs {
                    (2 * i, 2 * i + 1)
                } else {
                    (i, i + half)
                };
                let (a, b) = (head * 2 * half + a, head * 2 * half + b);
                let at = head / heads * half + i;
                let (c, s) = (f64::from(c[at]), f64::from(s[at]));
                (want[a], want[b]) = (xs[a] * c + xs[b] * s, xs[b] * c - xs[a] * s);
                terms[a] = (xs[a] * c).abs() + (xs[b] * s).abs();
                terms[b] = (xs[b] * c).abs() + (xs[a] * s).abs();
            }
        }
        let verdict = like(&got, &want, &terms, 3.0 * U);
        push_near(
            out,
            format!("rope backward f32 pairs {pairs}"),
            &got,
            verdict,
        );
    }
    Ok(())
}

/// The greatest and the least of rows of special values; a NaN in a recurrence, from which on all is NaN.
fn order(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    let (stream, n) = (device.stream(), 576);
    let x: Vec<f32> = given(n, 208);
    let mut most = poisoned::<f32, 1>(device, [ROWS])?;
    let mut least = poisoned::<f32, 1>(device, [ROWS])?;
    let mut place = device.zeros::<u32, 1>([ROWS])?;
    let input = device.tensor_from(&x, [ROWS, n])?;
    row_extremes::<f32, 1>::launch(&stream, &input, &mut most, &mut least, &mut place)?;
    let found = [most.to_vec()?, least.to_vec()?].concat();
    let fold = |f: fn(f64, f64) -> f64| -> Vec<f64> {
        let rows = wide(&x);
        let of = |row: &[f64]| match row.iter().any(|v| v.is_nan()) {
            true => f64::NAN,
            false => row.iter().copied().fold(row[0], f),
        };
        rows.chunks(n).map(of).collect()
    };
    let want = [fold(f64::max), fold(f64::min)].concat();
    let verdict = like(&found, &want, &want, 0.0);
    push_near(out, "special rows, row_extremes".into(), &found, verdict);

    let n = 5000;
    let (a, mut b) = (vec![0.5f32; n], typed::<f32>(&mixed(n, 209)));
    b[10] = f32::from_bits(3);
    b[4500] = f32::NAN;
    let mut y = poisoned::<f32, 2>(device, [1, n])?;
    let (da, db) = (
        device.tensor_from(&a, [1, n])?,
        device.tensor_from(&b, [1, n])?,
    );
    recurrence::<f32, false, false, 2048, 1, 256, 2>::launch(&stream, &da, &db, &mut y)?;
    let got = y.to_vec()?;
    let (mut h, mut size) = (0.0, 0.0);
    let steps = wide(&b).into_iter().map(|b| {
        (h, size) = (0.5 * h + b, 0.5 * size + b.abs());
        (h, size)
    });
    let (want, terms): (Vec<f64>, Vec<f64>) = steps.unzip();
    let verdict = like(&got, &want, &terms, 48.0 * U);
    push_near(out, "special values, recurrence".into(), &got, verdict);
    Ok(())
}

macro_rules! widths {
    ($device:ident, $out:ident; $(($n:tt, $t:literal)),*) => {$({
        let (stream, rows, n) = ($device.stream(), 2, $n);
        let name = |what: &str| format!("{what} f32 {rows} x {n}");
        let (x, g) = (typed::<f32>(&mixed(rows * n, 211 + n as u64)), typed::<f32>(&mixed(rows * n, 212)));
        let (xs, gs) = (wide(&x), wide(&g));
        let part = |v: &[f64], r: usize| v[r * n..(r + 1) * n].to_vec();
        let dg = $device.tensor_from(&g, [rows, n])?;
        let logs = &per_row(rows, |r| log_softmax(&part(&xs, r)))[0];
        let logs = typed::<f32>(&logs.iter().map(|v| v.clamp(-40.0, 0.0)).collect::<Vec<_>>());
        let p: Vec<f32> = logs.iter().map(|v| v.exp()).collect();
        let (ls, ps) = (wide(&logs), wide(&p));
        let mut d = poisoned::<f32, 2>($device, [rows, n])?;
        Edges::softmax_backward::<f32, $n, $t>(&stream, &$device.tensor_from(&p, [rows, n])?, &dg, &mut d)?;
        let got = d.to_vec()?;
        let [want, terms] = per_row(rows, |r| softmax_gradient(&part(&ps, r), &part(&gs, r)));
        push($out, name("softmax_backward"), None, &got, near(&got, &want, &terms, (tree(n) + 4.0) * U).verdict);
        let mut d = poisoned::<f32, 2>($device, [rows, n])?;
        Edges::log_softmax_backward::<f32, $n, $t>(&stream, &$device.tensor_from(&logs, [rows, n])?, &dg, &mut d)?;
        let got = d.to_vec()?;
        let [want, terms] = per_row(rows, |r| {
            let (y, g) = (part(&ls, r), part(&gs, r));
            let (sum, size) = (g.iter().sum::<f64>(), g.iter().map(|v| v.abs()).sum::<f64>());
            let pairs = || y.iter().zip(&g);
            [pairs().map(|(y, g)| g - y.exp() * sum).collect(), pairs().map(|(y, g)| g.abs() + y.exp() * size).collect()]
        });
        push_near($out, name("log_softmax_backward"), &got, near(&got, &want, &terms, (tree(n) + 90.0) * U));
        widths!(norms $device, $out, stream, rows, name, xs, gs, part, x, dg, $n, $t);
    })*};
    // A gradient of these holds four rows in registers: no room for 16384.
    (norms $device:ident, $out:ident, $stream:ident, $rows:ident, $name:ident, $xs:ident, $gs:ident, $part:ident, $x:ident, $dg:ident, 16384, $t:literal) => {
        let _ = &$x;
    };
    (norms $device:ident, $out:ident, $stream:ident, $rows:ident, $name:ident, $xs:ident, $gs:ident, $part:ident, $x:ident, $dg:ident, $n:tt, $t:literal) => {
        let w = typed::<f32>(&mixed($n, 213));
        let ws = wide(&w);
        let (dx, dw) = ($device.tensor_from(&$x, [$rows, $n])?, $device.tensor_from(&w, [$n])?);
        let down = |v: &[f64]| (0..$n).map(|c| (0..$rows).map(|r| v[r * $n + c]).sum()).collect::<Vec<f64>>();
        let eps = f64::from(EPS);

        let mut d = poisoned::<f32, 2>($device, [$rows, $n])?;
        let mut parts = poisoned::<f32, 2>($device, [2, $n])?;
        let mut dweight = poisoned::<f32, 1>($device, [$n])?;
        Edges::rms_norm_backward::<f32, $n, $t>(&$stream, &dx, &dw, &$dg, &mut d, &mut parts, EPS)?;
        column_sum::<f32>::launch(&$stream, &parts, &mut dweight)?;
        let (got, weights) = (d.to_vec()?, dweight.to_vec()?);
        let [want, terms, shares, sizes] =
            per_row($rows, |r| norm_gradient(&$part(&$xs, r), &ws, &$part(&$gs, r), eps));
        push_near($out, $name("rms_norm_backward"), &got, near(&got, &want, &terms, (2.0 * tree($n) + 14.0) * U));
        let bound = ($rows as f64 + 0.5 * tree($n) + 10.0) * U;
        push_near($out, $name("its weight"), &weights, near(&weights, &down(&shares), &down(&sizes), bound));

        let mut d = poisoned::<f32, 2>($device, [$rows, $n])?;
        let mut parts = poisoned::<f32, 3>($device, [2, 2, $n])?;
        let mut sums = poisoned::<f32, 2>($device, [2, $n])?;
        Edges::layer_norm_backward::<f32, $n, $t>(&$stream, &dx, &dw, &$dg, &mut d, &mut parts, EPS)?;
        column_sums::<f32>::launch(&$stream, &parts, &mut sums)?;
        let (got, sums) = (d.to_vec()?, sums.to_vec()?);
        let [want, terms, shares, sizes] =
            per_row($rows, |r| layer_norm_gradient(&$part(&$xs, r), &ws, &$part(&$gs, r), eps));
        push_near($out, $name("layer_norm_backward"), &got, near(&got, &want, &terms, (3.0 * tree($n) + 24.0) * U));
        let bound = ($rows as f64 + 2.0 * tree($n) + 16.0) * U;
        push_near($out, $name("its weight"), &sums[..$n], near(&sums[..$n], &down(&shares), &down(&sizes), bound));
    };
}

/// All of them.
pub fn all(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    rotations(device, out)?;
    order(device, out)?;
    widths!(device, out; (1, 32), (31, 32), (129, 64), (1024, 128), (16384, 512));
    Ok(())
}
