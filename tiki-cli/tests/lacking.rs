//! What the command says, and how it ends, where there is nothing to look at.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

/// Invariant: a command says what it lacks, by an exit code of its own and one line on standard error; with `--json` by one
/// value. Witness: each command where there is no kernel, no cache, no home directory, no file.
#[test]
fn what_is_lacking_has_a_code() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lacking");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("in_the_way");
    std::fs::write(&file, "no folder").expect("written");
    let run = |args: &[&str], variables: &[(&str, &str)]| {
        let mut tiki = Command::new(env!("CARGO_BIN_EXE_tiki"));
        tiki.args(args).current_dir(&folder);
        for name in [
            "TIKI_DUMP_DIR",
            "CARGO_TARGET_DIR",
            "TIKI_CACHE",
            "TIKI_CACHE_DIR",
        ] {
            tiki.env_remove(name);
        }
        for name in ["TIKI_CACHE_LIMIT", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"] {
            tiki.env_remove(name);
        }
        tiki.envs(variables.iter().copied());
        tiki.output().expect("the command starts")
    };
    let empty = folder.to_str().expect("a path");
    let kernels: &[&[&str]] = &[
        &["list"],
        &["show", "k"],
        &["explain", "k"],
        &["budget", "k"],
        &["diff", "k", "--with", "N=1"],
        &["tune", "k"],
    ];
    let here = ["--kernels", empty];
    let there: &[(&str, &str)] = &[("TIKI_CACHE_DIR", "nowhere")];
    let misspelt: &[(&str, &str)] = &[("TIKI_CACHE", "yes"), ("TIKI_CACHE_DIR", ".")];
    let read_only: &[(&str, &str)] = &[("TIKI_CACHE", "ro"), ("TIKI_CACHE_DIR", ".")];
    type Case<'a> = (Vec<&'a str>, &'a [(&'a str, &'a str)], i32, &'a str);
    let mut cases: Vec<Case> = Vec::new();
    for args in kernels {
        let args = [*args, &here[..]].concat();
        cases.push((args, &[], 3, "no kernel found in"));
    }
    for what in ["ls", "gc", "verify"] {
        cases.push((vec!["cache", what], &[], 3, "no home directory"));
        cases.push((vec!["cache", what], there, 3, "no cache"));
        cases.push((vec!["cache", what], misspelt, 2, "`yes`"));
    }
    cases.push((vec!["cache", "gc"], read_only, 2, "nothing may be removed"));
    cases.push((vec!["cache", "ls"], read_only, 0, ""));
    let launch = ["nowhere.ptx", "--block", "32"];
    for what in ["run", "check"] {
        let args = [&["vm", what][..], &launch].concat();
        cases.push((args, &[], 5, "nowhere.ptx could not be read"));
    }
    cases.push((
        vec!["vm", "entries", "nowhere.ptx"],
        &[],
        5,
        "could not be read",
    ));
    let nowhere = "in_the_way/a.svg";
    let plot = vec!["plot", "layout", "(8,8):(8,1)", "--out", nowhere];
    cases.push((plot, &[], 5, "could not be written"));
    for (args, variables, code, word) in cases {
        let said = run(&args, variables);
        let told = String::from_utf8_lossy(&said.stderr);
        assert_eq!(said.status.code(), Some(code), "{args:?}: {said:?}");
        assert!(told.contains(word), "{args:?}: {told}");
        if code != 0 {
            assert!(
                said.stdout.is_empty() && told.starts_with("error: "),
                "{said:?}"
            );
            let said = run(&[&args[..], &["--json"]].concat(), variables);
            assert_eq!(said.status.code(), Some(code), "{args:?}");
            let message = json(&said)["error"]["message"].to_string();
            assert!(!message.is_empty() && said.stderr.is_empty(), "{said:?}");
        }
    }
    // The doctor's report is whole whatever is lacking; its code is about the GPU alone.
    let doctor = |variables: &[(&str, &str)]| {
        let said = run(&["doctor", "--json"], variables);
        let report = json(&said);
        let cards = report["cards"].as_array().expect("a list").len();
        let code = if cards == 0 { 4 } else { 0 };
        assert_eq!(said.status.code(), Some(code), "{said:?}");
        report["cache"].clone()
    };
    let cache = doctor(&[]);
    assert!(cache["folder"].is_null());
    let problem = |cache: &Value| cache["problem"].as_str().unwrap_or("").to_owned();
    assert!(problem(&cache).contains("home directory"), "{cache}");
    let cache = doctor(&[("TIKI_CACHE_DIR", "in_the_way")]);
    assert!(!problem(&cache).is_empty(), "{cache}");
    assert!(problem(&doctor(misspelt)).contains("`yes`"));
    let cache = doctor(&[("TIKI_CACHE", "off"), ("TIKI_CACHE_DIR", "in_the_way")]);
    assert_eq!(cache["mode"], "off");
    let cache = doctor(&[("TIKI_CACHE_DIR", "fresh")]);
    assert_eq!(
        (problem(&cache).as_str(), &cache["entries"]),
        ("", &0.into())
    );
    assert!(!folder.join("fresh").exists(), "looking makes nothing");
}
