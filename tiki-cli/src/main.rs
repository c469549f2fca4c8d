//! The command `tiki`.
//!
//! A command is a file here with an `Args` and a `run`; it is named once, in [`Command`]. What it has to
//! say goes through [`outcome::Out`], as lines for people or, with `--json`, as one JSON value on standard
//! output. What went wrong is an [`outcome::Failure`]: one line on standard error and an exit code that a
//! script can tell apart. Standard output holds results and nothing else.

#![forbid(unsafe_code)]

mod budget;
mod cache;
mod codes;
mod diff;
mod doctor;
mod instances;
mod kernels;
mod list;
mod outcome;
mod plot;
mod show;
mod tune;
mod vm;

use clap::{Parser, Subcommand};
use outcome::{Kind, Out, Result};
use std::process::ExitCode;

/// Look at kernels, caches and devices.
///
/// Exit codes: 0 done; 1 looked, and something is wrong; 2 the command line is wrong; 3 what was named is
/// not there; 4 no GPU or no driver; 5 a file could not be read or written.
#[derive(Debug, Parser)]
#[command(name = "tiki", version, max_term_width = 100)]
struct Cli {
    /// Print one JSON value instead of lines.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the kernels that were built here.
    List(list::Args),
    /// Show a stage of the compiler: ast, ir, schedule, lower, ptx, budget, report.
    Show(show::Args),
    /// Say what the compiler chose and why, or what a code (TK601) means.
    Explain(show::Explain),
    /// Compare two instances of a kernel.
    Diff(diff::Args),
    /// Draw layouts, fragments and bank conflicts.
    Plot(plot::Args),
    /// Choose the fastest of the instances that a kernel's `tune(..)` declares, on a GPU.
    Tune(tune::Args),
    /// Look into the cache of machine code.
    Cache(cache::Args),
    /// Registers, shared memory and residency of a kernel's instances.
    Budget(budget::Args),
    /// Say what is installed here: driver, cards, targets, assembler, cache.
    Doctor(doctor::Args),
    /// Run PTX text on the virtual machine.
    Vm(vm::Args),
}

fn run(cli: Cli, out: &mut Out) -> Result<()> {
    match cli.command {
        Command::Show(args) => show::run(&args, out),
        Command::Explain(args) => show::explain(&args, out),
        Command::Diff(args) => diff::run(&args, out),
        Command::Tune(args) => tune::run(&args, out),
        Command::Plot(args) => plot::run(&args, out),
        Command::Cache(args) => cache::run(&args, out),
        Command::Budget(args) => budget::run(&args, out),
        Command::List(args) => list::run(&args, out),
        Command::Doctor(args) => doctor::run(&args, out),
        Command::Vm(args) => vm::run(&args, out),
    }
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return not_understood(&error),
    };
    let mut out = Out::new(cli.json);
    let result = run(cli, &mut out);
    out.finish(result)
}

/// A command line that clap does not understand, in the form that it asks for; help and version are clap's own.
fn not_understood(error: &clap::Error) -> ExitCode {
    let json = std::env::args_os().any(|arg| arg == "--json");
    if !json || !error.use_stderr() {
        error.exit();
    }
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    Out::new(true).finish(Err(Kind::Usage.because(text)))
}
