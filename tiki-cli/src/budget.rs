//! `tiki budget`: what instances use of a multiprocessor, by the same bounds that the build holds.

use crate::instances::{Pick, compiled};
use crate::outcome::{Out, Result};
use serde_json::{Value, json};
use std::fmt::Write;
use tiki_kernel::compile::Output;

/// Registers, shared memory and residency of a kernel's instances.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pick: Pick,
}

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let (kernel, instances) = args.pick.find()?;
    let outputs: Vec<Output> = instances
        .iter()
        .map(|i| compiled(&kernel, i, &mut |_, _| {}))
        .collect::<Result<_>>()?;
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
