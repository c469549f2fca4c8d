//! Reductions, views, tiles of three axes and scans, in places where the examples do not put them.
//!
//! Invariant: a kernel on the virtual machine gives the bits that a closure on the host gives. Witness: every
//! element of small tensors.

use tiki::prelude::*;
use tiki::{Device, LaunchError};

/// Reductions in a run-time loop (the scratch is used again and again) and in a branch all threads take.
#[tiki::kernel(threads = 96, grid = [1])]
fn reductions(x: &Global<f32>, sums: &mut Global<f32, 1>, least: &mut Global<u32, 1>, rounds: u32) {
    require!(x.dim(1) == 131 && sums.dim(0) == x.dim(0) && least.dim(0) == x.dim(0));
    let map = ThreadMap::linear(96).vector_up_to(4);
    let mut before = 0.0f32;
    for r in 0..x.dim(0) {
        let v = x.tile([1, 131], [r, 0]).load(map);
        let s = v.row_sum();
        let m = v.row_argmin();
        let mut both = s.map(|s| s + before);
        if rounds > 1 {
            let top = v.row_max();
            both = both.zip(&top, |b, t| b + t);
        }
        sums.tile_mut([1], [r]).store(&both);
        least.tile_mut([1], [r]).store(&m);
        before += 1.0;
    }
}

#[test]
fn reductions_in_loops_and_branches() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let rows = 7;
    let x: Vec<f32> = (0..rows * 131)
        .map(|i| ((i * 7919) % 263) as f32 - 100.0)
        .collect();
    let dx = device.tensor_from(&x, [rows, 131])?;
    for rounds in [1u32, 2] {
        let mut sums = device.zeros::<f32, 1>([rows])?;
        let mut least = device.zeros::<u32, 1>([rows])?;
        reductions::launch(&device.stream(), &dx, &mut sums, &mut least, rounds)?;
        let (sums, least) = (sums.to_vec()?, least.to_vec()?);
        for r in 0..rows {
            let row = &x[r * 131..][..131];
            let top = row.iter().copied().fold(f32::MIN, f32::max);
            let sum = row.iter().sum::<f32>() + r as f32 + if rounds > 1 { top } else { 0.0 };
            assert_eq!(sums[r], sum, "row {r}");
            let low = row.iter().copied().fold(f32::MAX, f32::min);
            assert_eq!(
                Some(least[r] as usize),
                row.iter().position(|v| *v == low),
                "row {r}"
            );
        }
    }
    Ok(())
}

/// Strided tensors, transposed views, rows of threads, `map_at`, `mask`, bool tensors.
#[tiki::kernel(threads = 64, grid = [x.dim(0).div_ceil(16), x.dim(1).div_ceil(24)])]
fn strided(x: &Global<f32, 2, Strided>, out: &mut Global<f32>, flags: &mut Global<bool>) {
    require!(out.dim(0) == x.dim(1) && out.dim(1) == x.dim(0) && flags.shape() == x.shape());
    let b = block_idx();
    let map = ThreadMap::rows(64, 4).vector_up_to(2);
    let v = x.tile([16, 24], [b.x, b.y]).fill(5.0).load(map);
    let w = v
        .map_at(|v, [i, j]| v + (100 * i + j) as f32)
        .mask(|[i, j]| i >= j, -1.0);
    out.tile_mut([24, 16], [b.y, b.x]).t().store(&w);
    flags
        .tile_mut([16, 24], [b.x, b.y])
        .store(&w.map(|w| w > 50.0));
}

#[test]
fn strided_and_transposed() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    for (rows, cols) in [(16, 24), (33, 50), (1, 1), (17, 0), (0, 0)] {
        let host: Vec<f32> = (0..rows * cols).map(|i| i as f32 * 0.5).collect();
        let x = device.tensor_from(&host, [cols, rows])?.swap_axes(0, 1)?;
        let mut out = device.zeros::<f32, 2>([cols, rows])?;
        let mut flags = device.zeros::<bool, 2>([rows, cols])?;
        strided::launch(&device.stream(), &x, &mut out, &mut flags)?;
        let (out, flags) = (out.to_vec()?, flags.to_vec()?);
        for i in 0..rows {
            for j in 0..cols {
                let (a, b) = (i % 16, j % 24);
                let want = if a >= b {
                    host[j * rows + i] + (100 * a + b) as f32
                } else {
                    -1.0
                };
                assert_eq!(out[j * rows + i], want, "{i} {j} of {rows} x {cols}");
                assert_eq!(flags[i * cols + j], want > 50.0, "{i} {j}");
            }
        }
    }
    Ok(())
}

/// 3-D tiles, whose edges hang over in every axis; two shared arrays; a histogram by shared atomics.
#[tiki::kernel(threads = 64, grid = [x.dim(0).div_ceil(2), x.dim(1).div_ceil(4), x.dim(2).div_ceil(8)])]
fn blocks(x: &Global<u32, 3>, out: &mut Global<u32, 3>, counts: &mut Global<u32, 1>) {
    require!(out.shape() == x.shape() && counts.dim(0) == 16);
    let b = block_idx();
    let t = thread_idx();
    let bins = Shared::<u32>::new(Layout::row_major([16]));
    let copy = Shared::<u32>::new(Layout::row_major([2, 4, 8]));
    if t < 16 {
        bins.set([t], 0);
    }
    let map = ThreadMap::linear(64);
    let v = x.tile([2, 4, 8], [b.x, b.y, b.z]).fill(16).load(map);
    copy.store(&v);
    sync_block();
    let mine = copy.get([t / 32, t / 8 % 4, t % 8]);
    if mine < 16 {
        bins.red_add([mine as usize], 1, Order::Relaxed, Scope::Block);
    }
    sync_block();
    if t < 16 {
        let n = bins.get([t]);
        counts.red_add([t], n, Order::Relaxed, Scope::Device);
    }
    let w = v.map_at(|v, [i, j, k]| v + (1_000_000 * i + 1000 * j + k) as u32);
    out.tile_mut([2, 4, 8], [b.x, b.y, b.z]).store(&w);
}

#[test]
fn tiles_of_three_axes_and_a_histogram() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let [p, q, r] = [3usize, 5, 11];
    let host: Vec<u32> = (0..(p * q * r) as u32).map(|i| i * i % 17 % 16).collect();
    let x = device.tensor_from(&host, [p, q, r])?;
    let mut out = device.zeros::<u32, 3>([p, q, r])?;
    let mut counts = device.zeros::<u32, 1>([16])?;
    blocks::launch(&device.stream(), &x, &mut out, &mut counts)?;
    let (out, counts) = (out.to_vec()?, counts.to_vec()?);
    for (at, v) in host.iter().enumerate() {
        let (i, j, k) = (at / (q * r), at / r % q, at % r);
        assert_eq!(
            out[at],
            v + (1_000_000 * (i % 2) + 1000 * (j % 4) + k % 8) as u32
        );
    }
    for (bin, n) in counts.iter().enumerate() {
        assert_eq!(
            *n as usize,
            host.iter().filter(|v| **v as usize == bin).count()
        );
    }
    Ok(())
}

/// A warp's inclusive scan in a loop that doubles, a ballot's rank, and a scan over warps in shared memory.
#[tiki::kernel(threads = 128, grid = [1])]
fn scan(x: &Global<i32, 1>, out: &mut Global<i32, 1>, ranks: &mut Global<u32, 1>) {
    require!(x.dim(0) == 128 && out.dim(0) == 128 && ranks.dim(0) == 128);
    let (t, lane, warp) = (thread_idx(), lane_idx(), warp_idx());
    let totals = Shared::<i32>::new(Layout::row_major([4]));
    let mut v = x.get([t]);
    let odd = v % 2 != 0;
    let mut d = 1usize;
    while d < 32 {
        let below = shuffle_up(v, d);
        if lane >= d {
            v += below;
        }
        d *= 2;
    }
    if lane == 31 {
        totals.set([warp], v);
    }
    sync_block();
    for w in 0..warp {
        v += totals.get([w]);
    }
    let mask = ballot(odd);
    out.set([t], v);
    ranks.set([t], (mask & ((1u32 << lane as u32) - 1)).count_ones());
}

#[test]
fn scans() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let x: Vec<i32> = (0..128).map(|i: i32| i * i * 31 % 101 - 50).collect();
    let dx = device.tensor_from(&x, [128])?;
    let mut out = device.zeros::<i32, 1>([128])?;
    let mut ranks = device.zeros::<u32, 1>([128])?;
    scan::launch(&device.stream(), &dx, &mut out, &mut ranks)?;
    let (out, ranks) = (out.to_vec()?, ranks.to_vec()?);
    let mut sum = 0;
    for t in 0..128 {
        sum += x[t];
        assert_eq!(out[t], sum, "thread {t}");
        let rank = x[t / 32 * 32..t].iter().filter(|v| *v % 2 != 0).count();
        assert_eq!(ranks[t] as usize, rank, "thread {t}");
    }
    Ok(())
}

/// How far a run of non-zeros reaches: a load asked for only where the left of `&&` holds.
#[tiki::kernel(threads = 64, grid = [1])]
fn runs(x: &Global<u32, 1>, out: &mut Global<u32, 1>) {
    let t = thread_idx();
    let mut i = t;
    while i < x.dim(0) && x.get([i]) != 0 {
        i += 1;
    }
    out.set([t], (i - t) as u32);
}

#[test]
fn loads_on_the_right_of_and() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let x: Vec<u32> = (0..50).map(|i| u32::from(i % 9 != 4)).collect();
    let dx = device.tensor_from(&x, [50])?;
    let mut out = device.zeros::<u32, 1>([64])?;
    runs::launch(&device.stream(), &dx, &mut out)?;
    for (t, got) in out.to_vec()?.iter().enumerate() {
        let want = x.iter().skip(t).take_while(|v| **v != 0).count();
        assert_eq!(*got as usize, want, "from {t}");
    }
    Ok(())
}
