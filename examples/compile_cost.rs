//! What it costs to have a kernel: compiling its text, assembling it, finding it in the cache, launching it.
//!
//! ```text
//! CUDA_CACHE_DISABLE=1 TIKI_CACHE_DIR=FRESH cargo run --release --example compile_cost -- [--launches] [OUT.csv]
//! ```
//!
//! With `--launches`, what a launch costs and nothing else.
//!
//! - `compile`: from the kernel's canonical text, in memory, to PTX: what the macro does while the crate is built,
//!   and `jit` at run time;
//! - `assemble`: from PTX to a function that can be launched, by the toolkit's assembler, with nothing cached (ours is a
//!   fresh folder; the driver's own is switched off by its variable); `driver`: by the driver, where no toolkit is;
//! - `cached`: the same for a process that finds the machine code in our folder;
//! - `launch`: the host's cost of a warm launch of a small kernel;
//! - `launch with maps`: that of a product by the tensor memory accelerator, whose three tensor maps are cached;
//! - `tune, checks`: every candidate of a declared space through the compiler, which refuses some; `tune, measuring`: those that are
//!   left, assembled and measured in turn until each is decided;
//! - `driver alone`: that of the driver's call in either, with nothing round it and the arguments at hand, in blocks of
//!   launches that take turns with blocks of ours. The last column has what ours adds: of medians, and pair by pair.

use std::process::ExitCode;
use std::time::{Duration, Instant};
use tiki::bench::Record;
use tiki::compiler::artifact::Artifact;
use tiki::prelude::*;
use tiki::tune::{Tuner, Verdict};
use tiki::{Device, cache, jit};

#[path = "attention.rs"]
#[allow(dead_code)]
mod attention;
#[path = "attention_hopper.rs"]
#[allow(dead_code)]
mod attention_hopper;
#[path = "gemm.rs"]
#[allow(dead_code)]
mod gemm;
#[path = "rms_norm.rs"]
#[allow(dead_code)]
mod rms_norm;

#[tiki::kernel(threads = 128, grid = [x.dim(0).div_ceil(512)])]
fn scale(x: &Global<f32, 1>, out: &mut Global<f32, 1>, by: f32) {
    let map = ThreadMap::linear(128).vector_up_to(4);
    let at = [block_idx().x];
    out.tile_mut([512], at)
        .store(&x.tile([512], at).load(map).map(|x| x * by));
}

/// The same, with its schedule to be found.
#[tiki::kernel(threads = T, grid = [x.dim(0).div_ceil(4 * T * V)], build((T = 128, V = 4)),
    tune(T = [64, 128, 256, 512, 2048], V = [1, 2, 4]))]
fn scaled<const T: usize, const V: usize>(x: &Global<f32, 1>, out: &mut Global<f32, 1>, by: f32) {
    let map = ThreadMap::linear(T).vector_up_to(V);
    let at = [block_idx().x];
    out.tile_mut([4 * T * V], at)
        .store(&x.tile([4 * T * V], at).load(map).map(|x| x * by));
}

/// Text, and the instance that is built.
fn kernels() -> Vec<(&'static str, &'static Artifact)> {
    use {attention::attention as a, attention_hopper::attention_hopper as h};
    use {gemm::gemm_hopper as g, rms_norm::rms_norm as r};
    vec![
        (scale::TEXT, scale::ARTIFACT),
        (r::<f16, 4096, 256>::TEXT, r::<f16, 4096, 256>::ARTIFACT),
        (
            g::<f16, 128, 256, 64, 4>::TEXT,
            g::<f16, 128, 256, 64, 4>::ARTIFACT,
        ),
        (a::<f16, 128, 64, 64>::TEXT, a::<f16, 128, 64, 64>::ARTIFACT),
        (h::<f16, 128, 128>::TEXT, h::<f16, 128, 128>::ARTIFACT),
    ]
}

fn middle(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

/// The time from text to PTX.
fn compile(text: &'static str, artifact: &Artifact) -> Result<f64, Box<dyn std::error::Error>> {
    let mut times = Vec::new();
    for _ in 0..7 {
        let begun = Instant::now();
        let program = tiki::compiler::ast::parse(text)?;
        let mut sink = tiki::compiler::diag::Sink::new();
        let instances = tiki::compiler::check::instances::run(&program, &mut sink);
        let name = &program.kernel.name.text;
        let title = |i| tiki::compiler::check::instances::title(name, i);
        let instance = instances.iter().find(|i| title(i) == artifact.instance);
        let output = jit::build(&program, instance.ok_or("no such instance")?)?;
        times.push(begun.elapsed());
        assert!(sink.take().is_empty());
        assert_eq!(output.entry, artifact.entry);
    }
    Ok(middle(times))
}

/// Launches of a block: below the depth of the launch queue, so that the host never waits for the device.
const COUNT: u32 = 500;
/// Blocks of either side that count, and those before them that do not.
const BLOCKS: usize = 200;
const WARM_UP: usize = 10;

/// Microseconds of a launch, ours and the driver's call alone, in blocks that take turns; `driver` says what the call
/// alone took.
fn beside(
    stream: &tiki::Stream,
    name: &str,
    what: &str,
    mut ours: impl FnMut() -> Result<(), tiki::LaunchError>,
    mut driver: impl FnMut() -> Result<Duration, tiki::LaunchError>,
    record: &mut Record,
) -> Result<(), tiki::LaunchError> {
    let mut block = |side: usize| -> Result<f64, tiki::LaunchError> {
        let spent = if side == 0 {
            let begun = Instant::now();
            for _ in 0..COUNT {
                ours()?;
            }
            begun.elapsed() / COUNT
        } else {
            driver()?
        };
        stream.synchronize()?;
        Ok(spent.as_secs_f64() * 1e6)
    };
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..WARM_UP + BLOCKS {
        let mut pair = [0.0; 2];
        // Who comes first changes: what a wait leaves behind falls on both.
        for side in [round % 2, 1 - round % 2] {
            pair[side] = block(side)?;
        }
        if round >= WARM_UP {
            times[0].push(pair[0]);
            times[1].push(pair[1]);
        }
    }
    let pairs = times[0].iter().zip(&times[1]);
    let mut ratios: Vec<f64> = pairs.map(|(ours, driver)| ours / driver).collect();
    let tenths = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        [1, 5, 9].map(|tenth| times[(times.len() - 1) * tenth / 10])
    };
    let [ours, alone] = times.each_mut().map(tenths);
    let added = 100.0 * (ours[1] / alone[1] - 1.0);
    let [low, middle, high] = tenths(&mut ratios).map(|ratio| 100.0 * (ratio - 1.0));
    let spread = |t: [f64; 3]| format!("tenths 1 to 9: {:.3} to {:.3} us", t[0], t[2]);
    let adds = format!(
        "{added:+.2}% over the driver alone; pair by pair {low:+.2}, {middle:+.2}, {high:+.2}% (tenths 1, 5, 9); {}; \
         CuTe DSL warm: 11.7 us",
        spread(ours)
    );
    record.row(&[&name, &what, &format!("{:.3}", ours[1]), &adds]);
    let alone_us = format!("{:.3}", alone[1]);
    record.row(&[&name, &"driver alone", &alone_us, &spread(alone)]);
    Ok(())
}

type Product = gemm::gemm_hopper<f16, 128, 256, 64, 4>;

/// A product of one tile and one step: the shortest that the kernel does.
fn maps(
    device: &Device,
    stream: &tiki::Stream,
    record: &mut Record,
) -> Result<(), tiki::LaunchError> {
    let (a, b) = (
        device.zeros::<f16, 2>([128, 64])?,
        device.zeros::<f16, 2>([256, 64])?,
    );
    let mut c = device.zeros::<f16, 2>([128, 256])?;
    let mut same = c.view();
    let driver = || {
        let mut call = tiki::Call::new(stream, Product::ARTIFACT)?;
        call.tensor(0, &a)?
            .tensor(1, &b)?
            .tensor_mut(2, &mut same)?;
        call.grid(device.persistent_grid(Product::ARTIFACT))?;
        call.driver_time(COUNT)
    };
    let ours = || Product::launch(stream, &a, &b, &mut c);
    let name = Product::ARTIFACT.instance;
    beside(stream, name, "launch with maps", ours, driver, record)
}

/// Three arguments, of which two are vectors.
fn plain(
    device: &Device,
    stream: &tiki::Stream,
    record: &mut Record,
) -> Result<(), tiki::LaunchError> {
    let x = device.tensor_from(&[1.0f32; 512], [512])?;
    let mut out = device.zeros([512])?;
    let mut same = out.view();
    let driver = || {
        let mut call = tiki::Call::new(stream, scale::ARTIFACT)?;
        call.tensor(0, &x)?
            .tensor_mut(1, &mut same)?
            .scalar(2, 2.0f32)?;
        call.driver_time(COUNT)
    };
    let ours = || scale::launch(stream, &x, &mut out, 2.0);
    beside(stream, "scale", "launch", ours, driver, record)
}

/// What it takes to choose a schedule, over a vector of so many elements.
fn tuning(
    device: &Device,
    stream: &tiki::Stream,
    record: &mut Record,
    elements: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let x = device.tensor_from(&vec![1.0f32; elements], [elements])?;
    let mut out = device.zeros([elements])?;
    let begun = Instant::now();
    let candidates = scaled::<128, 4>::candidates(&[])?;
    let checks = begun.elapsed().as_secs_f64() * 1e6;
    let all = candidates.len();
    let refused = candidates.iter().filter(|c| c.kernel.is_err()).count();
    let begun = Instant::now();
    let decision = Tuner::default().choose(
        stream,
        candidates,
        |kernel| kernel.run(stream, &x, &mut out, 2.0),
        |_, _| (),
    )?;
    let measuring = begun.elapsed().as_secs_f64() * 1e6;
    let of = format!("{all} candidates, {refused} refused");
    record.row(&[&"scaled", &"tune, checks", &format!("{checks:.0}"), &of]);
    let pairs = decision.log.iter().map(|(_, verdict)| match verdict {
        Verdict::Faster(m) | Verdict::Slower(m) | Verdict::Same(m) => m.pairs,
        _ => 0,
    });
    let chosen = decision.tuned.instance.args.iter();
    let chosen: Vec<String> = chosen
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    let text = format!(
        "{} pairs; chosen: {}",
        pairs.sum::<usize>(),
        chosen.join(", ")
    );
    record.row(&[
        &"scaled",
        &"tune, measuring",
        &format!("{measuring:.0}"),
        &text,
    ]);
    Ok(())
}

/// What it takes to have machine code.
fn code(record: &mut Record) -> Result<(), Box<dyn std::error::Error>> {
    let cute = [
        "CuTe DSL cold: 80 ms (add)",
        "CuTe DSL cold: 300 to 610 ms",
        "CuTe DSL cold: 1.9 s",
        "CuTe DSL cold: 1.3 to 2.2 s",
        "CuTe DSL cold: 1.3 to 2.2 s",
    ];
    for ((text, artifact), beside) in kernels().into_iter().zip(cute) {
        let us = compile(text, artifact)?;
        record.row(&[&artifact.instance, &"compile", &format!("{us:.0}"), &beside]);
    }
    // The first round makes the entries; the others, on a device opened anew, find them.
    for round in 0..4 {
        let device = Device::open_default()?;
        for ((_, artifact), beside) in kernels().into_iter().zip(cute) {
            if !device.runs(target_of(artifact)?) {
                continue;
            }
            let before = cache::store().counts();
            let begun = Instant::now();
            let loaded = tiki::load(&device, artifact)?;
            let us = begun.elapsed().as_secs_f64() * 1e6;
            let after = cache::store().counts();
            let what = match (after.hits - before.hits, after.compiled - before.compiled) {
                (0, 1) => "assemble",
                (1, 0) => "cached",
                // No toolkit's assembler: the driver's, whose own cache is switched off.
                (0, 0) => "driver",
                other => return Err(format!("{other:?} hits and compilations").into()),
            };
            if what != "driver" && (what == "assemble") != (round == 0) {
                return Err(format!("{}: {what} in round {round}", artifact.instance).into());
            }
            if loaded.local_bytes > 0 {
                let name = artifact.instance;
                return Err(format!("{name} spills: {loaded:?}").into());
            }
            record.row(&[&artifact.instance, &what, &format!("{us:.0}"), &beside]);
        }
    }
    Ok(())
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::open_default()?;
    if device.kind() == tiki::Kind::Vm {
        return Err("this measures a GPU's driver; there is none".into());
    }
    let columns = ["kernel", "what", "us", "beside it"];
    let mut record = Record::new(&device, "examples/compile_cost", &columns);
    drop(device); // opened anew, it has nothing loaded
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let whole = !args.iter().any(|arg| arg == "--launches");
    if whole {
        code(&mut record)?;
    }
    let device = Device::open_default()?;
    let stream = device.new_stream()?;
    if whole {
        tuning(&device, &stream, &mut record, 1 << 26)?;
    }
    plain(&device, &stream, &mut record)?;
    if device.runs(target_of(Product::ARTIFACT)?) {
        maps(&device, &stream, &mut record)?;
    }
    print!("{}", record.to_csv());
    if let Some(path) = args.iter().find(|arg| *arg != "--launches") {
        std::fs::write(path, record.to_csv())?;
    }
    Ok(())
}

fn target_of(artifact: &Artifact) -> Result<tiki::compiler::target::Target, String> {
    let target = tiki::compiler::target::Target::by_name(artifact.target);
    target.ok_or_else(|| format!("no target {}", artifact.target))
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
