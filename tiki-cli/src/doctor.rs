//! `tiki doctor`: what is installed here, and what therefore works.
//!
//! It asks the driver as a launch would, so that what it reports is what a program meets. Without a GPU the
//! report is complete all the same and the exit code says so; the virtual machine always works.

use crate::outcome::{Kind, Out, Result};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;
use tiki_kernel::target::Target;
use tiki_launch::{Device, LaunchError};

/// Say what is installed here: driver, cards, targets, assembler.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_: &Args, out: &mut Out) -> Result<()> {
    let (cards, missing) = cards();
    let assembler = assembler();
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
            None => writeln!(text, "ptxas    none (not needed: the driver assembles)"),
        };
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

/// The real assembler, if there is one: `TIKI_PTXAS`, or `ptxas` of the path.
fn assembler() -> Option<(PathBuf, String)> {
    let program = std::env::var_os("TIKI_PTXAS").unwrap_or_else(|| "ptxas".into());
    let said = Command::new(&program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let release = text.lines().find_map(|line| line.split("release ").nth(1));
    let version = release.or_else(|| text.lines().next())?.trim().to_owned();
    said.status.success().then(|| (program.into(), version))
}
