//! `tiki vm FILE`: PTX text on the virtual machine.

use crate::outcome::{Kind, Out, Result};
use serde_json::json;
use std::path::PathBuf;
use tiki_kernel::ptx::Module;

/// Run PTX text on the virtual machine.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file with PTX text.
    file: PathBuf,
}

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let shown = args.file.display();
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| Kind::File.because(format!("{shown} could not be read: {error}")))?;
    let module =
        Module::parse(&text).map_err(|error| Kind::Wrong.because(format!("{shown}: {error}")))?;
    let entries = module.functions.iter().filter(|f| f.entry);
    let entries: Vec<&str> = entries.map(|f| f.name.as_str()).collect();
    out.say(json!({ "file": args.file, "entries": entries }), || {
        format!("{shown}: {}\n", entries.join(", "))
    });
    Ok(())
}
