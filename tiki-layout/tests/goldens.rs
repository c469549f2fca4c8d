//! CuTe's recorded answers against ours: `tests/goldens/README.md` says what passes.
//!
//! Invariant: every case of every file is run by the row of its operation and judged; none is skipped.
//! Witness: a failing case is printed with its id, its inputs, our answer and the expected one; an operation without a
//! row fails the test.

#[path = "golden_ops/atoms.rs"]
mod atoms;
#[path = "golden_ops/case.rs"]
mod case;
#[path = "golden_ops/layouts.rs"]
mod layouts;
#[path = "golden_ops/memory.rs"]
mod memory;
#[path = "golden_ops/swizzled.rs"]
mod swizzled;
#[path = "golden_ops/tuples.rs"]
mod tuples;

use case::{Case, Row, show};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

const TABLES: &[&[Row]] = &[
    layouts::ROWS,
    tuples::ROWS,
    swizzled::ROWS,
    atoms::ROWS,
    memory::ROWS,
];

fn folder() -> PathBuf {
    match std::env::var_os("LAYOUT_GOLDENS") {
        Some(folder) => folder.into(),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/goldens"),
    }
}

fn read_cases() -> Vec<Case> {
    let folder = folder();
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "json"));
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let list: Vec<Value> =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for mut value in list {
            let word = |value: &Value| value.as_str().unwrap_or("").to_string();
            let (id, op) = (word(&value["id"]), word(&value["op"]));
            cases.push(Case {
                id,
                op,
                input: value["in"].take(),
                expect: value["expect"].take(),
            });
        }
    }
    cases
}

#[test]
fn every_recorded_case() {
    let rows: BTreeMap<&str, &Row> = TABLES
        .iter()
        .flat_map(|rows| rows.iter())
        .map(|row| (row.op, row))
        .collect();
    let cases = read_cases();
    assert!(!cases.is_empty(), "no case in {}", folder().display());
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut unknown: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &cases {
        let Some(row) = rows.get(case.op.as_str()) else {
            *unknown.entry(&case.op).or_default() += 1;
            continue;
        };
        let outcome = (row.run)(case);
        let count = counts.entry(row.op).or_default();
        count.0 += 1;
        if let Err(why) = case.judge(row, &outcome) {
            count.1 += 1;
            println!(
                "FAILED {}\n  in    {}\n  ours  {}\n  why   {why}",
                case.id,
                case.input,
                show(&outcome)
            );
            let mut expect = case.expect.to_string();
            expect.truncate(expect.floor_char_boundary(600));
            println!("  want  {expect}");
        }
    }
    let run: usize = counts.values().map(|(run, _)| run).sum();
    let failed: usize = counts.values().map(|(_, failed)| failed).sum();
    for (op, (run, failed)) in &counts {
        println!("{op:28} {run:5} run {failed:5} failed");
    }
    println!("{run} of {} cases run, {failed} failed", cases.len());
    assert!(unknown.is_empty(), "operations without a row: {unknown:?}");
    assert_eq!(failed, 0, "{failed} of {run} cases failed");
    assert_eq!(run, cases.len());
}
