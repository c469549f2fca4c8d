//! `tiki list`: every kernel, where it stands and the instances it is built in.

use crate::kernels::{Folder, Kernel};
use crate::outcome::{Out, Result};
use serde_json::{Value, json};
use std::fmt::Write;
use tiki_kernel::compile::Instance;

/// List the kernels that were built here.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    folder: Folder,
}

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let found = args.folder.find()?;
    let kernels: Vec<Value> = found.kernels.iter().map(row).collect();
    let unread: Vec<Value> = found
        .unread
        .iter()
        .map(|(file, reason)| json!({ "file": file, "reason": reason }))
        .collect();
    out.say(json!({ "kernels": kernels, "unread": unread }), || {
        let mut text = String::new();
        for kernel in &found.kernels {
            let (file, line) = kernel.source();
            let _ = writeln!(text, "{}  {file}:{line}", kernel.path());
            for instance in kernel.instances().unwrap_or_default() {
                let _ = writeln!(text, "  {}", title(kernel, &instance));
            }
        }
        for (file, reason) in &found.unread {
            let _ = writeln!(text, "not read: {}: {reason}", file.display());
        }
        text
    });
    Ok(())
}

fn title(kernel: &Kernel, instance: &Instance) -> String {
    tiki_kernel::check::instances::title(kernel.name(), instance)
}

fn row(kernel: &Kernel) -> Value {
    let (file, line) = kernel.source();
    let instances = kernel.instances().unwrap_or_default();
    json!({
        "name": kernel.name(),
        "crate": kernel.krate,
        "file": file,
        "line": line,
        "text": kernel.file,
        "fingerprint": format!("{:032x}", tiki_kernel::instance::fingerprint(&kernel.program)),
        "parameters": kernel.program.kernel.generics.iter().map(|g| &g.name().text).collect::<Vec<_>>(),
        "instances": instances.iter().map(|i| title(kernel, i)).collect::<Vec<_>>(),
    })
}
