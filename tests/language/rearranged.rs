//! Register tensors dealt anew, and shared storage used again.
//!
//! Invariant: what is dealt anew is the same tensor (elements, and what is missing of it) in the layout that was asked
//! for; storage used again holds what its new life wrote. Witness: sums and stores whose results Rust computes on
//! the host.

use tiki::prelude::*;
use tiki::{Device, LaunchError};

/// Loaded by rows, dealt by columns: then combined with what was loaded so, and summed.
#[tiki::kernel(threads = 64, grid = [x.dim(0).div_ceil(8)], build((E = f32), (E = f16), (E = u32)))]
fn dealt<E: Number>(x: &Global<E>, y: &Global<E>, out: &mut Global<E>, sums: &mut Global<E>) {
    require!(x.dim(1) == 32 && y.dim(1) == 32 && out.dim(1) == 32 && sums.dim(1) == 32);
    let at = [block_idx().x, 0];
    // Each warp holds four rows, by either map: eight lanes a row, or four rows a lane.
    let rows = ThreadMap::new(layout!((8, 8):(8, 1)), layout!((1, 4):(4, 1)));
    let columns = ThreadMap::new(layout!((2, 32):(32, 1)), layout!((4, 1):(1, 4)));
    let a = x.tile([8, 32], at).load(rows);
    let b = y.tile([8, 32], at).load(columns);
    let c = a.redistribute(columns);
    out.tile_mut([8, 32], at).store(&(&c + &b));
    let back = c.redistribute_like(&a);
    sums.tile_mut([8, 32], at).store(&(&back + &a));
}

#[test]
fn what_is_dealt_anew_is_the_same_tensor() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let s = device.stream();
    let n = 20 * 32;
    let a: Vec<u32> = (0..n as u32).collect();
    let b: Vec<u32> = (0..n as u32).map(|i| i * 1000 % 777).collect();
    let (x, y) = (
        device.tensor_from(&a, [20, 32])?,
        device.tensor_from(&b, [20, 32])?,
    );
    let mut out = device.zeros::<u32, 2>([20, 32])?;
    let mut sums = device.zeros::<u32, 2>([20, 32])?;
    dealt::<u32>::launch(&s, &x, &y, &mut out, &mut sums)?;
    let want: Vec<u32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    assert_eq!(out.to_vec()?, want);
    assert_eq!(sums.to_vec()?, a.iter().map(|a| 2 * a).collect::<Vec<_>>());

    let half = |v: &[u32]| {
        v.iter()
            .map(|i| f16::from_f32((*i % 512) as f32))
            .collect::<Vec<_>>()
    };
    let (ha, hb) = (half(&a), half(&b));
    let (x, y) = (
        device.tensor_from(&ha, [20, 32])?,
        device.tensor_from(&hb, [20, 32])?,
    );
    let mut out = device.zeros::<f16, 2>([20, 32])?;
    let mut sums = device.zeros::<f16, 2>([20, 32])?;
    dealt::<f16>::launch(&s, &x, &y, &mut out, &mut sums)?;
    let want: Vec<f16> = ha
        .iter()
        .zip(&hb)
        .map(|(a, b)| f16::from_f32(a.to_f32() + b.to_f32()))
        .collect();
    assert_eq!(out.to_vec()?, want);
    assert_eq!(
        sums.to_vec()?,
        ha.iter()
            .map(|a| f16::from_f32(2.0 * a.to_f32()))
            .collect::<Vec<_>>()
    );

    let report = dealt::<f32>::REPORT;
    assert!(report.contains("within each warp: "), "{report}");
    assert_eq!(dealt::<f32>::BUDGET.shared, 0);
    assert!(dealt::<f32>::PTX.contains("shfl.sync.bfly"));
    Ok(())
}

/// What is missing stays missing: column sums of a tile that hangs over, filled with what must not count.
#[tiki::kernel(threads = 32, grid = [1])]
fn missing(x: &Global<f32>, out: &mut Global<f32>) {
    require!(x.dim(1) == 16 && out.dim(0) == 2 && out.dim(1) == 16);
    let v = x
        .tile([32, 16], [0, 0])
        .fill(1000.0)
        .load(ThreadMap::rows(32, 4).vector_up_to(4));
    let w = v.redistribute(ThreadMap::new(
        layout!((32, 1):(1, 1)),
        layout!((1, 16):(1, 1)),
    ));
    let sums = w.col_sum();
    let most = w.row_sum().max();
    let map = ThreadMap::linear(32);
    let zero = out.tile_mut([2, 16], [0, 0]).load(map);
    let same = sums.redistribute_like(&zero.col_vector(0.0));
    let both = zero
        .cols(&same, |_, s| s)
        .map_at(|s, [i, _]| if i == 0 { s } else { most });
    out.tile_mut([2, 16], [0, 0]).store(&both);
}

#[test]
fn what_is_missing_stays_missing() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let host: Vec<f32> = (0..13 * 16).map(|i| (i % 37) as f32).collect();
    let x = device.tensor_from(&host, [13, 16])?;
    let mut out = device.zeros::<f32, 2>([2, 16])?;
    missing::launch(&device.stream(), &x, &mut out)?;
    let got = out.to_vec()?;
    let most = host
        .chunks(16)
        .map(|r| r.iter().sum::<f32>())
        .fold(0.0, f32::max);
    for c in 0..16 {
        let sum: f32 = (0..13).map(|r| host[r * 16 + c]).sum();
        assert_eq!((got[c], got[16 + c]), (sum, most), "column {c}");
    }
    Ok(())
}

/// From warp to warp through a buffer, round after round; then the buffer's storage serves as another tensor.
#[tiki::kernel(threads = 128, grid = [1])]
fn through(x: &Global<f32>, out: &mut Global<f32>, halves: &mut Global<f16>) {
    require!(x.dim(0) == 96 && x.dim(1) == 32 && out.dim(0) == 96 && out.dim(1) == 32);
    require!(halves.dim(0) == 64 && halves.dim(1) == 32);
    let buffer = Shared::<f32>::new(Layout::row_major([32, 32]));
    let rows = ThreadMap::linear(128).vector_up_to(4);
    let columns = ThreadMap::new(layout!((4, 32):(1, 4)), layout!((8, 1):(1, 8)));
    let mut total = x.tile([32, 32], [0, 0]).load(columns).map(|v| v * 0.0);
    for k in 0..3usize {
        let v = x
            .tile([32, 32], [k, 0])
            .load(rows)
            .redistribute_through(&buffer, columns);
        let w = v.map_at(|a, [i, j]| a + (i * 2 + j * 3) as f32);
        sync_block();
        total = &total + &w;
        let back = w.redistribute_through(&buffer, rows);
        sync_block();
        out.tile_mut([32, 32], [k, 0]).store(&back);
    }
    let small = buffer.reuse_as::<f16>(Layout::row_major([64, 32]));
    small.tile([32, 32], [0, 0]).store(&total.cast::<f16>());
    small
        .tile([32, 32], [1, 0])
        .store(&total.map(|t| -t).cast::<f16>());
    sync_block();
    halves.tile_mut([64, 32], [0, 0]).store(&small.load(rows));
}

#[test]
fn a_buffer_serves_several_lives() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let host: Vec<f32> = (0..96 * 32).map(|i| (i % 51) as f32).collect();
    let x = device.tensor_from(&host, [96, 32])?;
    let mut out = device.zeros::<f32, 2>([96, 32])?;
    let mut halves = device.zeros::<f16, 2>([64, 32])?;
    through::launch(&device.stream(), &x, &mut out, &mut halves)?;
    let moved = |at: usize| host[at] + (at / 32 % 32 * 2 + at % 32 * 3) as f32;
    for (at, got) in out.to_vec()?.into_iter().enumerate() {
        assert_eq!(got, moved(at), "element {at}");
    }
    for (at, got) in halves.to_vec()?.into_iter().enumerate() {
        let sum: f32 = (0..3).map(|k| moved(k * 1024 + at % 1024)).sum();
        let want = f16::from_f32(if at < 1024 { sum } else { -sum });
        assert_eq!(got, want, "half {at}");
    }
    // Both lives count once, and both are told.
    assert_eq!(through::BUDGET.shared, 32 * 32 * 4);
    assert!(
        through::REPORT.contains("in the storage of `buffer`"),
        "{}",
        through::REPORT
    );
    assert!(through::REPORT.contains("through `buffer`: 4096 bytes written and read"));
    Ok(())
}

/// Stages as one tensor, and a part of a tensor as another: sums per warp in what a tile has left.
#[tiki::kernel(threads = 64, grid = [1])]
fn parts(x: &Global<u32>, out: &mut Global<u32, 1>) {
    require!(x.dim(0) == 16 && x.dim(1) == 32 && out.dim(0) == 64);
    let stages = Shared::<u32>::stages(2, Layout::row_major([8, 32]));
    let map = ThreadMap::linear(64).vector_up_to(4);
    stages.stage(0).store(&x.tile([8, 32], [0, 0]).load(map));
    stages.stage(1).store(&x.tile([8, 32], [1, 0]).load(map));
    sync_block();
    let first = stages.stage(0).get([0, lane_idx()]);
    let second = stages.stage(1).get([7, lane_idx()]);
    sync_block();
    // One life over all stages, another over the second half of it.
    let whole = stages.reuse_as::<u32>(Layout::row_major([512]));
    whole.set([thread_idx()], first + second);
    let half = whole
        .tile([256], [1])
        .reuse_as::<f32>(Layout::row_major([64]));
    half.set([63 - thread_idx()], thread_idx() as f32);
    sync_block();
    let v = whole.get([63 - thread_idx()]) + half.get([thread_idx()]) as u32;
    out.set([thread_idx()], v);
}

#[test]
fn parts_of_storage_serve_apart() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let host: Vec<u32> = (0..512).map(|i| i * 7).collect();
    let x = device.tensor_from(&host, [16, 32])?;
    let mut out = device.zeros::<u32, 1>([64])?;
    parts::launch(&device.stream(), &x, &mut out)?;
    for (i, got) in out.to_vec()?.into_iter().enumerate() {
        let lane = (63 - i) % 32;
        assert_eq!(
            got,
            host[lane] + host[15 * 32 + lane] + (63 - i) as u32,
            "thread {i}"
        );
    }
    assert_eq!(parts::BUDGET.shared, 2048);
    Ok(())
}
