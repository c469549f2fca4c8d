//! Ways out that a run-time condition decides: of functions, of unrolled loops; and ranges from their end.
//!
//! Invariant: a kernel on the virtual machine gives what the same function gives on the host. Witness: rustc compiles
//! the very same device functions.

use tiki::prelude::*;
use tiki::{Device, LaunchError};

/// Returns from arms of a `match` in mid-function.
#[tiki::device]
fn arms(x: u32, y: u32) -> u32 {
    let mut sum = x;
    match y % 6 {
        0 => return 1,
        1 if x > 20 => return x * 3,
        2 | 3 => sum += 10,
        4 => {
            if x % 2 == 0 {
                return sum + 7;
            }
            sum += 1;
        }
        _ => {}
    }
    let z = sum * 2;
    match (x > 10, y) {
        (true, 8..) => return z,
        (false, 0) => return z + 1,
        _ => sum += z,
    }
    sum
}

/// Returns from within loops of several kinds.
#[tiki::device]
fn search(x: u32, y: u32) -> u32 {
    let mut seen = 0u32;
    for i in 0..y {
        for k in (i..y + 3).step_by(2) {
            if (i * k + x) % 11 == 7 {
                return i * 100 + k + seen * 10_000;
            }
            if k > 9 {
                break;
            }
            seen += 1;
        }
        while seen > 40 {
            if x == 3 {
                return seen;
            }
            seen -= 7;
        }
    }
    seen
}

/// Several results, and an argument by `&mut` that is changed on the way.
#[tiki::device]
fn split(x: u32, y: u32, count: &mut u32) -> (u32, f32, [u32; 2]) {
    *count += 1;
    match y % 3 {
        0 => {
            *count += 10;
            return (y, 1.5, [0, y]);
        }
        1 => *count += 100,
        _ => {}
    }
    #[unroll]
    for k in 0..4u32 {
        if x % 4 == k {
            continue;
        }
        if (x + k) % 7 == 0 {
            *count += 1000;
            return (k, k as f32, [k, x]);
        }
        if y == k + 10 {
            break;
        }
        *count += k;
    }
    (*count, 2.0, [x, y])
}

#[tiki::device]
fn splits(x: u32, y: u32) -> u32 {
    let mut count = 3u32;
    let mut total = 0u32;
    for i in 0..3u32 {
        let (a, b, [c, d]) = split(x + i, y, &mut count);
        total += a + (b * 4.0) as u32 + 3 * c + 5 * d;
    }
    total * 7 + count
}

/// Unrolled loops left and gone on with at run time, some also at build time, within each other.
#[tiki::device]
fn rounds(x: u32, y: u32) -> u32 {
    let table = [3u32, 1, 4, 1, 5, 9, 2, 6];
    let mut sum = 0u32;
    let mut steps = 0u32;
    #[unroll]
    'rows: for i in 0..4usize {
        #[unroll]
        for k in 0..8usize {
            if table[k] == x % 10 {
                continue 'rows;
            }
            if i == 2 && k > 5 {
                break;
            }
            if (x + table[k] + i as u32) % 13 == 12 {
                break 'rows;
            }
            if (y >> k) & 1 == 1 {
                continue;
            }
            sum += table[k] + i as u32;
        }
        steps += 1;
    }
    for v in table {
        if v * v > y {
            break;
        }
        sum += v;
    }
    sum * 10 + steps
}

/// Closures return too.
#[tiki::device]
fn closing(x: u32, y: u32) -> u32 {
    let mut calls = 0u32;
    let mut clamp = |v: u32| {
        calls += 1;
        if v > 20 {
            return 20;
        }
        for i in 0..v {
            if i * i > v {
                return i;
            }
        }
        v + 1
    };
    let total = clamp(x) + 100 * clamp(y) + 10_000 * clamp(x / 2);
    total + calls
}

/// Ranges from their end.
#[tiki::device]
fn backwards(x: u32, y: u32) -> u32 {
    let mut hash = 7u32;
    for i in (0..y).rev() {
        hash = hash % 9973 * 31 + i;
    }
    for i in (x..y + 4).rev() {
        hash = hash % 9973 * 33 + (i ^ 5);
    }
    for i in (2..y + 9).rev().step_by(3) {
        hash = hash % 9973 * 37 + i;
    }
    for i in (x % 4..y + 9).step_by(3).rev() {
        hash = hash % 9973 * 41 + i;
        if i == 5 {
            continue;
        }
        hash += 1;
    }
    for i in (0..=x % 9).rev() {
        hash = hash % 9973 * 43 + i;
    }
    for i in (-3..x as i32 - 4).rev() {
        hash = hash % 9973 * 47 + (i + 100) as u32;
    }
    for i in (1..x as usize).rev() {
        if i == 2 {
            break;
        }
        hash = hash % 9973 * 53 + (i * 2) as u32;
    }
    #[unroll]
    for i in (0..5u32).rev() {
        hash = hash % 9973 * 59 + i;
    }
    #[unroll]
    for i in (1..12u32).step_by(4).rev() {
        hash = hash % 9973 * 61 + i;
    }
    #[unroll]
    for i in (1..12u32).rev().step_by(4) {
        hash = hash % 9973 * 67 + i;
    }
    hash
}

#[tiki::device]
struct Span {
    from: u32,
    width: f32,
}

/// Arrays, tuples and structs that a run-time branch gives or changes.
#[tiki::device]
fn shapes(x: u32, y: u32) -> u32 {
    let a = if x > y { [x, y, 1] } else { [y, 2, x] };
    let [p, q, r] = a;
    let mut b = [0u32; 3];
    if x % 2 == 0 {
        b = a;
    } else {
        b[1] = x;
    }
    let mut total = p + 2 * q + 3 * r + a.len() as u32;
    for v in b {
        total += v;
    }
    let nested = match x % 3 {
        0 => ([x, 1], 0.5f32),
        1 => ([y, 2], 1.5),
        _ => ([7, total], 2.5),
    };
    let span = if y % 2 == 0 {
        Span {
            from: x,
            width: 1.5,
        }
    } else {
        Span {
            from: y,
            width: x as f32,
        }
    };
    let mut other = Span {
        from: 1,
        width: 2.0,
    };
    if x > 7 {
        other.from += span.from;
        other.width = span.width + nested.1;
    }
    total + nested.0[0] * 3 + nested.0[1] + other.from + (other.width * 4.0) as u32 + span.from
}

#[tiki::kernel(threads = 64, grid = [a.dim(0).div_ceil(64)], build((W = 0), (W = 1), (W = 2), (W = 3), (W = 4), (W = 5), (W = 6)))]
fn leaving<const W: usize>(a: &Global<u32, 1>, b: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = block_idx().x * 64 + thread_idx();
    let (x, y) = (a.get([i]), b.get([i]));
    let r = match W {
        0 => arms(x, y),
        1 => search(x, y),
        2 => splits(x, y),
        3 => rounds(x, y),
        4 => closing(x, y),
        5 => backwards(x, y),
        _ => shapes(x, y),
    };
    out.set([i], r);
}

#[test]
fn ways_out_are_rustcs() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let a: Vec<u32> = (0..900).map(|i| i % 30).collect();
    let b: Vec<u32> = (0..900).map(|i| i / 30).collect();
    let n = a.len();
    let (da, db) = (device.tensor_from(&a, [n])?, device.tensor_from(&b, [n])?);
    let s = device.stream();
    for w in 0..7 {
        let mut out = device.zeros::<u32, 1>([n])?;
        let f: fn(u32, u32) -> u32 = match w {
            0 => {
                leaving::<0>::launch(&s, &da, &db, &mut out)?;
                arms
            }
            1 => {
                leaving::<1>::launch(&s, &da, &db, &mut out)?;
                search
            }
            2 => {
                leaving::<2>::launch(&s, &da, &db, &mut out)?;
                splits
            }
            3 => {
                leaving::<3>::launch(&s, &da, &db, &mut out)?;
                rounds
            }
            4 => {
                leaving::<4>::launch(&s, &da, &db, &mut out)?;
                closing
            }
            5 => {
                leaving::<5>::launch(&s, &da, &db, &mut out)?;
                backwards
            }
            _ => {
                leaving::<6>::launch(&s, &da, &db, &mut out)?;
                shapes
            }
        };
        let got = out.to_vec()?;
        for i in 0..n {
            let want = f(a[i], b[i]);
            assert_eq!(got[i], want, "function {w} of {} and {}", a[i], b[i]);
        }
    }
    Ok(())
}

/// A register tensor that a function gives on one of several ways; a barrier behind where lanes came together again.
#[tiki::device]
fn scaled<E: Element>(v: Register<f32>, by: u32, s: Shared<E>) -> Register<f32> {
    if by == 0 {
        return v;
    }
    match by {
        1 => {
            let first = s.get([0]).cast::<f32>();
            return v.map(|x| x + first);
        }
        2..=4 => {
            let w = v.map(|x| x * by as f32);
            if by == 3 {
                return &w + &v;
            }
            return w;
        }
        _ => {}
    }
    v.map(|x| -x)
}

#[tiki::kernel(threads = 32, grid = [x.dim(0)])]
fn tensors(x: &Global<f32>, out: &mut Global<f32>) {
    require!(x.dim(1) == 96 && out.dim(1) == 96 && out.dim(0) == x.dim(0));
    let row = block_idx().x;
    let s = Shared::<f16>::new(Layout::row_major([32]));
    s.set([lane_idx()], (lane_idx() as f32 + 0.5).cast::<f16>());
    sync_block();
    let map = ThreadMap::linear(32);
    let v = x.tile([1, 96], [row, 0]).load(map);
    let w = scaled(v, row as u32, s);
    sync_block();
    out.tile_mut([1, 96], [row, 0]).store(&w);
}

#[test]
fn tensors_come_back_on_every_way() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let host: Vec<f32> = (0..7 * 96).map(|i| i as f32 - 300.0).collect();
    let x = device.tensor_from(&host, [7, 96])?;
    let mut out = device.zeros::<f32, 2>([7, 96])?;
    tensors::launch(&device.stream(), &x, &mut out)?;
    for (i, got) in out.to_vec()?.into_iter().enumerate() {
        let v = host[i];
        let want = match i / 96 {
            0 => v,
            1 => v + 0.5,
            2 => v * 2.0,
            3 => v * 3.0 + v,
            4 => v * 4.0,
            _ => -v,
        };
        assert_eq!(got, want, "element {i}");
    }
    Ok(())
}

/// `map_at` and `mask` count in the tile they are called on, of memory or of registers.
#[tiki::kernel(threads = 64, grid = [2])]
fn coordinates(out: &mut Global<u32>) {
    require!(out.dim(0) == 16 && out.dim(1) == 32);
    let map = ThreadMap::new(layout!((8, 8):(8, 1)), layout!((1, 4):(4, 1)));
    let at = [block_idx().x, 0];
    let v = out.tile_mut([8, 32], at).load(map);
    let w = v
        .map_at(|x, [i, j]| x + (i * 100 + j) as u32)
        .mask(|[i, j]| i + j < 30, 9);
    let right = v.tile([8, 32], [0, 0]).map_at(|_, [i, _]| i as u32);
    out.tile_mut([8, 32], at)
        .store(&w.zip(&right, |a, b| a + 10_000 * b));
}

#[test]
fn coordinates_are_those_of_the_tile() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let mut out = device.tensor_from(&[1u32; 512], [16, 32])?;
    coordinates::launch(&device.stream(), &mut out)?;
    for (at, got) in out.to_vec()?.into_iter().enumerate() {
        let (i, j) = (at as u32 / 32 % 8, at as u32 % 32);
        let inner = if i + j < 30 { 1 + i * 100 + j } else { 9 };
        assert_eq!(got, inner + 10_000 * i, "element {at}");
    }
    Ok(())
}
