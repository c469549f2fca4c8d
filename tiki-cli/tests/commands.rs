//! The command as a user meets it: its exit codes, its two forms of output, and what it says when there
//! is nothing to look at.

mod command;

use command::{folder, json, text, tiki, with_kernel};
use std::path::Path;
use std::process::Command;

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

#[test]
fn kernels_are_found_below_the_target_folder() {
    let folder = with_kernel("list");
    let below = folder.join("src/deep");
    std::fs::create_dir_all(&below).expect("a folder");
    let said = json(&tiki(&["list", "--json"], &below));
    let kernel = &said["kernels"][0];
    assert_eq!(kernel["name"], "scaled");
    assert_eq!(kernel["crate"], "library");
    assert_eq!(kernel["instances"].as_array().expect("a list").len(), 7);
    let said = tiki(&["list"], &folder);
    assert!(
        text(&said.stdout).contains("scaled<E = f32, N = 256, T = 32>"),
        "{said:?}"
    );
}

/// What the command shows is what the build made.
#[test]
fn stages_of_any_instance_are_shown() {
    let folder = with_kernel("show");
    let show = |stage: &str, set: &str| {
        let said = tiki(
            &["show", "scaled", "--stage", stage, "--set", set, "--json"],
            &folder,
        );
        assert_eq!(said.status.code(), Some(0), "{said:?}");
        let value = json(&said);
        value["instances"][0]["text"]
            .as_str()
            .expect("a text")
            .to_owned()
    };
    let built = tiki_test_library::scaled::<f32, 256, 64>::PTX;
    assert_eq!(show("ptx", "E=f32,N=256,T=64"), built);
    for stage in ["ir", "plan", "lower", "budget", "report"] {
        assert!(!show(stage, "E=f32,N=256,T=64").is_empty(), "{stage}");
    }
    // An instance that nobody builds.
    assert!(show("ptx", "N=2048,T=128").contains("scaled__f32__2048__128"));
    let said = tiki(&["show", "scaled", "--stage", "what"], &folder);
    assert_eq!(said.status.code(), Some(2));
    let said = tiki(&["show", "missing"], &folder);
    assert_eq!(said.status.code(), Some(3));
    assert!(
        text(&said.stderr).contains("there are: library::scaled"),
        "{said:?}"
    );
}

#[test]
fn an_instance_that_does_not_compile_is_code_1_with_the_messages_of_a_build() {
    let folder = with_kernel("wrong");
    let said = tiki(&["budget", "scaled", "--set", "T=48"], &folder);
    assert_eq!(said.status.code(), Some(1));
    let message = text(&said.stderr);
    assert!(
        message.contains("[TK105]") && message.contains("lib.rs:"),
        "{message}"
    );
}

#[test]
fn reasons_and_differences_have_numbers() {
    let folder = with_kernel("explain");
    let said = json(&tiki(
        &["explain", "scaled", "--set", "E=f32,N=256,T=64", "--json"],
        &folder,
    ));
    let instance = &said["instances"][0];
    assert!(instance["usage"]["registers"].as_u64().expect("a number") > 0);
    assert!(!instance["report"].as_array().expect("a list").is_empty());
    let args = [
        "diff",
        "scaled",
        "--set",
        "E=f32,N=256,T=64",
        "--with",
        "N=1024",
        "--json",
    ];
    let said = json(&tiki(&args, &folder));
    assert_eq!(said["instances"][1], "scaled<E = f32, N = 1024, T = 64>");
    assert!(!said["instructions"].as_array().expect("a list").is_empty());
}

/// A message's code is explained where there is no kernel.
#[test]
fn codes_are_explained() {
    let folder = folder("codes");
    for (code, part) in [
        ("TK601", "barrier"),
        ("tl020", "hold"),
        ("V04", "shared memory"),
    ] {
        let said = tiki(&["explain", code], &folder);
        assert_eq!(said.status.code(), Some(0));
        assert!(text(&said.stdout).contains(part), "{said:?}");
    }
    let said = json(&tiki(&["explain", "TK501", "--json"], &folder));
    assert_eq!(said["code"], "TK501");
    assert!(!said["explanation"].as_str().expect("text").is_empty());
}

/// Invariant: the explanation of every code of a build says what to do. Witness: all of them.
#[test]
fn every_code_of_a_build_has_its_cure() {
    let folder = folder("cures");
    for row in tiki_kernel::diag::codes::ROWS {
        let said = tiki(&["explain", row.name], &folder);
        assert_eq!(said.status.code(), Some(0), "{}", row.name);
        let (_, cure) = text(&said.stdout)
            .split_once("What to do: ")
            .expect(row.name);
        assert_eq!(cure.trim_end(), row.cure);
    }
}

/// Kernels of one name in a crate, and those of sets, are told apart by the names of their files.
#[test]
fn kernels_of_one_name_are_told_apart() {
    let folder = with_kernel("one_name");
    let krate = folder.join("target/tiki/library");
    for name in ["scaled-2.ast", "Mine.scaled.ast", "Mine.other.ast"] {
        std::fs::copy(krate.join("scaled.ast"), krate.join(name)).expect("copied");
    }
    let said = json(&tiki(&["list", "--json"], &folder));
    assert_eq!(said["kernels"].as_array().expect("a list").len(), 4);
    for name in [
        "scaled",
        "library::scaled",
        "scaled-2",
        "Mine.scaled",
        "library::Mine.other",
    ] {
        let said = tiki(&["budget", name, "--json"], &folder);
        assert_eq!(said.status.code(), Some(0), "{name}: {said:?}");
        let path = json(&said)["kernel"].as_str().expect("a path").to_owned();
        assert!(path.ends_with(name), "{path}");
    }
    std::fs::remove_file(krate.join("scaled.ast")).expect("removed");
    let said = tiki(&["budget", "scaled"], &folder);
    assert_eq!(said.status.code(), Some(2));
    let told = text(&said.stderr);
    assert!(
        told.contains("library::scaled-2") && told.contains("library::Mine.scaled"),
        "{told}"
    );
}

#[test]
fn pictures_are_drawn_to_the_terminal_and_to_files() {
    let folder = folder("plot");
    let said = tiki(
        &["plot", "layout", "Sw<3,3,3> o 0 o (8,64):(64,1)"],
        &folder,
    );
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    assert!(said.stdout.len() > 100);
    for (args, file) in [
        (&["plot", "layout", "(8,8):(8,1)"][..], "a.svg"),
        (&["plot", "fragment", "m16n8k16"], "b.png"),
        (&["plot", "fragment", "m64n32"], "c.txt"),
        (&["plot", "banks", "32:32", "--bytes", "4"], "d.svg"),
    ] {
        let said = tiki(&[args, &["--out", file]].concat(), &folder);
        assert_eq!(said.status.code(), Some(0), "{said:?}");
        assert!(std::fs::metadata(folder.join(file)).expect("a file").len() > 200);
    }
    let said = json(&tiki(
        &["plot", "banks", "32:32", "--bytes", "4", "--json"],
        &folder,
    ));
    assert_eq!(said["wavefronts"], 32);
    assert_eq!(
        tiki(&["plot", "layout", "(8,8"], &folder).status.code(),
        Some(2)
    );
    assert_eq!(
        tiki(&["plot", "fragment", "n8"], &folder).status.code(),
        Some(2)
    );
}

#[test]
fn the_cache_is_listed_verified_and_cleared() {
    use tiki_launch::cache::{COMPONENTS, Entry, Key, Mode, Settings, Store};
    let folder = folder("cache");
    let there = |args: &[&str], cache: &str| {
        Command::new(env!("CARGO_BIN_EXE_tiki"))
            .args(args)
            .current_dir(&folder)
            .env("TIKI_CACHE_DIR", cache)
            .env_remove("TIKI_CACHE")
            .output()
            .expect("the command starts")
    };
    let said = there(&["cache", "ls"], "nowhere");
    assert_eq!(said.status.code(), Some(3));
    assert!(text(&said.stderr).contains("no cache"), "{said:?}");
    let store = Store::open(Settings {
        mode: Mode::ReadWrite,
        folder: Some(folder.join("there")),
        limit: 1 << 20,
        problems: Vec::new(),
    });
    let entry = Entry {
        kernel: "k<N = 4>".into(),
        ..Entry::default()
    };
    let key = Key::of(&[b"".as_slice(); COMPONENTS.len()]);
    store
        .get_or_make(&key, || Ok::<_, ()>(entry))
        .expect("made");
    let said = json(&there(&["cache", "ls", "--json"], "there"));
    assert_eq!(said["entries"][0]["kernel"], "k<N = 4>");
    assert_eq!(there(&["cache", "verify"], "there").status.code(), Some(0));
    std::fs::write(folder.join("there/00.cubin"), "damage").expect("written");
    let said = there(&["cache", "verify", "--json"], "there");
    assert_eq!(said.status.code(), Some(1));
    assert_eq!(json(&said)["damaged"].as_array().expect("a list").len(), 1);
    assert_eq!(there(&["cache", "gc"], "there").status.code(), Some(0));
    assert_eq!(there(&["cache", "verify"], "there").status.code(), Some(0));
    let said = json(&there(&["cache", "ls", "--json"], "there"));
    assert_eq!(
        said["entries"].as_array().expect("a list").len(),
        1,
        "the whole one stays"
    );
}
