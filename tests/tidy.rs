//! The rules of the house that a test can hold.
//!
//! Invariant: each rule below has no offender. Witness: every text file of the repository.
//! `ARCHITECTURE.md` says what the rules are for; `tests/ui.rs` holds that every code has a case.

#[path = "tidy/source.rs"]
mod source;

use source::{File, Kind, files, has_word, pieces};
use std::collections::BTreeSet;
use tiki::compiler::isa::rows::PAGES;

/// Lines of a room that is easy to survey, and the most a file may have.
const ROOM: usize = 350;
const LIMIT: usize = 600;

/// Files longer than a room should be. A new one does not belong here: cut the file by theme.
const LONG: &[&str] = &[
    "src/prelude/register.rs",
    "src/gemm/table.rs",
    "tests/products/mod.rs",
    "tests/suite/cases.rs",
    "tests/suite/library.rs",
    "tests/schedules.rs",
    "tiki-kernel/src/ast/mod.rs",
    "tiki-kernel/src/ast/text/nodes.rs",
    "tiki-kernel/src/budget/registers.rs",
    "tiki-kernel/src/check/arith.rs",
    "tiki-kernel/src/check/call.rs",
    "tiki-kernel/src/check/control.rs",
    "tiki-kernel/src/check/convert.rs",
    "tiki-kernel/src/check/expr.rs",
    "tiki-kernel/src/check/facts.rs",
    "tiki-kernel/src/check/gemm.rs",
    "tiki-kernel/src/check/join.rs",
    "tiki-kernel/src/check/mod.rs",
    "tiki-kernel/src/check/movement.rs",
    "tiki-kernel/src/check/options.rs",
    "tiki-kernel/src/check/pipeline.rs",
    "tiki-kernel/src/check/register.rs",
    "tiki-kernel/src/check/role.rs",
    "tiki-kernel/src/check/thread.rs",
    "tiki-kernel/src/check/value.rs",
    "tiki-kernel/src/hazard/stage_rules.rs",
    "tiki-kernel/src/hazard/track_shared.rs",
    "tiki-kernel/src/ir/mod.rs",
    "tiki-kernel/src/ir/print.rs",
    "tiki-kernel/src/isa/make.rs",
    "tiki-kernel/src/lower/control.rs",
    "tiki-kernel/src/lower/global.rs",
    "tiki-kernel/src/lower/reduce.rs",
    "tiki-kernel/src/lower/scan.rs",
    "tiki-kernel/src/lower/shared.rs",
    "tiki-kernel/src/lower/tiles.rs",
    "tiki-kernel/src/ops.rs",
    "tiki-kernel/src/ptx/parse.rs",
    "tiki-kernel/src/ptx/parse_body.rs",
    "tiki-kernel/tests/by_hand/tiles.rs",
    "tiki-kernel/tests/gemm_by_hand/hopper.rs",
    "tiki-kernel/tests/hazards.rs",
    "tiki-kernel/tests/tensor_cores.rs",
    "tiki-launch/src/bench.rs",
    "tiki-launch/src/call/tests.rs",
    "tiki-launch/src/checkpoint.rs",
    "tiki-launch/src/double.rs",
    "tiki-launch/src/error.rs",
    "tiki-launch/src/gpu/driver/context.rs",
    "tiki-launch/src/gpu/driver/tests.rs",
    "tiki-launch/src/host.rs",
    "tiki-launch/src/kernel.rs",
    "tiki-launch/src/order.rs",
    "tiki-launch/src/vm/access.rs",
    "tiki-launch/src/vm/decode.rs",
    "tiki-launch/src/vm/exec.rs",
    "tiki-launch/src/vm/meaning/convert.rs",
    "tiki-launch/src/vm/meaning/exact.rs",
    "tiki-launch/src/vm/meaning/float.rs",
    "tiki-launch/src/vm/meaning/half.rs",
    "tiki-launch/src/vm/meaning/int.rs",
    "tiki-launch/tests/ptx_kernels.rs",
    "tiki-launch/tests/tensor_cores.rs",
    "tiki-layout/src/sym/facts.rs",
    "tiki-layout/src/sym/prove.rs",
    "tiki-layout/tests/fuzz.rs",
    "tiki-layout/tests/golden_ops/atoms.rs",
    "tiki-layout/tests/laws_layout.rs",
    "tiki-layout/tests/laws_swizzled.rs",
    "tiki-layout/tests/laws_tiling.rs",
    "tiki-layout/tests/sym.rs",
    "tiki-macros/src/parse/expr.rs",
];

/// Where `unsafe` may stand.
const UNSAFE: &[&str] = &[
    "tiki-launch/src/gpu/driver/",
    "tiki-launch/src/vm/dispatch.rs",
    "tiki-launch/src/vm/simd.rs",
];

fn none(rule: &str, offenders: &[String]) {
    assert!(offenders.is_empty(), "{rule}:\n{}", offenders.join("\n"));
}

fn rust() -> Vec<File> {
    files().into_iter().filter(File::is_rust).collect()
}

#[test]
fn files_are_small_rooms() {
    let mut bad = Vec::new();
    for file in rust() {
        let lines = file.text.lines().count();
        let known = LONG.contains(&file.path.as_str());
        if lines > LIMIT || (lines > ROOM && !known) {
            bad.push(format!("{}: {lines} lines", file.path));
        } else if lines <= ROOM && known {
            bad.push(format!(
                "{}: has become a room, take it off the list",
                file.path
            ));
        }
    }
    let gone = LONG
        .iter()
        .filter(|p| !rust().iter().any(|f| f.path == **p));
    bad.extend(gone.map(|p| format!("{p}: is no more, take it off the list")));
    none(
        "files of at most 350 lines, 600 for those on the list",
        &bad,
    );
}

#[test]
fn unsafe_stands_at_its_addresses() {
    let mut bad = Vec::new();
    for file in rust() {
        let allowed = UNSAFE.iter().any(|a| file.path.starts_with(a));
        if allowed || file.path.starts_with("ui-tests/") {
            continue;
        }
        for (kind, line, text) in pieces(&file.text) {
            // The type of a function does nothing; calling one is what needs an address.
            if kind == Kind::Code && has_word(&text.replace("unsafe fn(", ""), "unsafe") {
                bad.push(format!("{}: in the code from line {line}", file.path));
            }
        }
    }
    none("unsafe at its addresses only", &bad);
}

#[test]
fn other_crates_forbid_unsafe() {
    for path in [
        "src/lib.rs",
        "tiki-layout/src/lib.rs",
        "tiki-kernel/src/lib.rs",
        "tiki-macros/src/lib.rs",
        "tiki-cli/src/main.rs",
    ] {
        let file = files().into_iter().find(|f| f.path == path);
        let text = file.expect("a crate's root").text;
        assert!(text.contains("\n#![forbid(unsafe_code)]\n"), "{path}");
    }
}

#[test]
fn every_source_file_says_what_it_means() {
    let bad: Vec<String> = files()
        .into_iter()
        .filter(|f| f.is_source() && !f.text.starts_with("//! "))
        .map(|f| f.path)
        .collect();
    none("a module's header comes first", &bad);
}

/// Instructions with modifiers (`add.f32`): prose has no such words.
#[test]
fn mnemonics_are_named_in_the_table_alone() {
    let rows = PAGES.iter().flat_map(|page| page.iter());
    let mnemonics: BTreeSet<&str> = rows
        .map(|row| row.text.split([' ', '.']).next().expect("a first word"))
        .collect();
    assert!(mnemonics.len() > 60, "{} mnemonics", mnemonics.len());
    let mut bad = Vec::new();
    for file in files().iter().filter(|f| f.is_source()) {
        if file.path.starts_with("tiki-kernel/src/isa/") {
            continue;
        }
        for (kind, line, text) in pieces(file.shipped()) {
            let words = text.split(|c: char| !(c.is_alphanumeric() || c == '.' || c == '_'));
            for word in words.filter(|_| kind == Kind::Text) {
                let (first, rest) = word.split_once('.').unwrap_or((word, ""));
                let modified = rest.starts_with(|c: char| c.is_ascii_lowercase());
                if mnemonics.contains(first) && modified {
                    bad.push(format!("{}:{line}: {word}", file.path));
                }
            }
        }
    }
    none("mnemonics are named under isa/ alone", &bad);
}

#[test]
fn architectures_are_named_in_the_table_alone() {
    let mut bad = Vec::new();
    for file in files().iter().filter(|f| f.is_source()) {
        // Kernels say in their attribute what they are built for.
        let kernels = file.path.starts_with("src/gemm/") && file.text.contains("#[tiki::kernel(");
        if file.path == "tiki-kernel/src/target.rs" || kernels {
            continue;
        }
        for (kind, line, text) in pieces(file.shipped()) {
            let named = text.split("sm_").skip(1);
            let named = named.filter(|t| t.starts_with(|c: char| c.is_ascii_digit()));
            // A kernel says what it is built for.
            let own = file.text.lines().nth(line - 1);
            let own =
                own.is_some_and(|l| l.contains("target = \"")) && file.path.starts_with("src/");
            if kind == Kind::Text && named.count() > 0 && !own {
                bad.push(format!("{}:{line}: {text}", file.path));
            }
        }
    }
    none("architectures are named in target.rs alone", &bad);
}

#[test]
fn names_say_what_is_inside() {
    let vague = ["utils", "util", "helpers", "helper", "common", "misc"];
    let bad: Vec<String> = files()
        .into_iter()
        .map(|f| f.path)
        .filter(|path| {
            path.split('/')
                .any(|part| vague.contains(&part.split('.').next().unwrap_or_default()))
        })
        .collect();
    none("no file or folder for odds and ends", &bad);
}

/// Texts that a clone on another machine must not need.
#[test]
fn nothing_depends_on_one_machine() {
    // Put together, so that this file does not show what it looks for.
    let places = ["work", "root", "tmp", "home"].map(|p| format!("/{p}/"));
    let hosts = [
        ["pypi", "org"],
        ["crates", "io"],
        ["pythonhosted", "org"],
        ["npmjs", "org"],
    ]
    .map(|h| h.join("."));
    let mut bad = Vec::new();
    for file in files() {
        // The lock names the registry by its index.
        if file.path == "Cargo.lock" {
            continue;
        }
        for (i, line) in file.text.lines().enumerate() {
            let place = places.iter().any(|p| {
                let mut found = line.match_indices(p.as_str());
                // Within a longer path it is another folder.
                found.any(|(at, _)| {
                    !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '.' || c == '}')
                })
            });
            if place || hosts.iter().any(|h| line.contains(h)) {
                bad.push(format!("{}:{}: {line}", file.path, i + 1));
            }
        }
    }
    none("no path of one machine, no host of a registry", &bad);
}

#[test]
fn nothing_is_left_undone_or_untested() {
    let mut bad = Vec::new();
    for file in rust() {
        for (kind, line, text) in pieces(&file.text) {
            let undone = ["todo!", "unimplemented!", "#[ignore"];
            if kind == Kind::Code && undone.iter().any(|u| text.contains(u)) {
                bad.push(format!("{}: in the code from line {line}", file.path));
            }
        }
    }
    none("nothing undone, no test ignored", &bad);
}

/// They are built before every user's first kernel.
#[test]
fn the_algebra_and_the_compiler_have_no_dependencies() {
    for (crate_, allowed) in [
        ("tiki-layout", &[][..]),
        ("tiki-kernel", &["tiki-layout"][..]),
    ] {
        let path = format!("{crate_}/Cargo.toml");
        let file = files().into_iter().find(|f| f.path == path);
        let text = file.expect("a manifest").text;
        let mut section = "";
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                section = line;
            }
            let Some((name, value)) = line.split_once('=').filter(|_| section == "[dependencies]")
            else {
                continue;
            };
            let name = name.trim().trim_end_matches(".workspace");
            let fine = allowed.contains(&name) || value.contains("optional = true");
            assert!(fine, "{crate_} depends on {name}");
        }
    }
}

/// The rules above look at code, strings and comments apart: this holds the cutting.
#[test]
fn rust_text_is_cut_into_code_strings_and_comments() {
    let text = "let a = \"x // \\\" y\"; // said \"so\"\nlet b = r#\"raw \" one\"#; let c: &'a u8 = b'\\''; '\"'";
    let found: Vec<(Kind, usize, &str)> = pieces(text)
        .into_iter()
        .filter(|(kind, ..)| *kind != Kind::Code)
        .collect();
    let expected = [
        (Kind::Text, 1, "x // \\\" y"),
        (Kind::Comment, 1, "// said \"so\""),
        (Kind::Text, 2, "raw \" one"),
        (Kind::Text, 2, "\\'"),
        (Kind::Text, 2, "\""),
    ];
    assert_eq!(found, expected);
    assert!(has_word("a unsafe {", "unsafe") && !has_word("unsafe_code", "unsafe"));
}
