//! `#[tiki::test]`.
//!
//! Invariant: a test runs on machines in five modes, and a failure says which. Witness: a count, and a test that fails.

use std::sync::atomic::{AtomicUsize, Ordering};
use tiki::prelude::*;
use tiki::{Device, LaunchError};

#[tiki::kernel(threads = 32, grid = [x.dim(0).div_ceil(32)])]
fn double(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    require!(out.dim(0) == x.dim(0));
    let map = ThreadMap::linear(32);
    let at = [block_idx().x];
    out.tile_mut([32], at)
        .store(&x.tile([32], at).load(map).map(|v| v * 2.0));
}

static RUNS: AtomicUsize = AtomicUsize::new(0);

#[tiki::test]
fn doubles(device: &Device) -> Result<(), LaunchError> {
    let x: Vec<f32> = (0..77).map(|i| i as f32).collect();
    let input = device.tensor_from(&x, [77])?;
    let mut out = device.zeros::<f32, 1>([77])?;
    double::launch(&device.stream(), &input, &mut out)?;
    assert_eq!(out.to_vec()?, x.iter().map(|v| v * 2.0).collect::<Vec<_>>());
    RUNS.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

#[test]
fn every_mode_is_run() {
    RUNS.store(0, Ordering::Relaxed);
    doubles();
    assert!(RUNS.load(Ordering::Relaxed) >= 5);
}

#[tiki::test(target = "sm_80")]
#[should_panic(expected = "on the virtual machine, eager")]
fn a_failure_names_its_run(device: &Device) -> Result<(), LaunchError> {
    let x = device.zeros::<f32, 1>([64])?;
    let mut out = device.zeros::<f32, 1>([63])?;
    double::launch(&device.stream(), &x, &mut out)
}
