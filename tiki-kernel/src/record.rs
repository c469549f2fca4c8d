//! A compiled instance as text: how a build keeps what it need not compile again.
//!
//! ```text
//! tiki-record 1
//! title=rms_norm<E = f16, N = 4096>
//! arg=N 4096
//! ..
//! ptx=.version 7.8\n.target ..
//! end
//! ```
//!
//! A line is a field; `\n`, tabs (between the parts of a value) and `\` are escaped. Places stand in it as the program's span
//! numbers, and the lines of the PTX as they were: [`move_lines`] moves those when the source has moved.
//!
//! Invariant: `read(write(o)) == o`; a text of another version, or one that is cut short, is refused.

use crate::artifact::{Hidden, ParamKind, Usage};
use crate::ast::Span;
use crate::compile::{Arg, Instance, Output};
use crate::dtype::DType;
use crate::report::{Item, Report};
use crate::target::Target;
use std::fmt::Write;
use std::slice::from_ref;

/// First line of every record. The number changes with [`Output`].
pub const VERSION: &str = "tiki-record 1";

/// Writes an instance.
#[must_use]
pub fn write(output: &Output) -> String {
    let mut out = format!("{VERSION}\n");
    let mut line = |key: &str, parts: &[String]| {
        let parts: Vec<String> = parts.iter().map(|p| escaped(p)).collect();
        let _ = writeln!(out, "{key}={}", parts.join("\t"));
    };
    let s = |x: &dyn ToString| x.to_string();
    line("title", from_ref(&output.title));
    line("entry", from_ref(&output.entry));
    line("target", &[s(&output.target.name())]);
    for (name, arg) in &output.instance.args {
        line("arg", &[name.clone(), s(arg)]);
    }
    line("threads", &output.threads.map(|t| s(&t)));
    line("cluster", &[s(&output.cluster)]);
    line("dynamic_shared", &[s(&output.dynamic_shared)]);
    for (name, kind) in &output.params {
        match *kind {
            ParamKind::Scalar(dtype) => line("scalar", &[name.clone(), s(&dtype.name())]),
            ParamKind::Tensor {
                dtype,
                rank,
                writes,
                strided,
                align,
            } => line(
                "tensor",
                &[
                    name.clone(),
                    s(&dtype.name()),
                    s(&rank),
                    s(&writes),
                    s(&strided),
                    s(&align),
                ],
            ),
        }
    }
    for hidden in &output.hidden {
        match *hidden {
            Hidden::TensorMap {
                param,
                tile,
                swizzle,
            } => {
                let mut parts = vec![s(&param), s(&swizzle)];
                parts.extend(tile.iter().map(|t| s(t)));
                line("map", &parts);
            }
        }
    }
    let u = output.usage;
    let usage = [
        u.registers,
        u.shared,
        u.barriers,
        u.threads,
        u.blocks_per_sm,
    ];
    line("usage", &usage.map(|n| s(&n)));
    line("deny_spills", &[s(&output.deny_spills)]);
    line("dependent_launch", &[s(&output.dependent_launch)]);
    for item in &output.report.items {
        let mut parts = vec![
            item.theme.to_string(),
            s(&item.span.0),
            item.name.clone(),
            item.text.clone(),
        ];
        for (name, value) in &item.numbers {
            parts.extend([name.to_string(), s(value)]);
        }
        line("item", &parts);
    }
    line("ptx", from_ref(&output.ptx));
    out.push_str("end\n");
    out
}

/// Reads what [`write()`] wrote; `None` if it is anything else.
#[must_use]
pub fn read(text: &str) -> Option<Output> {
    let mut lines = text.lines();
    if lines.next()? != VERSION {
        return None;
    }
    let mut out = Output {
        instance: Instance { args: Vec::new() },
        title: String::new(),
        entry: String::new(),
        target: Target::default_target(),
        ptx: String::new(),
        threads: [0; 3],
        cluster: 0,
        dynamic_shared: 0,
        params: Vec::new(),
        hidden: Vec::new(),
        usage: Usage::default(),
        deny_spills: false,
        dependent_launch: false,
        report: Report::default(),
    };
    for line in lines.by_ref() {
        if line == "end" {
            let whole = !out.ptx.is_empty() && !out.entry.is_empty();
            return (whole && lines.next().is_none()).then_some(out);
        }
        let (key, value) = line.split_once('=')?;
        let parts: Vec<String> = value.split('\t').map(unescaped).collect::<Option<_>>()?;
        field(&mut out, key, &parts)?;
    }
    None
}

fn field(out: &mut Output, key: &str, parts: &[String]) -> Option<()> {
    let number = |i: usize| parts.get(i)?.parse::<u32>().ok();
    let truth = |i: usize| parts.get(i)?.parse::<bool>().ok();
    let text = |i: usize| parts.get(i).cloned();
    match key {
        "title" => out.title = text(0)?,
        "entry" => out.entry = text(0)?,
        "target" => out.target = Target::by_name(parts.first()?)?,
        "arg" => {
            let arg = Arg::by_text(parts.get(1)?)?;
            out.instance.args.push((text(0)?, arg));
        }
        "threads" => out.threads = [number(0)?, number(1)?, number(2)?],
        "cluster" => out.cluster = number(0)?,
        "dynamic_shared" => out.dynamic_shared = number(0)?,
        "scalar" => {
            let dtype = DType::by_name(parts.get(1)?)?;
            out.params.push((text(0)?, ParamKind::Scalar(dtype)));
        }
        "tensor" => out.params.push((
            text(0)?,
            ParamKind::Tensor {
                dtype: DType::by_name(parts.get(1)?)?,
                rank: number(2)?,
                writes: truth(3)?,
                strided: truth(4)?,
                align: number(5)?,
            },
        )),
        "map" => {
            let mut tile = [0; 5];
            for (i, extent) in tile.iter_mut().enumerate() {
                *extent = number(i + 2)?;
            }
            out.hidden.push(Hidden::TensorMap {
                param: number(0)?,
                tile,
                swizzle: number(1)?,
            });
        }
        "usage" => {
            out.usage = Usage {
                registers: number(0)?,
                shared: number(1)?,
                barriers: number(2)?,
                threads: number(3)?,
                blocks_per_sm: number(4)?,
            };
        }
        "deny_spills" => out.deny_spills = truth(0)?,
        "dependent_launch" => out.dependent_launch = truth(0)?,
        "item" => {
            let mut numbers = Vec::new();
            for pair in parts.get(4..)?.chunks(2) {
                let [name, value] = pair else { return None };
                numbers.push((name.clone().into(), value.parse().ok()?));
            }
            out.report.items.push(Item {
                theme: text(0)?.into(),
                span: Span(number(1)?),
                name: text(2)?,
                text: text(3)?,
                numbers,
            });
        }
        "ptx" => out.ptx = text(0)?,
        _ => return None,
    }
    Some(())
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out
}

fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next()? {
                '\\' => '\\',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                _ => return None,
            },
            c => c,
        });
    }
    Some(out)
}

/// PTX whose places in one source file lie some lines further down (or up).
#[must_use]
pub fn move_lines(ptx: &str, file: &str, by: i64) -> String {
    if by == 0 {
        return ptx.to_owned();
    }
    let mut number = None;
    let mut out = String::with_capacity(ptx.len() + 64);
    for line in ptx.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some(".file") => {
                let n = words.next();
                if line.split('"').nth(1) == Some(file) {
                    number = n;
                }
            }
            Some(".loc") => {
                let (n, at) = (words.next(), words.next());
                let at = at.and_then(|l| l.parse::<i64>().ok());
                if let (true, Some(at), Some(column)) = (n == number, at, words.next()) {
                    let indent = &line[..line.len() - line.trim_start().len()];
                    let n = n.unwrap_or_default();
                    let _ = writeln!(out, "{indent}.loc {n} {} {column}", at + by);
                    continue;
                }
            }
            _ => {}
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests;
