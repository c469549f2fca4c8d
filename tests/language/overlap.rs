//! Launches that overlap: a kernel lets its successor start early, and the successor waits before it reads.
//!
//! Invariant: the successor sees all that its predecessor wrote. Witness: a chain of launches on the machine, and what the
//! launcher is told (`dependent_launch`), by which the driver is asked to start the successor early.

use tiki::prelude::*;
use tiki::{Device, LaunchError};

#[tiki::kernel(target = "sm_90a", threads = 128, grid = [x.dim(0).div_ceil(512)])]
fn first(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    require!(out.dim(0) == x.dim(0));
    dependent_launch();
    let map = ThreadMap::linear(128).vector_up_to(4);
    let at = [block_idx().x];
    let v = x.tile([512], at).load(map);
    out.tile_mut([512], at).store(&v.map(|a| a + 1.0));
}

#[tiki::kernel(target = "sm_90a", threads = 128, grid = [x.dim(0).div_ceil(512)])]
fn second(x: &Global<f32, 1>, weight: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    require!(out.dim(0) == x.dim(0) && weight.dim(0) == x.dim(0));
    let map = ThreadMap::linear(128).vector_up_to(4);
    let at = [block_idx().x];
    // Nobody before writes the weight: it is read while the predecessor still runs.
    let w = weight.tile([512], at).load(map);
    dependent_wait();
    let v = x.tile([512], at).load(map);
    out.tile_mut([512], at).store(&v.zip(&w, |a, w| a * w));
}

#[test]
fn a_successor_waits_for_what_it_reads() -> Result<(), LaunchError> {
    assert!(!first::ARTIFACT.dependent_launch && second::ARTIFACT.dependent_launch);
    let device = Device::vm()?;
    let stream = device.stream();
    let n = 5000;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let w: Vec<f32> = (0..n).map(|i| (i % 7) as f32).collect();
    let (dx, dw) = (device.tensor_from(&x, [n])?, device.tensor_from(&w, [n])?);
    let (mut between, mut out) = (device.zeros([n])?, device.zeros([n])?);
    first::launch(&stream, &dx, &mut between)?;
    second::launch(&stream, &between, &dw, &mut out)?;
    let want: Vec<f32> = x.iter().zip(&w).map(|(x, w)| (x + 1.0) * w).collect();
    assert_eq!(out.to_vec()?, want);
    Ok(())
}
