//! `tiki budget`: what instances use of a multiprocessor, by the same bounds that the build holds.

use crate::kernels::{Folder, Kernel};
use crate::outcome::{Kind, Out, Result};
use serde_json::{Value, json};
use std::fmt::Write;
use tiki_kernel::compile::{Output, compile};
use tiki_kernel::diag::Sink;

/// Registers, shared memory and residency of a kernel's instances.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A kernel, `name` or `crate::name`
    kernel: String,
    #[command(flatten)]
    folder: Folder,
}

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let kernel = args.folder.kernel(&args.kernel)?;
    let outputs = outputs(&kernel)?;
    let rows: Vec<Value> = outputs.iter().map(row).collect();
    out.say(
        json!({ "kernel": kernel.path(), "instances": rows }),
        || {
            let mut text =
                String::from("registers  shared  barriers  threads  blocks/SM  instance\n");
            for output in &outputs {
                let u = output.usage;
                let _ = writeln!(
                    text,
                    "{:>9}  {:>6}  {:>8}  {:>7}  {:>9}  {}",
                    u.registers, u.shared, u.barriers, u.threads, u.blocks_per_sm, output.title
                );
            }
            text
        },
    );
    Ok(())
}

/// Every instance compiled, or the compiler's words.
fn outputs(kernel: &Kernel) -> Result<Vec<Output>> {
    let mut sink = Sink::new();
    let outputs = compile(&kernel.program, &mut sink, &mut |_, _, _| {});
    let (failed, diags) = (sink.has_errors(), sink.take());
    if failed {
        let texts: Vec<String> = diags
            .iter()
            .map(|d| d.text(&kernel.program.places))
            .collect();
        return Err(Kind::Wrong.because(texts.join("\n")));
    }
    Ok(outputs)
}

fn row(output: &Output) -> Value {
    let u = output.usage;
    json!({
        "instance": output.title,
        "target": output.target.name(),
        "registers": u.registers,
        "shared": u.shared,
        "barriers": u.barriers,
        "threads": u.threads,
        "blocks_per_sm": u.blocks_per_sm,
    })
}
