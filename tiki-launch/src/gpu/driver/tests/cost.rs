//! What a launch costs the host, and what the events' clock says.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::time::Instant;

use cudarc::driver::sys;

use super::super::context::{function, stream};
use super::{add, add_kernel, gpu, ramp};
use crate::bench::{Bench, Record};

/// The system's allocator, counting what this thread asks of it.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is the system allocator's; the counter needs no memory of its own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

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
    let before = ASKED.get();
    for i in 0..100 {
        add(&kernel, &streams[i % 2], &x, &mut out, i as f32, 0).unwrap();
    }
    let asked = ASKED.get() - before;
    println!(
        "{asked} allocations in 100 warm launches, each on the other stream than the one before"
    );
    assert_eq!(asked, 0);
}

/// Prints the host's cost of a warm launch beside the driver's own, measured in turn.
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
    let (source, target) = (x.address(), out.address());
    let count = 1000; // below the depth of the launch queue: the host never waits for the GPU
    let raw = || {
        let start = Instant::now();
        for i in 0..count {
            let (n, by, spin) = (128u32, i as f32, 0u32);
            let mut pointers: [*mut c_void; 5] = [
                (&raw const source).cast_mut().cast(),
                (&raw const target).cast_mut().cast(),
                (&raw const n).cast_mut().cast(),
                (&raw const by).cast_mut().cast(),
                (&raw const spin).cast_mut().cast(),
            ];
            // SAFETY: five arguments as the entry declares them; both tensors outlive the work.
            let result = unsafe {
                sys::cuLaunchKernel(
                    f,
                    1,
                    1,
                    1,
                    128,
                    1,
                    1,
                    0,
                    at,
                    pointers.as_mut_ptr(),
                    null_mut(),
                )
            };
            assert_eq!(result, sys::CUresult::CUDA_SUCCESS);
        }
        let spent = start.elapsed();
        on.synchronize().unwrap();
        spent.as_secs_f64() * 1e6 / f64::from(count)
    };
    let mut ours = || {
        let start = Instant::now();
        for i in 0..count {
            add(&kernel, &on, &x, &mut out, i as f32, 0).unwrap();
        }
        let spent = start.elapsed();
        on.synchronize().unwrap();
        spent.as_secs_f64() * 1e6 / f64::from(count)
    };
    let (mut raws, mut oures) = (Vec::new(), Vec::new());
    for _ in 0..40 {
        raws.push(raw());
        oures.push(ours());
    }
    let middle = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let (raw, ours) = (middle(&mut raws), middle(&mut oures));
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    println!(
        "warm launch ({profile}): raw {raw:.3} us, ours {ours:.3} us, {:+.1}%",
        100.0 * (ours / raw - 1.0)
    );
    // Where it goes: the same with an empty grid is everything but the order of streams and the driver.
    let mut nothing = device.zeros([0]).unwrap();
    let none = device.zeros([0]).unwrap();
    let start = Instant::now();
    for i in 0..count {
        add(&kernel, &on, &none, &mut nothing, i as f32, 0).unwrap();
    }
    let checks = start.elapsed().as_secs_f64() * 1e9 / f64::from(count);
    println!("of which arguments and checks {checks:.0} ns");
    if !cfg!(debug_assertions) {
        assert!(
            ours <= raw * 1.05,
            "{ours:.3} us is more than 5% over {raw:.3} us"
        );
    }
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
