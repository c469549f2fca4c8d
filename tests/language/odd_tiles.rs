//! Odd kernels with tiles: features that were not made for each other, together.
//!
//! Invariant and witness as in [`super::odd`].

use tiki::prelude::*;
use tiki::{Device, LaunchError};

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
