//! Control flow of every kind.
//!
//! Invariant: a kernel on the virtual machine gives the bits that its host reference gives. Witness: the
//! reference is the very same device function, compiled by rustc.

use tiki::prelude::*;
use tiki::{Device, LaunchError};

/// Collatz, with a limit: `while` at run time over `let mut` of four types.
#[tiki::device]
fn walk(start: u32, limit: usize) -> u32 {
    let mut n = start;
    let mut steps = 0usize;
    let mut peak = 0.0f32;
    let mut going = n > 1;
    let mut sign = 1i32;
    while going && steps < limit {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        if n as f32 > peak {
            peak = n as f32;
            sign = -sign;
        }
        steps += 1;
        going = n > 1;
    }
    steps as u32 * 1000 + peak as u32 % 1000 + (if sign < 0 { 500_000 } else { 0 })
}

/// Nested `if` with tuples as values; labels; `step_by` with run-time bounds; downward counting.
#[tiki::device]
fn maze(i: u32, n: u32) -> u32 {
    let (a, (b, c)) = if i % 3 == 0 {
        (i, (n, i < n))
    } else if i % 3 == 1 {
        let t = if n > 10 { (n, i) } else { (i, n) };
        (t.0, (t.1, false))
    } else {
        (7, (i, true))
    };
    let mut total = a + 2 * b;
    'rows: for r in 0..n {
        for k in (r..n + 5).step_by(3) {
            if k == i {
                continue 'rows;
            }
            if r * k > 60 {
                break 'rows;
            }
            if k > 20 {
                break;
            }
            total += r * k + 1;
        }
        total += 100;
    }
    let mut left = n;
    loop {
        if left == 0 || (c && left == 3) {
            break;
        }
        left -= 1;
        total ^= left;
    }
    total
}

/// `match` on integers: ranges, alternatives, guards, bindings, tuples, negatives.
#[tiki::device]
fn sort_out(x: i32, y: u32) -> i32 {
    let first = match x {
        ..=-10 => -3,
        -9..=-1 => -2,
        0 => 0,
        1 | 2 | 5 => 1,
        k if k % 7 == 0 => k / 7,
        3..10 => 2,
        k => k - 1,
    };
    let second = match (x > 0, y) {
        (true, 0) => 10,
        (true, n) if n > 4 => n as i32,
        (false, 1..=3) => 20,
        (_, n) => -(n as i32),
    };
    let third = match y % 2 == 0 {
        true => 1000,
        false => 2000,
    };
    first + 100 * second + third
}

/// Closures that capture and closures that assign; a closure in a closure; shadowing.
#[tiki::device]
fn closures(i: u32, n: u32) -> u32 {
    let mut seen = 0u32;
    let mut add = |k: u32| {
        if k % 2 == 0 {
            seen += k;
        } else {
            seen = seen * 3 + 1;
        }
    };
    for k in 0..n {
        add(k + i);
    }
    add(i);
    let scale = |x: u32| x * 2 + n;
    let twice = |x: u32| scale(scale(x));
    let seen = twice(seen) + scale(1);
    let x = seen;
    let x = {
        let x = x % 1000;
        x + 1
    };
    x + seen
}

/// Unrolled loops with break and continue at run time, partial unrolling of run-time bounds.
#[tiki::device]
fn unrolled(i: u32, n: u32) -> u32 {
    let mut sum = 0u32;
    let mut last = 99u32;
    #[unroll]
    for k in 0..8u32 {
        if k != i && k <= n {
            sum += k * k + 1;
            last = k;
        }
    }
    #[unroll(2)]
    for k in 0..n {
        if k != 5 && k + i <= 20 {
            sum = sum * 3 + k;
            sum %= 10007;
        }
    }
    #[unroll(4)]
    for k in (1..n + 2).step_by(2) {
        sum += k;
    }
    for k in 0..n {
        sum = (sum * 2 + k) % 5003;
    }
    sum * 100 + last
}

/// Two values changed in each other's terms: a swap in a loop, the parallel-copy problem.
#[tiki::device]
fn swaps(i: u32, n: u32) -> u32 {
    let mut pair = (i, 1u32);
    let mut array = [i, n, 3u32];
    let mut k = 0u32;
    while k < n {
        let old = pair;
        pair = (old.1, (old.0 + old.1) % 9973);
        let a0 = array[0];
        array[0] = array[1];
        array[1] = array[2];
        array[2] = a0;
        k += 1;
    }
    pair.0 * 10000 + array[0] * 100 + array[1] * 10 + array[2]
}

/// The right side of `&&` and `||` happens only where the left asks for it; arrays as values of branches.
#[tiki::device]
fn short(i: u32, n: u32) -> u32 {
    let mut asked = 0u32;
    let mut known = 7u32;
    let both = i > 10 && {
        asked += 1;
        n > 5
    };
    let either = i % 2 == 0 || {
        known = 9;
        asked += 10;
        n % 3 == 0
    };
    let always = n < 1000 && {
        asked += 100;
        true
    };
    let mut k = 0u32;
    while k < n && k * k < i {
        k += 1;
    }
    let mut total = 0u32;
    for r in 0..n {
        total = total * 3 % 1009 + r;
    }
    let array = if i > n {
        let mut a = [i, n, 1u32];
        for r in 0..n {
            a[0] += r * a[2];
            a[2] = a[0] % 5;
        }
        a
    } else {
        [n, total, 2]
    };
    asked * 100
        + known * 10
        + both as u32
        + 2 * either as u32
        + 4 * always as u32
        + k
        + array[0]
        + array[2]
}

/// Returns before the end, under run-time and build-time conditions.
#[tiki::device]
fn early(i: u32, n: u32) -> u32 {
    if i == 3 {
        return 1000;
    }
    let mut sum = i * 2;
    if i > n {
        sum += 7;
        if n > 4 {
            return sum * 3;
        } else if n == 2 {
            return 5;
        } else {
            sum += 1;
            return sum;
        }
    }
    let i = sum + n;
    if i % 2 == 0 {
        sum += i;
    } else {
        return collatz_step(i);
    }
    match n % 3 {
        0 => return sum,
        1 => sum + 4,
        _ => {
            let i = 9;
            sum + i
        }
    }
}

#[tiki::device]
fn collatz_step(i: u32) -> u32 {
    if i % 2 == 0 {
        return i / 2;
    }
    return 3 * i + 1;
}

/// Every function above at `(i, n)` of two tensors.
#[tiki::kernel(threads = 64, grid = [a.dim(0).div_ceil(64)], build((W = 0), (W = 1), (W = 2), (W = 3), (W = 4), (W = 5), (W = 6), (W = 7), (W = 8)))]
fn control<const W: usize>(a: &Global<u32, 1>, b: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = block_idx().x * 64 + thread_idx();
    if i >= a.dim(0) {
        return;
    }
    let (x, y) = (a.get([i]), b.get([i]));
    let r = match W {
        0 => walk(x, y as usize * 10),
        1 => maze(x, y),
        2 => sort_out(x as i32 - 12, y) as u32,
        3 => closures(x, y),
        4 => unrolled(x, y),
        5 => swaps(x, y),
        6 => short(x, y),
        7 => early(x, y),
        _ => collatz_step(x + y),
    };
    out.set([i], r);
}

#[test]
fn control_flow_is_rustcs() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let a: Vec<u32> = (0..750).map(|i| i % 30).collect();
    let b: Vec<u32> = (0..750).map(|i| i / 30).collect();
    let n = a.len();
    let (da, db) = (device.tensor_from(&a, [n])?, device.tensor_from(&b, [n])?);
    let s = device.stream();
    for w in 0..9 {
        let mut out = device.zeros::<u32, 1>([n])?;
        let f: fn(u32, u32) -> u32 = match w {
            0 => {
                control::<0>::launch(&s, &da, &db, &mut out)?;
                |x, y| walk(x, y as usize * 10)
            }
            1 => {
                control::<1>::launch(&s, &da, &db, &mut out)?;
                maze
            }
            2 => {
                control::<2>::launch(&s, &da, &db, &mut out)?;
                |x, y| sort_out(x as i32 - 12, y) as u32
            }
            3 => {
                control::<3>::launch(&s, &da, &db, &mut out)?;
                closures
            }
            4 => {
                control::<4>::launch(&s, &da, &db, &mut out)?;
                unrolled
            }
            5 => {
                control::<5>::launch(&s, &da, &db, &mut out)?;
                swaps
            }
            6 => {
                control::<6>::launch(&s, &da, &db, &mut out)?;
                short
            }
            7 => {
                control::<7>::launch(&s, &da, &db, &mut out)?;
                early
            }
            _ => {
                control::<8>::launch(&s, &da, &db, &mut out)?;
                |x, y| collatz_step(x + y)
            }
        };
        let got = out.to_vec()?;
        for i in 0..n {
            assert_eq!(
                got[i],
                f(a[i], b[i]),
                "function {w} of {} and {}",
                a[i],
                b[i]
            );
        }
    }
    Ok(())
}
