//! Invariant: a window has the elements that its place, extents and strides say, and nothing past its extents is read or
//! written. Witness: matrices of different shapes in one buffer, against Rust; windows of windows and of parts; vectors where
//! places and strides are multiples, single elements where they are not.

use tiki::prelude::*;
use tiki::vm::{Checks, Options};

/// Matrix `g` begins at `sizes[g][0]` and has `sizes[g][1]` rows of `sizes[g][2]`, `sizes[g][3]` apart, all times `N` but the rows.
#[tiki::kernel(threads = 64, grid = [sizes.dim(0)], build((N = 1), (N = 4)))]
fn doubled<const N: usize>(x: &Global<f32, 1>, y: &mut Global<f32, 1>, sizes: &Global<u32, 2>) {
    require!(sizes.dim(1) == 4);
    let g = block_idx().x;
    let size = |i: usize| sizes.get([g, i]) as usize;
    let (first, rows) = (size(0) * N, size(1));
    let (columns, pitch) = (size(2) * N, size(3) * N);
    let from = x.window(first, [rows, columns], [pitch, 1]);
    let mut to = y.window_mut(first, [rows, columns], [pitch, 1]);
    let map = ThreadMap::linear(64).vector_up_to(4);
    for m in 0..from.dim(0).div_ceil(8) {
        for n in 0..from.dim(1).div_ceil(16) {
            let tile = from.tile([8, 16], [m, n]).load(map);
            to.tile_mut([8, 16], [m, n]).store(&tile.map(|x| x + x));
        }
    }
}

#[test]
fn matrices_of_different_shapes_lie_in_one_buffer() {
    for n in [1_usize, 4] {
        // Place, rows, columns, pitch; between them nobody writes.
        let sizes: [[usize; 4]; 5] = [
            [3, 9, 5, 7],
            [70, 1, 1, 1],
            [80, 0, 3, 3],
            [90, 17, 20, 20],
            [440, 8, 4, 9],
        ];
        let len = 520 * n;
        let host: Vec<f32> = (0..len).map(|i| i as f32 + 1.0).collect();
        let mut want = vec![-1.0; len];
        for [first, rows, columns, pitch] in sizes {
            for r in 0..rows {
                for c in 0..columns * n {
                    let i = first * n + r * pitch * n + c;
                    want[i] = 2.0 * host[i];
                }
            }
        }
        let options = Options {
            checks: Checks::All,
            ..Options::default()
        };
        let target = tiki::compiler::target::Target::by_name("sm_80").unwrap();
        let device = tiki::Device::vm_with(target, options).unwrap();
        let table: Vec<u32> = sizes.iter().flatten().map(|x| *x as u32).collect();
        let table = device.tensor_from(&table, [5, 4]).unwrap();
        let x = device.tensor_from(&host, [len]).unwrap();
        let mut y = device.tensor_from(&vec![-1.0_f32; len], [len]).unwrap();
        let stream = device.stream();
        match n {
            1 => doubled::<1>::launch(&stream, &x, &mut y, &table).unwrap(),
            _ => doubled::<4>::launch(&stream, &x, &mut y, &table).unwrap(),
        }
        assert!(y.to_vec().unwrap() == want, "{n}");
    }
    // What is a multiple of four elements is known to be: 16 bytes an access, which need the argument to be aligned.
    assert!(doubled::<4>::PTX.contains(".v4."));
    assert!(!doubled::<1>::PTX.contains(".v4."));
}

/// A window of a part, and a window of it: element `[i, j]` of matrix `z`, every `step`-th column from the second row on.
#[tiki::kernel(threads = 32, grid = [x.dim(0)])]
fn inner(x: &Global<f32, 3>, y: &mut Global<f32, 3>, rows: u32, step: u32) {
    require!(x.shape() == y.shape() && x.dim(1) >= 1 && step >= 1 && rows >= 1);
    let z = block_idx().x;
    let (pitch, step) = (x.stride(1), step as usize);
    let part = x.at([z]);
    let below = part.window(pitch, [rows as usize - 1, x.dim(2)], [pitch, 1]);
    let [m, n] = below.shape();
    let some = below.window(0, [m, n.div_ceil(step)], [below.stride(0), step]);
    let mut out = y.at_mut([z]);
    for i in 0..some.dim(0) {
        let mut j = thread_idx();
        while j < some.dim(1) {
            out.set([i, j], some.get([i, j]));
            j += 32;
        }
    }
}

#[test]
fn windows_lie_in_parts_and_in_windows() {
    let device = tiki::Device::vm().unwrap();
    let (shape, step) = ([2, 5, 37], 3);
    let host: Vec<f32> = (0..2 * 5 * 37).map(|i| i as f32).collect();
    let x = device.tensor_from(&host, shape).unwrap();
    let mut y = device
        .tensor_from(&vec![-1.0_f32; host.len()], shape)
        .unwrap();
    inner::launch(&device.stream(), &x, &mut y, 5, step as u32).unwrap();
    let mut want = vec![-1.0; host.len()];
    for z in 0..2 {
        for i in 0..4 {
            for j in 0..37_usize.div_ceil(step) {
                want[(z * 5 + i) * 37 + j] = host[(z * 5 + i + 1) * 37 + j * step];
            }
        }
    }
    assert_eq!(y.to_vec().unwrap(), want);
}

/// Eight whole rows of any number of columns, in a buffer that has one axis: what is whole is not the axis along which
/// vectors lie.
#[tiki::kernel(threads = 32, grid = [1])]
fn eight_rows(x: &Global<f32, 1>, y: &mut Global<f32, 1>, pitch: u32, columns: u32) {
    let (pitch, columns) = (pitch as usize * 4, columns as usize);
    let from = x.window(0, [8, columns], [pitch, 1]);
    let mut to = y.window_mut(0, [8, columns], [pitch, 1]);
    let map = ThreadMap::linear(32).vector_up_to(4);
    for n in 0..columns.div_ceil(16) {
        let tile = from.tile([8, 16], [0, n]).load(map);
        to.tile_mut([8, 16], [0, n]).store(&tile.map(|x| x + 1.0));
    }
}

#[test]
fn vectors_end_where_a_window_does() {
    assert!(eight_rows::PTX.contains(".v4."));
    let device = tiki::Device::vm().unwrap();
    let pitch = 40;
    let host: Vec<f32> = (0..8 * pitch).map(|i| i as f32).collect();
    let x = device.tensor_from(&host, [host.len()]).unwrap();
    for columns in [1, 4, 17, 30, 39, 40] {
        let mut y = device
            .tensor_from(&vec![-1.0_f32; host.len()], [host.len()])
            .unwrap();
        let stream = device.stream();
        eight_rows::launch(&stream, &x, &mut y, pitch as u32 / 4, columns as u32).unwrap();
        let want = |i: usize| {
            if i % pitch < columns {
                host[i] + 1.0
            } else {
                -1.0
            }
        };
        let want: Vec<f32> = (0..host.len()).map(want).collect();
        assert!(y.to_vec().unwrap() == want, "{columns} columns");
    }
}

/// As many elements as a tensor has.
#[tiki::device]
fn elements<const R: usize>(x: &Global<u32, R, Strided>) -> usize {
    let mut count = 1;
    #[unroll]
    for axis in 0..R {
        count *= x.dim(axis);
    }
    count
}

#[tiki::kernel(threads = 32, grid = [1])]
fn counted(x: &Global<u32, 1>, y: &mut Global<u32, 1>, rows: u32, columns: u32) {
    let (rows, columns) = (rows as usize, columns as usize);
    let matrix = x.window(0, [rows, columns], [columns, 1]);
    if thread_idx() == 0 {
        y.set([0], elements(&matrix) as u32);
    }
}

#[test]
fn a_window_has_its_own_axes_in_device_functions() {
    let device = tiki::Device::vm().unwrap();
    let x = device.zeros::<u32, 1>([35]).unwrap();
    let mut y = device.zeros::<u32, 1>([1]).unwrap();
    counted::launch(&device.stream(), &x, &mut y, 5, 7).unwrap();
    assert_eq!(y.to_vec().unwrap(), [35]);
}
