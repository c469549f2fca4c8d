//! `tiki tune KERNEL --arg x=4096,4096 ..`: the fastest of the instances that the kernel's `tune(..)` declares.
//!
//! 1. The candidates are those around the kernel's first instance, or around the one of `--set`. What the compiler
//!    refuses is out, with its reason; so is what the launch's own facts refuse.
//! 2. The others are measured in turn against the incumbent, on one GPU ([`tiki_launch::tune`]).
//! 3. The decision is told, every candidate with its verdict, and with `--out` the record is written that
//!    `kernel_set!` builds from.
//!
//! Without a GPU there is nothing to measure, and the command says so. `--device vm` goes through all of it on the virtual
//! machine, whose times say nothing about a GPU: no record is written of them.

mod closed;
mod given;
mod ready;

use crate::instances::{name, values};
use crate::kernels::{Folder, Kernel};
use crate::outcome::{Failure, Kind, Out, Result};
use given::{Known, Slot};
use indicatif::{ProgressBar, ProgressStyle};
use ready::{Ready, decidable, launch};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;
use tiki_kernel::artifact::ParamKind;
use tiki_kernel::ast::{Lit, PatternKind};
use tiki_kernel::compile::{Arg, Instance};
use tiki_launch::tune::{self, Candidate, Decision, Tuner, Verdict};
use tiki_launch::{Compiled, Device, LaunchError};

/// Choose the fastest of the instances that a kernel's `tune(..)` declares.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A kernel, `name` or `crate::name`
    kernel: String,
    /// Parameters of the instance to begin with: `--set E=f16,N=4096`
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',')]
    set: Vec<String>,
    /// An argument of the launch: a tensor's extents (`--arg x=4096,4096`) or a number (`--arg eps=1e-5`)
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    args: Vec<String>,
    /// Where to measure: `cuda:0`, or `vm` to go through it without a GPU
    #[arg(long, default_value = "cuda:0")]
    device: String,
    /// Pairs of samples for one candidate at most; 6 are the fewest
    #[arg(long, default_value_t = Tuner::default().most as u64, value_parser = clap::value_parser!(u64).range(6..))]
    pairs: u64,
    /// Write the record for `kernel_set!`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    folder: Folder,
}

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let kernel = args.folder.kernel(&args.kernel)?;
    let device = Device::named(&args.device).map_err(no_device)?;
    if args.out.is_some() && !matches!(device.kind(), tiki_launch::Kind::Gpu(_)) {
        let text = "a record holds what a GPU measured: `--out` goes with `--device cuda:N`";
        return Err(Kind::Usage.because(text));
    }
    let base = base(&kernel, &args.set)?;
    let texts = given(&args.args)?;
    let known = known(&kernel, &texts)?;
    let candidates = candidates(&kernel, &base, &known)?;
    let (candidates, undecided) = decidable(candidates)?;
    let mut slots = slots(&kernel, &device, &candidates, &known)?;
    let bar = bar(candidates.len() as u64);
    let tuner = Tuner {
        most: args.pairs as usize,
        ..Tuner::default()
    };
    let stream = device.stream();
    let launch = |ready: &Ready| launch(&kernel, &stream, ready, &mut slots);
    let told = |instance: &Instance, verdict: &Verdict| {
        bar.set_message(format!("{}: {}", name(&kernel, instance), verdict.word()));
        bar.inc(1);
    };
    let decision = tuner.choose(&stream, candidates, launch, told);
    bar.finish_and_clear();
    let mut decision = decision.map_err(|e| Kind::Wrong.because(e.to_string()))?;
    decision.log.extend(undecided);
    if let Some(path) = &args.out {
        std::fs::write(path, decision.tuned.to_string()).map_err(|e| {
            Kind::File.because(format!("{} could not be written: {e}", path.display()))
        })?;
    }
    let value: Value = serde_json::from_str(&decision.to_json()).unwrap_or_default();
    out.say(value, || lines(&kernel, &decision));
    Ok(())
}

fn no_device(error: LaunchError) -> Failure {
    let kind = match error {
        LaunchError::DeviceName { .. } => Kind::Usage,
        _ => Kind::NoGpu,
    };
    let help = "tuning measures on a GPU; `--device vm` goes through it without one";
    kind.because(format!("{error}; {help}"))
}

/// On standard error, and only where somebody looks.
fn bar(count: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}");
    ProgressBar::new(count).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// The instance to begin with.
fn base(kernel: &Kernel, set: &[String]) -> Result<Instance> {
    let found = crate::instances::select(kernel, &values(set)?)?;
    let first = found.into_iter().next();
    first.ok_or_else(|| {
        let text = format!("`{}` has no instance: name one with --set", kernel.path());
        Kind::Usage.because(text)
    })
}

/// `x=4096,4096` by name.
fn given(texts: &[String]) -> Result<HashMap<&str, &str>> {
    let pair = |text: &String| {
        Kind::Usage.because(format!(
            "`{text}` is no argument: `x=4096,4096` or `eps=1e-5`"
        ))
    };
    let mut given = HashMap::new();
    for text in texts {
        let (name, value) = text.split_once('=').ok_or_else(|| pair(text))?;
        if let Some(other) = given.insert(name, value) {
            let text = format!("`{name}` is given twice: {other} and {value}");
            return Err(Kind::Usage.because(text));
        }
    }
    Ok(given)
}

/// The signature's arguments: name, and whether it is written to (a tensor) or not a tensor at all.
fn signature(kernel: &Kernel) -> Vec<(&str, Option<bool>, bool)> {
    let params = kernel.program.kernel.params.iter();
    let optional = |ty: &tiki_kernel::ast::Type| {
        !matches!(ty.kind, tiki_kernel::ast::TypeKind::Ref { .. }) && given::writes(ty).is_some()
    };
    params
        .filter_map(|p| match &p.pattern.kind {
            PatternKind::Bind { name, .. } => {
                Some((name.text.as_str(), given::writes(&p.ty), optional(&p.ty)))
            }
            _ => None,
        })
        .collect()
}

/// Arguments that the launcher lends.
fn lent(kernel: &Kernel) -> Vec<&str> {
    let options = kernel.program.kernel.options.iter();
    let args = options
        .filter(|o| o.name.text == "workspace")
        .flat_map(|o| &o.args);
    args.filter_map(|arg| match &arg.kind {
        tiki_kernel::ast::ExprKind::Assign(place, _) => match &place.kind {
            tiki_kernel::ast::ExprKind::Path(p) => p.segments.last().map(|s| s.name.text.as_str()),
            _ => None,
        },
        _ => None,
    })
    .collect()
}

/// What facts may ask of the arguments.
fn known(kernel: &Kernel, texts: &HashMap<&str, &str>) -> Result<HashMap<String, Known>> {
    let (signature, lent) = (signature(kernel), lent(kernel));
    let usage = |text: String| Kind::Usage.because(text);
    let names = || {
        signature
            .iter()
            .map(|(n, ..)| *n)
            .filter(|n| !lent.contains(n))
    };
    if let Some(other) = texts.keys().find(|t| !names().any(|n| n == **t)) {
        let all: Vec<&str> = names().collect();
        return Err(usage(format!(
            "no argument `{other}`; there are: {}",
            all.join(", ")
        )));
    }
    let mut known = HashMap::new();
    for (name, writes, optional) in &signature {
        if lent.contains(name) {
            continue;
        }
        let value = match (texts.get(name), writes) {
            (None, _) if *optional => Known::Absent,
            (None, Some(_)) => return Err(usage(format!("`--arg {name}=EXTENTS` is missing"))),
            (None, None) => return Err(usage(format!("`--arg {name}=NUMBER` is missing"))),
            (Some(text), Some(_)) => {
                let extents = text.split(',').map(|n| n.trim().replace('_', "").parse());
                let extents: std::result::Result<Vec<u64>, _> = extents.collect();
                Known::Tensor(extents.map_err(|_| usage(format!("`{name}={text}`: no extents")))?)
            }
            (Some(text), None) => {
                Known::Number(number(text).ok_or_else(|| {
                    usage(format!("`{name}={text}`: a number, `true` or `false`"))
                })?)
            }
        };
        known.insert((*name).to_owned(), value);
    }
    Ok(known)
}

fn number(text: &str) -> Option<Lit> {
    match text {
        "true" => return Some(Lit::Bool(true)),
        "false" => return Some(Lit::Bool(false)),
        _ => {}
    }
    let whole = text.replace('_', "").parse::<i128>();
    match whole {
        Ok(n) => Some(Lit::Int(n, String::new())),
        Err(_) => {
            text.parse::<f64>().ok()?;
            Some(Lit::Float(text.to_owned(), String::new()))
        }
    }
}

/// The declared instances, each compiled or refused, with its grid or the fact that does not hold.
fn candidates(
    kernel: &Kernel,
    base: &Instance,
    known: &HashMap<String, Known>,
) -> Result<Vec<Candidate<Ready>>> {
    let text = std::fs::read_to_string(&kernel.file)
        .map_err(|e| Kind::File.because(format!("{}: {e}", kernel.file.display())))?;
    // A program's kernels carry their texts for ever, and the compiler counts on that.
    let text: &'static str = Box::leak(text.into_boxed_str());
    let values: Vec<(&str, Arg)> = base.args.iter().map(|(n, a)| (n.as_str(), *a)).collect();
    let found = tune::candidates(text, &values, &[]);
    let found = found.map_err(|e| Kind::Wrong.because(e.to_string()))?;
    let ready = |candidate: Candidate<Compiled>| {
        candidate.map(|compiled| Ready {
            geometry: closed::geometry(&kernel.program, compiled.instance(), known),
            compiled,
        })
    };
    Ok(found.into_iter().map(ready).collect())
}

/// The arguments, made once: every candidate runs on the same.
fn slots(
    kernel: &Kernel,
    device: &Device,
    candidates: &[Candidate<Ready>],
    known: &HashMap<String, Known>,
) -> Result<Vec<(usize, Slot)>> {
    let Some(legal) = candidates.iter().find_map(|c| c.kernel.as_ref().ok()) else {
        return Ok(Vec::new());
    };
    let params = legal.compiled.artifact().params;
    let mut slots = Vec::new();
    for (index, (name, ..)) in signature(kernel).iter().enumerate() {
        let kind = params.iter().find(|p| p.name == *name).map(|p| p.kind);
        let slot = match (kind, known.get(*name)) {
            (Some(ParamKind::Tensor { dtype, writes, .. }), Some(Known::Tensor(shape))) => {
                let seed = (!writes).then_some(0x9e37_79b9 + index as u64);
                let tensor = given::tensor(device, dtype, shape, seed)?;
                if writes {
                    Slot::Output(tensor)
                } else {
                    Slot::Input(tensor)
                }
            }
            (Some(ParamKind::Scalar(dtype)), Some(Known::Number(lit))) => {
                Slot::Value(dtype, given::value(name, dtype, lit)?)
            }
            // Lent, or not taken by this instance.
            _ => continue,
        };
        slots.push((index, slot));
    }
    Ok(slots)
}

/// Of the compiler's messages the first: that it does not compile, the verdict says.
fn reason(why: &str) -> String {
    let mut lines = why.lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    let error = lines.find_map(|line| line.strip_prefix("error: "));
    error.unwrap_or(first).to_owned()
}

fn lines(kernel: &Kernel, decision: &Decision) -> String {
    let mut text = String::new();
    for (instance, verdict) in &decision.log {
        let about = match verdict {
            Verdict::Illegal(why) | Verdict::Refused(why) => reason(why),
            Verdict::First => String::new(),
            Verdict::Faster(m) | Verdict::Slower(m) | Verdict::Same(m) => format!(
                "{:.2} us, the incumbent {:.2} us, {} pairs",
                m.candidate_us, m.incumbent_us, m.pairs
            ),
        };
        let title = name(kernel, instance);
        let _ = writeln!(text, "{:<8} {title}  {about}", verdict.word());
    }
    let _ = writeln!(text, "chosen   {}", name(kernel, &decision.tuned.instance));
    let _ = writeln!(text, "measured {}", decision.measure);
    text
}
