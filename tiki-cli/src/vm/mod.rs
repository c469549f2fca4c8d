//! `tiki vm`: PTX text on the virtual machine.
//!
//! `run` runs an entry once and can write its buffers; `check` runs it in every way in which asynchronous
//! work may complete and reports all that is wrong; `diff` runs it and holds its buffers against recorded
//! ones. The three take the same launch.

mod buffers;
mod check;
mod compare;
mod npy;
mod spec;

use crate::outcome::{Kind, Out, Result};
use buffers::Bench;
use serde_json::json;
use spec::{Dims, Named};
use std::path::{Path, PathBuf};
use tiki_kernel::near;
use tiki_launch::vm::{Async, Checks, Options, Printed, Recorder};

/// Run PTX text on the virtual machine.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Name the entries of a file.
    Entries {
        /// A file with PTX text.
        file: PathBuf,
    },
    /// Run an entry once.
    Run(Once),
    /// Run an entry in every way in which asynchronous work may complete, and report all that is wrong.
    Check(check::Args),
    /// Run an entry and hold its buffers against recorded ones.
    Diff(compare::Args),
}

/// A launch.
#[derive(Debug, clap::Args)]
pub struct Launch {
    /// A file with PTX text.
    file: PathBuf,
    /// Entry; the only one, without it.
    #[arg(long)]
    entry: Option<String>,
    /// Blocks: X, X,Y or X,Y,Z.
    #[arg(long, default_value = "1")]
    grid: Dims,
    /// Threads of a block.
    #[arg(long)]
    block: Dims,
    /// Bytes of dynamic shared memory.
    #[arg(long, default_value_t = 0)]
    shared: u32,
    /// An argument, in the order of the parameters: u32:7, f32:0.5, raw:00ff, a buffer NAME=zeros:f32[16,4],
    /// NAME=unset:f32[16,4] (nothing may read what nothing has written), NAME=random:bf16[64,64], NAME=FILE (.npy, .safetensors with #TENSOR, or raw bytes), or a tensor map
    /// map:NAME:bf16[rows,columns]:box[64,64]:b128 of a buffer.
    #[arg(long = "arg", value_name = "SPEC", allow_hyphen_values = true)]
    args: Vec<String>,
    /// A buffer that no argument names itself, for tensor maps.
    #[arg(long = "buffer", value_name = "NAME=SPEC")]
    buffers: Vec<String>,
    /// Steps of a warp after which it is given up; without end if zero.
    #[arg(long, default_value_t = 500_000_000)]
    max_steps: u64,
    /// Host threads; all, if zero. Results do not depend on it.
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

/// `; did you mean `x`?`, or nothing.
fn near<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    near::question(name, names).map_or(String::new(), |q| format!("; {q}"))
}

impl Launch {
    /// The grid. One without blocks is legal for a program, whose inputs may be empty; who writes it on a command line
    /// expects something to run.
    fn blocks(&self) -> Result<[u32; 3]> {
        let grid @ [x, y, z] = self.grid.0;
        if grid.contains(&0) {
            return Err(Kind::Usage.because(format!(
                "--grid {x},{y},{z} has no blocks: nothing would run; each extent is at least 1"
            )));
        }
        Ok(grid)
    }

    fn options(&self, completion: Async, checks: Checks) -> Options {
        Options {
            completion,
            checks,
            threads: self.threads,
            max_steps: self.max_steps,
            ..Options::default()
        }
    }
}

/// One run.
#[derive(Debug, clap::Args)]
pub struct Once {
    #[command(flatten)]
    launch: Launch,
    /// When asynchronous work completes: eager, late or seed:N.
    #[arg(long, default_value = "eager", value_parser = spec::completion)]
    completion: Async,
    /// What is checked beyond bounds and alignment: run (nothing), check or all.
    #[arg(long, default_value = "check", value_parser = spec::checks)]
    checks: Checks,
    /// A buffer to write afterwards: NAME=FILE (.npy, .safetensors, or raw bytes).
    #[arg(long = "out", value_name = "NAME=FILE", value_parser = spec::named)]
    out: Vec<Named>,
    /// Write when each phase of a block's warps ran: a drawing if FILE ends in .svg, trace events for Perfetto if in .json.
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// The block whose timeline it is.
    #[arg(
        long,
        value_name = "X,Y,Z",
        default_value = "0,0,0",
        requires = "timeline"
    )]
    timeline_block: Dims,
}

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    match &args.command {
        Command::Entries { file } => entries(file, out),
        Command::Run(args) => once(args, out),
        Command::Check(args) => check::run(args, out),
        Command::Diff(args) => compare::run(args, out),
    }
}

fn entries(file: &PathBuf, out: &mut Out) -> Result<()> {
    let shown = file.display();
    let (vm, text) = (tiki_launch::vm::Vm::new(), buffers::text(file)?);
    let program = vm
        .load(&text)
        .map_err(|e| Kind::Wrong.because(format!("{shown}: {e}")))?;
    let mut names: Vec<&str> = program.entries().collect();
    names.sort_unstable();
    out.say(json!({ "file": file, "entries": names }), || {
        format!("{shown}: {}\n", names.join(", "))
    });
    Ok(())
}

/// Writes what was recorded.
fn draw(file: &Path, recorder: &Recorder, ran: bool) -> Result<()> {
    match recorder.take().pop() {
        Some(timeline) => timeline.save(file).map_err(|e| {
            let kind = match e.kind() {
                std::io::ErrorKind::InvalidInput => Kind::Usage,
                _ => Kind::File,
            };
            kind.because(format!("the timeline: {e}"))
        }),
        None if ran => Err(Kind::Usage.because("--timeline-block: the grid has no such block")),
        None => Ok(()),
    }
}

fn once(args: &Once, out: &mut Out) -> Result<()> {
    let bench = Bench::new(&args.launch)?;
    let recorder = Recorder::of(args.timeline_block.0);
    let printed = Printed::default();
    let options = Options {
        printed: Some(printed.clone()),
        timeline: args.timeline.as_ref().map(|_| recorder.clone()),
        ..args.launch.options(args.completion, args.checks)
    };
    let ran = bench.run(&options);
    // A launch that broke has one too, up to where it broke.
    if let Some(file) = &args.timeline {
        draw(file, &recorder, ran.is_ok())?;
    }
    let printed = printed.take();
    // What was printed by a launch that broke may say why it did.
    let report = ran.inspect_err(|_| eprint!("{printed}"))?;
    for store in &args.out {
        bench.write(store)?;
    }
    let value = json!({
        "entry": bench.entry, "blocks": report.blocks, "warp_instructions": report.warp_instructions,
        "printed": printed, "findings": tiki_launch::vm::to_json(&report.findings),
    });
    out.say(value, || {
        let mut text = printed;
        text.extend(report.findings.iter().map(|f| format!("{f}\n")));
        text += &format!(
            "{}: {} blocks, {} instructions of warps\n",
            bench.entry, report.blocks, report.warp_instructions
        );
        text
    });
    Ok(())
}
