//! What the command says of arguments and files that nobody ought to give it.

mod command;

use command::{json, text, tiki, with_kernel};

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
