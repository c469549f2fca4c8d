//! Gradients of norms whose rows come by asynchronous copies: more blocks than rows, fewer, and fewer by more than the ring
//! has stages.

use super::cases::{Result, U, poisoned, push, push_near, typed, wide};
use super::formulas::{layer_norm_gradient, near, norm_gradient, per_row, tree};
use super::inputs::mixed;
use super::kernels::{
    layer_norm_backward::{column_sums, layer_norm_backward_ring},
    rms_norm::rms_norm,
    rms_norm_backward::{column_sum, rms_norm_backward_ring},
};
use super::{Outcome, Real, judge};
use tiki::Device;
use tiki::prelude::*;

const EPS: f32 = 1e-5;
const N: usize = 4096;

macro_rules! rings {
    ($device:ident, $out:ident; $(($e:ident, [$($rms:literal),*], [$($ln:literal),*], $shapes:expr)),*) => {$(
        for (rows, blocks) in $shapes {
            let name = |what: &str| format!("{what} {} {rows} x {N} by {blocks} blocks", $e::NAME);
            let (x, g) = (typed::<$e>(&mixed(rows * N, 301)), typed::<$e>(&mixed(rows * N, 302)));
            let w = typed::<$e>(&mixed(N, 303));
            let (xs, gs, ws, eps) = (wide(&x), wide(&g), wide(&w), f64::from(EPS));
            let part = |v: &[f64], r: usize| v[r * N..(r + 1) * N].to_vec();
            let down = |v: &[f64]| (0..N).map(|c| (0..rows).map(|r| v[r * N + c]).sum()).collect::<Vec<f64>>();
            let stream = $device.stream();
            let (dx, dg) = ($device.tensor_from(&x, [rows, N])?, $device.tensor_from(&g, [rows, N])?);
            let dw = $device.tensor_from(&w, [N])?;

            let mut d = poisoned::<$e, 2>($device, [rows, N])?;
            let mut parts = poisoned::<f32, 2>($device, [blocks, N])?;
            let mut weight = poisoned::<$e, 1>($device, [N])?;
            rms_norm_backward_ring::<$e, N, $($rms),*>::launch(&stream, &dx, &dw, &dg, &mut d, &mut parts, EPS)?;
            column_sum::<$e>::launch(&stream, &parts, &mut weight)?;
            let (got, weights) = (d.to_vec()?, weight.to_vec()?);
            let [want, terms, shares, sizes] =
                per_row(rows, |r| norm_gradient(&part(&xs, r), &ws, &part(&gs, r), eps));
            push_near($out, name("rms_norm_backward_ring"), &got, near(&got, &want, &terms, (2.0 * tree(N) + 14.0) * U));
            let bound = (rows as f64 + 0.5 * tree(N) + 10.0) * U;
            push_near($out, name("its weight"), &weights, near(&weights, &down(&shares), &down(&sizes), bound));

            let mut d = poisoned::<$e, 2>($device, [rows, N])?;
            let mut parts = poisoned::<f32, 3>($device, [2, blocks, N])?;
            let mut sums = poisoned::<$e, 2>($device, [2, N])?;
            layer_norm_backward_ring::<$e, N, $($ln),*>::launch(&stream, &dx, &dw, &dg, &mut d, &mut parts, EPS)?;
            column_sums::<$e>::launch(&stream, &parts, &mut sums)?;
            let (got, sums) = (d.to_vec()?, sums.to_vec()?);
            let [want, terms, shares, sizes] =
                per_row(rows, |r| layer_norm_gradient(&part(&xs, r), &ws, &part(&gs, r), eps));
            push_near($out, name("layer_norm_backward_ring"), &got, near(&got, &want, &terms, (3.0 * tree(N) + 24.0) * U));
            let bound = (rows as f64 + 2.0 * tree(N) + 16.0) * U;
            push_near($out, name("its weight"), &sums[..N], near(&sums[..N], &down(&shares), &down(&sizes), bound));
            let (bias, size) = (down(&gs), down(&gs.iter().map(|v| v.abs()).collect::<Vec<_>>()));
            push_near($out, name("its bias"), &sums[N..], near(&sums[N..], &bias, &size, rows as f64 * U));
        }
    )*};
}

/// RMSNorm of rows that are written piece by piece.
fn pieces(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    let n = 16384;
    let (x, w) = (
        typed::<f32>(&mixed(2 * n, 304)),
        typed::<f32>(&mixed(n, 305)),
    );
    let mut y = poisoned::<f32, 2>(device, [2, n])?;
    let (dx, dw) = (
        device.tensor_from(&x, [2, n])?,
        device.tensor_from(&w, [n])?,
    );
    rms_norm::<f32, 16384, 1024>::launch(&device.stream(), &dx, &dw, &mut y, EPS)?;
    let (xs, ws, got) = (wide(&x), wide(&w), y.to_vec()?);
    let [want] = per_row(2, |r| {
        let row = &xs[r * n..(r + 1) * n];
        let mean = row.iter().map(|v| v * v).sum::<f64>() / n as f64;
        let scale = 1.0 / (mean + f64::from(EPS)).sqrt();
        [row.iter().zip(&ws).map(|(x, w)| x * scale * w).collect()]
    });
    let verdict = judge(&got, &want, (tree(n) + 20.0) * U);
    push(
        out,
        format!("rms_norm f32 2 x {n}"),
        Some(8.0),
        &got,
        verdict,
    );
    Ok(())
}

/// All of them.
pub fn all(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    pieces(device, out)?;
    rings!(device, out;
        (f32, [256, 2], [512, 2], [(3, 4), (9, 2)]),
        (f16, [256, 3], [512, 3], [(3, 4), (9, 2)]),
        (bf16, [256, 3], [512, 3], [(3, 4)]));
    Ok(())
}

/// One of each, small.
pub fn waiting(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    rings!(device, out; (f16, [256, 3], [512, 3], [(5, 1)]));
    Ok(())
}
