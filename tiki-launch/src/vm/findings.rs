//! Findings: collected, each once for its code and line, and written for people and machines.
//!
//! The order is that of the blocks and, in a block, of the run: it does not depend on the number of host
//! threads. The machine-readable forms are JSON (an array of objects, one a finding) and SARIF 2.1.0.

use super::fault::{Code, Fault, Severity};
use serde_json::{Value, json};
use std::collections::HashSet;

/// Findings of a launch or of a part of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Findings {
    list: Vec<Fault>,
    known: HashSet<(Code, u32)>,
}

impl Findings {
    /// Adds a finding, unless its code was found at this line already.
    pub(super) fn add(&mut self, f: Fault) {
        if self.known.insert((f.code, f.ptx_line)) {
            self.list.push(f);
        }
    }
    /// Whether a finding with this code and line would be new.
    pub(super) fn is_new(&self, code: Code, line: u32) -> bool {
        !self.known.contains(&(code, line))
    }
    pub(super) fn into_list(self) -> Vec<Fault> {
        self.list
    }
}

/// Findings as a JSON array.
#[must_use]
pub fn to_json(findings: &[Fault]) -> Value {
    findings.iter().map(one).collect()
}

fn one(f: &Fault) -> Value {
    json!({
        "code": f.code.text(),
        "name": f.code.title(),
        "severity": f.code.severity().text(),
        "text": f.text,
        "kernel": f.kernel,
        "block": f.block,
        "warp": f.warp,
        "lanes": (0..32).filter(|i| f.lanes >> i & 1 == 1).collect::<Vec<u32>>(),
        "ptx_line": f.ptx_line,
        "source": f.source.as_ref().map(|s| json!({"file": s.file, "line": s.line, "column": s.col})),
        "buffer": f.buffer,
        "byte": f.index,
        "other": f.other.as_ref().map(|o| json!({
            "block": o.block, "warp": o.warp, "ptx_line": o.ptx_line,
            "source": o.source.as_ref().map(|s| json!({"file": s.file, "line": s.line, "column": s.col})),
            "what": o.what,
        })),
    })
}

/// Findings as a SARIF log; `ptx` is the path of the text that was run.
#[must_use]
pub fn to_sarif(findings: &[Fault], ptx: &str) -> Value {
    let mut codes: Vec<Code> = vec![];
    for f in findings {
        if !codes.contains(&f.code) {
            codes.push(f.code);
        }
    }
    let place = |file: &str, line: u32, column: Option<u32>| {
        let mut region = json!({"startLine": line.max(1)});
        if let Some(c) = column.filter(|c| *c > 0) {
            region["startColumn"] = json!(c);
        }
        json!({"physicalLocation": {"artifactLocation": {"uri": file}, "region": region}})
    };
    let results: Vec<Value> = findings
        .iter()
        .map(|f| {
            let mut at = vec![];
            if let Some(s) = &f.source {
                at.push(place(&s.file, s.line, Some(s.col)));
            }
            at.push(place(ptx, f.ptx_line, None));
            let related: Vec<Value> = f
                .other
                .iter()
                .map(|o| {
                    let mut p = match &o.source {
                        Some(s) => place(&s.file, s.line, Some(s.col)),
                        None => place(ptx, o.ptx_line, None),
                    };
                    p["message"] = json!({"text": o.what});
                    p
                })
                .collect();
            json!({
                "ruleId": f.code.text(),
                "level": f.code.severity().text(),
                "message": {"text": f.text},
                "locations": at,
                "relatedLocations": related,
                "properties": one(f),
            })
        })
        .collect();
    let rules: Vec<Value> = codes
        .iter()
        .map(|c| {
            json!({
                "id": c.text(),
                "shortDescription": {"text": c.title()},
                "defaultConfiguration": {"level": c.severity().text()},
            })
        })
        .collect();
    json!({
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{
            "tool": {"driver": {"name": "tiki", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "results": results,
        }],
    })
}

/// Whether a finding is an error rather than a remark.
#[must_use]
pub fn is_error(f: &Fault) -> bool {
    f.code.severity() == Severity::Error
}
