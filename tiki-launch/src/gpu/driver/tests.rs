//! The driver's path on a real GPU. The test binary needs nothing beside it: build it with
//! `cargo test -p tiki-launch --lib --features gpu --no-run`, and on the machine with the GPU run it with
//! the arguments `gpu::driver::tests --nocapture --test-threads=1`.
//!
//! The test named `zz_..` breaks the GPU's context on purpose and therefore runs in a process of its own.

mod cost;

use std::ptr::null_mut;
use std::time::Instant;

use cudarc::driver::sys;
use tiki_kernel::artifact::{Artifact, Param, ParamKind, Usage};
use tiki_kernel::dtype::DType;
use tiki_kernel::target;

use super::interop;
use crate::codes::Code;
use crate::kernel::{Kernel, RawParam, load};
use crate::{Call, Device, Kind, LaunchError, Stream, Tensor};

const ADD: &str = include_str!("ptx/add.ptx");

fn gpu() -> Device {
    Device::cuda(0).expect("a GPU")
}

fn add_params() -> Vec<RawParam> {
    vec![
        RawParam::input::<f32>("x"),
        RawParam::output::<f32>("out"),
        RawParam::value::<u32>("n"),
        RawParam::value::<f32>("by"),
        RawParam::value::<u32>("spin"),
    ]
}

fn add_kernel(device: &Device) -> Kernel {
    Kernel::from_ptx(ADD, "add", add_params())
        .threads([128, 1, 1])
        .load(device)
        .unwrap()
}

/// out = x + by; `spin` microseconds late.
fn add(
    kernel: &Kernel,
    on: &Stream,
    x: &Tensor<f32, 1>,
    out: &mut Tensor<f32, 1>,
    by: f32,
    spin: u32,
) -> Result<(), LaunchError> {
    let n = x.len();
    let mut call = Call::raw(on, kernel)?;
    call.tensor(0, x)?
        .tensor_mut(1, out)?
        .scalar(2, n as u32)?
        .scalar(3, by)?
        .scalar(4, spin)?;
    call.grid([n.div_ceil(128) as u64, 1, 1])?.launch()
}

fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32).collect()
}

fn plus(by: f32, n: usize) -> Vec<f32> {
    ramp(n).into_iter().map(|x| x + by).collect()
}

/// As `assert_eq`, but names the first difference instead of printing both.
#[track_caller]
fn same(tensor: &Tensor<f32, 1>, expected: &[f32]) {
    let values = tensor.to_vec().unwrap();
    assert_eq!(values.len(), expected.len());
    if let Some(i) = (0..values.len()).find(|&i| values[i] != expected[i]) {
        panic!(
            "element {i} of {} is {}, not {}",
            values.len(),
            values[i],
            expected[i]
        );
    }
}

#[test]
fn a_launch_gives_the_right_values() {
    let device = gpu();
    println!(
        "{device}, capability {:?}, driver {}",
        device.capability(),
        device.driver()
    );
    let kernel = add_kernel(&device);
    println!("{:?}", kernel.loaded());
    assert!(kernel.loaded().registers > 0 && kernel.loaded().local_bytes == 0);
    for n in [1, 127, 128, 129, 100_003] {
        let x = device.tensor_from(&ramp(n), [n]).unwrap();
        let mut out = device.zeros([n]).unwrap();
        add(&kernel, &device.stream(), &x, &mut out, 0.5, 0).unwrap();
        same(&out, &plus(0.5, n));
    }
    let none = device.zeros([0]).unwrap();
    add(
        &kernel,
        &device.stream(),
        &none,
        &mut device.zeros([0]).unwrap(),
        0.5,
        0,
    )
    .unwrap();
}

#[test]
fn tensors_and_streams_may_be_dropped_in_flight() {
    let device = gpu();
    let kernel = add_kernel(&device);
    let n = 1 << 20;
    let mut out = device.zeros([n]).unwrap();
    for round in 0..20 {
        let on = device.new_stream().unwrap();
        let x = device.tensor_from(&ramp(n), [n]).unwrap();
        let mut middle = device.empty([n]).unwrap();
        let started = Instant::now();
        add(&kernel, &on, &x, &mut middle, round as f32, 2000).unwrap();
        add(&kernel, &on, &middle, &mut out, 1.0, 0).unwrap();
        drop((x, middle, on));
        let waited = started.elapsed();
        // New memory is asked for, and written, while the kernel still waits: it must not be theirs.
        let noise = device.tensor_from(&vec![-1.0f32; n], [n]).unwrap();
        same(&out, &plus(round as f32 + 1.0, n));
        assert_eq!(noise.to_vec().unwrap()[n - 1], -1.0);
        if round == 19 {
            println!(
                "enqueue and drop took {waited:?}, the kernel {:?}",
                started.elapsed()
            );
        }
    }
}

#[test]
fn two_streams_are_ordered_through_the_tensors_they_share() {
    let device = gpu();
    let kernel = add_kernel(&device);
    let (first, second) = (device.new_stream().unwrap(), device.new_stream().unwrap());
    let n = 4096;
    let x = device.tensor_from(&ramp(n), [n]).unwrap();
    let mut a = device.zeros([n]).unwrap();
    let mut b = device.zeros([n]).unwrap();
    for round in 0..50 {
        add(&kernel, &first, &x, &mut a, round as f32, 300).unwrap();
        add(&kernel, &second, &a, &mut b, 1.0, 0).unwrap(); // read after write
        add(&kernel, &first, &x, &mut a, -5.0, 0).unwrap(); // write after read
        if round % 10 == 9 {
            same(&b, &plus(round as f32 + 1.0, n));
            same(&a, &plus(-5.0, n));
        }
    }
    let mut copy = device.empty([n]).unwrap();
    copy.copy_from_tensor(&second, &a).unwrap();
    same(&copy, &plus(-5.0, n));
}

#[test]
fn several_threads_launch_at_once() {
    let device = gpu();
    let kernel = add_kernel(&device);
    let n = 5000;
    let x = device.tensor_from(&ramp(n), [n]).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (device, kernel, x) = (&device, &kernel, &x);
            scope.spawn(move || {
                let on = if thread == 0 {
                    device.stream()
                } else {
                    device.new_stream().unwrap()
                };
                for i in 0..200 {
                    let mut out = device.empty([n]).unwrap();
                    let by = (thread * 1000 + i) as f32;
                    add(kernel, &on, x, &mut out, by, 0).unwrap();
                    if i % 20 == 0 {
                        same(&out, &plus(by, n));
                    }
                }
            });
        }
    });
}

/// Invariant: a launch is right whichever context the thread has made current, and none.
#[test]
fn a_launch_finds_its_own_context() {
    let device = gpu();
    let kernel = add_kernel(&device);
    let n = 1000;
    let x = device.tensor_from(&ramp(n), [n]).unwrap();
    let mut out = device.zeros([n]).unwrap();
    let on = device.new_stream().unwrap();
    let mut other = null_mut();
    // SAFETY: a context of the same device, destroyed below; nothing is made in it.
    let made = unsafe { sys::cuCtxCreate_v4(&raw mut other, null_mut(), 0, 0) };
    assert_eq!(made, sys::CUresult::CUDA_SUCCESS);
    for (i, current) in [other, null_mut(), other].into_iter().enumerate() {
        for stream in [&on, &device.stream()] {
            // SAFETY: alive, or none.
            unsafe { sys::cuCtxSetCurrent(current) };
            let by = i as f32;
            add(&kernel, stream, &x, &mut out, by, 0).unwrap();
            same(&out, &plus(by, n));
        }
    }
    // SAFETY: made above, used by nobody.
    unsafe { sys::cuCtxDestroy_v2(other) };
}

#[test]
fn a_captured_graph_replays_on_any_stream() {
    let device = gpu();
    let on = device.new_stream().unwrap();
    let n = 1000;
    let x = device.tensor_from(&ramp(n), [n]).unwrap();
    let mut a = device.zeros([n]).unwrap();
    let mut b = device.zeros([n]).unwrap();
    let mut graph = on
        .capture(|on| {
            let kernel = add_kernel(&device); // loading inside a capture is allowed
            let passing = device.tensor_from(&ramp(n), [n])?; // so is this, on another stream
            add(&kernel, on, &passing, &mut a, 1.0, 0)?;
            for _ in 0..3 {
                add(&kernel, on, &a, &mut b, 2.0, 0)?;
            }
            Ok(())
        })
        .unwrap();
    same(&b, &vec![0.0; n]);
    for stream in [&on, &device.stream(), &device.new_stream().unwrap()] {
        b.copy_from(&vec![0.0; n]).unwrap();
        graph.launch(stream).unwrap();
        same(&b, &plus(3.0, n));
    }
    drop((x, a, b));
    graph.launch(&on).unwrap();
    drop(graph);
    on.synchronize().unwrap();
    assert_eq!(
        on.capture(|on| on.synchronize()).unwrap_err().code(),
        Code::InCapture
    );
    on.synchronize().unwrap();
}

#[test]
fn a_borrowed_stream_and_foreign_memory_are_used_and_left_alone() {
    let device = gpu();
    let kernel = add_kernel(&device);
    let n = 777;
    let mut theirs = null_mut();
    let mut memory = 0;
    // SAFETY: the context is current (the kernel was just loaded); the handles are given back below.
    unsafe {
        assert_eq!(
            sys::cuStreamCreate(&raw mut theirs, 1),
            sys::CUresult::CUDA_SUCCESS
        );
        assert_eq!(
            sys::cuMemAlloc_v2(&raw mut memory, 4 * n),
            sys::CUresult::CUDA_SUCCESS
        );
    }
    let x = device.tensor_from(&ramp(n), [n]).unwrap();
    {
        // SAFETY: stream and memory outlive this block.
        let on =
            unsafe { interop::borrow_stream(&device, theirs.expose_provenance() as u64) }.unwrap();
        assert_eq!(on.raw(), theirs.expose_provenance() as u64);
        // SAFETY: as above.
        let mut out: Tensor<f32, 1> =
            unsafe { interop::tensor_from_raw_parts(&device, memory, [n], [1]) };
        assert_eq!(out.address(), memory);
        add(&kernel, &on, &x, &mut out, 4.0, 500).unwrap();
        let mut next = device.zeros([n]).unwrap();
        add(&kernel, &device.stream(), &out, &mut next, 1.0, 0).unwrap();
        same(&next, &plus(5.0, n));
    }
    // SAFETY: still ours to use and to give back; a failure would mean it was given back already.
    unsafe {
        assert_eq!(
            sys::cuStreamSynchronize(theirs),
            sys::CUresult::CUDA_SUCCESS
        );
        assert_eq!(sys::cuStreamDestroy_v2(theirs), sys::CUresult::CUDA_SUCCESS);
        assert_eq!(sys::cuMemFree_v2(memory), sys::CUresult::CUDA_SUCCESS);
    }
}

static SCALE: Artifact = Artifact {
    kernel: "scale",
    instance: "scale<f32>",
    entry: "scale",
    target: target::ROWS[0].name,
    ptx: include_str!("ptx/scale.ptx"),
    threads: [32, 1, 1],
    cluster: 1,
    dynamic_shared: 0,
    params: &[
        Param {
            name: "x",
            kind: ParamKind::Tensor {
                dtype: DType::F32,
                rank: 2,
                writes: false,
                strided: false,
                align: 4,
            },
        },
        Param {
            name: "out",
            kind: ParamKind::Tensor {
                dtype: DType::F32,
                rank: 2,
                writes: true,
                strided: true,
                align: 4,
            },
        },
        Param {
            name: "by",
            kind: ParamKind::Scalar(DType::F32),
        },
        Param {
            name: "workspace",
            kind: ParamKind::Tensor {
                dtype: DType::F32,
                rank: 1,
                writes: true,
                strided: false,
                align: 4,
            },
        },
    ],
    hidden: &[],
    usage: Usage {
        registers: 32,
        shared: 0,
        barriers: 0,
        threads: 32,
        blocks_per_sm: 32,
    },
    deny_spills: true,
    dependent_launch: false,
    report: "",
    fingerprint: 0,
    source: ("scale.rs", 1),
};

#[test]
fn an_artefact_gets_its_arguments_in_the_order_it_declares() {
    let device = gpu();
    let loaded = load(&device, &SCALE).unwrap();
    println!("{loaded:?}");
    assert!(loaded.within_bound());
    let (rows, columns) = (5, 7);
    let x = device
        .tensor_from(&ramp(rows * columns), [rows, columns])
        .unwrap();
    let out = device.zeros::<f32, 2>([columns, rows]).unwrap();
    let mut transposed = out.transpose();
    let on = device.stream();
    {
        let mut call = Call::new(&on, &SCALE).unwrap();
        call.tensor(0, &x)
            .unwrap()
            .tensor_mut(1, &mut transposed)
            .unwrap()
            .scalar(2, 2.0f32)
            .unwrap();
        call.workspace(3, &[64]).unwrap();
        call.grid([rows as u64, 1, 1]).unwrap().launch().unwrap();
    }
    let twice: Vec<f32> = ramp(rows * columns).iter().map(|v| 2.0 * v).collect();
    assert_eq!(transposed.to_vec().unwrap(), twice);
    assert_ne!(out.to_vec().unwrap(), twice);
}

#[test]
fn large_dynamic_shared_memory_is_granted_and_too_much_is_refused() {
    let device = gpu();
    let source = |bytes| {
        let params = [
            RawParam::output::<u32>("out"),
            RawParam::value::<u32>("last"),
        ];
        Kernel::from_ptx(include_str!("ptx/shared.ptx"), "shared", params)
            .threads([32, 1, 1])
            .dynamic_shared(bytes)
            .load(&device)
    };
    let bytes = 96 * 1024;
    let kernel = source(bytes).unwrap();
    let mut out = device.zeros::<u32, 1>([32]).unwrap();
    let on = device.stream();
    {
        let mut call = Call::raw(&on, &kernel).unwrap();
        call.tensor_mut(0, &mut out)
            .unwrap()
            .scalar(1, bytes - 128)
            .unwrap()
            .launch()
            .unwrap();
    }
    let expected: Vec<u32> = (0..32).map(|i| i ^ 1).collect();
    assert_eq!(out.to_vec().unwrap(), expected);
    assert_eq!(source(1 << 20).unwrap_err().code(), Code::Shared);
}

#[test]
fn clusters_and_early_launch_reach_the_driver() {
    let device = gpu();
    if device.capability().0 < 9 {
        println!("skipped: no clusters on {device}");
        return;
    }
    for (cluster, dependent) in [(1, false), (2, false), (4, true), (8, true), (16, false)] {
        let kernel = Kernel::from_ptx(
            include_str!("ptx/cluster.ptx"),
            "cluster",
            [RawParam::output::<u32>("out")],
        )
        .cluster(cluster)
        .dependent_launch(dependent)
        .load(&device)
        .unwrap();
        let mut out = device.zeros::<u32, 1>([32]).unwrap();
        let on = device.stream();
        for _ in 0..3 {
            let mut call = Call::raw(&on, &kernel).unwrap();
            call.tensor_mut(0, &mut out)
                .unwrap()
                .grid([16, 1, 1])
                .unwrap()
                .launch()
                .unwrap();
        }
        let expected: Vec<u32> = (0..16)
            .flat_map(|block| [cluster, block % cluster])
            .collect();
        assert_eq!(out.to_vec().unwrap(), expected, "cluster of {cluster}");
    }
}

static SPILL: Artifact = Artifact {
    instance: "spill<f32>",
    entry: "spill",
    ptx: include_str!("ptx/spill.ptx"),
    params: &[Param {
        name: "out",
        kind: ParamKind::Scalar(DType::U64),
    }],
    hidden: &[],
    ..SCALE
};
static NO_ENTRY: Artifact = Artifact {
    instance: "nothing<f32>",
    entry: "nothing",
    ..SPILL
};
static BROKEN: Artifact = Artifact {
    instance: "broken<f32>",
    ptx: include_str!("ptx/broken.ptx"),
    ..SPILL
};
static NUL: Artifact = Artifact {
    instance: "nul<f32>",
    ptx: ".version 7.8\0",
    ..SPILL
};

#[test]
fn what_the_device_refuses_is_a_typed_error_with_its_words() {
    let device = gpu();
    let spills = load(&device, &SPILL).unwrap_err();
    println!("{spills}");
    assert_eq!(spills.code(), Code::Spills);
    let none = load(&device, &NO_ENTRY).unwrap_err();
    println!("{none}");
    assert_eq!(none.code(), Code::NoEntry);
    let broken = load(&device, &BROKEN).unwrap_err();
    println!("{broken}");
    assert!(
        broken.code() == Code::Refused && broken.to_string().contains("line"),
        "{broken}"
    );
    assert_eq!(load(&device, &NUL).unwrap_err().code(), Code::Refused);
    // A target above the device's is refused by the driver with a readable log.
    let newer = Kernel::from_ptx(include_str!("ptx/newer.ptx"), "newer", [])
        .load(&device)
        .unwrap_err();
    println!("{newer}");
    assert_eq!(newer.code(), Code::Refused);
    let huge = device.zeros::<f32, 1>([1 << 40]).unwrap_err();
    println!("{huge}");
    assert_eq!(huge.code(), Code::OutOfMemory);
    let far = Device::cuda(1000).unwrap_err();
    println!("{far}");
    assert_eq!(far.code(), Code::NoDevice);
    // A block that the kernel's own `.reqntid` forbids: the driver's answer names the kernel.
    let kernel = Kernel::from_ptx(ADD, "add", add_params())
        .threads([64, 1, 1])
        .load(&device)
        .unwrap();
    let x = device.zeros([4]).unwrap();
    let mut out = device.zeros([4]).unwrap();
    let wrong = add(&kernel, &device.stream(), &x, &mut out, 1.0, 0).unwrap_err();
    println!("{wrong}");
    assert!(
        wrong.code() == Code::Driver && wrong.to_string().contains("`add`"),
        "{wrong}"
    );
    // Parameters that the entry does not declare like this: too few, too many, another width.
    let mut odd = [add_params(), add_params(), add_params()];
    odd[0].pop();
    odd[1].push(RawParam::value::<u32>("more"));
    odd[2][4] = RawParam::value::<u64>("spin");
    for params in odd {
        let wrong = Kernel::from_ptx(ADD, "add", params)
            .load(&device)
            .unwrap_err();
        println!("{wrong}");
        assert_eq!(wrong.code(), Code::Parameters);
    }
    // And after all that the device still works.
    a_launch_gives_the_right_values();
}

#[test]
fn default_device_obeys_the_names() {
    assert_eq!(Device::named("cuda:0").unwrap(), gpu());
    assert_eq!(gpu().kind(), Kind::Gpu(0));
}

/// A kernel that breaks takes its process's context with it, so this runs in a process of its own.
#[test]
fn zz_a_fault_is_reported_when_the_result_is_asked_for() {
    const CHILD: &str = "TIKI_TEST_FAULT";
    if std::env::var_os(CHILD).is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["zz_a_fault_is_reported", "--nocapture", "--test-threads=1"])
            .env(CHILD, "1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let device = gpu();
    let kernel = Kernel::from_ptx(
        include_str!("ptx/fault.ptx"),
        "fault",
        [RawParam::output::<u32>("out")],
    )
    .load(&device)
    .unwrap();
    let on = device.stream();
    let mut out = device.zeros::<u32, 1>([1]).unwrap();
    Call::raw(&on, &kernel)
        .unwrap()
        .tensor_mut(0, &mut out)
        .unwrap()
        .launch()
        .unwrap();
    let fault = on.synchronize().unwrap_err();
    println!("{fault}");
    assert_eq!(fault.code(), Code::Fault);
    assert_eq!(out.to_vec().unwrap_err().code(), Code::Fault);
}
