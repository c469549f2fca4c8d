//! What a build writes and keeps, and when it is done again: cargo is run as a user runs it.
//!
//! The crate is built in the target directory that this test lies in, by turns with and without the variables; a crate of
//! its own, so that no other is built again for it. All in one test: they would wait for each other's locks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CRATE: &str = "tiki_test_door";

/// One build: its environment, and what cargo said of the crate.
struct Build {
    /// It was not built again.
    fresh: bool,
    warnings: String,
}

fn cargo(variables: &[(&str, &Path)]) -> Output {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--offline", "-p", "tiki-test-door", "--lib"])
        .args(["--message-format", "json"])
        .env("CARGO_TARGET_DIR", target())
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|n| n.starts_with("TIKI_")) {
            cargo.env_remove(name);
        }
    }
    for (name, value) in variables {
        cargo.env(name, value);
    }
    cargo.output().expect("cargo starts")
}

fn build(variables: &[(&str, &Path)]) -> Build {
    let done = cargo(variables);
    let said = String::from_utf8(done.stdout).expect("text");
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}\n{told}");
    let own =
        |line: &&str| line.contains("\"tiki_test_door\"") || line.contains("tests/crates/door");
    let artifact = said
        .lines()
        .filter(own)
        .find(|l| l.contains("\"reason\":\"compiler-artifact\""))
        .expect("cargo tells of the crate");
    Build {
        fresh: artifact.contains("\"fresh\":true"),
        warnings: said
            .lines()
            .filter(own)
            .filter(|l| l.contains("\"reason\":\"compiler-message\""))
            .collect(),
    }
}

/// The target directory of this test's own binary.
fn target() -> PathBuf {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().expect("a target directory").to_owned()
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("door")
        .join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

/// The files of a folder of texts that end so.
fn texts(folder: &Path, ending: &str) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder.join(CRATE)).expect("the crate's folder");
    let paths = entries.map(|e| e.expect("an entry").path());
    paths
        .filter(|p| p.extension().is_some_and(|e| e == ending))
        .map(|p| {
            let name = p.file_name().expect("a name").to_string_lossy();
            (
                name.into_owned(),
                std::fs::read_to_string(&p).expect("text"),
            )
        })
        .collect()
}

/// What a kernel adds.
const ONE: &str = "0f3F800000";
const TWO: &str = "0f40000000";

#[test]
fn builds_are_done_again_when_they_must_and_not_else() {
    let (stages, ptx) = (Path::new("ast,ptx"), Path::new("ptx"));
    let first = folder("first");

    // Dumps: each kernel and set has files of its own, though all have one name.
    let dumped = [("TIKI_DUMP", stages), ("TIKI_DUMP_DIR", first.as_path())];
    build(&dumped);
    let written = texts(&first, "ptx");
    let names: Vec<&str> = written.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "Mine.shift_N___96_.ptx",
            "Yours.shift_N___128_.ptx",
            "shift-2_N___32_.ptx",
            "shift_N___32_.ptx",
            "shift_N___64_.ptx",
        ]
    );
    for (name, text) in &written {
        let (own, other) = match name.contains("-2") {
            true => (TWO, ONE),
            false => (ONE, TWO),
        };
        let fits = text.to_uppercase();
        let holds = |number: &str| fits.contains(&number.to_uppercase());
        assert!(holds(own) && !holds(other), "{name}:\n{text}");
    }
    let asts = texts(&first, "ast");
    let lists: Vec<usize> = asts.values().map(|t| t.matches("build").count()).collect();
    assert_eq!(asts.len(), 4, "{:?} {lists:?}", asts.keys());

    // The same variables: nothing is done. Others, or none: expanded again.
    assert!(build(&dumped).fresh);
    // A word that names no stage would write nothing: it is an error with the words there are.
    let refused = cargo(&[("TIKI_DUMP", Path::new("ptx,budgt")), dumped[1]]);
    let told = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert!(!refused.status.success());
    assert!(told.contains("`budgt`, which is no stage") && told.contains("budget"));

    // Nor is a folder of overrides passed over that is not there.
    let nowhere = first.join("nowhere");
    let refused = cargo(&[("TIKI_OVERRIDE", nowhere.as_path())]);
    let told = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert!(!refused.status.success() && told.contains("which is no folder"));

    let second = folder("second");
    let elsewhere = [("TIKI_DUMP", ptx), ("TIKI_DUMP_DIR", second.as_path())];
    assert!(!build(&elsewhere).fresh);
    // Compiled a second time, in another process: the same bytes.
    assert_eq!(texts(&second, "ptx"), written);
    assert!(!build(&[]).fresh);
    assert!(build(&[]).fresh);

    // What is kept: every instance, none in another's place, and the next build takes all of it.
    let kept = target().join("tiki");
    let records = texts(&kept, "kept");
    let names: Vec<&str> = records.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "Mine.shift.kept",
            "Yours.shift.kept",
            "shift-2.kept",
            "shift.kept"
        ]
    );
    let third = folder("third");
    let timed = [
        ("TIKI_DUMP", Path::new("time")),
        ("TIKI_DUMP_DIR", third.as_path()),
    ];
    build(&timed);
    let clocks = texts(&third, "time");
    assert_eq!(clocks.len(), 4);
    for (name, clock) in &clocks {
        assert!(clock.contains(" 0 instances"), "{name}: {clock}");
    }
    assert_eq!(texts(&kept, "kept"), records);

    // Damage in what is kept is seen: the instance is compiled again, and kept.
    let path = kept.join(CRATE).join("shift-2.kept");
    let whole = &records["shift-2.kept"];
    std::fs::write(&path, whole.replacen(".visible", ".visibly", 1)).expect("written");
    let fourth = folder("fourth");
    let timed = [
        ("TIKI_DUMP", Path::new("time")),
        ("TIKI_DUMP_DIR", fourth.as_path()),
    ];
    build(&timed);
    assert!(texts(&fourth, "time")["shift-2.time"].contains(" 1 instances"));
    assert!(texts(&fourth, "time")["shift.time"].contains(" 0 instances"));
    assert_eq!(texts(&kept, "kept"), records);

    // An override is taken, told, and watched: when it is edited, it is taken again.
    let other = folder("other");
    let name = "shift-2_N___32_.ptx";
    std::fs::write(other.join(name), &written[name]).expect("written");
    let overridden = [("TIKI_OVERRIDE", other.as_path())];
    let built = build(&overridden);
    assert!(
        !built.fresh && built.warnings.contains(name),
        "{}",
        built.warnings
    );
    assert!(build(&overridden).fresh);
    // Cargo compares times of files; a second is the coarsest that file systems have.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    std::fs::write(other.join(name), written[name].replace(TWO, ONE)).expect("written");
    assert!(!build(&overridden).fresh);
    assert!(build(&overridden).fresh);
    // And without it all is as it was.
    let built = build(&[]);
    assert!(!built.fresh && built.warnings.is_empty());
}
