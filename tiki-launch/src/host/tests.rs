//! Whole launches on the virtual machine, with the texts that the driver's tests give to a GPU.

use tiki_kernel::artifact::{Artifact, Param, ParamKind, Usage};
use tiki_kernel::dtype::DType;
use tiki_kernel::target::{self, Target};

use crate::bench::Bench;
use crate::codes::Code;
use crate::{Call, Device, Kernel, Kind, LaunchError, RawParam, Stream, Tensor, load};

const ADD: &str = include_str!("../gpu/driver/ptx/add.ptx");

fn add_kernel(device: &Device) -> Kernel {
    let params = [
        RawParam::input::<f32>("x"),
        RawParam::output::<f32>("out"),
        RawParam::value::<u32>("n"),
        RawParam::value::<f32>("by"),
        RawParam::value::<u32>("spin"),
    ];
    Kernel::from_ptx(ADD, "add", params)
        .threads([128, 1, 1])
        .load(device)
        .unwrap()
}

fn add(
    kernel: &Kernel,
    on: &Stream,
    x: &Tensor<f32, 1>,
    out: &mut Tensor<f32, 1>,
    n: usize,
) -> Result<(), LaunchError> {
    let mut call = Call::raw(on, kernel)?;
    call.tensor(0, x)?
        .tensor_mut(1, out)?
        .scalar(2, n as u32)?
        .scalar(3, 0.5f32)?
        .scalar(4, 2u32)?;
    call.grid([x.len().div_ceil(128) as u64, 1, 1])?.launch()
}

fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32).collect()
}

#[test]
fn a_launch_gives_the_right_values() {
    let device = Device::vm().unwrap();
    assert_eq!(device.kind(), Kind::Vm);
    let kernel = add_kernel(&device);
    for n in [1, 127, 128, 129, 1000] {
        let x = device.tensor_from(&ramp(n), [n]).unwrap();
        let mut out = device.zeros([n]).unwrap();
        add(&kernel, &device.stream(), &x, &mut out, n).unwrap();
        let expected: Vec<f32> = ramp(n).iter().map(|x| x + 0.5).collect();
        assert_eq!(out.to_vec().unwrap(), expected);
    }
}

#[test]
fn an_access_outside_its_tensor_is_a_fault_with_its_place() {
    let device = Device::vm().unwrap();
    let kernel = add_kernel(&device);
    let x = device.tensor_from(&ramp(100), [100]).unwrap();
    let mut out = device.zeros([100]).unwrap();
    let error = add(&kernel, &device.stream(), &x, &mut out, 120).unwrap_err();
    assert_eq!(error.code(), Code::Fault);
    let text = error.to_string();
    assert!(
        text.contains("running kernel `add`") && text.contains("lanes"),
        "{text}"
    );
    let LaunchError::Fault {
        fault: Some(fault), ..
    } = error
    else {
        panic!("{text}")
    };
    assert_eq!((fault.block, fault.kernel.as_str()), ([0; 3], "add"));
    assert!(
        ADD.lines()
            .nth(fault.ptx_line as usize - 1)
            .unwrap()
            .contains("[%rd3]"),
        "{text}"
    );
    // The device goes on.
    add(&kernel, &device.stream(), &x, &mut out, 100).unwrap();
}

static SCALE: Artifact = Artifact {
    kernel: "scale",
    instance: "scale<f32>",
    entry: "scale",
    target: target::ROWS[0].name,
    ptx: include_str!("../gpu/driver/ptx/scale.ptx"),
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
static NEWEST: Artifact = Artifact {
    target: target::ROWS[target::ROWS.len() - 1].name,
    ..SCALE
};

fn scale(
    on: &Stream,
    x: &Tensor<f32, 2>,
    out: &mut Tensor<f32, 2>,
    by: f32,
) -> Result<(), LaunchError> {
    let mut call = Call::new(on, &SCALE)?;
    call.tensor(0, x)?.tensor_mut(1, out)?.scalar(2, by)?;
    call.workspace(3, &[64])?;
    call.grid([x.dim(0) as u64, 1, 1])?.launch()
}

#[test]
fn an_artefact_gets_its_arguments_in_the_order_it_declares() {
    let device = Device::vm().unwrap();
    let x = device.tensor_from(&ramp(35), [5, 7]).unwrap();
    let mut transposed = device.zeros::<f32, 2>([7, 5]).unwrap().transpose();
    scale(&device.stream(), &x, &mut transposed, 2.0).unwrap();
    assert_eq!(
        transposed.to_vec().unwrap(),
        ramp(35).iter().map(|v| 2.0 * v).collect::<Vec<_>>()
    );
}

#[test]
fn a_graph_notes_launches_copies_and_clears() {
    let device = Device::vm().unwrap();
    let on = device.new_stream().unwrap();
    let x = device.tensor_from(&ramp(6), [2, 3]).unwrap();
    let mut a = device.zeros::<f32, 2>([2, 3]).unwrap();
    let mut b = device.zeros([2, 3]).unwrap();
    let mut graph = on
        .capture(|on| {
            scale(on, &x, &mut a, 3.0)?;
            b.copy_from_tensor(on, &a)
        })
        .unwrap();
    assert_eq!(b.to_vec().unwrap(), [0.0; 6]);
    for _ in 0..2 {
        b.copy_from(&[0.0; 6]).unwrap();
        graph.launch(&device.stream()).unwrap();
        assert_eq!(b.to_vec().unwrap(), [0.0, 3.0, 6.0, 9.0, 12.0, 15.0]);
    }
}

#[test]
fn dynamic_shared_memory_is_granted_and_too_much_is_refused() {
    let device = Device::vm().unwrap();
    let source = |bytes| {
        let params = [
            RawParam::output::<u32>("out"),
            RawParam::value::<u32>("last"),
        ];
        Kernel::from_ptx(
            include_str!("../gpu/driver/ptx/shared.ptx"),
            "shared",
            params,
        )
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
    assert_eq!(
        out.to_vec().unwrap(),
        (0..32).map(|i| i ^ 1).collect::<Vec<u32>>()
    );
    assert_eq!(source(1 << 20).unwrap_err().code(), Code::Shared);
}

#[test]
fn what_the_machine_refuses_is_a_typed_error() {
    let device = Device::vm().unwrap();
    let broken =
        Kernel::from_ptx(include_str!("../gpu/driver/ptx/broken.ptx"), "add", []).load(&device);
    let text = broken.unwrap_err().to_string();
    assert!(
        text.starts_with("[TL007]") && text.contains("line 5"),
        "{text}"
    );
    assert_eq!(
        Kernel::from_ptx(ADD, "sub", [])
            .load(&device)
            .unwrap_err()
            .code(),
        Code::NoEntry
    );
    let few = Kernel::from_ptx(ADD, "add", [RawParam::input::<f32>("x")])
        .load(&device)
        .unwrap_err();
    assert!(
        few.to_string().contains("parameter 1") && few.code() == Code::Parameters,
        "{few}"
    );
    let older = Device::vm_of(Target::default_target()).unwrap();
    assert_eq!(load(&older, &NEWEST).unwrap_err().code(), Code::WrongTarget);
    assert_eq!(
        device.zeros::<f32, 1>([1 << 44]).unwrap_err().code(),
        Code::OutOfMemory
    );
}

#[test]
fn names_open_machines_and_time_passes_on_them() {
    let device = Device::named("vm").unwrap();
    assert!(Target::all().all(|t| device.runs(t)));
    for target in Target::all() {
        let device = Device::named(&format!("vm:{target}")).unwrap();
        assert!(device.runs(target) && device.name().contains(target.name()));
    }
    let kernel = add_kernel(&device);
    let x = device.tensor_from(&ramp(1000), [1000]).unwrap();
    let mut out = device.zeros([1000]).unwrap();
    let bench = Bench {
        warm_up: 1,
        samples: 3,
        repeat: 2,
    };
    let times = bench
        .run(&device.stream(), || {
            add(&kernel, &device.stream(), &x, &mut out, 1000)
        })
        .unwrap();
    assert!(times.all().len() == 3 && times.min() > 0.0, "{times:?}");
}
