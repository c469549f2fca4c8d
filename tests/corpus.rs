//! Types: the shadow and the checker accept and refuse alike.
//!
//! `corpus/accept/*.rs` compile: rustc and our check take every kernel in them. Each of
//! `corpus/refuse/*.rs` is refused by both (`__twice` asks both): its record shows an error of rustc's and one of ours.

use std::path::Path;

#[test]
fn both_accept() {
    trybuild::TestCases::new().pass("tests/corpus/accept/*.rs");
}

#[test]
fn both_refuse() {
    trybuild::TestCases::new().compile_fail("tests/corpus/refuse/*.rs");
}

/// Refused by rustc alone so far; the shadow is compiled where our compiler refuses nothing, so nothing of these gets through.
const BY_RUSTC_ALONE: &[&str] = &[
    "array_of_two_types",
    "deref_of_a_number",
    "return_of_a_value",
];

#[test]
fn each_refusal_is_of_both() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/refuse");
    let (mut one_sided, mut count) = (Vec::new(), 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "stderr") {
            let text = std::fs::read_to_string(&path).unwrap();
            let (ours, theirs) = (text.contains("[TK"), text.contains("error[E"));
            let name = path.file_stem().unwrap().to_str().unwrap();
            if ours == BY_RUSTC_ALONE.contains(&name) || !theirs {
                one_sided.push(format!("{}: ours {ours}, rustc's {theirs}", path.display()));
            }
            count += 1;
        }
    }
    assert!(
        one_sided.is_empty() && count > 30,
        "{count} cases; {}",
        one_sided.join("\n")
    );
}
