//! Ways out that a run-time condition decides: of functions, of unrolled loops.
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

#[tiki::kernel(threads = 64, grid = [a.dim(0).div_ceil(64)], build((W = 0), (W = 1), (W = 2), (W = 3), (W = 4)))]
fn leaving<const W: usize>(a: &Global<u32, 1>, b: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = block_idx().x * 64 + thread_idx();
    let (x, y) = (a.get([i]), b.get([i]));
    let r = match W {
        0 => arms(x, y),
        1 => search(x, y),
        2 => splits(x, y),
        3 => rounds(x, y),
        _ => closing(x, y),
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
    for w in 0..5 {
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
            _ => {
                leaving::<4>::launch(&s, &da, &db, &mut out)?;
                closing
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
