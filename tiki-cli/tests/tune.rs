//! `tiki tune` as a user meets it where there is no GPU: what it refuses, and that it goes through on the machine.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with the text of a kernel, as a build leaves it.
fn with_kernel(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("tune")
        .join(name);
    let _ = std::fs::remove_dir_all(&folder);
    let krate = folder.join("target/tiki/library");
    std::fs::create_dir_all(&krate).expect("a folder");
    let text = tiki_test_library::scaled::<f32, 256, 64>::TEXT;
    std::fs::write(krate.join("scaled.ast"), text).expect("written");
    folder
}

fn tiki(args: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tiki"))
        .arg("tune")
        .args(args)
        .current_dir(folder)
        .env_remove("TIKI_DUMP_DIR")
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .expect("the command starts")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

const ARGS: &[&str] = &[
    "scaled",
    "--set",
    "E=f32,N=256,T=64",
    "--arg",
    "x=8192",
    "--arg",
    "out=8192",
    "--arg",
    "factor=2",
];

#[test]
fn without_a_gpu_it_says_so() {
    let folder = with_kernel("no_gpu");
    let said = tiki(&[ARGS, &["--device", "cuda:77"]].concat(), &folder);
    assert_eq!(said.status.code(), Some(4), "{said:?}");
    assert!(said.stdout.is_empty());
    let text = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(text.contains("--device vm"), "{text}");
    let said = tiki(
        &[ARGS, &["--device", "cuda:77", "--json"]].concat(),
        &folder,
    );
    assert_eq!(said.status.code(), Some(4));
    assert_eq!(json(&said)["error"]["kind"], "no-gpu");
}

#[test]
fn what_is_missing_or_wrong_is_told() {
    let folder = with_kernel("usage");
    let with_factor = |factor: &str| {
        let args = [
            "scaled", "--device", "vm", "--arg", "x=512", "--arg", "out=512", "--arg",
        ];
        let factor: &'static str = format!("factor={factor}").leak();
        [&args[..], &[factor]].concat()
    };
    for (args, code, word) in [
        (&["no_such", "--device", "vm"][..], 3, "no_such"),
        (&["scaled", "--device", "vm"], 2, "--arg x=EXTENTS"),
        (
            &["scaled", "--device", "vm", "--arg", "x"],
            2,
            "`x` is no argument",
        ),
        (
            &["scaled", "--device", "vm", "--arg", "y=1"],
            2,
            "no argument `y`",
        ),
        (
            &[
                "scaled", "--device", "vm", "--arg", "x=a", "--arg", "out=1", "--arg", "factor=1",
            ],
            2,
            "no extents",
        ),
        (
            &["scaled", "--device", "vm", "--arg", "x=1", "--arg", "x=2"],
            2,
            "`x` is given twice: 1 and 2",
        ),
        (&with_factor("true"), 2, "`factor` is of type f32"),
        (&["scaled", "--device", "vm", "--pairs", "5"], 2, "--pairs"),
        (&["scaled", "--device", "tpu"], 2, "tpu"),
        (
            &["scaled", "--device", "vm", "--out", "x.tuned"],
            2,
            "--out",
        ),
    ] {
        let said = tiki(args, &folder);
        let text = String::from_utf8_lossy(&said.stderr).into_owned();
        assert_eq!(said.status.code(), Some(code), "{args:?}: {text}");
        assert!(text.contains(word), "{args:?}: {text}");
    }
}

#[test]
fn on_the_machine_every_candidate_gets_its_verdict() {
    let folder = with_kernel("machine");
    let said = tiki(
        &[ARGS, &["--device", "vm", "--pairs", "6", "--json"]].concat(),
        &folder,
    );
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    let said = json(&said);
    assert!(
        said["measure"]
            .as_str()
            .expect("text")
            .contains("not a GPU's")
    );
    let log = said["log"].as_array().expect("a list");
    assert_eq!(log.len(), 12);
    let of = |n: u64, t: u64| {
        let wanted = |l: &&Value| l["instance"]["N"] == n && l["instance"]["T"] == t;
        log.iter().find(wanted).expect("it was looked at")
    };
    assert_eq!(of(256, 64)["verdict"], "first");
    // The compiler's own check, and the launch's own, as in a program.
    assert_eq!(of(256, 48)["verdict"], "illegal");
    assert_eq!(of(1000, 32)["verdict"], "refused");
    let reason = of(1000, 32)["reason"].as_str().expect("text");
    assert!(
        reason.contains("requires `x.dim(0) % N == 0`, which is false"),
        "{reason}"
    );
    let words = ["faster", "slower", "same"];
    let verdict = of(4096, 32)["verdict"].as_str().expect("a word");
    assert!(words.contains(&verdict), "{verdict}");
}

/// For people: a candidate that does not compile has its first message beside it.
#[test]
fn a_candidate_that_is_refused_has_its_reason_beside_it() {
    let folder = with_kernel("reasons");
    let said = tiki(
        &[ARGS, &["--device", "vm", "--pairs", "6"]].concat(),
        &folder,
    );
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let line = text
        .lines()
        .find(|l| l.starts_with("illegal"))
        .expect("one is");
    assert!(line.contains("[TK105] 48 threads"), "{line}");
}

/// Where no candidate can be launched, that is the answer.
#[test]
fn nothing_that_launches_is_code_1() {
    let folder = with_kernel("nothing");
    let args = [
        "scaled",
        "--set",
        "E=f32,N=256,T=64",
        "--device",
        "vm",
        "--arg",
        "x=8191",
        "--arg",
        "out=8192",
        "--arg",
        "factor=2",
    ];
    let said = tiki(&args, &folder);
    assert_eq!(said.status.code(), Some(1), "{said:?}");
    let text = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(text.contains("none of 12 candidates"), "{text}");
}
