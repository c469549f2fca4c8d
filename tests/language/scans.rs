//! Scans of register tensors of every distribution; bounds that change in a loop; workspaces.
//!
//! Invariant: whatever threads hold what, each element becomes the combination of all before it. Witness: a loop on
//! the host over small integers, of which sums, products and recurrences are exact in any order.

use tiki::prelude::*;
use tiki::{Device, LaunchError, Tensor};

/// Row 0 sums, 1 greatest, 2 least, 3 products, 4 recurrences, of tiles dealt in several ways.
#[tiki::kernel(threads = T, grid = [1], build(
    (T = 32, P = 32, EXCLUSIVE = false, REVERSE = false),
    (T = 96, P = 24, EXCLUSIVE = false, REVERSE = false),
    (T = 96, P = 24, EXCLUSIVE = true, REVERSE = true),
    (T = 128, P = 8, EXCLUSIVE = true, REVERSE = false),
    (T = 128, P = 128, EXCLUSIVE = false, REVERSE = true),
    (T = 256, P = 64, EXCLUSIVE = true, REVERSE = true),
    (T = 256, P = 256, EXCLUSIVE = true, REVERSE = false),
))]
fn along_rows<const T: usize, const P: usize, const EXCLUSIVE: bool, const REVERSE: bool>(
    x: &Global<f32>,
    factor: &Global<f32>,
    out: &mut Global<f32, 3>,
) {
    require!(x.dim(0) <= 8 && x.dim(1) <= 96 && factor.shape() == x.shape());
    require!(out.dim(0) == 5 && out.dim(1) == x.dim(0) && out.dim(2) == x.dim(1));
    let map = ThreadMap::rows(T, P);
    let v = x.tile([8, 96], [0, 0]).load(map);
    let f = factor.tile([8, 96], [0, 0]).load(map);
    let at = |i: usize, out: &mut Global<f32, 3>| out.at_mut([i]).tile_mut([8, 96], [0, 0]);
    at(0, out).store(&v.row_scan_sum(EXCLUSIVE, REVERSE));
    at(1, out).store(&v.row_scan_max(EXCLUSIVE, REVERSE));
    at(2, out).store(&v.row_scan_min_propagate_nan(EXCLUSIVE, REVERSE));
    at(3, out).store(&f.row_scan_product(EXCLUSIVE, REVERSE));
    at(4, out).store(&v.row_scan_affine(&f, EXCLUSIVE, REVERSE));
}

#[tiki::kernel(threads = 128, grid = [1], build((P = 4), (P = 32)))]
fn along_columns<const P: usize>(x: &Global<i32>, out: &mut Global<i32>) {
    require!(x.dim(0) <= 64 && x.dim(1) <= 40 && out.shape() == x.shape());
    let v = x.tile([64, 40], [0, 0]).load(ThreadMap::rows(128, P));
    out.tile_mut([64, 40], [0, 0])
        .store(&v.col_scan_sum(false, true));
}

fn scanned(x: &[f32], how: (bool, bool), first: f32, f: impl Fn(usize, f32) -> f32) -> Vec<f32> {
    let (exclusive, reverse) = how;
    let mut out = vec![0.0; x.len()];
    let mut so_far = first;
    for i in 0..x.len() {
        let i = if reverse { x.len() - 1 - i } else { i };
        let next = f(i, so_far);
        out[i] = if exclusive { so_far } else { next };
        so_far = next;
    }
    out
}

macro_rules! rows {
    ($device:ident, $x:ident, $f:ident, $shape:ident; $(($t:literal, $p:literal, $exclusive:literal, $reverse:literal)),*) => {$({
        let [rows, width] = $shape;
        let mut out = $device.tensor_from(&vec![-99.0f32; 5 * rows * width], [5, rows, width])?;
        let (dx, df) = ($device.tensor_from(&$x, $shape)?, $device.tensor_from(&$f, $shape)?);
        along_rows::<$t, $p, $exclusive, $reverse>::launch(&$device.stream(), &dx, &df, &mut out)?;
        let got = out.to_vec()?;
        let how = ($exclusive, $reverse);
        for r in 0..rows {
            let (x, f) = (&$x[r * width..(r + 1) * width], &$f[r * width..(r + 1) * width]);
            let want = [
                scanned(x, how, 0.0, |i, s| s + x[i]),
                scanned(x, how, f32::NEG_INFINITY, |i, s| s.max(x[i])),
                scanned(x, how, f32::INFINITY, |i, s| s.min(x[i])),
                scanned(x, how, 1.0, |i, s| s * f[i]),
                scanned(x, how, 0.0, |i, s| s * f[i] + x[i]),
            ];
            for (k, want) in want.iter().enumerate() {
                let at = (k * rows + r) * width;
                assert_eq!(&got[at..at + width], &want[..], "{} {} {how:?}, operation {k}, row {r}", $t, $p);
            }
        }
    })*};
}

#[test]
fn scans_of_every_distribution() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    for shape in [[8, 96], [5, 95], [3, 50], [1, 1]] {
        let count = shape[0] * shape[1];
        let x: Vec<f32> = (0..count).map(|i| (i * 37 % 19) as f32 - 9.0).collect();
        // Factors of 1, -1 and, now and then, 0: products stay exact.
        let factor = |i: usize| match i * 53 % 41 {
            0 => 0.0,
            k if k % 3 == 0 => -1.0,
            _ => 1.0,
        };
        let f: Vec<f32> = (0..count).map(factor).collect();
        rows!(device, x, f, shape;
            (32, 32, false, false), (96, 24, false, false), (96, 24, true, true), (128, 8, true, false),
            (128, 128, false, true), (256, 64, true, true), (256, 256, true, false));
    }
    for [rows, width] in [[64, 40], [37, 39]] {
        let x: Vec<i32> = (0..rows * width)
            .map(|i| (i * 7919 % 2003) as i32 - 1000)
            .collect();
        for p in [4, 32] {
            let mut out = device.zeros::<i32, 2>([rows, width])?;
            let input = device.tensor_from(&x, [rows, width])?;
            match p {
                4 => along_columns::<4>::launch(&device.stream(), &input, &mut out)?,
                _ => along_columns::<32>::launch(&device.stream(), &input, &mut out)?,
            }
            let mut want = x.clone();
            for i in (0..(rows - 1) * width).rev() {
                want[i] += want[i + width];
            }
            assert_eq!(out.to_vec()?, want, "{rows} x {width} by {p}");
        }
    }
    Ok(())
}

/// The greatest of each 8 rows, from the last 8 on: only the first tile that is read may be partial.
#[tiki::kernel(threads = 32, grid = [1])]
fn from_the_end(x: &Global<f32>, out: &mut Global<f32>) {
    require!(x.dim(1) == 32 && x.dim(0) > 0 && out.dim(1) == 32);
    let map = ThreadMap::linear(32);
    let chunks = x.dim(0).div_ceil(8);
    let mut tile = x.tile([8, 32], [chunks - 1, 0]).load(map);
    for k in 0..chunks {
        let at = chunks - 1 - k;
        let top = tile.col_max();
        out.at_mut([at]).tile_mut([32], [0]).store(&top);
        let before = if at > 0 { at - 1 } else { chunks };
        tile = x.tile([8, 32], [before, 0]).load(map);
    }
}

/// Only the last tile that is read may be partial, the first is whole; a branch chooses between two.
#[tiki::kernel(threads = 32, grid = [1])]
fn from_the_start(x: &Global<f32>, out: &mut Global<f32>, twice: bool) {
    require!(x.dim(1) == 32 && x.dim(0) >= 8 && out.dim(1) == 32);
    let map = ThreadMap::linear(32);
    let mut tile = x.tile([8, 32], [0, 0]).load(map);
    for k in 0..x.dim(0).div_ceil(8) {
        let next = x.tile([8, 32], [k + 1, 0]).load(map);
        let shown = if twice {
            &next + &next
        } else {
            tile.map(|v| v)
        };
        out.at_mut([k]).tile_mut([32], [0]).store(&shown.col_max());
        tile = next;
    }
}

#[test]
fn what_is_missing_changes_in_a_loop() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let stream = device.stream();
    for rows in [8, 9, 20, 31] {
        // All negative: a missing element would count as 0.
        let x: Vec<f32> = (0..rows * 32)
            .map(|i| -1.0 - (i * 13 % 101) as f32)
            .collect();
        let input = device.tensor_from(&x, [rows, 32])?;
        let chunks = rows.div_ceil(8);
        let top = |k: usize, c: usize| {
            let rows = 8 * k..rows.min(8 * k + 8);
            rows.map(|r| x[r * 32 + c])
                .fold(f32::NEG_INFINITY, f32::max)
        };
        let mut out: Tensor<f32, 2> = device.zeros([chunks, 32])?;
        from_the_end::launch(&stream, &input, &mut out)?;
        let want: Vec<f32> = (0..chunks * 32).map(|i| top(i / 32, i % 32)).collect();
        assert_eq!(out.to_vec()?, want, "{rows}");
        for twice in [false, true] {
            let mut out: Tensor<f32, 2> = device.zeros([chunks, 32])?;
            from_the_start::launch(&stream, &input, &mut out, twice)?;
            let shown = |i: usize| match twice {
                true => 2.0 * top(i / 32 + 1, i % 32),
                false => top(i / 32, i % 32),
            };
            let want: Vec<f32> = (0..chunks * 32).map(shown).collect();
            assert_eq!(out.to_vec()?, want, "{rows} {twice}");
        }
    }
    Ok(())
}

/// Blocks count themselves in a workspace: it is zero at the start of every launch.
#[tiki::kernel(threads = 32, grid = [out.dim(0)], workspace(count = [1], marks = [out.dim(0), 2]))]
fn numbered(out: &mut Global<u32, 1>, count: &mut Global<u32, 1>, marks: &mut Global<u64>) {
    if thread_idx() == 0 {
        let mine = count.atom_add([0], 1, Order::Relaxed, Scope::Device) as usize;
        let before = marks.get_with([mine, 1], Order::Relaxed, Scope::Device);
        marks.set_with([mine, 1], before + 1, Order::Relaxed, Scope::Device);
        out.set(
            [mine],
            marks.get_with([mine, 1], Order::Relaxed, Scope::Device) as u32,
        );
    }
}

#[test]
fn a_workspace_is_zero_at_every_launch() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let mut out = device.zeros::<u32, 1>([100])?;
    for _ in 0..3 {
        numbered::launch(&device.stream(), &mut out)?;
        assert_eq!(out.to_vec()?, [1; 100]);
    }
    let mut none = device.zeros::<u32, 1>([0])?;
    numbered::launch(&device.stream(), &mut none)?;
    Ok(())
}
