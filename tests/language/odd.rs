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

/// Columns made to sum to one: a generic function with a closure, whose tile is dealt anew and back.
#[tiki::device]
fn by_columns<E: Element, const ROWS: usize, const COLS: usize>(
    v: Register<E>,
    f: impl Fn(f32, f32) -> f32,
) -> Register<E> {
    let columns = ThreadMap::new(layout!((1, COLS):(1, 1)), layout!((ROWS, 1):(1, ROWS)));
    let wide = v.redistribute(columns).cast::<f32>();
    let sums = wide.col_sum();
    wide.cols(&sums, f).cast::<E>().redistribute_like(&v)
}

#[tiki::kernel(threads = 32, grid = [x.dim(0).div_ceil(8)], build((E = f16), (E = f32)))]
fn shares<E: Element>(x: &Global<E>, out: &mut Global<E>, scale: f32) {
    require!(x.dim(1) == 32 && out.dim(1) == 32);
    let at = [block_idx().x, 0];
    let v = x
        .tile([8, 32], at)
        .load(ThreadMap::linear(32).vector_up_to(8));
    let w = by_columns::<E, 8, 32>(v, |a, s| if s == 0.0 { 0.0 } else { a * scale / s });
    out.tile_mut([8, 32], at).store(&w);
}

#[test]
fn a_generic_function_deals_and_deals_back() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let host: Vec<f32> = (0..13 * 32).map(|i| (i % 9) as f32).collect();
    let small: Vec<f16> = host.iter().map(|x| f16::from_f32(*x)).collect();
    let (x, h) = (
        device.tensor_from(&host, [13, 32])?,
        device.tensor_from(&small, [13, 32])?,
    );
    let mut out = device.zeros::<f32, 2>([13, 32])?;
    let mut halves = device.zeros::<f16, 2>([13, 32])?;
    shares::<f32>::launch(&device.stream(), &x, &mut out, 2.0)?;
    shares::<f16>::launch(&device.stream(), &h, &mut halves, 2.0)?;
    let (got, halves) = (out.to_vec()?, halves.to_vec()?);
    for at in 0..13 * 32 {
        let (tile, column) = (at / 256, at % 32);
        let rows = (tile * 8)..(tile * 8 + 8).min(13);
        let sum: f32 = rows.map(|r| host[r * 32 + column]).sum();
        let want = if sum == 0.0 {
            0.0
        } else {
            host[at] * 2.0 / sum
        };
        assert_eq!(got[at], want, "element {at}");
        assert_eq!(halves[at], f16::from_f32(want), "half {at}");
    }
    Ok(())
}

/// A histogram whose storage then holds its own prefix sums as floats.
#[tiki::kernel(threads = 64, grid = [1])]
fn ranks(x: &Global<u32, 1>, out: &mut Global<f32, 1>) {
    require!(out.dim(0) == 64);
    let i = thread_idx();
    let counts = Shared::<u32>::new(Layout::row_major([64]));
    counts.set([i], 0);
    sync_block();
    for k in (i..x.dim(0)).step_by(64) {
        let bin = x.get([k]);
        if bin >= 64 {
            continue;
        }
        counts.red_add([bin as usize], 1, Order::Relaxed, Scope::Block);
    }
    sync_block();
    let v = counts
        .load(ThreadMap::linear(64))
        .cast::<f32>()
        .scan_sum(true, false);
    sync_block();
    let sums = counts.reuse_as::<f32>(Layout::row_major([64]));
    sums.store(&v);
    sync_block();
    out.set([i], sums.get([63 - i]));
}

#[test]
fn a_histogram_turns_into_ranks() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let host: Vec<u32> = (0..500).map(|i| i * i % 71).collect();
    let x = device.tensor_from(&host, [500])?;
    let mut out = device.zeros::<f32, 1>([64])?;
    ranks::launch(&device.stream(), &x, &mut out)?;
    for (i, got) in out.to_vec()?.into_iter().enumerate() {
        let below = host.iter().filter(|b| (**b as usize) < 63 - i).count();
        assert_eq!(got, below as f32, "bin {}", 63 - i);
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

/// The thread's own values, searched by an unrolled loop that stops; roles; a warp that leaves its part early.
#[tiki::kernel(threads = 64, grid = [x.dim(0)])]
fn first_above(x: &Global<f32>, out: &mut Global<f32>, limit: f32) {
    require!(x.dim(1) == 256 && out.dim(1) == 64 && out.dim(0) == x.dim(0));
    let row = block_idx().x;
    let shared = Shared::<f32>::new(Layout::row_major([64]));
    let v = x
        .tile([1, 256], [row, 0])
        .load(ThreadMap::linear(64).vector_up_to(4));
    let own = v.raw();
    let mut found = -1.0f32;
    #[unroll]
    for i in (0..own.len()).rev() {
        if own[i] > limit {
            found = own[i] + i as f32 * 1000.0;
            break;
        }
        found -= 1.0;
    }
    shared.set([thread_idx()], found);
    sync_block();
    if warp_idx() == 0 {
        let mut sum = 0.0f32;
        for k in (0..64usize).rev().step_by(7) {
            let s = shared.get([k]);
            if s < 0.0 && k < 32 {
                break;
            }
            sum += s;
        }
        out.set([row, lane_idx()], sum);
    } else {
        let lane = lane_idx();
        let best =
            ptx!("redux.sync.max.s32 d, a, -1;", out d: i32, in a: i32 = shared.get([lane]) as i32);
        out.set([row, lane + 32], best as f32);
    }
}

#[test]
fn roles_search_their_own_values() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let host: Vec<f32> = (0..3 * 256).map(|i| (i * 37 % 101) as f32).collect();
    let x = device.tensor_from(&host, [3, 256])?;
    for limit in [50.0f32, 80.0, 99.5] {
        let mut out = device.zeros::<f32, 2>([3, 64])?;
        first_above::launch(&device.stream(), &x, &mut out, limit)?;
        let got = out.to_vec()?;
        for row in 0..3 {
            let shared: Vec<f32> = (0..64)
                .map(|t| {
                    let own = &host[row * 256 + t * 4..][..4];
                    match own.iter().rposition(|x| *x > limit) {
                        Some(i) => own[i] + i as f32 * 1000.0,
                        None => -5.0,
                    }
                })
                .collect();
            let mut sum = 0.0;
            for k in (0..64usize).rev().step_by(7) {
                if shared[k] < 0.0 && k < 32 {
                    break;
                }
                sum += shared[k];
            }
            let best = shared[..32].iter().map(|s| *s as i32).max().unwrap();
            for lane in 0..32 {
                assert_eq!(got[row * 64 + lane], sum, "row {row}");
                assert_eq!(got[row * 64 + 32 + lane], best as f32, "row {row}");
            }
        }
    }
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

/// A tile turned over through swizzled storage that a product's operands had before.
#[tiki::kernel(threads = 128, grid = [1])]
fn product_then_turn(a: &Global<f16>, b: &Global<f16>, out: &mut Global<f32>) {
    require!(a.dim(0) == 64 && a.dim(1) == 64 && b.dim(0) == 64 && b.dim(1) == 64);
    require!(out.dim(0) == 64 && out.dim(1) == 64);
    let operands = Shared::<f16>::stages(2, Layout::k_major::<f16>([64, 64]));
    let load = ThreadMap::linear(128).vector_up_to(8);
    operands
        .stage(0)
        .store(&a.tile([64, 64], [0, 0]).load(load));
    operands
        .stage(1)
        .store(&b.tile([64, 64], [0, 0]).load(load));
    sync_block();
    let gemm = Gemm::<f16>::new(Warp::new(2, 2));
    let c = gemm.dot(operands.stage(0), operands.stage(1));
    sync_block();
    let turned =
        operands.reuse_as::<f32>(Layout::row_major([64, 64]).swizzle(Swizzle::new(5, 0, 6)));
    let rows = ThreadMap::linear(128);
    let d = c.map(|x| x * 0.5).redistribute_through(&turned, rows);
    sync_block();
    turned.t().store(&d);
    sync_block();
    out.tile_mut([64, 64], [0, 0]).store(&turned.load(rows));
}

#[test]
fn operands_make_room_for_what_they_gave() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let of = |f: fn(usize) -> f32| (0..4096).map(|i| f16::from_f32(f(i))).collect::<Vec<_>>();
    let (a, b) = (of(|i| (i % 7) as f32 - 3.0), of(|i| (i % 5) as f32 - 1.0));
    let (da, db) = (
        device.tensor_from(&a, [64, 64])?,
        device.tensor_from(&b, [64, 64])?,
    );
    let mut out = device.zeros::<f32, 2>([64, 64])?;
    product_then_turn::launch(&device.stream(), &da, &db, &mut out)?;
    let got = out.to_vec()?;
    for i in 0..64 {
        for j in 0..64 {
            let sum: f32 = (0..64)
                .map(|k| a[i * 64 + k].to_f32() * b[j * 64 + k].to_f32())
                .sum();
            assert_eq!(got[j * 64 + i], 0.5 * sum, "element {i}, {j}");
        }
    }
    assert_eq!(product_then_turn::BUDGET.shared, 16 * 1024);
    Ok(())
}

/// A build-time parameter and a scalar at run time both decide how an unrolled loop over tensors goes on.
#[tiki::kernel(threads = 32, grid = [x.dim(0)], build((ODD = true), (ODD = false)))]
fn polynomial<const ODD: bool>(
    x: &Global<f32>,
    weight: &Global<f32, 1>,
    out: &mut Global<f32>,
    degree: u32,
) {
    require!(x.dim(1) == 64 && out.dim(1) == 64 && out.dim(0) == x.dim(0) && weight.dim(0) == 4);
    let row = block_idx().x;
    let v = x.tile([1, 64], [row, 0]).load(ThreadMap::linear(32));
    let mut sum = v.map(|_| 1.0);
    #[unroll]
    for k in 0..4u32 {
        if k >= degree {
            break;
        }
        if ODD && k % 2 == 0 {
            continue;
        }
        let factor = weight.get([k as usize]);
        if factor == 0.0 {
            continue;
        }
        sum = sum.zip(&v, |s, e| {
            ptx!("fma.rn.f32 d, s, e, f;", out d: f32, in s: f32 = s, in e: f32 = e, in f: f32 = factor)
        });
    }
    out.tile_mut([1, 64], [row, 0]).store(&sum);
}

#[test]
fn an_unrolled_loop_over_tensors_stops() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let host: Vec<f32> = (0..128).map(|i| (i % 9) as f32 - 4.0).collect();
    let weights = [0.5f32, 2.0, 0.0, -1.0];
    let x = device.tensor_from(&host, [2, 64])?;
    let w = device.tensor_from(&weights, [4])?;
    for degree in 0..6u32 {
        let mut out = device.zeros::<f32, 2>([2, 64])?;
        let mut odd = device.zeros::<f32, 2>([2, 64])?;
        polynomial::<false>::launch(&device.stream(), &x, &w, &mut out, degree)?;
        polynomial::<true>::launch(&device.stream(), &x, &w, &mut odd, degree)?;
        let want = |step: usize, e: f32| {
            let used = (0..degree.min(4) as usize).filter(|k| step == 1 || k % 2 == 1);
            used.filter(|k| weights[*k] != 0.0)
                .fold(1.0f32, |s, k| s.mul_add(e, weights[k]))
        };
        for (got, step) in [(out.to_vec()?, 1), (odd.to_vec()?, 2)] {
            for (e, got) in host.iter().zip(got) {
                assert_eq!(got, want(step, *e), "degree {degree}, {e}");
            }
        }
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
