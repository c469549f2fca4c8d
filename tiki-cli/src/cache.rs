//! `tiki cache ls|gc|verify`: the machine code that was kept for later processes.
//!
//! The folder and its limit are those of a program in the same environment: `TIKI_CACHE_DIR`, `TIKI_CACHE_LIMIT`.

use crate::outcome::{Kind, Out, Result};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::SystemTime;
use tiki_launch::cache::{Listed, Mode, Settings, Store};

/// Look into the cache of machine code.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List the entries, the last used first.
    Ls,
    /// Remove damaged entries, drafts of dead processes, and what lies above the limit.
    Gc {
        /// Bytes to keep, in place of TIKI_CACHE_LIMIT
        #[arg(long)]
        limit: Option<u64>,
    },
    /// Read every entry and compare its hash.
    Verify,
}

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let settings = Settings::from_env();
    if let Some(problem) = settings.problems.first() {
        return Err(Kind::Usage.because(problem.clone()));
    }
    let Some(folder) = settings.folder.clone() else {
        return Err(Kind::Missing
            .because("no cache: there is no home directory; TIKI_CACHE_DIR names a folder"));
    };
    if !folder.is_dir() {
        let text = format!(
            "no cache: {} is no folder (nothing was kept yet?)",
            folder.display()
        );
        return Err(Kind::Missing.because(text));
    }
    let (mode, limit) = (settings.mode, settings.limit);
    let store = Store::open(settings);
    let failed = |e: std::io::Error| Kind::File.because(format!("{}: {e}", folder.display()));
    let head = json!({ "folder": folder, "mode": mode.name(), "limit": limit });
    match &args.what {
        What::Ls => {
            let entries = store.list().map_err(failed)?;
            let bytes: u64 = entries.iter().map(|e| e.bytes).sum();
            let mut value = head;
            value["bytes"] = bytes.into();
            value["entries"] = entries.iter().map(row).collect();
            out.say(value, || {
                let mut text = format!(
                    "{}, {}, limit {limit} bytes\n",
                    folder.display(),
                    mode.name()
                );
                for entry in &entries {
                    let _ = writeln!(
                        text,
                        "{:>10}  {:>8}  {}",
                        entry.bytes,
                        age(entry),
                        about(entry)
                    );
                }
                let _ = writeln!(text, "{bytes:>10}  {} entries", entries.len());
                text
            });
            Ok(())
        }
        What::Gc { limit: given } => {
            if mode != Mode::ReadWrite {
                let text = format!("the cache is `{}`: nothing may be removed", mode.name());
                return Err(Kind::Usage.because(text));
            }
            let gone = store.clear(given.unwrap_or(limit)).map_err(failed)?;
            let mut value = head;
            value["removed"] = gone.iter().map(|p| p.display().to_string()).collect();
            out.say(value, || format!("{} files removed\n", gone.len()));
            Ok(())
        }
        What::Verify => {
            let entries = store.list().map_err(failed)?;
            let bad: Vec<&Listed> = entries.iter().filter(|e| e.entry.is_err()).collect();
            let mut value = head;
            value["whole"] = (entries.len() - bad.len()).into();
            value["damaged"] = bad.iter().map(|e| row(e)).collect();
            out.say(value, || {
                let mut text = format!("{} entries are whole\n", entries.len() - bad.len());
                for entry in &bad {
                    let _ = writeln!(text, "{}: {}", entry.path.display(), about(entry));
                }
                text
            });
            if bad.is_empty() {
                return Ok(());
            }
            let text = format!(
                "{} entries are damaged; `tiki cache gc` removes them",
                bad.len()
            );
            Err(Kind::Wrong.because(text))
        }
    }
}

fn about(entry: &Listed) -> String {
    match &entry.entry {
        Ok(entry) => entry.kernel.clone(),
        Err(fault) => fault.to_string(),
    }
}

fn seconds(entry: &Listed) -> u64 {
    SystemTime::now()
        .duration_since(entry.used)
        .map_or(0, |d| d.as_secs())
}

/// When it was last used, roughly.
fn age(entry: &Listed) -> String {
    match seconds(entry) {
        s @ 0..=119 => format!("{s} s"),
        s @ 120..=7199 => format!("{} min", s / 60),
        s @ 7200..=172_799 => format!("{} h", s / 3600),
        s => format!("{} days", s / 86_400),
    }
}

fn row(entry: &Listed) -> Value {
    json!({
        "file": entry.path,
        "bytes": entry.bytes,
        "used_seconds_ago": seconds(entry),
        "kernel": entry.entry.as_ref().ok().map(|e| &e.kernel),
        "cubin_bytes": entry.entry.as_ref().ok().map(|e| e.cubin.len()),
        "fault": entry.entry.as_ref().err().map(ToString::to_string),
    })
}
