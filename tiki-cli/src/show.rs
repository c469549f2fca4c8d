//! `tiki show KERNEL --stage ..` and `tiki explain KERNEL`: the compiler's stages and reasons.

use crate::codes::meaning;
use crate::instances::{Pick, compiled, name};
use crate::outcome::{Kind, Out, Result};
use serde_json::{Value, json};
use std::fmt::Write;
use tiki_kernel::ast;

/// Show a stage of the compiler.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pick: Pick,
    /// ast, ir, schedule (or plan), lower, ptx, budget, report
    #[arg(long, default_value = "ptx")]
    stage: String,
}

/// Stages that an instance has, and other names for them.
const STAGES: &[(&str, &str)] = &[
    ("ir", "ir"),
    ("schedule", "schedule"),
    ("plan", "schedule"),
    ("lower", "lower"),
    ("ptx", "ptx"),
    ("budget", "budget"),
    ("report", "report"),
    ("explain", "report"),
];

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
    let Some((_, stage)) = STAGES.iter().find(|(name, _)| *name == args.stage) else {
        let names: Vec<&str> = STAGES.iter().map(|(name, _)| *name).collect();
        let text = format!(
            "there is no stage `{}`; there are ast, {}",
            args.stage,
            names.join(", ")
        );
        return Err(Kind::Usage.because(text));
    };
    let mut rows: Vec<(String, String)> = Vec::new();
    for instance in &instances {
        let mut text = String::new();
        compiled(&kernel, instance, &mut |at, said| {
            if at == *stage {
                said.clone_into(&mut text);
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
    let (kernel, instances) = args.pick.find()?;
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
