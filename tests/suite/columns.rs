//! Scans along an axis of a matrix that is not contiguous, in both directions, with and without the element itself.
//!
//! The order of combination is fixed by the layout, so there is nothing between two devices, bit for bit.

use super::cases::{Result, U, poisoned, push, typed, wide};
use super::inputs::mixed;
use super::kernels::scan_columns::{scan_columns, scan_columns_ring};
use super::kernels::scan_columns_hopper::scan_columns_hopper;
use super::scans::{Kind, Launch, scanned, verdict};
use super::{Outcome, Real};
use tiki::Device;
use tiki::prelude::*;
use tiki::rows::look_back::{MAX, SUM};

/// More than a group of tiles, one row, whole tiles, nothing.
const SHAPES: [[usize; 3]; 5] = [
    [2, 1300, 40],
    [1, 1, 8],
    [3, 128, 64],
    [2, 0, 8],
    [1, 300, 264],
];

fn columns<E: Real>(
    device: &Device,
    out: &mut Vec<Outcome>,
    kind: &Kind,
    shapes: &[[usize; 3]],
    launch: Launch<E, 3>,
) -> Result<()> {
    for &[outer, length, inner] in shapes {
        let count = outer * length * inner;
        let x = typed::<E>(&mixed(count, 81 + count as u64));
        let mut y = poisoned::<E, 3>(device, [outer, length, inner])?;
        let input = device.tensor_from(&x, [outer, length, inner])?;
        launch(&device.stream(), &input, &mut y)?;
        let got = y.to_vec()?;
        // As rows: the axis brought to the end and back.
        let at = |o: usize, l: usize, i: usize| (o * length + l) * inner + i;
        let xs = wide(&x);
        let mut rows = Vec::new();
        for o in 0..outer {
            for i in 0..inner {
                rows.extend((0..length).map(|l| xs[at(o, l, i)]));
            }
        }
        let (want, terms) = scanned(&rows, length, kind.max, kind.exclusive, kind.reverse);
        let (mut w, mut t) = (vec![0.0; count], vec![0.0; count]);
        for (n, (want, term)) in want.iter().zip(&terms).enumerate() {
            let (row, l) = (n / length, n % length);
            let to = at(row / inner, l, row % inner);
            (w[to], t[to]) = (*want, *term);
        }
        let bound = if kind.max { 0.0 } else { 32.0 * U };
        let name = format!("{} {} {outer} x {length} x {inner}", kind.what, E::NAME);
        push(
            out,
            name,
            None,
            &got,
            verdict(&got, &w, &t, bound, kind.max),
        );
    }
    Ok(())
}

macro_rules! columns {
    ($device:ident, $out:ident, $kernel:ident, $shapes:expr; $(($e:ident, $op:ident, $exclusive:literal, $reverse:literal, [$($more:literal),*])),*) => {$(
        columns::<$e>($device, $out, &Kind {
            what: &format!("{}, exclusive {}, reverse {}", stringify!($kernel), $exclusive, $reverse),
            max: $op == MAX,
            exclusive: $exclusive,
            reverse: $reverse,
        }, $shapes, |s, x, y| {
            $kernel::<$e, $op, $exclusive, $reverse, $($more),*>::launch(s, x, y)
        })?;
    )*};
}

/// All of them.
pub fn all(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    columns!(device, out, scan_columns, &SHAPES;
        (f32, SUM, false, false, [128, 32, 1, 256, 4, 1]),
        (f32, SUM, true, true, [128, 32, 1, 256, 2, 2]),
        (f32, MAX, false, false, [128, 32, 1, 256, 4, 1]),
        (bf16, MAX, true, true, [128, 64, 8, 256, 4, 8]),
        (f32, SUM, false, false, [256, 64, 4, 256, 4, 4])
    );
    columns!(device, out, scan_columns_ring, &SHAPES;
        (f32, SUM, true, true, [128, 32, 1, 256, 2, 1, 2, 2]),
        (f32, MAX, false, false, [128, 32, 4, 128, 3, 4, 4, 1]),
        (bf16, MAX, true, true, [128, 64, 8, 256, 2, 1, 4, 8]),
        (bf16, SUM, false, false, [256, 64, 8, 128, 3, 2, 8, 4]),
        (f16, SUM, false, false, [256, 64, 8, 128, 3, 2, 8, 4])
    );
    columns!(device, out, scan_columns_hopper, &SHAPES;
        (f32, SUM, true, true, [128, 32, 2, 2, 2]),
        (f32, MAX, false, false, [64, 64, 4, 4, 1]),
        (bf16, MAX, true, true, [128, 64, 3, 4, 8]),
        (f32, SUM, false, false, [256, 32, 4, 8, 4]),
        (bf16, SUM, false, false, [256, 64, 4, 8, 3]),
        (f16, SUM, false, false, [256, 64, 4, 8, 3])
    );
    // More tiles than a card has multiprocessors and stages: these come round.
    columns!(device, out, scan_columns_hopper, &[[1, 500, 1600]];
        (f32, SUM, true, true, [128, 32, 2, 2, 2])
    );
    Ok(())
}

/// Those in which threads wait for copies and blocks for each other, each on a few tiles.
pub fn waiting(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    columns!(device, out, scan_columns, &SHAPES; (bf16, MAX, true, true, [128, 64, 8, 256, 4, 8]));
    columns!(device, out, scan_columns_ring, &SHAPES; (bf16, MAX, true, true, [128, 64, 8, 256, 2, 1, 4, 8]));
    columns!(device, out, scan_columns_hopper, &SHAPES; (bf16, MAX, true, true, [128, 64, 3, 4, 8]));
    Ok(())
}
