//! The cases, each against its reference.

use super::formulas::Near;
use super::inputs::mixed;
use super::kernels::{
    Widths, add::add, row_sum, silu::silu_mul, softmax::softmax, transpose::transpose,
};
use super::{Apart, Outcome, Real, bytes, judge};
use tiki::prelude::*;
use tiki::{Device, LaunchError, Stream, Tensor};

pub type Result<T> = std::result::Result<T, LaunchError>;

const WIDTHS: [usize; 6] = [1, 31, 129, 576, 1024, 4096];
const ROWS: [usize; 3] = [1, 3, 37];
pub const U: f64 = 1.0 / (1 << 24) as f64;

/// Spread of RMSNorm: the root's bound and its rounding, two products on both sides.
pub const NORM: f64 = 2.15 + 1.0 + 4.0;
/// Of silu: exp (two units in the last place and its rounding), sum, quotient and two products.
pub const GATE: f64 = 4.0 + 1.0 + 4.0 * 2.0;
/// Of softmax: exp above and below, its sum, quotient, product.
pub const SOFT: f64 = 2.0 * (4.0 + 1.0) + 3.0 * 2.0;

/// All of them.
pub fn all(device: &Device) -> Result<Vec<Outcome>> {
    let mut out = Vec::new();
    super::given::real(device, &mut out)?;
    adds(device, &mut out)?;
    transposes(device, &mut out)?;
    for_type::<f32>(device, &mut out)?;
    for_type::<f16>(device, &mut out)?;
    for_type::<bf16>(device, &mut out)?;
    super::rows::all(device, &mut out)?;
    super::scans::all(device, &mut out)?;
    super::columns::all(device, &mut out)?;
    super::rings::all(device, &mut out)?;
    super::library::all(device, &mut out)?;
    super::special::all(device, &mut out)?;
    super::edges::all(device, &mut out)?;
    Ok(out)
}

fn for_type<E: Real + Kernels>(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    for width in WIDTHS {
        for rows in ROWS {
            let seed = (width * 31 + rows) as u64;
            norms::<E>(device, rows, width, seed, out)?;
            for causal in [false, true] {
                softmaxes::<E>(device, rows, width, causal, seed + 1, out)?;
            }
            sums::<E>(device, rows, width, seed + 2, out)?;
            places::<E>(device, rows, width, seed + 3, out)?;
        }
    }
    for width in [16384, 65536] {
        sums::<E>(device, 1, width, width as u64, out)?;
    }
    for n in [0, 1, 31, 1023, 1024, 1025, 43008] {
        gates::<E>(device, n, out)?;
    }
    super::given::special_rows::<E>(device, out)
}

/// The instances of one element type.
pub trait Kernels: Real {
    fn rms_norm(
        width: usize,
        stream: &Stream,
        x: &Tensor<Self, 2>,
        w: &Tensor<Self, 1>,
        out: &mut Tensor<Self, 2>,
        eps: f32,
    ) -> Result<()>;
    fn softmax(
        width: usize,
        stream: &Stream,
        x: &Tensor<Self, 2>,
        out: &mut Tensor<Self, 2>,
        causal: bool,
    ) -> Result<()>;
    fn row_sum(stream: &Stream, x: &Tensor<Self, 2>, sum: &mut Tensor<f32, 1>) -> Result<()>;
    fn row_argmax(
        width: usize,
        stream: &Stream,
        x: &Tensor<Self, 2>,
        place: &mut Tensor<u32, 1>,
    ) -> Result<()>;
    fn silu(
        stream: &Stream,
        gate: &Tensor<Self, 1>,
        up: &Tensor<Self, 1>,
        out: &mut Tensor<Self, 1>,
    ) -> Result<()>;
}

macro_rules! kernels {
    ($($t:ty)*) => {$(
        impl Kernels for $t {
            fn rms_norm(width: usize, s: &Stream, x: &Tensor<$t, 2>, w: &Tensor<$t, 1>, out: &mut Tensor<$t, 2>, eps: f32) -> Result<()> {
                match width {
                    1 => Widths::rms_norm::<$t, 1, 32>(s, x, w, out, eps),
                    31 => Widths::rms_norm::<$t, 31, 32>(s, x, w, out, eps),
                    129 => Widths::rms_norm::<$t, 129, 64>(s, x, w, out, eps),
                    576 => Widths::rms_norm::<$t, 576, 96>(s, x, w, out, eps),
                    1024 => Widths::rms_norm::<$t, 1024, 128>(s, x, w, out, eps),
                    _ => Widths::rms_norm::<$t, 4096, 256>(s, x, w, out, eps),
                }
            }
            fn softmax(width: usize, s: &Stream, x: &Tensor<$t, 2>, out: &mut Tensor<$t, 2>, causal: bool) -> Result<()> {
                match width {
                    0..=128 => softmax::<$t, 128, 32>::launch(s, x, out, causal),
                    129..=1024 => softmax::<$t, 1024, 128>::launch(s, x, out, causal),
                    _ => softmax::<$t, 4096, 256>::launch(s, x, out, causal),
                }
            }
            fn row_sum(s: &Stream, x: &Tensor<$t, 2>, sum: &mut Tensor<f32, 1>) -> Result<()> {
                match x.shape()[1] % (16 / size_of::<$t>()) {
                    0 => row_sum::row_sum::<$t, { 16 / size_of::<$t>() }>::launch(s, x, sum),
                    _ => row_sum::row_sum::<$t, 1>::launch(s, x, sum),
                }
            }
            fn row_argmax(width: usize, s: &Stream, x: &Tensor<$t, 2>, place: &mut Tensor<u32, 1>) -> Result<()> {
                match width {
                    0..=1024 => row_sum::row_argmax::<$t, 1024, 64>::launch(s, x, place),
                    _ => row_sum::row_argmax_of::<$t, 4096, 128>::launch(s, x, place),
                }
            }
            fn silu(s: &Stream, gate: &Tensor<$t, 1>, up: &Tensor<$t, 1>, out: &mut Tensor<$t, 1>) -> Result<()> {
                silu_mul::<$t>::launch(s, gate, up, out)
            }
        }
    )*};
}

kernels! { f32 f16 bf16 }

pub fn typed<E: Real>(values: &[f64]) -> Vec<E> {
    values.iter().map(|&v| E::from_wide(v)).collect()
}

pub fn wide<E: Real>(values: &[E]) -> Vec<f64> {
    values.iter().map(|v| v.wide_of()).collect()
}

/// A tensor of a value no result has, so that what is not written shows.
pub fn poisoned<E: Real, const R: usize>(
    device: &Device,
    shape: [usize; R],
) -> Result<Tensor<E, R>> {
    device.tensor_from(&vec![E::from_wide(-12345.0); shape.iter().product()], shape)
}

pub fn push<E: Real>(
    out: &mut Vec<Outcome>,
    name: String,
    apart: impl Into<Apart>,
    result: &[E],
    verdict: std::result::Result<String, String>,
) {
    out.push(Outcome {
        name,
        bytes: bytes(result),
        apart: apart.into(),
        dtype: E::NAME,
        verdict,
    });
}

/// As `push`, of a result that was compared with the magnitude of its terms.
pub fn push_near<E: Real>(out: &mut Vec<Outcome>, name: String, result: &[E], found: Near) {
    push(out, name, Apart::Each(found.apart), result, found.verdict);
}

fn adds(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    for n in [0, 1, 3, 1023, 1024, 1025, 100_003] {
        let (x, y) = (typed::<f32>(&mixed(n, 5)), typed::<f32>(&mixed(n, 6)));
        let mut sum = poisoned::<f32, 1>(device, [n])?;
        add::launch(
            &device.stream(),
            &device.tensor_from(&x, [n])?,
            &device.tensor_from(&y, [n])?,
            &mut sum,
        )?;
        let got = sum.to_vec()?;
        let wrong = (0..n)
            .filter(|&i| got[i].to_bits() != (x[i] + y[i]).to_bits())
            .count();
        let verdict = if wrong == 0 {
            Ok("exact".into())
        } else {
            Err(format!("{wrong} wrong"))
        };
        push(out, format!("add {n}"), None, &got, verdict);
    }
    Ok(())
}

fn transposes(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    for (rows, columns) in [
        (0, 5),
        (1, 1),
        (32, 32),
        (31, 129),
        (300, 517),
        (300, 132),
        (64, 1024),
    ] {
        let x = typed::<f32>(&mixed(rows * columns, 9));
        let mut t = poisoned::<f32, 2>(device, [columns, rows])?;
        let (stream, from) = (device.stream(), device.tensor_from(&x, [rows, columns])?);
        if rows % 4 == 0 && columns % 4 == 0 {
            transpose::<4>::launch(&stream, &from, &mut t)?;
        } else {
            transpose::<1>::launch(&stream, &from, &mut t)?;
        }
        let got = t.to_vec()?;
        let wrong = (0..rows * columns)
            .filter(|&i| got[(i % columns) * rows + i / columns].to_bits() != x[i].to_bits())
            .count();
        let verdict = if wrong == 0 {
            Ok("exact".into())
        } else {
            Err(format!("{wrong} wrong"))
        };
        push(
            out,
            format!("transpose {rows} x {columns}"),
            None,
            &got,
            verdict,
        );
    }
    Ok(())
}

fn norms<E: Kernels>(
    device: &Device,
    rows: usize,
    width: usize,
    seed: u64,
    out: &mut Vec<Outcome>,
) -> Result<()> {
    let (x, w) = (
        typed::<E>(&mixed(rows * width, seed)),
        typed::<E>(&mixed(width, seed + 7)),
    );
    let mut y = poisoned::<E, 2>(device, [rows, width])?;
    E::rms_norm(
        width,
        &device.stream(),
        &device.tensor_from(&x, [rows, width])?,
        &device.tensor_from(&w, [width])?,
        &mut y,
        1e-5,
    )?;
    let (xs, ws, got) = (wide(&x), wide(&w), y.to_vec()?);
    let eps = f64::from(1e-5_f32);
    let expected: Vec<f64> = xs
        .chunks(width)
        .flat_map(|row| {
            let mean = row.iter().map(|v| v * v).sum::<f64>() / width as f64;
            let inverse = 1.0 / (mean + eps).sqrt();
            row.iter()
                .zip(&ws)
                .map(move |(v, w)| v * inverse * w)
                .collect::<Vec<_>>()
        })
        .collect();
    // Squares, a tree of sums, quotient and eps: halved by the root; the root's unit; two products.
    let tree = (width as f64).log2().ceil();
    let bound = (0.5 * (tree + 3.0) + 3.0) * U + 2f64.powf(-22.9);
    let verdict = judge(&got, &expected, bound);
    push(
        out,
        format!("rms_norm {} {rows} x {width}", E::NAME),
        Some(NORM),
        &got,
        verdict,
    );
    Ok(())
}

pub fn softmax_reference(xs: &[f64], rows: usize, width: usize, causal: bool) -> Vec<f64> {
    (0..rows)
        .flat_map(|r| {
            let kept = |c: usize| !causal || c + rows <= r + width;
            let row = &xs[r * width..(r + 1) * width];
            let top =
                (0..width)
                    .filter(|&c| kept(c))
                    .map(|c| row[c])
                    .fold(f64::NEG_INFINITY, |a, b| {
                        if a.is_nan() || b.is_nan() {
                            f64::NAN
                        } else {
                            a.max(b)
                        }
                    });
            let weights: Vec<f64> = (0..width)
                .map(|c| match () {
                    () if !kept(c) || row[c] == f64::NEG_INFINITY => {
                        if top.is_nan() || top == f64::INFINITY {
                            f64::NAN
                        } else {
                            0.0
                        }
                    }
                    () => (row[c] - top).exp(),
                })
                .collect();
            let total: f64 = weights.iter().sum();
            weights
                .into_iter()
                .map(move |w| if total == 0.0 { 0.0 } else { w / total })
                .collect::<Vec<_>>()
        })
        .collect()
}

fn softmaxes<E: Kernels>(
    device: &Device,
    rows: usize,
    width: usize,
    causal: bool,
    seed: u64,
    out: &mut Vec<Outcome>,
) -> Result<()> {
    let x = typed::<E>(
        &mixed(rows * width, seed)
            .iter()
            .map(|v| v.clamp(-40.0, 40.0))
            .collect::<Vec<_>>(),
    );
    let mut y = poisoned::<E, 2>(device, [rows, width])?;
    E::softmax(
        width,
        &device.stream(),
        &device.tensor_from(&x, [rows, width])?,
        &mut y,
        causal,
    )?;
    let got = y.to_vec()?;
    let expected = softmax_reference(&wide(&x), rows, width, causal);
    // The argument's rounding is amplified by up to 80; exp twice, a tree of sums, quotient, product.
    let bound = (80.0 + 2.0 * 4.0 + (width as f64).log2().ceil() + 3.0) * U;
    let verdict = judge(&got, &expected, bound);
    let kind = if causal { "causal softmax" } else { "softmax" };
    push(
        out,
        format!("{kind} {} {rows} x {width}", E::NAME),
        Some(SOFT),
        &got,
        verdict,
    );
    Ok(())
}

fn sums<E: Kernels>(
    device: &Device,
    rows: usize,
    width: usize,
    seed: u64,
    out: &mut Vec<Outcome>,
) -> Result<()> {
    let x = typed::<E>(&mixed(rows * width, seed));
    let mut y = poisoned::<f32, 1>(device, [rows])?;
    E::row_sum(
        &device.stream(),
        &device.tensor_from(&x, [rows, width])?,
        &mut y,
    )?;
    let got = y.to_vec()?;
    let xs = wide(&x);
    // Additions along any path: tiles of 1024, the thread's tree, the warp's, the block's.
    let depth = width.div_ceil(1024) as f64 + 3.0 + 5.0 + 2.0;
    let wrong = xs
        .chunks(width)
        .zip(&got)
        .filter(|(row, g)| {
            let (sum, size) = (
                row.iter().sum::<f64>(),
                row.iter().map(|v| v.abs()).sum::<f64>(),
            );
            (f64::from(**g) - sum).abs() > depth * U * size
        })
        .count();
    let verdict = if wrong == 0 {
        Ok("within the bound".into())
    } else {
        Err(format!("{wrong} rows outside the bound"))
    };
    push(
        out,
        format!("row_sum {} {rows} x {width}", E::NAME),
        None,
        &got,
        verdict,
    );
    Ok(())
}

/// The first of the greatest; the first NaN if there is one.
pub fn first_greatest(row: &[f64]) -> u32 {
    let mut best = 0;
    for (i, v) in row.iter().enumerate().skip(1) {
        if !row[best].is_nan() && (v.is_nan() || *v > row[best]) {
            best = i;
        }
    }
    best as u32
}

fn places<E: Kernels>(
    device: &Device,
    rows: usize,
    width: usize,
    seed: u64,
    out: &mut Vec<Outcome>,
) -> Result<()> {
    let mut x = typed::<E>(&mixed(rows * width, seed));
    // Ties, and NaN in the last of several rows.
    if width > 4 {
        x[width - 1] = E::from_wide(900.0);
        x[width / 2] = E::from_wide(900.0);
        if rows > 1 {
            x[(rows - 1) * width + 3] = E::from_wide(f64::NAN);
        }
    }
    let mut y = device.tensor_from(&vec![u32::MAX; rows], [rows])?;
    E::row_argmax(
        width,
        &device.stream(),
        &device.tensor_from(&x, [rows, width])?,
        &mut y,
    )?;
    let got = y.to_vec()?;
    let expected: Vec<u32> = wide(&x).chunks(width).map(first_greatest).collect();
    let wrong = got.iter().zip(&expected).filter(|(a, b)| a != b).count();
    let verdict = if wrong == 0 {
        Ok("exact".into())
    } else {
        Err(format!("{wrong} wrong, got {got:?}, expected {expected:?}"))
    };
    let as_float: Vec<f32> = got.iter().map(|&i| i as f32).collect();
    push(
        out,
        format!("row_argmax {} {rows} x {width}", E::NAME),
        None,
        &as_float,
        verdict,
    );
    Ok(())
}

fn gates<E: Kernels>(device: &Device, n: usize, out: &mut Vec<Outcome>) -> Result<()> {
    let mut g = typed::<E>(&mixed(n, 21).iter().map(|v| v * 4.0).collect::<Vec<_>>());
    let u = typed::<E>(&mixed(n, 22));
    if n > 10 {
        for (i, v) in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0, -0.0]
            .into_iter()
            .enumerate()
        {
            g[2 * i] = E::from_wide(v);
        }
    }
    let mut y = poisoned::<E, 1>(device, [n])?;
    E::silu(
        &device.stream(),
        &device.tensor_from(&g, [n])?,
        &device.tensor_from(&u, [n])?,
        &mut y,
    )?;
    let got = y.to_vec()?;
    let silu = |g: f64| {
        if g == f64::NEG_INFINITY {
            0.0
        } else {
            g / (1.0 + (-g).exp())
        }
    };
    let expected: Vec<f64> = wide(&g)
        .iter()
        .zip(wide(&u))
        .map(|(&g, u)| silu(g) * u)
        .collect();
    let verdict = judge(&got, &expected, (2.0 * 2.0 + 4.0) * U);
    push(
        out,
        format!("silu_mul {} {n}", E::NAME),
        Some(GATE),
        &got,
        verdict,
    );
    Ok(())
}
