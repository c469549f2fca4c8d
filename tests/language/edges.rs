//! Numbers at the edges of their types.
//!
//! Invariant: run-time arithmetic, comparison and conversion of a kernel give Rust's bits (integers wrap; a NaN's
//! payload does not count). Witness: every pair of the edge values, against a closure on the host.

use tiki::prelude::*;
use tiki::{Device, LaunchError};

/// i32 at the edges: row `k` of `out` is operation `k`.
#[tiki::kernel(threads = 32, grid = [a.dim(0).div_ceil(32)])]
fn integers(a: &Global<i32, 1>, b: &Global<i32, 1>, out: &mut Global<i32>) {
    require!(b.dim(0) == a.dim(0) && out.dim(0) == 16 && out.dim(1) == a.dim(0));
    let i = block_idx().x * 32 + thread_idx();
    if i >= a.dim(0) {
        return;
    }
    let (x, y) = (a.get([i]), b.get([i]));
    out.set([0, i], x + y);
    out.set([1, i], x - y);
    out.set([2, i], x * y);
    out.set([3, i], if y == 0 { 0 } else { x / y });
    out.set([4, i], if y == 0 { 0 } else { x % y });
    out.set([5, i], x << 3);
    out.set([6, i], x >> 4);
    out.set([7, i], -x);
    out.set([8, i], abs(x));
    out.set([9, i], min(x, y));
    out.set([10, i], max(x, y));
    out.set([11, i], (x as u32 / 3) as i32);
    out.set([12, i], x / 8);
    out.set([13, i], x % 8);
    out.set([14, i], !x ^ (x & y) | (x > y) as i32);
    out.set([15, i], (x as f32).cast::<i32>());
}

#[test]
fn integers_at_the_edges() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let edge = [
        0,
        1,
        -1,
        2,
        -2,
        7,
        -7,
        8,
        -9,
        31,
        46341,
        -46341,
        i32::MAX,
        i32::MIN,
        i32::MIN + 1,
        1 << 30,
    ];
    let a: Vec<i32> = edge.iter().flat_map(|x| edge.map(|_| *x)).collect();
    let b: Vec<i32> = edge.iter().flat_map(|_| edge).collect();
    let n = a.len();
    let (da, db) = (device.tensor_from(&a, [n])?, device.tensor_from(&b, [n])?);
    let mut out = device.zeros::<i32, 2>([16, n])?;
    integers::launch(&device.stream(), &da, &db, &mut out)?;
    let got = out.to_vec()?;
    for i in 0..n {
        let (x, y) = (a[i], b[i]);
        let want = [
            x.wrapping_add(y),
            x.wrapping_sub(y),
            x.wrapping_mul(y),
            if y == 0 { 0 } else { x.wrapping_div(y) },
            if y == 0 { 0 } else { x.wrapping_rem(y) },
            x << 3,
            x >> 4,
            x.wrapping_neg(),
            x.wrapping_abs(),
            x.min(y),
            x.max(y),
            (x as u32 / 3) as i32,
            x / 8,
            x % 8,
            !x ^ (x & y) | (x > y) as i32,
            x as f32 as i32,
        ];
        for (k, want) in want.iter().enumerate() {
            assert_eq!(got[k * n + i], *want, "operation {k} of {x} and {y}");
        }
    }
    Ok(())
}

/// Floats at the edges, as bits.
#[tiki::kernel(threads = 32, grid = [a.dim(0).div_ceil(32)])]
fn floats(a: &Global<f32, 1>, b: &Global<f32, 1>, out: &mut Global<u32>) {
    require!(b.dim(0) == a.dim(0) && out.dim(0) == 14 && out.dim(1) == a.dim(0));
    let i = block_idx().x * 32 + thread_idx();
    if i >= a.dim(0) {
        return;
    }
    let (x, y) = (a.get([i]), b.get([i]));
    out.set([0, i], x as i32 as u32);
    out.set([1, i], x as u32);
    out.set([2, i], f32::from_bits(x.to_bits()).to_bits());
    out.set(
        [3, i],
        (x < y) as u32
            + 2 * (x <= y) as u32
            + 4 * (x == y) as u32
            + 8 * (x != y) as u32
            + 16 * (x > y) as u32
            + 32 * (x >= y) as u32
            + 64 * (!(x < y)) as u32,
    );
    out.set([4, i], min(x, y).to_bits());
    out.set([5, i], max(x, y).to_bits());
    out.set([6, i], (x / y).to_bits());
    out.set([7, i], (x * y).to_bits());
    out.set([8, i], x.cast::<f16>().cast::<f32>().to_bits());
    out.set([9, i], x.cast::<bf16>().cast::<f32>().to_bits());
    out.set([10, i], (-x).to_bits());
    out.set([11, i], round(x).to_bits());
    out.set(
        [12, i],
        (x.cast::<f16>() + y.cast::<f16>()).cast::<f32>().to_bits(),
    );
    out.set(
        [13, i],
        (x.cast::<bf16>() * y.cast::<bf16>())
            .cast::<f32>()
            .to_bits(),
    );
}

/// NaNs are one.
fn bits(x: f32) -> u32 {
    if x.is_nan() { 0x7fff_ffff } else { x.to_bits() }
}

#[test]
fn floats_at_the_edges() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let edge = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        2.5,
        0.1,
        3.0e-45,
        1e-40,
        1e20,
        -1e20,
        65504.0,
        65520.0,
        2_147_483_648.0,
        -2_147_483_904.0,
        4_294_967_296.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MAX,
        6e-8,
    ];
    let a: Vec<f32> = edge.iter().flat_map(|x| edge.map(|_| *x)).collect();
    let b: Vec<f32> = edge.iter().flat_map(|_| edge).collect();
    let n = a.len();
    let (da, db) = (device.tensor_from(&a, [n])?, device.tensor_from(&b, [n])?);
    let mut out = device.zeros::<u32, 2>([14, n])?;
    floats::launch(&device.stream(), &da, &db, &mut out)?;
    let got = out.to_vec()?;
    // A number wins over NaN, -0 is below +0.
    let least = |x: f32, y: f32| {
        if x.is_nan() {
            y
        } else if y.is_nan() || x.total_cmp(&y).is_lt() {
            x
        } else {
            y
        }
    };
    for i in 0..n {
        let (x, y) = (a[i], b[i]);
        let want = [
            x as i32 as u32,
            x as u32,
            bits(x),
            (x < y) as u32
                + 2 * (x <= y) as u32
                + 4 * (x == y) as u32
                + 8 * (x != y) as u32
                + 16 * (x > y) as u32
                + 32 * (x >= y) as u32
                + 64 * u32::from(!matches!(x.partial_cmp(&y), Some(std::cmp::Ordering::Less))),
            bits(least(x, y)),
            bits(-least(-x, -y)),
            bits(x / y),
            bits(x * y),
            bits(f16::from_f32(x).to_f32()),
            bits(bf16::from_f32(x).to_f32()),
            bits(-x),
            bits(x.round_ties_even()),
            bits((f16::from_f32(x) + f16::from_f32(y)).to_f32()),
            bits((bf16::from_f32(x) * bf16::from_f32(y)).to_f32()),
        ];
        for (k, want) in want.iter().enumerate() {
            let g = got[k * n + i];
            let g = if k > 3 || k == 2 {
                bits(f32::from_bits(g))
            } else {
                g
            };
            assert_eq!(g, *want, "operation {k} of {x} and {y}");
        }
    }
    Ok(())
}

/// Shifts by run-time counts up to and past the width; index arithmetic that leaves 32 bits.
#[tiki::kernel(threads = 32, grid = [1])]
fn wide(x: &Global<u32, 1>, shifts: &mut Global<u32>, big: &mut Global<u32>, factor: u32) {
    require!(
        x.dim(0) == 32
            && shifts.dim(0) == 3
            && shifts.dim(1) == 32
            && big.dim(0) == 3
            && big.dim(1) == 32
    );
    let t = thread_idx();
    let n = x.get([t]);
    shifts.set([0, t], 0x8765_4321u32 << (n % 32));
    shifts.set([1, t], 0x8765_4321u32 >> (n % 32));
    shifts.set([2, t], (-0x0765_4321i32 >> (n % 32)) as u32);
    let k = factor as usize * factor as usize + t;
    big.set([0, t], (k / 65536) as u32);
    big.set([1, t], (k % 1_000_003) as u32);
    let mut acc = factor as usize;
    for _ in 0..2 {
        acc = acc * 1000 + t;
    }
    big.set([2, t], (acc >> 20) as u32);
}

#[test]
fn shifts_and_wide_indices() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let x: Vec<u32> = (0..32).collect();
    let dx = device.tensor_from(&x, [32])?;
    let mut shifts = device.zeros::<u32, 2>([3, 32])?;
    let mut big = device.zeros::<u32, 2>([3, 32])?;
    let factor = 4_000_000_000u32;
    wide::launch(&device.stream(), &dx, &mut shifts, &mut big, factor)?;
    let (shifts, big) = (shifts.to_vec()?, big.to_vec()?);
    for t in 0..32 {
        assert_eq!(shifts[t], 0x8765_4321u32 << t);
        assert_eq!(shifts[32 + t], 0x8765_4321u32 >> t);
        assert_eq!(shifts[64 + t], (-0x0765_4321i32 >> t) as u32);
        let k = factor as usize * factor as usize + t;
        assert_eq!(big[t], (k / 65536) as u32, "{t}");
        assert_eq!(big[32 + t], (k % 1_000_003) as u32, "{t}");
        let acc = (factor as usize * 1000 + t) * 1000 + t;
        assert_eq!(big[64 + t], (acc >> 20) as u32, "{t}");
    }
    Ok(())
}
