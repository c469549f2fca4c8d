//! Device functions as values: with parameters of their own, bound, chosen at build time, handed on and back.
//!
//! Invariant: the kernel computes what the same functions give on the host. Witness: each way a function can be named,
//! over 64 values.

use tiki::prelude::*;
use tiki::{Device, LaunchError};

#[tiki::device]
fn half(x: f32) -> f32 {
    x * 0.5
}

#[tiki::device]
fn double(x: f32) -> f32 {
    x * 2.0
}

#[tiki::device]
fn over<const N: usize>(x: f32) -> f32 {
    x / N as f32
}

#[tiki::device]
fn plus<E: Float, const N: usize>(x: E, y: E) -> E {
    x + y + (N as f32).cast::<E>()
}

#[tiki::device]
fn twice(f: impl Fn(f32) -> f32, x: f32) -> f32 {
    f(f(x))
}

#[tiki::device]
fn with<F: Fn(f32) -> f32, const N: usize>(f: F, x: f32) -> f32 {
    f(x) + N as f32
}

/// What a value is divided by comes from the caller's parameter.
#[tiki::device]
fn all_over<const N: usize>(v: &Register<f32>) -> Register<f32> {
    v.map(over::<N>)
}

/// How many there are is the argument's to say.
#[tiki::device]
fn total<E: Float, const N: usize>(values: [E; N]) -> E {
    let mut sum = values[0];
    #[unroll]
    for i in 1..N {
        sum += values[i];
    }
    sum * (N as f32).cast::<E>()
}

/// And what a tensor holds is the tensor's.
#[tiki::device]
fn bytes_and_rank<E: Element, const R: usize>(_: &Global<E, R>) -> usize {
    E::BYTES * 10 + R
}

#[tiki::kernel(threads = 32, grid = [1], build((UP = true), (UP = false)))]
fn named<const UP: bool>(x: &Global<f32>, out: &mut Global<f32>) {
    let v = x.tile([1, 64], [0, 0]).load(ThreadMap::linear(32));
    let quarter = over::<4>;
    let plain = half;
    let chosen = if UP { double } else { plain };
    let (first, second) = (double, over::<8>);
    let rank = bytes_and_rank(x);
    out.tile_mut([1, 64], [0, 0]).store(&v.map(over::<8>));
    out.tile_mut([1, 64], [1, 0]).store(&all_over::<16>(&v));
    out.tile_mut([1, 64], [2, 0])
        .store(&v.map(quarter).map(|a| quarter(a)));
    out.tile_mut([1, 64], [3, 0])
        .store(&v.zip(&v, plus::<f32, 3>));
    out.tile_mut([1, 64], [4, 0])
        .store(&v.zip(&v, plus::<_, 5>));
    out.tile_mut([1, 64], [5, 0])
        .store(&v.map(|a| twice(over::<2>, a)));
    out.tile_mut([1, 64], [6, 0])
        .store(&v.map(|a| twice(|b| twice(|c| c + 1.0, b), a)));
    out.tile_mut([1, 64], [7, 0])
        .store(&v.map(|a| with::<_, 7>(half, a)));
    out.tile_mut([1, 64], [8, 0]).store(&v.map(chosen));
    out.tile_mut([1, 64], [9, 0])
        .store(&v.map(first).map(second));
    out.tile_mut([1, 64], [10, 0]).store(&v.map(&plain));
    out.tile_mut([1, 64], [11, 0])
        .store(&v.map(|a| total([a, 1.0, 2.0]) + rank as f32));
}

type Row = fn(f32, bool) -> f32;

const ROWS: [Row; 12] = [
    |x, _| over::<8>(x),
    |x, _| over::<16>(x),
    |x, _| over::<4>(over::<4>(x)),
    |x, _| x + x + 3.0,
    |x, _| x + x + 5.0,
    |x, _| twice(over::<2>, x),
    |x, _| twice(|b| twice(|c| c + 1.0, b), x),
    |x, _| with::<_, 7>(half, x),
    |x, up| if up { double(x) } else { half(x) },
    |x, _| over::<8>(double(x)),
    |x, _| half(x),
    |x, _| (x + 1.0 + 2.0) * 3.0 + 42.0,
];

#[test]
fn functions_are_values() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let host: Vec<f32> = (0..64).map(|i| i as f32 * 0.75 - 20.0).collect();
    let x = device.tensor_from(&host, [1, 64])?;
    let stream = device.stream();
    for up in [true, false] {
        let mut out = device.zeros::<f32, 2>([ROWS.len(), 64])?;
        if up {
            named::<true>::launch(&stream, &x, &mut out)?;
        } else {
            named::<false>::launch(&stream, &x, &mut out)?;
        }
        let got = out.to_vec()?;
        for (r, row) in ROWS.iter().enumerate() {
            let expected: Vec<f32> = host.iter().map(|x| row(*x, up)).collect();
            assert_eq!(got[r * 64..][..64], expected, "row {r}, {up}");
        }
    }
    Ok(())
}
