//! What it costs to have a kernel: compiling its text, assembling it, finding it in the cache, launching it.
//!
//! ```text
//! CUDA_CACHE_DISABLE=1 TIKI_CACHE_DIR=FRESH cargo run --release --example compile_cost [-- OUT.csv]
//! ```
//!
//! - `compile`: from the kernel's canonical text, in memory, to PTX: what the macro does while the crate is built,
//!   and `jit` at run time;
//! - `assemble`: from PTX to a function that can be launched, by the toolkit's assembler, with nothing cached (ours is a
//!   fresh folder; the driver's own is switched off by its variable); `driver`: by the driver, where no toolkit is;
//! - `cached`: the same for a process that finds the machine code in our folder;
//! - `launch`: the host's cost of a warm launch of a small kernel;
//! - `launch with maps`: that of a product by the tensor memory accelerator, whose three tensor maps are cached, and
//!   `driver alone`: of the driver's own call in it, with the arguments at hand.

use std::process::ExitCode;
use std::time::{Duration, Instant};
use tiki::bench::Record;
use tiki::compiler::artifact::Artifact;
use tiki::prelude::*;
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

/// Microseconds of a launch, given in rows of 500 that the device has finished before the next.
fn warm(
    stream: &tiki::Stream,
    mut launch: impl FnMut() -> Result<(), tiki::LaunchError>,
) -> Result<f64, tiki::LaunchError> {
    let mut times = Vec::new();
    for round in 0..41 {
        let begun = Instant::now();
        for _ in 0..500 {
            launch()?;
        }
        let spent = begun.elapsed() / 500;
        stream.synchronize()?;
        if round > 0 {
            times.push(spent);
        }
    }
    Ok(middle(times))
}

type Product = gemm::gemm_hopper<f16, 128, 256, 64, 4>;

/// A product of one tile and one step: the shortest that the kernel does.
fn maps(
    device: &Device,
    stream: &tiki::Stream,
    record: &mut Record,
) -> Result<(), Box<dyn std::error::Error>> {
    let (a, b) = (
        device.zeros::<f16, 2>([128, 64])?,
        device.zeros::<f16, 2>([256, 64])?,
    );
    let mut c = device.zeros::<f16, 2>([128, 256])?;
    let ours = warm(stream, || Product::launch(stream, &a, &b, &mut c))?;
    let mut times = Vec::new();
    for round in 0..41 {
        let mut call = tiki::Call::new(stream, Product::ARTIFACT)?;
        call.tensor(0, &a)?.tensor(1, &b)?.tensor_mut(2, &mut c)?;
        call.grid(device.persistent_grid(Product::ARTIFACT))?;
        let spent = call.driver_time(500)?;
        stream.synchronize()?;
        if round > 0 {
            times.push(spent);
        }
    }
    let name = Product::ARTIFACT.instance;
    let rows = [("launch with maps", ours), ("driver alone", middle(times))];
    for (what, us) in rows {
        record.row(&[&name, &what, &format!("{us:.3}"), &"CuTe DSL warm: 11.7 us"]);
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
    drop(device);
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
    let device = Device::open_default()?;
    let stream = device.new_stream()?;
    let x = device.tensor_from(&[1.0f32; 512], [512])?;
    let mut out = device.zeros([512])?;
    let us = warm(&stream, || scale::launch(&stream, &x, &mut out, 2.0))?;
    let us = format!("{us:.3}");
    record.row(&[&"scale", &"launch", &us, &"CuTe DSL warm: 11.7 us"]);
    if device.runs(target_of(Product::ARTIFACT)?) {
        maps(&device, &stream, &mut record)?;
    }
    print!("{}", record.to_csv());
    if let Some(path) = std::env::args_os().nth(1) {
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
