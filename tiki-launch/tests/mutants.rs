//! Kernels with one mistake each: every mistake is found, and the correct kernels show none.
//!
//! The kernels, their launches and the edits are data in `mutants/`; its README says how to read them.

#[path = "mutants/launches.rs"]
mod launches;

use launches::{Launch, Outcome, launches};
use std::collections::BTreeMap;
use std::fmt::Write;
use tiki_launch::vm::{Async, Checks, Options};

const WAYS: [(&str, Async); 5] = [
    ("eager", Async::Eager),
    ("late", Async::Late),
    ("seed 1", Async::Seed(1)),
    ("seed 2", Async::Seed(2)),
    ("seed 3", Async::Seed(3)),
];

fn options(completion: Async) -> Options {
    Options {
        completion,
        checks: Checks::All,
        threads: 1,
        max_steps: 2_000_000,
        ..Options::default()
    }
}

/// Mutants there are at least: none is lost.
const COUNT: usize = 133;

/// An edit of a kernel's text.
struct Mutant {
    kernel: String,
    name: String,
    /// What must be reported, in each of the ways.
    codes: Vec<String>,
    text: String,
}

fn mutants(launches: &BTreeMap<String, Launch>) -> Vec<Mutant> {
    let only = std::env::var("MUTANTS_ONLY").unwrap_or_default();
    let lines = include_str!("mutants/mutants.tsv").lines();
    let all = lines.map(|line| {
        let f: Vec<String> = line.split('\t').map(|x| x.replace("\\n", "\n")).collect();
        let [kernel, name, codes, nth, find, replace] = f.as_slice() else {
            panic!("six columns: {line}");
        };
        let text = &launches[kernel].text;
        let nth: usize = nth.parse().expect("a number");
        let at = text.match_indices(find.as_str()).nth(nth - 1);
        let (at, _) = at.unwrap_or_else(|| panic!("{kernel}: {name}: no such text"));
        let text = format!("{}{replace}{}", &text[..at], &text[at + find.len()..]);
        Mutant {
            kernel: kernel.clone(),
            name: name.clone(),
            codes: match codes.split(' ').collect::<Vec<_>>().as_slice() {
                [one] => vec![(*one).to_string(); WAYS.len()],
                each if each.len() == WAYS.len() => each.iter().map(|c| (*c).to_string()).collect(),
                _ => panic!("{kernel}: {name}: one code, or one a way"),
            },
            text,
        }
    });
    all.filter(|m| format!("{}: {}", m.kernel, m.name).contains(&only))
        .collect()
}

#[test]
fn correct_kernels_show_nothing() {
    let mut wrong = vec![];
    for (name, launch) in &launches() {
        let mut results = vec![];
        let loaded = launch.load(&launch.text);
        for (way, completion) in WAYS {
            let run = loaded.run(&options(completion));
            for f in &run.findings {
                wrong.push(format!("{name}, {way}: {f}"));
            }
            results.push(run.bytes);
        }
        // Sums of floats by several blocks are the one thing that may come in another order.
        if name != "reduce" && name != "scan" && results.iter().any(|r| *r != results[0]) {
            wrong.push(format!("{name}: results differ"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_mistake_is_found() {
    let launches = launches();
    let all = mutants(&launches);
    let whole = std::env::var("MUTANTS_ONLY").is_err();
    assert!(!whole || all.len() >= COUNT, "{} mutants", all.len());
    let right: BTreeMap<&String, Outcome> = launches
        .iter()
        .map(|(name, l)| (name, l.load(&l.text).run(&options(Async::Eager))))
        .collect();
    let mut table = String::from("kernel,mutant,expected,eager,late,seed 1,seed 2,seed 3\n");
    let mut missed = vec![];
    for m in &all {
        let launch = &launches[&m.kernel];
        let mut found = vec![];
        let loaded = launch.load(&m.text);
        for ((way, completion), wanted) in WAYS.into_iter().zip(&m.codes) {
            let run = loaded.run(&options(completion));
            let mut codes: Vec<&str> = vec![];
            for f in &run.findings {
                if !codes.contains(&f.code.text()) {
                    codes.push(f.code.text());
                }
            }
            if run.refused {
                codes.push("load");
            }
            if run.bytes != right[&m.kernel].bytes {
                codes.push("diff");
            }
            if !codes.contains(&wanted.as_str()) {
                let said = run.findings.iter().map(|f| format!("{f}\n"));
                let said: Vec<String> = said.map(|s| s.chars().take(600).collect()).collect();
                missed.push(format!(
                    "{}: {} ({way}): wanted {wanted}, found {codes:?}\n{}",
                    m.kernel,
                    m.name,
                    said.concat()
                ));
            }
            found.push(codes.join(" "));
        }
        let mut wanted = m.codes.clone();
        wanted.dedup();
        let _ = writeln!(
            table,
            "{},{},{},{}",
            m.kernel,
            m.name.replace(',', ";"),
            wanted.join(" "),
            found.join(",")
        );
    }
    if let Ok(path) = std::env::var("MUTANTS_OUT") {
        std::fs::write(path, &table).expect("the table is written");
    }
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}
