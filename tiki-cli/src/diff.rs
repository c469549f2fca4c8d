//! `tiki diff KERNEL --set .. --with ..`: what a parameter changes.
//!
//! Two instances of one kernel: their budgets beside each other, the instructions by name, and the lines of
//! their reports that differ. The entry's name and the places of the source are no difference.

use crate::instances::{Pick, compiled, select, values};
use crate::outcome::{Kind, Out, Result};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use tiki_kernel::artifact::Usage;
use tiki_kernel::compile::Output;
use tiki_kernel::ptx::Module;

/// Compare two instances of a kernel.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pick: Pick,
    /// What the other instance has in place of the first one's: `--with STAGES=3`
    #[arg(
        long,
        value_name = "NAME=VALUE",
        value_delimiter = ',',
        required = true
    )]
    with: Vec<String>,
}

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let (kernel, instances) = args.pick.find()?;
    let Some(first) = instances.first() else {
        return Err(Kind::Missing.because(format!("`{}` has no instance", kernel.path())));
    };
    let mut other = first.args.clone();
    for (name, value) in values(&args.with)? {
        match other.iter_mut().find(|(n, _)| *n == name) {
            Some((_, old)) => *old = value,
            None => other.push((name, value)),
        }
    }
    let second = select(&kernel, &other)?.remove(0);
    let places = &kernel.program.places;
    let mut sides = Vec::new();
    for instance in [first, &second] {
        let output = compiled(&kernel, instance, &mut |_, _| {})?;
        let report = output.report.text(places);
        sides.push((counts(&output), report, output));
    }
    let [(a_counts, a_report, a), (b_counts, b_report, b)] = &sides[..] else {
        return Ok(());
    };
    let usage: Vec<(&str, u32, u32)> = FIELDS
        .iter()
        .map(|(name, get)| (*name, get(&a.usage), get(&b.usage)))
        .collect();
    let names: Vec<&String> = a_counts.keys().chain(b_counts.keys()).collect();
    let mut changed: Vec<(&String, usize, usize)> = names
        .into_iter()
        .map(|n| (n, count(a_counts, n), count(b_counts, n)))
        .filter(|(_, x, y)| x != y)
        .collect();
    changed.sort();
    changed.dedup();
    let gone: Vec<&str> = only(a_report, b_report);
    let come: Vec<&str> = only(b_report, a_report);
    let value = json!({
        "kernel": kernel.path(),
        "instances": [a.title, b.title],
        "usage": usage.iter().map(|(n, x, y)| json!({ "name": n, "first": x, "second": y })).collect::<Vec<_>>(),
        "instructions": changed.iter().map(|(n, x, y)| json!({ "name": n, "first": x, "second": y })).collect::<Vec<_>>(),
        "report": { "first": gone, "second": come },
    });
    out.say(value, || {
        let mut text = format!("- {}\n+ {}\n", a.title, b.title);
        for (name, x, y) in &usage {
            let _ = writeln!(text, "  {name:<24} {x:>8} {y:>8}");
        }
        for (name, x, y) in &changed {
            let _ = writeln!(text, "  {name:<24} {x:>8} {y:>8}");
        }
        for line in gone {
            let _ = writeln!(text, "- {}", line.trim_start());
        }
        for line in come {
            let _ = writeln!(text, "+ {}", line.trim_start());
        }
        text
    });
    Ok(())
}

type Field = (&'static str, fn(&Usage) -> u32);

const FIELDS: &[Field] = &[
    ("registers", |u| u.registers),
    ("shared bytes", |u| u.shared),
    ("barriers", |u| u.barriers),
    ("threads", |u| u.threads),
    ("blocks an SM", |u| u.blocks_per_sm),
];

/// How often each instruction stands in the text.
fn counts(output: &Output) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    if let Ok(module) = Module::parse(&output.ptx) {
        for (_, inst) in module.functions.iter().flat_map(|f| f.insts()) {
            *counts.entry(inst.op.to_string()).or_insert(0) += 1;
        }
    }
    counts
}

fn count(counts: &BTreeMap<String, usize>, name: &String) -> usize {
    counts.get(name).copied().unwrap_or(0)
}

/// Lines of one text that the other lacks.
fn only<'a>(text: &'a str, other: &str) -> Vec<&'a str> {
    let there: Vec<&str> = other.lines().collect();
    text.lines().filter(|l| !there.contains(l)).collect()
}
