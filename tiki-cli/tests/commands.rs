//! The command as a user meets it: its exit codes, its two forms of output, and what it says when there
//! is nothing to look at.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn tiki(args: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tiki"))
        .args(args)
        .current_dir(folder)
        .env_remove("TIKI_DUMP_DIR")
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .expect("the command starts")
}

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn no_kernel_is_code_3_and_says_where_it_looked() {
    let folder = folder("nothing_here");
    let path = folder.to_str().expect("a path");
    let said = tiki(&["list", "--kernels", path], &folder);
    assert_eq!(said.status.code(), Some(3));
    assert!(said.stdout.is_empty());
    assert!(
        text(&said.stderr).contains("no kernel found in"),
        "{said:?}"
    );
    let said = tiki(&["list", "--json", "--kernels", path], &folder);
    assert_eq!(said.status.code(), Some(3));
    assert_eq!(json(&said)["error"]["kind"], "missing");
}

#[test]
fn a_text_of_another_version_is_told_and_not_guessed_at() {
    let folder = folder("another_version");
    std::fs::write(folder.join("old.ast"), "tiki-ast 0\n(program)").expect("written");
    let said = tiki(&["list", "--kernels", "."], &folder);
    assert_eq!(said.status.code(), Some(3));
    assert!(text(&said.stderr).contains("tiki-ast 0"), "{said:?}");
}

#[test]
fn a_wrong_command_line_is_code_2() {
    let said = tiki(&["lisst"], Path::new("."));
    assert_eq!(said.status.code(), Some(2));
}

#[test]
fn the_doctor_reports_with_and_without_a_gpu() {
    let said = tiki(&["doctor", "--json"], Path::new("."));
    let report = json(&said);
    let found = report["cards"].as_array().expect("a list").len();
    let code = if found == 0 { 4 } else { 0 };
    assert_eq!(said.status.code(), Some(code), "{said:?}");
    assert_eq!(report["problem"].is_null(), found > 0);
    let targets = report["targets"].as_array().expect("a list");
    assert_eq!(targets.len(), tiki_kernel::target::Target::all().count());
}
