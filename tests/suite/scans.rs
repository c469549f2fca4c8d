//! Scans: along rows of every width, with several tiles and more than one group of tiles; in both directions; with and
//! without the element itself; recurrences against a sequential loop in f64. The order of combination is fixed by the layout, so there is nothing between two devices, bit for bit.

use super::cases::{Result, U, poisoned, push, typed, wide};
use super::formulas::near;
use super::inputs::mixed;
use super::kernels::{
    recurrence::{recurrence, recurrence_ring},
    recurrence_hopper::recurrence_hopper,
    recurrence_rows::recurrence_rows,
    scan::{scan, scan_ring},
};
use super::{Outcome, Real};
use tiki::prelude::*;
use tiki::rows::look_back::{MAX, SUM};
use tiki::{Device, Tensor};

/// Rows and their widths: one tile and less, two tiles, none.
const SHAPES: [[usize; 2]; 9] = [
    [2, 1],
    [2, 31],
    [2, 129],
    [2, 576],
    [2, 1024],
    [3, 4096],
    [3, 16384],
    [1, 65536],
    [0, 64],
];

/// What a scan gives at each place, and the magnitude of its terms.
pub fn scanned(
    x: &[f64],
    width: usize,
    max: bool,
    exclusive: bool,
    reverse: bool,
) -> (Vec<f64>, Vec<f64>) {
    let (mut y, mut terms) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    for row in 0..x.len().checked_div(width).unwrap_or(0) {
        let (mut so_far, mut size) = (if max { f64::NEG_INFINITY } else { 0.0 }, 0.0);
        for i in 0..width {
            let at = row * width + if reverse { width - 1 - i } else { i };
            let before = (so_far, size);
            so_far = match max {
                true if x[at].is_nan() || so_far.is_nan() => f64::NAN,
                true => x[at].max(so_far),
                false => so_far + x[at],
            };
            size += x[at].abs();
            (y[at], terms[at]) = if exclusive { before } else { (so_far, size) };
        }
    }
    (y, terms)
}

pub type Launch<E, const R: usize> =
    fn(&tiki::Stream, &Tensor<E, R>, &mut Tensor<E, R>) -> Result<()>;

pub struct Kind<'a> {
    pub what: &'a str,
    pub max: bool,
    pub exclusive: bool,
    pub reverse: bool,
}

fn rows<E: Real>(
    device: &Device,
    out: &mut Vec<Outcome>,
    kind: &Kind,
    shapes: &[[usize; 2]],
    launch: Launch<E, 2>,
) -> Result<()> {
    for shape in shapes {
        let [count, width] = *shape;
        let x = typed::<E>(&mixed(count * width, width as u64 + 71));
        let mut y = poisoned::<E, 2>(device, *shape)?;
        let input = device.tensor_from(&x, *shape)?;
        launch(&device.stream(), &input, &mut y)?;
        let got = y.to_vec()?;
        let (want, terms) = scanned(&wide(&x), width, kind.max, kind.exclusive, kind.reverse);
        // Within a tile a chain of some twenty sums, then at most one a group and its tree.
        let bound = if kind.max { 0.0 } else { 48.0 * U };
        let name = format!("{} {} {count} x {width}", kind.what, E::NAME);
        push(
            out,
            name,
            None,
            &got,
            verdict(&got, &want, &terms, bound, kind.max),
        );
    }
    Ok(())
}

/// Sums within the bound; the greatest exactly, infinity and NaN too.
pub fn verdict<E: Real>(
    got: &[E],
    want: &[f64],
    terms: &[f64],
    bound: f64,
    max: bool,
) -> std::result::Result<String, String> {
    if !max {
        return near(got, want, terms, bound).verdict;
    }
    let same = |(g, w): (&E, &f64)| {
        let (g, w) = (g.wide_of(), E::from_wide(*w).wide_of());
        g == w || g.is_nan() && w.is_nan()
    };
    match got.iter().zip(want).filter(|p| !same(*p)).count() {
        0 => Ok("exact".into()),
        wrong => Err(format!("{wrong} wrong")),
    }
}

/// NaN, infinities, subnormals and -0 keep what they mean.
fn special(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    let stream = device.stream();
    let tiny = f32::from_bits(1);
    let mut x = vec![-tiny; 5000];
    x[3] = 3.0 * tiny;
    x[4500] = f32::INFINITY;
    // The NaN whose bits are all ones, which no arithmetic gives.
    x[4700] = f32::from_bits(u32::MAX);
    let (mut sums, mut tops) = (poisoned(device, [1, 5000])?, poisoned(device, [1, 5000])?);
    let input = device.tensor_from(&x, [1, 5000])?;
    scan::<f32, SUM, false, false, 4096, 1, 256, 2>::launch(&stream, &input, &mut sums)?;
    scan::<f32, MAX, false, false, 4096, 1, 256, 2>::launch(&stream, &input, &mut tops)?;
    let (mut held, mut backwards) = (poisoned(device, [1, 5000])?, poisoned(device, [1, 5000])?);
    scan_ring::<f32, SUM, false, false, 128, 4, 32, 4, 2, 4, 2>::launch(
        &stream, &input, &mut held,
    )?;
    scan_ring::<f32, MAX, false, true, 2048, 4, 64, 3, 1, 2, 2>::launch(
        &stream,
        &input,
        &mut backwards,
    )?;
    let x: Vec<f64> = wide(&x);
    for (max, reverse, got) in [
        (false, false, sums.to_vec()?),
        (true, false, tops.to_vec()?),
        (false, false, held.to_vec()?),
        (true, true, backwards.to_vec()?),
    ] {
        let (want, _) = scanned(&x, 5000, max, false, reverse);
        // Sums of few subnormals are exact.
        let verdict = verdict(&got, &want, &want, 0.0, true);
        push(
            out,
            format!("special values, greatest {max}, reverse {reverse}"),
            None,
            &got,
            verdict,
        );
    }
    Ok(())
}

/// A launch of the recurrence: factors, terms, results.
type Affine<E> = fn(&tiki::Stream, &Tensor<E, 2>, &Tensor<E, 2>, &mut Tensor<E, 2>) -> Result<()>;

/// `h = a * h + b` in order, and the magnitude of what could have been rounded.
fn recurrences<E: Real>(
    device: &Device,
    out: &mut Vec<Outcome>,
    kernel: &str,
    [exclusive, reverse]: [bool; 2],
    shapes: &[[usize; 2]],
    launch: Affine<E>,
) -> Result<()> {
    for shape in shapes {
        let [count, width] = *shape;
        let b = typed::<E>(&mixed(count * width, width as u64 + 91));
        let mut random = super::inputs::Random::new(width as u64);
        let a: Vec<f64> = (0..count * width)
            .map(|_| 1.2 * random.uniform() - 0.2)
            .collect();
        let a = typed::<E>(&a);
        let mut y = poisoned::<E, 2>(device, *shape)?;
        let (da, db) = (
            device.tensor_from(&a, *shape)?,
            device.tensor_from(&b, *shape)?,
        );
        launch(&device.stream(), &da, &db, &mut y)?;
        let got = y.to_vec()?;
        let (xs, ys) = (wide(&a), wide(&b));
        let (mut want, mut terms) = (vec![0.0; xs.len()], vec![0.0; xs.len()]);
        for row in 0..count {
            let (mut h, mut size) = (0.0, 0.0);
            for i in 0..width {
                let at = row * width + if reverse { width - 1 - i } else { i };
                let before = (h, size);
                h = xs[at] * h + ys[at];
                size = xs[at].abs() * size + ys[at].abs();
                (want[at], terms[at]) = if exclusive { before } else { (h, size) };
            }
        }
        let name = format!(
            "{kernel} {} {count} x {width}, exclusive {exclusive}, reverse {reverse}",
            E::NAME
        );
        // Each step's roundings, and those of the products that carry it on, weaken as it does.
        push(
            out,
            name,
            None,
            &got,
            near(&got, &want, &terms, 48.0 * U).verdict,
        );
    }
    Ok(())
}

macro_rules! kind {
    ($what:expr, $op:ident, $exclusive:literal, $reverse:literal) => {
        &Kind {
            what: &format!("{}, exclusive {}, reverse {}", $what, $exclusive, $reverse),
            max: $op == MAX,
            exclusive: $exclusive,
            reverse: $reverse,
        }
    };
}

macro_rules! scans {
    ($device:ident, $out:ident, $kernel:ident; $(($e:ident, $op:ident, $exclusive:literal, $reverse:literal, [$($more:literal),*], $shapes:expr)),*) => {$(
        rows::<$e>($device, $out, kind!(stringify!($kernel), $op, $exclusive, $reverse), $shapes, |s, x, y| {
            $kernel::<$e, $op, $exclusive, $reverse, $($more),*>::launch(s, x, y)
        })?;
    )*};
}

macro_rules! recurrences {
    ($device:ident, $out:ident, $kernel:ident; $(($e:ident, $exclusive:literal, $reverse:literal, [$($more:literal),*], $shapes:expr)),*) => {$(
        recurrences::<$e>($device, $out, stringify!($kernel), [$exclusive, $reverse], $shapes, |s, a, b, y| {
            $kernel::<$e, $exclusive, $reverse, $($more),*>::launch(s, a, b, y)
        })?;
    )*};
}

/// Of rows as lines of 128 bytes.
macro_rules! lines {
    ($device:ident, $out:ident; $(($e:ident, $exclusive:literal, $reverse:literal, [$($more:literal),*], $shapes:expr)),*) => {$(
        recurrences::<$e>($device, $out, "recurrence_hopper", [$exclusive, $reverse], $shapes, |s, a, b, y| {
            let line = 128 / std::mem::size_of::<$e>();
            let [rows, width] = y.shape();
            let shape = [rows, width / line, line];
            let (a, b) = (a.reshape(shape)?, b.reshape(shape)?);
            let mut lines = y.reshape(shape)?;
            recurrence_hopper::<$e, $exclusive, $reverse, $($more),*>::launch(s, &a, &b, &mut lines)
        })?;
    )*};
}

/// All of them. The tiles of 128 elements are more than a range of them, those of the rings more than a group.
pub fn all(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    scans!(device, out, scan;
        (f32, SUM, false, false, [4096, 1, 256, 2], &SHAPES),
        (f32, SUM, true, false, [4096, 1, 256, 2], &SHAPES[4..7]),
        (f32, SUM, false, true, [4096, 1, 256, 2], &SHAPES[1..7]),
        (f32, SUM, true, true, [4096, 1, 256, 2], &SHAPES[4..7]),
        (f32, MAX, false, false, [4096, 1, 256, 2], &SHAPES[..7]),
        (f32, MAX, true, true, [4096, 1, 256, 2], &SHAPES[3..7]),
        (f16, SUM, false, false, [4096, 1, 256, 2], &SHAPES[..7]),
        (bf16, MAX, false, true, [4096, 1, 256, 2], &SHAPES[1..7]),
        (f32, SUM, false, true, [128, 1, 32, 2], &[[1, 128 * 1060 + 5], [2, 128 * 33]]),
        (f32, SUM, false, false, [8192, 4, 128, 3], &[[3, 20_484], [0, 64], [2, 0]]),
        (bf16, SUM, false, false, [8192, 8, 128, 3], &[[2, 16392]])
    );
    scans!(device, out, scan_ring;
        (f32, SUM, true, true, [2048, 4, 128, 5, 2, 1, 2], &[[3, 20_484], [0, 64], [2, 0]]),
        (f32, MAX, false, true, [2048, 4, 64, 3, 1, 2, 2], &[[3, 20_484], [1, 4]]),
        (f32, MAX, true, false, [128, 4, 32, 3, 1, 2, 2], &[[2, 128 * 70 + 4], [3, 1000]]),
        (f32, SUM, false, false, [4608, 4, 128, 4, 2, 4, 3], &[[1, 4608 * 67 + 4], [3, 20_480]]),
        (f32, SUM, false, false, [128, 4, 32, 4, 2, 4, 2], &[[1, 128 * 1060 + 4], [5, 128 * 40]]),
        (f16, SUM, false, false, [8192, 8, 128, 4, 2, 4, 3], &[[2, 16384], [1, 65536]]),
        (bf16, SUM, false, false, [8192, 8, 128, 4, 2, 4, 3], &[[2, 16392]]),
        (f16, SUM, false, false, [9216, 8, 128, 4, 2, 4, 3], &[[2, 9216 * 3 + 8]]),
        (bf16, SUM, false, false, [9216, 8, 128, 4, 2, 4, 3], &[[1, 65536]])
    );
    recurrences!(device, out, recurrence;
        (f32, false, false, [2048, 1, 256, 2], &SHAPES),
        (f32, true, true, [2048, 1, 256, 2], &SHAPES[2..7]),
        (f32, false, true, [128, 1, 32, 2], &[[1, 128 * 1060 + 5], [2, 128 * 33]]),
        (bf16, false, false, [4096, 8, 128, 2], &[[2, 1024], [3, 16384]])
    );
    recurrences!(device, out, recurrence_rows;
        (f32, false, false, [2048, 4, 128, 3, 4], &[[3, 20_484], [0, 64], [2, 0], [5, 4]]),
        (f32, true, false, [1024, 4, 64, 3, 4], &[[2, 1024], [3, 4100]]),
        (f32, true, true, [256, 1, 64, 2, 4], &SHAPES[..6]),
        (f16, false, false, [4096, 8, 128, 3, 4], &[[2, 1024], [3, 16384]]),
        (bf16, false, false, [4096, 8, 128, 3, 4], &[[2, 1024], [3, 16384]]),
        (bf16, false, true, [2048, 8, 128, 3, 4], &[[2, 1024], [3, 10_248]])
    );
    recurrences!(device, out, recurrence_ring;
        (f32, true, true, [2048, 4, 128, 3, 1, 1, 2], &[[3, 20_484], [0, 64], [2, 0]]),
        (f32, false, false, [128, 4, 32, 4, 2, 4, 2], &[[1, 128 * 1060 + 4], [5, 128 * 40]]),
        (f32, false, false, [4608, 4, 128, 3, 1, 3, 2], &[[1, 4608 * 67 + 8], [3, 20_480]]),
        (f16, false, true, [4096, 8, 64, 4, 2, 2, 2], &[[2, 4096 * 70 + 8], [3, 16384]]),
        (bf16, false, false, [9216, 8, 128, 3, 1, 4, 2], &[[2, 1024], [3, 16384]])
    );
    lines!(device, out;
        (f32, false, false, [6, 3], &[[1, 4096 * 67 + 64], [3, 20_480], [0, 64], [2, 0], [1, 32]]),
        (f32, true, true, [2, 1], &[[3, 4096 * 3 + 32], [1, 4096 * 130]]),
        (f16, false, true, [3, 2], &[[2, 8192 * 2 + 64], [3, 16384]]),
        (bf16, false, false, [6, 3], &[[2, 1024], [3, 16384]])
    );
    special(device, out)
}

/// Those in which threads wait for copies and blocks for each other, each on a few tiles.
pub fn waiting(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    scans!(device, out, scan; (f32, SUM, false, true, [128, 1, 32, 2], &[[2, 128 * 33]]));
    scans!(device, out, scan_ring;
        (f32, MAX, false, true, [2048, 4, 64, 3, 1, 2, 2], &[[2, 20_484]]),
        (f16, SUM, false, false, [8192, 8, 128, 4, 2, 4, 3], &[[1, 65536]])
    );
    recurrences!(device, out, recurrence; (f32, false, true, [128, 1, 32, 2], &[[2, 128 * 33]]));
    recurrences!(device, out, recurrence_rows; (f32, true, true, [256, 1, 64, 2, 4], &[[2, 1000]]));
    recurrences!(device, out, recurrence_ring; (f32, true, true, [2048, 4, 128, 3, 1, 1, 2], &[[2, 20_484]]));
    lines!(device, out; (f32, true, true, [2, 1], &[[2, 4096 * 2 + 32]]));
    Ok(())
}
