//! Odd kernels: features that were not made for each other, together.
//!
//! Invariant: each gives on the virtual machine what plain Rust gives on the host. Witness: a reference beside each.

use tiki::prelude::*;
use tiki::{Device, LaunchError};

/// The greatest `i` with `table[i] <= key`, or `none`: a search over a tensor that returns from its loop.
#[tiki::device]
fn lookup(table: &Global<u32, 1>, key: u32, none: u32) -> u32 {
    let (mut lo, mut hi) = (0usize, table.dim(0));
    if hi == 0 || table.get([0]) > key {
        return none;
    }
    while hi - lo > 1 {
        let mid = (lo + hi) / 2;
        let here = table.get([mid]);
        if here == key {
            return mid as u32 + 1000;
        }
        if here < key {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    lo as u32
}

#[tiki::kernel(threads = 64, grid = [keys.dim(0).div_ceil(64)])]
fn searches(table: &Global<u32, 1>, keys: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = block_idx().x * 64 + thread_idx();
    out.set([i], lookup(table, keys.get([i]), 99));
}

#[test]
fn a_search_returns_from_its_loop() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let table: Vec<u32> = (0..37).map(|i| 5 + i * i).collect();
    let keys: Vec<u32> = (0..150).map(|i| i * 11).collect();
    let (t, k) = (
        device.tensor_from(&table, [37])?,
        device.tensor_from(&keys, [150])?,
    );
    let mut out = device.zeros::<u32, 1>([150])?;
    searches::launch(&device.stream(), &t, &k, &mut out)?;
    for (key, got) in keys.iter().zip(out.to_vec()?) {
        let want = match table.binary_search(key) {
            // The first one is never compared for equality.
            Ok(0) => 0,
            Ok(at) => at as u32 + 1000,
            Err(0) => 99,
            Err(at) => at as u32 - 1,
        };
        assert_eq!(got, want, "key {key}");
    }
    Ok(())
}

/// A sorting network over the lanes of a warp: stages from their end, the exchange by an instruction of our own.
#[tiki::device]
fn sorted(value: u32) -> u32 {
    let lane = lane_idx() as u32;
    let mut v = value;
    #[unroll]
    for size in 1..6u32 {
        #[unroll]
        for step in (0..size).rev() {
            let other = shuffle_xor(v, 1usize << step);
            let upward = (lane >> size) & 1 == (lane >> step) & 1;
            let (low, high) = ptx!("min.u32 l, a, b; max.u32 h, a, b;", out l: u32, out h: u32, in a: u32 = v, in b: u32 = other);
            v = if upward { low } else { high };
        }
    }
    v
}

#[tiki::kernel(threads = 64, grid = [1])]
fn sorts(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = thread_idx();
    out.set([i], sorted(x.get([i])));
}

#[test]
fn lanes_sort_by_our_own_instructions() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let host: Vec<u32> = (0..64u32)
        .map(|i| i.wrapping_mul(2_654_435_761) >> 20)
        .collect();
    let x = device.tensor_from(&host, [64])?;
    let mut out = device.zeros::<u32, 1>([64])?;
    sorts::launch(&device.stream(), &x, &mut out)?;
    let got = out.to_vec()?;
    for warp in 0..2 {
        let mut want = host[warp * 32..][..32].to_vec();
        want.sort_unstable();
        assert_eq!(got[warp * 32..][..32], want, "warp {warp}");
    }
    Ok(())
}

/// A machine of a struct, stepped until it halts.
#[tiki::device]
#[derive(Clone, Copy)]
struct Machine {
    pc: u32,
    acc: u32,
}

#[tiki::device]
fn run(input: u32, fuel: u32) -> u32 {
    let mut m = Machine { pc: 0, acc: input };
    for used in 0..fuel {
        m = match m.pc {
            0 if m.acc % 2 == 0 => Machine {
                pc: 1,
                acc: m.acc / 2,
            },
            0 => Machine { pc: 2, acc: m.acc },
            1 => {
                if m.acc == 0 {
                    return used;
                }
                Machine {
                    pc: 0,
                    acc: m.acc + 1,
                }
            }
            2 => {
                let next = Machine { pc: 3, acc: m.acc };
                Machine {
                    acc: next.acc * 3 % 101,
                    pc: next.pc,
                }
            }
            _ => {
                m.pc = 0;
                if m.acc > 60 {
                    return 1000 + m.acc;
                }
                m
            }
        };
    }
    m.acc + 10_000 * m.pc
}

#[tiki::kernel(threads = 64, grid = [1])]
fn machines(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = thread_idx();
    out.set([i], run(x.get([i]), 12));
}

#[test]
fn a_struct_steps_until_it_halts() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let host: Vec<u32> = (0..64).map(|i| i * 3).collect();
    let x = device.tensor_from(&host, [64])?;
    let mut out = device.zeros::<u32, 1>([64])?;
    machines::launch(&device.stream(), &x, &mut out)?;
    let want: Vec<u32> = host.iter().map(|x| run(*x, 12)).collect();
    assert_eq!(out.to_vec()?, want);
    Ok(())
}

/// Chains of calls, each of which may return early; one within a closure within an unrolled loop.
#[tiki::device]
fn inner(x: u32, k: u32) -> Option2 {
    if x % (k + 2) == 0 {
        return Option2 {
            some: true,
            value: x / (k + 2),
        };
    }
    Option2 {
        some: false,
        value: 0,
    }
}

#[tiki::device]
#[derive(Clone, Copy)]
struct Option2 {
    some: bool,
    value: u32,
}

#[tiki::device]
fn outer(x: u32, y: u32) -> u32 {
    let mut trail = 0u32;
    let mut note = |v: u32| {
        if v > 9 {
            trail = trail * 2 + 1;
            return 9;
        }
        trail += v;
        v
    };
    #[unroll]
    for k in 0..5u32 {
        let hit = inner(x + k, k);
        if !hit.some {
            continue;
        }
        match note(hit.value) {
            0 => return 77,
            9 => {}
            v if v == y => break,
            v => {
                let again = inner(v + y, 1);
                if again.some {
                    return again.value + 100;
                }
            }
        }
    }
    trail
}

#[tiki::kernel(threads = 64, grid = [a.dim(0).div_ceil(64)])]
fn chains(a: &Global<u32, 1>, b: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let i = block_idx().x * 64 + thread_idx();
    out.set([i], outer(a.get([i]), b.get([i])));
}

#[test]
fn chains_of_calls_return_early() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let a: Vec<u32> = (0..600).map(|i| i % 60).collect();
    let b: Vec<u32> = (0..600).map(|i| i / 60).collect();
    let (da, db) = (
        device.tensor_from(&a, [600])?,
        device.tensor_from(&b, [600])?,
    );
    let mut out = device.zeros::<u32, 1>([600])?;
    chains::launch(&device.stream(), &da, &db, &mut out)?;
    for (i, got) in out.to_vec()?.into_iter().enumerate() {
        assert_eq!(got, outer(a[i], b[i]), "{} and {}", a[i], b[i]);
    }
    Ok(())
}

/// A guard of threads that leave a function before others meet: votes and shuffles behind it see all lanes.
#[tiki::device]
fn weigh(x: u32) -> u32 {
    if x < 10 {
        return 0;
    }
    #[unroll]
    for k in 1..4u32 {
        if x % (k * 3) == 1 {
            return k;
        }
    }
    4
}

#[tiki::kernel(threads = 96, grid = [1])]
fn meetings(x: &Global<u32, 1>, out: &mut Global<u32>) {
    require!(out.dim(0) == 2 && out.dim(1) == 96);
    let i = thread_idx();
    let w = weigh(x.get([i]));
    let all = redux_add(w) + ballot(w == 2).count_ones() * 1000;
    let s = Shared::<u32>::new(Layout::row_major([96]));
    s.set([95 - i], w);
    sync_block();
    out.set([0, i], all);
    out.set([1, i], s.get([i]));
}

#[test]
fn lanes_meet_behind_a_function_that_some_left_early() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let host: Vec<u32> = (0..96).map(|i| i * 5 % 64).collect();
    let x = device.tensor_from(&host, [96])?;
    let mut out = device.zeros::<u32, 2>([2, 96])?;
    meetings::launch(&device.stream(), &x, &mut out)?;
    let got = out.to_vec()?;
    let w: Vec<u32> = host.iter().map(|x| weigh(*x)).collect();
    for i in 0..96 {
        let warp = &w[i / 32 * 32..][..32];
        let want =
            warp.iter().sum::<u32>() + warp.iter().filter(|w| **w == 2).count() as u32 * 1000;
        assert_eq!((got[i], got[96 + i]), (want, w[95 - i]), "thread {i}");
    }
    Ok(())
}
