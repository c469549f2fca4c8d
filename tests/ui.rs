//! Every message a user can meet, as rustc shows it: `ui-tests/CODE/case.rs` and `case.stderr`.
//!
//! `TRYBUILD=overwrite cargo test --test ui` rewrites them; the difference is what is reviewed.

use std::path::Path;

fn cases(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ui-tests")
}

#[test]
fn messages_are_as_recorded() {
    let t = trybuild::TestCases::new();
    t.compile_fail("ui-tests/*/*.rs");
}

/// Invariant: the folder's name is a code, and each of its cases shows it. Witness: the records.
#[test]
fn cases_show_their_code() {
    let mut count = 0;
    for folder in cases(&root()) {
        let code = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let known = tiki::compiler::diag::Code::by_name(&code).is_some();
        assert!(known || code == "rustc", "`{code}` is no code");
        for file in cases(&folder)
            .iter()
            .filter(|f| f.extension().is_some_and(|e| e == "stderr"))
        {
            let text = std::fs::read_to_string(file).unwrap();
            let shown = if known {
                text.contains(&format!("[{code}]"))
            } else {
                text.contains("error")
            };
            assert!(shown, "{} does not show {code}", file.display());
            count += 1;
        }
    }
    assert!(count >= 60, "{count} cases");
}

/// Invariant: every code of the table can be met, and is shown how. Witness: a folder each.
#[test]
fn every_code_has_a_case() {
    // A defect of the compiler has no recipe.
    let without = ["TK099"];
    for row in tiki::compiler::diag::codes::ROWS {
        let there = root().join(row.name).is_dir();
        assert_eq!(
            there,
            !without.contains(&row.name),
            "{}: {}",
            row.name,
            row.title
        );
    }
}

/// A message speaks of kernels, not of how the macro or the compiler is made.
#[test]
fn no_inner_name_is_shown() {
    const INNER: &[&str] = &[
        "tiki_kernel::",
        "tiki_macros::",
        "ExprKind",
        "Val::",
        "__private",
        "unwrap",
    ];
    for folder in cases(&root()) {
        for file in cases(&folder)
            .iter()
            .filter(|f| f.extension().is_some_and(|e| e == "stderr"))
        {
            let text = std::fs::read_to_string(file).unwrap();
            // What the user wrote is quoted; only messages count.
            let messages: Vec<&str> = text.lines().filter(|l| !l.contains(" | ")).collect();
            for name in INNER {
                let leak = messages.iter().find(|l| l.contains(name));
                assert!(leak.is_none(), "{}: {name} in {leak:?}", file.display());
            }
        }
    }
}
