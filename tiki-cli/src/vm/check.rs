//! `tiki vm check`: all that is wrong with a launch.

use super::Launch;
use super::buffers::{Bench, failed};
use crate::outcome::{Kind, Out, Result};
use serde_json::json;
use std::path::PathBuf;
use tiki_launch::vm::{Async, Checks, Options, Severity, to_json, to_sarif};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    launch: Launch,
    /// Runs with an order by a seed, besides at once and as late as possible.
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// Remarks too: conflicts of banks, sectors that are moved in vain, few lanes.
    #[arg(long)]
    remarks: bool,
    /// Look for the first instructions that make a NaN or an infinity out of finite numbers.
    #[arg(long)]
    numbers: bool,
    /// Write the findings as SARIF 2.1.0.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
}

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let bench = Bench::new(&args.launch)?;
    let options = Options {
        numbers: args.numbers,
        ..args.launch.options(Async::Eager, Checks::All)
    };
    let survey = bench
        .vm
        .survey(&bench.shot(), &options, args.seeds)
        .map_err(|f| failed(&f))?;
    let mut findings = survey.findings.clone();
    if args.remarks {
        findings.extend(survey.remarks(&bench.entry));
    }
    if let Some(file) = &args.sarif {
        let log = to_sarif(&findings, &args.launch.file.to_string_lossy());
        std::fs::write(file, format!("{log:#}\n")).map_err(|e| {
            Kind::File.because(format!("{} could not be written: {e}", file.display()))
        })?;
    }
    let wrong = survey
        .findings
        .iter()
        .filter(|f| f.code.severity() > Severity::Note)
        .count();
    let runs = survey.runs.len();
    let value = json!({
        "entry": bench.entry, "runs": runs, "wrong": wrong, "findings": to_json(&findings),
    });
    out.say(value, || {
        let mut text: String = findings
            .iter()
            .map(|f| format!("{}: {f}\n", f.code.severity().text()))
            .collect();
        text += &format!("{}: {runs} runs, {wrong} found\n", bench.entry);
        text
    });
    if wrong > 0 {
        return Err(Kind::Wrong.because(format!("{wrong} found in {}", bench.entry)));
    }
    Ok(())
}
