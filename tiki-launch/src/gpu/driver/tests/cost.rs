//! What a launch costs the host, and what the events' clock says.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::time::Instant;

use cudarc::driver::sys;
use half::f16;

use super::super::context::{function, stream};
use super::super::counting::asked;
use super::{add, add_kernel, gpu, ramp};
use crate::Stream;
use crate::bench::{Bench, Record};
use crate::call::tests::maps::{MAPPED, mapped, maps_follow_their_tensors, maps_of};
use crate::kernel::Plan;

#[test]
fn a_warm_launch_allocates_nothing() {
    let device = gpu();
    let kernel = add_kernel(&device);
    let x = device.tensor_from(&ramp(128), [128]).unwrap();
    let mut out = device.zeros([128]).unwrap();
    let streams = [device.stream(), device.new_stream().unwrap()];
    for i in 0..4 {
        add(&kernel, &streams[i % 2], &x, &mut out, 1.0, 0).unwrap();
    }
    let before = asked();
    for i in 0..100 {
        add(&kernel, &streams[i % 2], &x, &mut out, i as f32, 0).unwrap();
    }
    let asked = asked() - before;
    println!(
        "{asked} allocations in 100 warm launches, each on the other stream than the one before"
    );
    assert_eq!(asked, 0);
}

/// Launches of a block: below the depth of the launch queue, so that the host never waits for the GPU.
const COUNT: u32 = 500;
/// Blocks of either side that count, and those before them that do not.
const BLOCKS: usize = 100;
const WARM_UP: usize = 10;

/// Prints microseconds of a launch by the driver's own call and by ours, in blocks that take turns, and holds ours to 5%.
fn beside(what: &str, on: &Stream, mut raw: impl FnMut(u32), mut ours: impl FnMut(u32)) {
    let block = |launch: &mut dyn FnMut(u32)| {
        let start = Instant::now();
        launch(COUNT);
        let spent = start.elapsed();
        on.synchronize().unwrap();
        spent.as_secs_f64() * 1e6 / f64::from(COUNT)
    };
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..WARM_UP + BLOCKS {
        let mut pair = [0.0; 2];
        // Who comes first changes: what a wait leaves behind falls on both.
        for side in [round % 2, 1 - round % 2] {
            pair[side] = match side {
                0 => block(&mut raw),
                _ => block(&mut ours),
            };
        }
        if round >= WARM_UP {
            times[0].push(pair[0]);
            times[1].push(pair[1]);
        }
    }
    let pairs = times[0].iter().zip(&times[1]);
    let mut ratios: Vec<f64> = pairs.map(|(raw, ours)| ours / raw).collect();
    let part = |times: &mut Vec<f64>, tenths: usize| {
        times.sort_by(f64::total_cmp);
        times[(times.len() - 1) * tenths / 10]
    };
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    println!("warm launch, {what} ({profile}), us of {COUNT}, tenths 1, 5, 9 of {BLOCKS} blocks:");
    for (side, times) in ["raw", "ours"].iter().zip(&mut times) {
        let [low, middle, high] = [1, 5, 9].map(|t| part(times, t));
        println!("  {side:4} {low:.3} {middle:.3} {high:.3}");
    }
    let (raw, ours) = (part(&mut times[0], 5), part(&mut times[1], 5));
    let [low, middle, high] = [1, 5, 9].map(|t| 100.0 * (part(&mut ratios, t) - 1.0));
    println!(
        "  of medians {:+.2}%, pair by pair {low:+.2}% {middle:+.2}% {high:+.2}%",
        100.0 * (ours / raw - 1.0)
    );
    if !cfg!(debug_assertions) {
        assert!(
            ours <= raw * 1.05,
            "{ours:.3} us is more than 5% over {raw:.3} us"
        );
    }
}

/// The host's cost of a warm launch beside the driver's own, measured in turn.
#[test]
fn host_cost_of_a_warm_launch() {
    let device = gpu();
    let kernel = add_kernel(&device);
    let x = device.tensor_from(&ramp(128), [128]).unwrap();
    let mut out = device.zeros([128]).unwrap();
    let on = device.new_stream().unwrap();
    let (f, at) = (
        function(kernel.function().entry.function),
        stream(on.machine_stream()),
    );
    let (source, target, n, by, spin) = (x.address(), out.address(), 128u32, 1f32, 0u32);
    let mut pointers: [*const c_void; 5] = [
        (&raw const source).cast(),
        (&raw const target).cast(),
        (&raw const n).cast(),
        (&raw const by).cast(),
        (&raw const spin).cast(),
    ];
    let parameters: *mut *mut c_void = pointers.as_mut_ptr().cast();
    let raw = |count| {
        for _ in 0..count {
            // SAFETY: five arguments as the entry declares them; both tensors outlive the work.
            let result = unsafe {
                sys::cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, at, parameters, null_mut())
            };
            assert_eq!(result, sys::CUresult::CUDA_SUCCESS);
        }
    };
    let ours = |count| {
        for _ in 0..count {
            add(&kernel, &on, &x, &mut out, 1.0, 0).unwrap();
        }
    };
    beside("five arguments", &on, raw, ours);
    // Where it goes: the same with an empty grid is everything but the order of streams and the driver.
    let mut nothing = device.zeros([0]).unwrap();
    let none = device.zeros([0]).unwrap();
    let start = Instant::now();
    for i in 0..COUNT {
        add(&kernel, &on, &none, &mut nothing, i as f32, 0).unwrap();
    }
    let checks = start.elapsed().as_secs_f64() * 1e9 / f64::from(COUNT);
    println!("of which arguments and checks {checks:.0} ns");
}

#[test]
fn maps_are_those_of_the_launch() {
    maps_follow_their_tensors(&gpu());
}

/// The same with three tensor maps, of which the driver's call copies 384 bytes.
#[test]
fn host_cost_of_a_warm_launch_with_maps() {
    let device = gpu();
    let on = device.new_stream().unwrap();
    let (a, b) = (
        device.zeros::<f16, 2>([128, 64]).unwrap(),
        device.zeros::<f16, 2>([256, 64]).unwrap(),
    );
    let mut out = device.zeros::<u64, 2>([3, 16]).unwrap();
    mapped(&on, &a, &b, &mut out).unwrap();
    let maps = maps_of(&device, [a.operand(), b.operand(), out.operand()]);
    let loaded = Plan::Artifact(&MAPPED).function(&device).unwrap();
    let (f, at) = (function(loaded.entry.function), stream(on.machine_stream()));
    let addresses = [a.address(), b.address(), out.address()];
    let extents = [a.shape(), b.shape(), out.shape()].map(|shape| shape.map(|n| n as u32));
    let mut pointers: Vec<*const c_void> = Vec::new();
    for (address, extents) in addresses.iter().zip(&extents) {
        pointers.push((&raw const *address).cast());
        pointers.extend(extents.iter().map(|n| (&raw const *n).cast::<c_void>()));
    }
    pointers.extend(maps.chunks(16).map(|map| map.as_ptr().cast::<c_void>()));
    let parameters: *mut *mut c_void = pointers.as_mut_ptr().cast();
    let raw = |count| {
        for _ in 0..count {
            // SAFETY: twelve arguments as the entry declares them; the tensors outlive the work.
            let result =
                unsafe { sys::cuLaunchKernel(f, 1, 1, 1, 16, 1, 1, 0, at, parameters, null_mut()) };
            assert_eq!(result, sys::CUresult::CUDA_SUCCESS);
        }
    };
    let ours = |count| {
        for _ in 0..count {
            mapped(&on, &a, &b, &mut out).unwrap();
        }
    };
    beside("three tensor maps", &on, raw, ours);
    assert_eq!(out.to_vec().unwrap(), maps);
}

#[test]
fn event_times_are_plausible_and_recorded() {
    let device = gpu();
    let kernel = add_kernel(&device);
    let on = device.stream();
    let x = device.tensor_from(&ramp(128), [128]).unwrap();
    let mut out = device.zeros([128]).unwrap();
    let bench = Bench {
        warm_up: 3,
        samples: 20,
        repeat: 1,
    };
    let slow = bench
        .run(&on, || add(&kernel, &on, &x, &mut out, 1.0, 500))
        .unwrap();
    println!(
        "a kernel of 500 sleeps of about a microsecond: median {:.1} us, min {:.1} us",
        slow.median(),
        slow.min()
    );
    assert!(slow.min() > 50.0 && slow.median() < 20_000.0);
    let mut other = device.zeros([128]).unwrap();
    let pair = bench
        .pair(
            &on,
            || add(&kernel, &on, &x, &mut out, 1.0, 400),
            || add(&kernel, &on, &x, &mut other, 1.0, 200),
        )
        .unwrap();
    println!(
        "400 against 200 sleeps: ratio {:.2}, 95% in {:.2?}",
        pair.ratio, pair.interval
    );
    assert!(pair.interval.0 > 1.2 && pair.ratio < 3.0);
    let mut record = Record::new(&device, "the driver's tests", &["what", "us"]);
    record.row(&[&"500 sleeps", &slow.median()]);
    print!("{}", record.to_csv());
}
