//! `tiki show KERNEL --stage ..` and `tiki explain KERNEL`: the compiler's stages and reasons.

use crate::codes::{self, meaning};
use crate::instances::{Pick, compiled, name};
use crate::outcome::{Failure, Kind, Out, Result};
use serde_json::{Value, json};
use std::fmt::Write;
use tiki_kernel::stages::{self, STAGES, When};
use tiki_kernel::{ast, near};

/// Show a stage of the compiler.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pick: Pick,
    /// ast, ir, schedule (or plan), lower, ptx, budget, report
    #[arg(long, default_value = "ptx")]
    stage: String,
}

/// Whether the compiler alone makes a stage of an instance.
fn is_text(stage: &str, when: When) -> bool {
    when != When::Load && !matches!(stage, "ast" | "time" | "all")
}

/// Why a word is no stage that can be shown.
fn no_stage(word: &str) -> Failure {
    let of = |stage: &str| STAGES.iter().find(|(name, ..)| *name == stage);
    if let Some((name, _, When::Load)) = stages::named(word).and_then(of) {
        let text = format!(
            "`{name}` is there when a kernel is loaded on a GPU: run the program with TIKI_DUMP={name}"
        );
        return Kind::Usage.because(text);
    }
    let names = STAGES.iter().filter(|(name, _, when)| is_text(name, *when));
    let names: Vec<&str> = names.map(|(name, ..)| *name).collect();
    let text = format!(
        "there is no stage `{word}`; there are ast, {}",
        names.join(", ")
    );
    let all = ["ast"].into_iter().chain(names);
    match near::question(word, all.collect::<Vec<_>>()) {
        Some(question) => Kind::Usage.because(format!("{text}; {question}")),
        None => Kind::Usage.because(text),
    }
}

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let (kernel, instances) = args.pick.find()?;
    if args.stage == "ast" {
        let text = ast::print(&kernel.program);
        out.say(
            json!({ "kernel": kernel.path(), "stage": "ast", "text": text }),
            || text.clone(),
        );
        return Ok(());
    }
    let known = |stage: &str| {
        let mut rows = STAGES.iter();
        rows.any(|(name, _, when)| *name == stage && is_text(name, *when))
    };
    let Some(stage) = stages::named(&args.stage).filter(|s| known(s)) else {
        return Err(no_stage(&args.stage));
    };
    let mut rows: Vec<(String, String)> = Vec::new();
    for instance in &instances {
        let mut text = String::new();
        compiled(&kernel, instance, &mut |at, said| {
            if at == stage {
                text = said();
            }
        })?;
        rows.push((name(&kernel, instance), text));
    }
    let values: Vec<Value> = rows
        .iter()
        .map(|(title, text)| json!({ "instance": title, "text": text }))
        .collect();
    let value = json!({ "kernel": kernel.path(), "stage": stage, "instances": values });
    out.say(value, || {
        let mut all = String::new();
        for (title, text) in &rows {
            if rows.len() > 1 {
                let _ = writeln!(all, "== {title}");
            }
            all.push_str(text);
        }
        all
    });
    Ok(())
}

/// Say what the compiler chose and why, or what a code means: `tiki explain TK601`.
#[derive(Debug, clap::Args)]
pub struct Explain {
    #[command(flatten)]
    pick: Pick,
}

pub fn explain(args: &Explain, out: &mut Out) -> Result<()> {
    if let Some(meaning) = meaning(&args.pick.kernel) {
        out.say(meaning.value(), || meaning.lines());
        return Ok(());
    }
    let word = &args.pick.kernel;
    let kernel = args.pick.folder.kernel(word);
    let kernel = kernel.map_err(|e| {
        if codes::is_code(word) {
            codes::no_code(word)
        } else {
            e
        }
    })?;
    let instances = args.pick.of(&kernel)?;
    let places = &kernel.program.places;
    let (mut values, mut text) = (Vec::new(), String::new());
    for instance in &instances {
        let output = compiled(&kernel, instance, &mut |_, _| {})?;
        let items: Value = serde_json::from_str(&output.report.json(places)).unwrap_or_default();
        let u = output.usage;
        values.push(json!({
            "instance": output.title,
            "target": output.target.name(),
            "usage": {
                "registers": u.registers, "shared": u.shared, "barriers": u.barriers,
                "threads": u.threads, "blocks_per_sm": u.blocks_per_sm,
            },
            "report": items,
        }));
        let target = output.target.name();
        let _ = writeln!(text, "{} for {target}: {u}", output.title);
        for line in output.report.text(places).lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    out.say(
        json!({ "kernel": kernel.path(), "instances": values }),
        || text,
    );
    Ok(())
}
