//! `tiki doctor`: what is installed here, and what therefore works.
//!
//! It asks the driver as a launch would, so that what it reports is what a program meets. Without a GPU the
//! report is complete all the same and the exit code says so; the virtual machine always works. So does a launch
//! whose cache cannot be used: that is told, and is no failure.

use crate::outcome::{Kind, Out, Result};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use tiki_kernel::target::Target;
use tiki_launch::assembler::Assembler;
use tiki_launch::cache::{Mode, Settings, Store};
use tiki_launch::{Device, LaunchError};

/// Say what is installed here: driver, cards, targets, assembler, cache.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_: &Args, out: &mut Out) -> Result<()> {
    let (cards, missing) = cards();
    let assembler = assembler();
    let cache = Cache::look();
    let targets: Vec<Target> = Target::all().collect();
    let runs = |target: &Target| cards.iter().any(|card| card.runs(*target));
    let value = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "driver": cards.first().map(Device::driver),
        "problem": missing,
        "cards": cards.iter().map(card).collect::<Vec<_>>(),
        "targets": targets.iter().map(|t| json!({
            "name": t.name(),
            "ptx": version(t.row().ptx_version),
            "on_a_card": runs(t),
            "on_the_machine": true,
        })).collect::<Vec<_>>(),
        "ptxas": assembler.as_ref().map(|(path, version)| json!({ "path": path, "version": version })),
        "cache": cache.value(),
        "tiki_device": std::env::var("TIKI_DEVICE").ok(),
    });
    out.say(value, || {
        let mut text = format!("tiki {}\n", env!("CARGO_PKG_VERSION"));
        match (&missing, cards.first()) {
            (Some(problem), _) => _ = writeln!(text, "driver   none: {problem}"),
            (None, Some(first)) => _ = writeln!(text, "driver   {}", first.driver()),
            (None, None) => {}
        }
        for card in &cards {
            let (major, minor) = card.capability();
            let sms = card.multiprocessors();
            let _ = writeln!(
                text,
                "card     {card}, capability {major}.{minor}, {sms} SMs"
            );
        }
        for target in &targets {
            let ptx = version(target.row().ptx_version);
            let on = if runs(target) {
                "card and virtual machine"
            } else {
                "virtual machine"
            };
            let _ = writeln!(text, "target   {}, PTX {ptx}: {on}", target.name());
        }
        let _ = match &assembler {
            Some((path, version)) => writeln!(text, "ptxas    {version} ({})", path.display()),
            None => writeln!(
                text,
                "ptxas    none (not needed: the driver assembles, and keeps what it made)"
            ),
        };
        let _ = writeln!(text, "cache    {}", cache.line());
        text
    });
    match missing {
        Some(problem) => Err(Kind::NoGpu.because(problem)),
        None => Ok(()),
    }
}

/// Every card, or why there is none.
fn cards() -> (Vec<Device>, Option<String>) {
    let mut cards = Vec::new();
    loop {
        match Device::cuda(cards.len()) {
            Ok(card) => cards.push(card),
            Err(LaunchError::NoDevice { .. }) if !cards.is_empty() => return (cards, None),
            Err(error) => return (cards, Some(error.to_string())),
        }
    }
}

fn card(card: &Device) -> Value {
    let (major, minor) = card.capability();
    json!({
        "name": card.name(),
        "device": card.to_string(),
        "capability": format!("{major}.{minor}"),
        "multiprocessors": card.multiprocessors(),
        "driver": card.driver(),
    })
}

fn version((major, minor): (u32, u32)) -> String {
    format!("{major}.{minor}")
}

/// The toolkit's assembler, if there is one that runs.
fn assembler() -> Option<(PathBuf, String)> {
    let found = Assembler::find()?;
    Some((found.program().to_owned(), found.version()?))
}

/// The cache of machine code as a program of this environment meets it.
struct Cache {
    settings: Settings,
    entries: usize,
    damaged: usize,
    bytes: u64,
    /// Why it is of no use, or not as somebody wanted it.
    problem: Option<String>,
}

impl Cache {
    fn look() -> Cache {
        let mut settings = Settings::from_env();
        // Told here, with the rest; opening the store would say it on its own.
        let mut problem = std::mem::take(&mut settings.problems).into_iter().next();
        let store = Store::open(settings.clone());
        let listed = store.list();
        let tried = listed.as_ref().map(drop).map_err(ToString::to_string);
        let tried = tried.and_then(|()| store.probe().map_err(|e| e.to_string()));
        if let Err(error) = tried {
            problem.get_or_insert(error);
        }
        if settings.folder.is_none() && settings.mode != Mode::Off {
            problem.get_or_insert_with(|| {
                "there is no home directory; TIKI_CACHE_DIR names a folder".into()
            });
        }
        let listed = listed.unwrap_or_default();
        Cache {
            entries: listed.len(),
            damaged: listed.iter().filter(|l| l.entry.is_err()).count(),
            bytes: listed.iter().map(|l| l.bytes).sum(),
            settings,
            problem,
        }
    }

    fn value(&self) -> Value {
        json!({
            "folder": self.settings.folder,
            "mode": self.settings.mode.name(),
            "limit": self.settings.limit,
            "entries": self.entries,
            "damaged": self.damaged,
            "bytes": self.bytes,
            "problem": self.problem,
        })
    }

    fn line(&self) -> String {
        let mode = self.settings.mode.name();
        let mut line = match &self.settings.folder {
            Some(folder) => format!(
                "{mode}, {} entries, {} of {} bytes ({})",
                self.entries,
                self.bytes,
                self.settings.limit,
                folder.display()
            ),
            None => format!("{mode}, no folder"),
        };
        if self.damaged > 0 {
            let _ = write!(line, "; {} damaged: `tiki cache gc`", self.damaged);
        }
        if let Some(problem) = &self.problem {
            let _ = write!(line, "; not used: {problem}");
        }
        line
    }
}
