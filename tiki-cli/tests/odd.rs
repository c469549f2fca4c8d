//! What the command says of arguments and files that nobody ought to give it.

mod command;

use command::{folder, json, text, tiki, with_kernel};

/// What stands on the command line twice, or beyond a type, or nowhere, is told with its name and value.
#[test]
fn odd_arguments_are_told() {
    let folder = with_kernel("odd_arguments");
    for (args, word) in [
        (
            &["show", "scaled", "--set", "N=256,N=512"][..],
            "`N` is given twice: 256 and 512",
        ),
        (
            &["show", "scaled", "--set", "N=-4"],
            "`usize`: it cannot be -4",
        ),
        (
            &["show", "scaled", "--set", "N=18446744073709551616"],
            "cannot be 18446744073709551616",
        ),
        (
            &["diff", "scaled", "--with", "T=32", "--with", "T=64"],
            "`T` is given twice",
        ),
        (&["show", "scaled", "--stage", "sass"], "TIKI_DUMP=sass"),
        (&["show", "scaled", "--stage", "time"], "no stage `time`"),
        (&["plot", "banks", "32:1", "--bytes", "0"], "1..=16"),
        (&["cache", "gc", "--limit", "much"], "'much'"),
        (&["list", "--no-such"], "--no-such"),
        (&["no-such"], "no-such"),
    ] {
        let said = tiki(args, &folder);
        assert_eq!(said.status.code(), Some(2), "{args:?}: {said:?}");
        assert!(text(&said.stderr).contains(word), "{args:?}: {said:?}");
        // And so is what clap alone understands, in the form that was asked for.
        let said = tiki(&[args, &["--json"]].concat(), &folder);
        assert_eq!(said.status.code(), Some(2), "{args:?}");
        assert!(said.stderr.is_empty(), "{args:?}: {said:?}");
        let error = &json(&said)["error"];
        assert_eq!(error["kind"], "usage", "{args:?}");
        let message = error["message"].as_str().expect("text");
        assert!(message.contains(word), "{args:?}: {message}");
    }
}

/// Invariant: a name that is nearly one that there is, is asked about. Witness: every kind of name that the command takes.
#[test]
fn near_names_are_asked_about() {
    let folder = with_kernel("near_names");
    for (args, code, question) in [
        (&["show", "scald"][..], 3, "did you mean `scaled`?"),
        (&["budget", "SCALED"], 3, "did you mean `scaled`?"),
        (
            &["explain", "library::scled"],
            3,
            "did you mean `library::scaled`?",
        ),
        (
            &["show", "scaled", "--set", "n=256"],
            2,
            "did you mean `N`?",
        ),
        (
            &["diff", "scaled", "--with", "t=32"],
            2,
            "did you mean `T`?",
        ),
        (
            &["show", "scaled", "--stage", "lowr"],
            2,
            "did you mean `lower`?",
        ),
        (&["explain", "TK6011"], 3, "did you mean `TK601`?"),
        (&["shw", "scaled"], 2, "'show'"),
        (&["show", "scaled", "--sett", "N=256"], 2, "'--set'"),
    ] {
        let said = tiki(args, &folder);
        assert_eq!(said.status.code(), Some(code), "{args:?}: {said:?}");
        assert!(text(&said.stderr).contains(question), "{args:?}: {said:?}");
    }
    let far = tiki(&["show", "gemm"], &folder);
    assert!(!text(&far.stderr).contains("did you mean"), "{far:?}");
}

/// Invariant: the command compiles no instance that the macro would refuse. Witness: a type outside its bound, in every command
/// that takes values.
#[test]
fn bounds_of_a_type_hold_on_the_command_line() {
    let folder = with_kernel("bounds");
    let file = folder.join("target/tiki/library/scaled.ast");
    let own = std::fs::read_to_string(&file).expect("read");
    let bounded = own.replacen("\"Element\"", "\"Float\"", 1);
    let bounded = if bounded == own {
        own.replacen("Element", "Float", 1)
    } else {
        bounded
    };
    assert_ne!(bounded, own);
    std::fs::write(&file, bounded).expect("written");
    for args in [
        &["show", "scaled", "--set", "E=i32"][..],
        &["budget", "scaled", "--set", "E=i32,N=256"],
        &["explain", "scaled", "--set", "E=i32"],
        &["diff", "scaled", "--with", "E=i32"],
        &["tune", "scaled", "--set", "E=i32", "--device", "vm"],
    ] {
        let said = tiki(args, &folder);
        assert_eq!(said.status.code(), Some(2), "{args:?}: {said:?}");
        let told = text(&said.stderr);
        let words = "bounded by `Float`, a floating-point type: it cannot be `i32`; it can be `f32`, `f16`, `bf16`, `f64`";
        assert!(told.contains(words), "{args:?}: {told}");
    }
    let said = tiki(&["show", "scaled", "--set", "E=f64,N=256,T=64"], &folder);
    assert_eq!(said.status.code(), Some(0), "{said:?}");
}

/// A kernel may be named as codes are: what is wrong beside its name is told as of any other.
#[test]
fn a_kernel_named_like_a_code_is_a_kernel() {
    let folder = with_kernel("named_like_a_code");
    let file = folder.join("target/tiki/library/scaled.ast");
    let own = std::fs::read_to_string(&file).expect("read");
    let renamed = own.replace("scaled", "k1");
    assert_ne!(own, renamed);
    std::fs::write(&file, renamed).expect("written");
    let said = tiki(&["explain", "k1"], &folder);
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    let said = tiki(&["explain", "k1", "--set", "Q=1"], &folder);
    assert_eq!(said.status.code(), Some(2), "{said:?}");
    assert!(text(&said.stderr).contains("`Q`"), "{said:?}");
    let said = tiki(&["explain", "k2"], &folder);
    assert!(
        text(&said.stderr).contains("no code and no kernel `k2`"),
        "{said:?}"
    );
}

/// A kernel whose text is another version's is there: the command says why it does not show it.
#[test]
fn a_kernel_of_another_version_is_told_by_its_name() {
    let folder = with_kernel("older_text");
    let krate = folder.join("target/tiki/library");
    let own = std::fs::read_to_string(krate.join("scaled.ast")).expect("read");
    let other = own.replacen("tiki-ast ", "tiki-ast 9", 1);
    std::fs::write(krate.join("older.ast"), other).expect("written");
    for name in ["older", "library::older"] {
        let said = tiki(&["show", name], &folder);
        assert_eq!(said.status.code(), Some(3));
        let told = text(&said.stderr);
        assert!(
            told.contains("older.ast was not read") && told.contains("tiki-ast 9"),
            "{told}"
        );
    }
    let said = tiki(&["show", "none"], &folder);
    assert!(!text(&said.stderr).contains("not read"), "{said:?}");
}

/// Invariant: a command line that runs nothing is no success, and says which extent is none. Witness: each axis, for each
/// command that launches; and a name of an entry that is nearly one.
#[test]
fn a_grid_without_blocks_is_refused() {
    let folder = folder("empty_grid");
    let text_of =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry swap() { ret; }\n";
    std::fs::write(folder.join("k.ptx"), text_of).expect("written");
    for command in ["run", "check", "diff"] {
        for (grid, shown) in [
            ("0", "--grid 0,1,1"),
            ("4,0", "--grid 4,0,1"),
            ("1,1,0", "--grid 1,1,0"),
        ] {
            let mut args = vec!["vm", command, "k.ptx", "--block", "64", "--grid", grid];
            if command == "diff" {
                args.extend(["--expect", "p=k.ptx"]);
            }
            let said = tiki(&args, &folder);
            let told = text(&said.stderr);
            assert_eq!(said.status.code(), Some(2), "{args:?}: {told}");
            assert!(
                told.contains(shown) && told.contains("nothing would run"),
                "{args:?}: {told}"
            );
        }
    }
    let run = ["vm", "run", "k.ptx", "--entry"];
    let said = tiki(&[&run[..], &["swpa", "--block", "64"]].concat(), &folder);
    assert!(
        text(&said.stderr).contains("did you mean `swap`?"),
        "{said:?}"
    );
    let said = tiki(&[&run[..], &["swap", "--block", "0"]].concat(), &folder);
    assert_eq!(said.status.code(), Some(2), "{said:?}");
    let said = tiki(&[&run[..], &["swap", "--block", "64"]].concat(), &folder);
    assert_eq!(said.status.code(), Some(0), "{said:?}");
}
