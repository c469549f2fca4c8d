//! Launches on the test double.

pub(crate) mod maps;

use tiki_kernel::artifact::{Artifact, Param, ParamKind, Usage};
use tiki_kernel::dtype::DType;
use tiki_kernel::target;

use super::Call;
use crate::codes::Code;
use crate::double;
use crate::error::LaunchError;
use crate::kernel::{Kernel, RawParam, load};
use crate::machine::Kind;
use crate::{Device, Stream, Tensor};

const fn vector(name: &'static str, writes: bool, align: u32) -> Param {
    Param {
        name,
        kind: ParamKind::Tensor {
            dtype: DType::F32,
            rank: 1,
            writes,
            strided: false,
            align,
        },
    }
}

pub(crate) const BLANK: Artifact = Artifact {
    kernel: "blank",
    instance: "blank<f32>",
    entry: "blank",
    target: target::ROWS[0].name,
    ptx: "",
    threads: [128, 1, 1],
    cluster: 1,
    dynamic_shared: 0,
    params: &[],
    hidden: &[],
    usage: Usage {
        registers: 32,
        shared: 0,
        barriers: 0,
        threads: 128,
        blocks_per_sm: 16,
    },
    deny_spills: false,
    dependent_launch: false,
    report: "",
    fingerprint: 0,
    source: ("kernels.rs", 1),
};

static ADD: Artifact = Artifact {
    instance: "add<f32>",
    entry: "add",
    params: &[
        vector("x", false, 16),
        vector("out", true, 4),
        Param {
            name: "by",
            kind: ParamKind::Scalar(DType::F32),
        },
    ],
    ..BLANK
};

fn add(
    stream: &Stream,
    x: &Tensor<f32, 1>,
    out: &mut Tensor<f32, 1>,
    by: f32,
) -> Result<(), LaunchError> {
    let grid = [x.dim(0) as u64, 1, 1];
    let (n, m) = (x.dim(0), out.dim(0));
    let mut call = Call::new(stream, &ADD)?;
    call.tensor(0, x)?.tensor_mut(1, out)?.scalar(2, by)?;
    call.fact(n == m, "x.dim(0) == out.dim(0)", || {
        vec![
            ("x.dim(0)", Some(n.to_string())),
            ("out.dim(0)", Some(m.to_string())),
        ]
    })?;
    call.grid(grid)?;
    call.launch()
}

fn setup() -> (Device, double::Double, Tensor<f32, 1>) {
    let (device, double) = double::device();
    let x = device.tensor_from(&[1.0f32, 2.0, 3.0, 4.0], [4]).unwrap();
    (device, double, x)
}

#[test]
fn a_launch_runs_and_its_result_comes_back() {
    let (device, double, x) = setup();
    let mut out = device.zeros([4]).unwrap();
    add(&device.stream(), &x, &mut out, 0.5).unwrap();
    assert_eq!(out.to_vec().unwrap(), [1.5, 2.5, 3.5, 4.5]);
    add(&device.stream(), &x, &mut out, 1.0).unwrap();
    assert_eq!(out.to_vec().unwrap(), [2.0, 3.0, 4.0, 5.0]);
    assert_eq!((double.counts().loads, double.counts().launches), (1, 2));
    assert_eq!(double.counts().records, 0, "one stream needs no event");
}

#[test]
fn the_drivers_part_is_timed_by_launching_as_often() {
    let (device, double, x) = setup();
    let stream = device.stream();
    let mut out = device.zeros::<f32, 1>([4]).unwrap();
    let mut call = Call::new(&stream, &ADD).unwrap();
    call.tensor(0, &x).unwrap().tensor_mut(1, &mut out).unwrap();
    call.scalar(2, 0.5f32).unwrap().grid([4, 1, 1]).unwrap();
    assert!(call.driver_time(3).unwrap() > std::time::Duration::ZERO);
    call.launch().unwrap();
    assert_eq!(double.counts().launches, 4);
    call.grid([0, 1, 1]).unwrap();
    assert_eq!(call.driver_time(3).unwrap(), std::time::Duration::ZERO);
    assert_eq!(double.counts().launches, 4);
    drop(call);
    assert_eq!(out.to_vec().unwrap(), [1.5, 2.5, 3.5, 4.5]);
}

#[test]
fn an_empty_grid_checks_everything_and_launches_nothing() {
    let (device, double, _) = setup();
    let x = device.zeros::<f32, 1>([0]).unwrap();
    let mut out = device.zeros([0]).unwrap();
    add(&device.stream(), &x, &mut out, 1.0).unwrap();
    assert_eq!((double.counts().loads, double.counts().launches), (0, 0));
    assert!(out.to_vec().unwrap().is_empty());
    let mut wrong = device.zeros([3]).unwrap();
    assert_eq!(
        add(&device.stream(), &x, &mut wrong, 1.0)
            .unwrap_err()
            .code(),
        Code::Fact
    );
}

fn words(error: impl Into<LaunchError>, code: Code, parts: &[&str]) {
    let error = error.into();
    let text = error.to_string();
    assert_eq!(error.code(), code, "{text}");
    assert!(text.starts_with(&format!("[{}] ", code.as_str())), "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` in `{text}`");
    }
}

#[test]
fn every_wrong_argument_is_named_with_its_numbers() {
    let (device, double, x) = setup();
    let stream = device.stream();
    let mut out = device.zeros::<f32, 1>([4]).unwrap();

    let mut longer = device.zeros([5]).unwrap();
    let fact = add(&stream, &x, &mut longer, 0.0).unwrap_err();
    words(
        fact,
        Code::Fact,
        &[
            "add<f32>",
            "x.dim(0) == out.dim(0)",
            "but `x.dim(0)` is 4 and `out.dim(0)` is 5",
        ],
    );

    let half = device.zeros::<half::f16, 1>([4]).unwrap();
    let matrix = device.zeros::<f32, 2>([2, 2]).unwrap();
    let call = || Call::new(&stream, &ADD).unwrap();
    words(
        call().tensor(0, &half).unwrap_err(),
        Code::ArgumentType,
        &["`x`", "f32", "f16"],
    );
    words(
        call().tensor(0, &matrix).unwrap_err(),
        Code::ArgumentType,
        &["rank 1", "rank 2"],
    );
    let input_only = call().tensor(0, &x).unwrap().tensor(1, &x).unwrap_err();
    words(
        input_only,
        Code::ArgumentType,
        &["`out`", "a mutable tensor"],
    );
    {
        let mut call = call();
        call.tensor(0, &x).unwrap().tensor_mut(1, &mut out).unwrap();
        words(
            call.launch().unwrap_err(),
            Code::Arguments,
            &["this call gives 2"],
        );
        let again = call.tensor(1, &x).unwrap_err();
        words(again, Code::Arguments, &["3 parameters, given in order"]);
        words(
            call.scalar(2, 1u32).unwrap_err(),
            Code::ArgumentType,
            &["`by`", "a value of type u32"],
        );
    }

    let odd = x.slice(0, 1..4).unwrap();
    words(
        add(&stream, &odd, &mut out, 0.0).unwrap_err(),
        Code::Misaligned,
        &["`x`", "multiple of 16", "4 past"],
    );
    let column = device
        .zeros::<f32, 2>([4, 3])
        .unwrap()
        .transpose()
        .at::<1, 1>([0])
        .unwrap();
    words(
        add(&stream, &column, &mut out, 0.0).unwrap_err(),
        Code::NotContiguous,
        &["`x`", "shape [4]", "needs strides [1]", "has [3]"],
    );
    let mut same = x.view();
    words(
        add(&stream, &x, &mut same, 0.0).unwrap_err(),
        Code::Overlap,
        &["`out`", "argument `x`"],
    );

    let (elsewhere, _) = double::device();
    let far = elsewhere.zeros([4]).unwrap();
    words(
        add(&stream, &far, &mut out, 0.0).unwrap_err(),
        Code::OtherDevice,
        &["`x`", "a test double"],
    );

    words(
        call().grid([1, 65_536, 1]).unwrap_err(),
        Code::Grid,
        &["[1, 65536, 1]", "65535"],
    );
    assert_eq!(double.counts().launches, 0);
}

#[test]
fn halves_of_one_buffer_may_be_input_and_output() {
    let (device, _, _) = setup();
    let whole = device
        .tensor_from(&[1.0f32, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0], [8])
        .unwrap();
    let mut high = whole.slice(0, 4..8).unwrap();
    add(
        &device.stream(),
        &whole.slice(0, 0..4).unwrap(),
        &mut high,
        10.0,
    )
    .unwrap();
    assert_eq!(
        whole.to_vec().unwrap(),
        [1.0, 2.0, 3.0, 4.0, 11.0, 12.0, 13.0, 14.0]
    );
}

static STRIDED: Artifact = Artifact {
    instance: "strided<f32>",
    entry: "strided",
    params: &[Param {
        name: "out",
        kind: ParamKind::Tensor {
            dtype: DType::F32,
            rank: 2,
            writes: true,
            strided: true,
            align: 4,
        },
    }],
    cluster: 2,
    ..BLANK
};

#[test]
fn a_strided_parameter_takes_extents_then_strides() {
    let (device, _, _) = setup();
    let stream = device.stream();
    let mut view = device.zeros::<f32, 2>([3, 5]).unwrap().transpose();
    let address = view.address();
    let mut call = Call::new(&stream, &STRIDED).unwrap();
    call.tensor_mut(0, &mut view).unwrap();
    assert_eq!(call.args.words(), [address, 5, 3, 1, 5]);
    assert_eq!(
        crate::kernel::widths(call.params, &[], false),
        [8, 4, 4, 8, 8]
    );
    words(
        call.grid([3, 1, 1]).unwrap_err(),
        Code::Grid,
        &["multiple of its cluster of 2"],
    );

    let mut broadcast = Tensor::over(
        crate::buffer::Buffer::foreign(&device, address),
        [3, 5],
        [0, 1],
    );
    let mut call = Call::new(&stream, &STRIDED).unwrap();
    let error = call.tensor_mut::<f32, 2>(0, &mut broadcast).unwrap_err();
    words(error, Code::Overlap, &["several of its coordinates"]);
}

static NEWER: Artifact = Artifact {
    instance: "newer<f32>",
    target: target::ROWS[1].name,
    ..BLANK
};
static SPILLS: Artifact = Artifact {
    instance: "spills<f32>",
    entry: "spills",
    deny_spills: true,
    ..BLANK
};
static MISSING: Artifact = Artifact {
    instance: "missing<f32>",
    entry: "missing",
    ..BLANK
};
static REFUSED: Artifact = Artifact {
    instance: "refused<f32>",
    ptx: "nonsense",
    ..BLANK
};

#[test]
fn loading_errors_are_typed_and_loading_facts_are_kept() {
    let (device, double, _) = setup();
    let stream = device.stream();
    words(
        Call::new(&stream, &NEWER).unwrap_err(),
        Code::WrongTarget,
        &["newer<f32>", NEWER.target, "8.0"],
    );
    words(
        load(&device, &SPILLS).unwrap_err(),
        Code::Spills,
        &["24 registers", "8 bytes"],
    );
    assert_eq!((double.counts().loads, double.counts().unloads), (1, 1));
    words(
        load(&device, &MISSING).unwrap_err(),
        Code::NoEntry,
        &["no entry `missing`"],
    );
    let refused = load(&device, &REFUSED).unwrap_err();
    // The driver's words are in the message: a chain of causes would say them twice.
    assert!(std::error::Error::source(&refused).is_none());
    words(
        refused,
        Code::Refused,
        &["refused<f32>", "line 1: nonsense"],
    );
    let loaded = load(&device, &ADD).unwrap();
    assert_eq!(
        (loaded.registers, loaded.bound, loaded.within_bound()),
        (24, 32, true)
    );
}

static COUNT: Artifact = Artifact {
    instance: "count<f32>",
    entry: "count",
    params: &[vector("out", true, 4), vector("state", true, 4)],
    ..BLANK
};
fn count(stream: &Stream, numbers: usize, out: &mut Tensor<f32, 1>) {
    let mut call = Call::new(stream, &COUNT).unwrap();
    call.tensor_mut(0, out).unwrap();
    call.workspace(1, &[numbers]).unwrap();
    call.launch().unwrap();
}

#[test]
fn a_workspace_is_lent_per_stream_and_zeroed() {
    let (device, double, _) = setup();
    let stream = device.new_stream().unwrap();
    let mut out = device.zeros([1]).unwrap();
    for _ in 0..2 {
        count(&stream, 16, &mut out);
        assert_eq!(out.to_vec().unwrap(), [1.0]);
    }
    let bytes = double.counts().live_bytes;
    count(&stream, 8, &mut out);
    assert_eq!(double.counts().live_bytes, bytes, "the same memory");
    count(&stream, 32, &mut out);
    double.run_all();
    assert_eq!(double.counts().live_bytes, bytes + 64, "a larger piece");
    let counted = || device.memory().held as usize;
    assert_eq!(counted(), bytes + 64, "what is lent counts");
    drop(stream);
    double.run_all();
    assert_eq!(double.counts().live_bytes, bytes - 64);
    assert_eq!(counted(), bytes - 64);
}

#[test]
fn a_workspace_that_cannot_be_is_refused() {
    let (device, _, _) = setup();
    let stream = device.new_stream().unwrap();
    let mut out = device.zeros::<f32, 1>([1]).unwrap();
    let mut refused = |shape: &[usize]| {
        let mut call = Call::new(&stream, &COUNT).unwrap();
        call.tensor_mut(0, &mut out).unwrap();
        call.workspace(1, shape).unwrap_err()
    };
    words(refused(&[usize::MAX]), Code::Extent, &["state"]);
    words(refused(&[2, 2]), Code::ArgumentType, &["state", "rank 2"]);
}

#[test]
fn a_graph_replays_with_memory_of_its_own() {
    let (device, double, x) = setup();
    let stream = device.new_stream().unwrap();
    let other = device.new_stream().unwrap();
    let mut out = device.zeros::<f32, 1>([4]).unwrap();
    let mut counted = device.zeros([1]).unwrap();
    let kernel = Kernel::from_ptx(
        "",
        "bare",
        [
            RawParam::input::<f32>("x"),
            RawParam::output::<f32>("out"),
            RawParam::value::<f32>("by"),
        ],
    )
    .load(&device)
    .unwrap();
    let mut graph = stream
        .capture(|stream| {
            add(stream, &x, &mut out, 1.0)?;
            count(stream, 8, &mut counted);
            count(stream, 16, &mut counted);
            // What the graph uses may go.
            let passing = x.view();
            let mut more = out.view();
            let mut call = Call::raw(stream, &kernel)?;
            call.tensor(0, &passing)?
                .tensor_mut(1, &mut more)?
                .scalar(2, 2.0f32)?
                .grid([2, 1, 1])?;
            call.launch()
        })
        .unwrap();
    drop(kernel);
    assert_eq!(double.counts().unloads, 0, "the graph holds the code");
    assert_eq!(out.to_vec().unwrap(), [0.0; 4], "nothing ran yet");
    for stream in [&stream, &other, &stream] {
        out.copy_from(&[0.0; 4]).unwrap();
        graph.launch(stream).unwrap();
        assert_eq!(out.to_vec().unwrap(), [3.0, 4.0, 4.0, 5.0]);
        assert_eq!(counted.to_vec().unwrap(), [1.0]);
    }
    drop((x, out));
    graph.launch(&other).unwrap();
    drop(graph);
    assert_eq!(
        (double.counts().unloads, double.counts().live_graphs),
        (1, 0)
    );
    double.run_all();
}

#[test]
fn a_tensor_dropped_inside_a_capture_is_freed_after_it() {
    let (device, double, x) = setup();
    let stream = device.new_stream().unwrap();
    let mut gone = device.zeros([4]).unwrap();
    let kernel = Kernel::from_ptx("", "bare", []).load(&device).unwrap();
    add(&stream, &x, &mut gone, 1.0).unwrap();
    let graph = stream.capture(|_| {
        drop((gone, kernel));
        assert_eq!(double.counts().unloads, 0);
        Ok(())
    });
    let graph = graph.unwrap();
    assert_eq!((double.counts().frees, double.counts().unloads), (0, 1));
    double.run_all();
    assert_eq!(double.counts().frees, 1);
    drop(graph);
}

#[test]
fn an_absent_optional_argument_is_left_out() {
    let (device, _, x) = setup();
    let stream = device.stream();
    let mut out = device.zeros::<f32, 1>([4]).unwrap();
    {
        // The signature has five arguments; its second and fourth are absent in this instance.
        let mut call = Call::new(&stream, &ADD).unwrap();
        call.tensor(0, &x)
            .unwrap()
            .tensor_mut(2, &mut out)
            .unwrap()
            .scalar(4, 3.0f32)
            .unwrap();
        call.launch().unwrap();
    }
    assert_eq!(out.to_vec().unwrap(), [4.0, 5.0, 6.0, 7.0]);
}

#[test]
fn extents_beyond_32_bits_are_refused() {
    let (device, _, _) = setup();
    let stream = device.stream();
    let address = 0x10_0000;
    let long: Tensor<f32, 1> = Tensor::over(
        crate::buffer::Buffer::foreign(&device, address),
        [1 << 33],
        [1],
    );
    let mut call = Call::new(&stream, &ADD).unwrap();
    let numbers = ["`x`", "extent 8589934592 of axis 0"];
    words(call.tensor(0, &long).unwrap_err(), Code::Extent, &numbers);
}

#[test]
fn a_capture_refuses_what_cannot_be_captured_and_ends_cleanly() {
    let (device, double, x) = setup();
    let stream = device.stream();
    type Attempt<'a> = &'a dyn Fn(&Stream) -> Result<(), LaunchError>;
    let attempts: [Attempt<'_>; 5] = [
        &|_| device.zeros::<f32, 1>([4]).map(drop),
        &|_| x.to_vec().map(drop),
        &|_| x.view().copy_from(&[0.0; 4]),
        &|stream| stream.synchronize(),
        &|stream| stream.capture(|_| Ok(())).map(drop),
    ];
    for attempt in attempts {
        assert_eq!(stream.capture(attempt).unwrap_err().code(), Code::InCapture);
    }
    let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = stream.capture(|_| panic!("in the user's own code"));
    }));
    assert!(broken.is_err());
    assert_eq!(x.to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(double.counts().live_graphs, 0);
}

#[test]
fn several_threads_launch_on_their_own_streams() {
    let (device, double, x) = setup();
    let mut sums: Vec<Tensor<f32, 1>> = (0..4).map(|_| device.zeros([4]).unwrap()).collect();
    std::thread::scope(|scope| {
        for (i, out) in sums.iter_mut().enumerate() {
            let (device, x) = (&device, &x);
            scope.spawn(move || {
                let stream = device.new_stream().unwrap();
                for _ in 0..50 {
                    add(&stream, x, out, i as f32).unwrap();
                }
            });
        }
    });
    for (i, out) in sums.iter().enumerate() {
        assert_eq!(out.to_vec().unwrap(), [1, 2, 3, 4].map(|n| (n + i) as f32));
    }
    assert_eq!(
        (
            double.counts().loads - double.counts().unloads,
            double.counts().launches
        ),
        (1, 200)
    );
}

/// Of 4 multiprocessors with 16 blocks each.
#[test]
fn a_partial_wave_is_refused_where_there_are_waves() {
    let (device, ..) = double::device_of(Kind::Gpu(0));
    let stream = device.stream();
    let waves = |grid| -> Result<(), LaunchError> {
        Call::new(&stream, &BLANK)?.grid(grid)?.whole_waves()?;
        Ok(())
    };
    for whole in [[64, 1, 1], [16, 4, 2], [0, 1, 1]] {
        waves(whole).unwrap();
    }
    words(
        waves([50, 2, 1]).unwrap_err(),
        Code::PartialWave,
        &[
            "blank<f32>",
            "its 100 blocks 36",
            "4 multiprocessors hold 64",
        ],
    );
    let (device, ..) = double::device();
    let stream = device.stream();
    let mut call = Call::new(&stream, &BLANK).unwrap();
    call.grid([50, 2, 1]).unwrap().whole_waves().unwrap();
}
