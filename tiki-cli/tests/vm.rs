//! `tiki vm` as a user meets it: files in and out, findings, and differences.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Doubles floats; the second entry exchanges them through shared memory and lacks a barrier.
const TEXT: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 p, .param .u64 q, .param .u32 n) {
    .reg .b64 %a<3>; .reg .b32 %t<3>; .reg .f32 %f; .reg .pred %p;
    ld.param.u64 %a0, [p];
    ld.param.u64 %a1, [q];
    ld.param.u32 %t1, [n];
    mov.u32 %t0, %tid.x;
    setp.ge.u32 %p, %t0, %t1;
    @%p ret;
    mul.wide.u32 %a2, %t0, 4;
    add.u64 %a0, %a0, %a2;
    add.u64 %a1, %a1, %a2;
    ld.global.f32 %f, [%a0];
    add.f32 %f, %f, %f;
    st.global.f32 [%a1], %f;
    ret;
}
.visible .entry swap(.param .u64 p) {
    .reg .b64 %a<2>; .reg .b32 %t<3>;
    .shared .align 4 .b8 exchange[512];
    ld.param.u64 %a0, [p];
    mov.u32 %t0, %tid.x;
    mov.u32 %t1, exchange;
    mad.lo.u32 %t1, %t0, 4, %t1;
    st.shared.u32 [%t1], %t0;
    mov.u32 %t2, exchange;
    xor.b32 %t0, %t0, 32;
    mad.lo.u32 %t2, %t0, 4, %t2;
    ld.shared.u32 %t2, [%t2];
    mul.wide.u32 %a1, %t0, 4;
    add.u64 %a0, %a0, %a1;
    st.global.u32 [%a0], %t2;
    ret;
}
";

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    std::fs::write(path.join("k.ptx"), TEXT).expect("written");
    path
}

fn tiki(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tiki"))
        .args(args)
        .current_dir(folder)
        .output()
        .expect("the command starts")
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let all = bytes.chunks(4);
    all.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect()
}

#[test]
fn entries_are_named() {
    let at = folder("vm_entries");
    let said = tiki(&at, &["vm", "entries", "k.ptx"]);
    assert_eq!(said.stdout, b"k.ptx: swap, twice\n", "{said:?}");
}

#[test]
fn buffers_go_in_and_out_in_three_forms() {
    let at = folder("vm_run");
    let input: Vec<f32> = (0..40).map(|x| x as f32).collect();
    let raw: Vec<u8> = input.iter().flat_map(|x| x.to_le_bytes()).collect();
    std::fs::write(at.join("x.bin"), &raw).expect("written");
    let twice = ["--entry", "twice", "--block", "64", "--arg"];
    let run = |extra: &[&str]| {
        let all: Vec<&str> = ["vm", "run", "k.ptx"]
            .iter()
            .chain(&twice)
            .chain(extra)
            .copied()
            .collect();
        let said = tiki(&at, &all);
        assert!(said.status.success(), "{said:?}");
    };
    run(&[
        "x=x.bin",
        "--arg",
        "y=zeros:f32[8,5]",
        "--arg",
        "u32:40",
        "--out",
        "y=y.npy",
    ]);
    run(&[
        "x=y.npy",
        "--arg",
        "y=zeros:f32[8,5]",
        "--arg",
        "u32:40",
        "--out",
        "y=y.safetensors#y",
    ]);
    run(&[
        "x=y.safetensors#y",
        "--arg",
        "y=zeros:f32[8,5]",
        "--arg",
        "u32:40",
        "--out",
        "y=y.bin",
    ]);
    let got = floats(&std::fs::read(at.join("y.bin")).expect("a file"));
    assert_eq!(got, input.iter().map(|x| x * 8.0).collect::<Vec<f32>>());
    for large in [
        "y=zeros:u8[9223372036854775807]",
        "y=random:f32[1099511627776]",
    ] {
        let all = [
            "vm", "run", "k.ptx", "--entry", "twice", "--block", "64", "--arg", large,
        ];
        let said = tiki(&at, &all);
        let told = String::from_utf8_lossy(&said.stderr).into_owned();
        assert_eq!(said.status.code(), Some(2), "{told}");
        assert!(told.contains("bytes are more than"), "{told}");
    }
    let same = tiki(
        &at,
        &[
            "vm",
            "diff",
            "k.ptx",
            "--entry",
            "twice",
            "--block",
            "64",
            "--arg",
            "x=y.npy",
            "--arg",
            "y=zeros:f32[40]",
            "--arg",
            "u32:40",
            "--expect",
            "y=y.safetensors",
        ],
    );
    assert!(same.status.success(), "{same:?}");
    let other = tiki(
        &at,
        &[
            "vm",
            "diff",
            "k.ptx",
            "--entry",
            "twice",
            "--block",
            "64",
            "--arg",
            "x=y.npy",
            "--arg",
            "y=zeros:f32[40]",
            "--arg",
            "u32:39",
            "--expect",
            "y=y.safetensors",
            "--json",
        ],
    );
    assert_eq!(other.status.code(), Some(1));
    let value: Value = serde_json::from_slice(&other.stdout).expect("JSON");
    assert_eq!(value["buffers"][0]["first"], 39);
}

#[test]
fn a_race_is_found_and_written_as_sarif() {
    let at = folder("vm_check");
    let args = [
        "vm",
        "check",
        "k.ptx",
        "--entry",
        "swap",
        "--block",
        "64",
        "--arg",
        "p=zeros:u32[64]",
        "--sarif",
        "out.sarif",
        "--json",
    ];
    let said = tiki(&at, &args);
    assert_eq!(said.status.code(), Some(1), "{said:?}");
    let value: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    assert_eq!(value["runs"], 5);
    let codes: Vec<&str> = value["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter_map(|f| f["code"].as_str())
        .collect();
    assert!(
        codes.contains(&"V04") && codes.contains(&"V03"),
        "{codes:?}"
    );
    let log = std::fs::read(at.join("out.sarif")).expect("a file");
    let log: Value = serde_json::from_slice(&log).expect("JSON");
    let first = &log["runs"][0]["results"][0];
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(first["level"], "error");
    assert!(first["locations"][0]["physicalLocation"]["region"]["startLine"].as_u64() > Some(20));
}

#[test]
fn mistakes_of_the_command_line_are_told_apart() {
    let at = folder("vm_mistakes");
    let code = |args: &[&str]| tiki(&at, args).status.code();
    assert_eq!(
        code(&["vm", "run", "k.ptx", "--block", "32"]),
        Some(2),
        "two entries"
    );
    assert_eq!(
        code(&["vm", "run", "k.ptx", "--entry", "none", "--block", "32"]),
        Some(3)
    );
    assert_eq!(code(&["vm", "run", "none.ptx", "--block", "32"]), Some(5));
    assert_eq!(
        code(&["vm", "run", "k.ptx", "--entry", "swap", "--block", "32"]),
        Some(2),
        "no argument"
    );
    assert_eq!(
        code(&[
            "vm",
            "run",
            "k.ptx",
            "--entry",
            "swap",
            "--block",
            "2048",
            "--arg",
            "p=zeros:u32[64]"
        ]),
        Some(2)
    );
    assert_eq!(
        code(&[
            "vm",
            "run",
            "k.ptx",
            "--entry",
            "swap",
            "--block",
            "32",
            "--arg",
            "p=zeros:u32[4]"
        ]),
        Some(1),
        "out of bounds"
    );
}

#[test]
fn a_timeline_is_drawn_and_traced() {
    let at = folder("vm_timeline");
    let run = |file: &str, block: &str| {
        let args = [
            "vm",
            "run",
            "k.ptx",
            "--entry",
            "twice",
            "--block",
            "64",
            "--arg",
            "p=random:f32[64]",
            "--arg",
            "q=unset:f32[64]",
            "--arg",
            "u32:64",
            "--timeline",
            file,
            "--timeline-block",
            block,
        ];
        tiki(&at, &args)
    };
    assert!(run("t.svg", "0,0,0").status.success());
    let svg = std::fs::read_to_string(at.join("t.svg")).expect("a file");
    assert!(svg.contains("twice, block (0, 0, 0)") && svg.contains(">warp 1<"));
    assert!(run("t.json", "0,0,0").status.success());
    let text = std::fs::read(at.join("t.json")).expect("a file");
    let trace: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(trace["otherData"]["kernel"], "twice");
    let said = run("t.png", "0,0,0");
    assert_eq!(said.status.code(), Some(2), "{said:?}");
    let said = run("u.svg", "1,0,0");
    assert_eq!(said.status.code(), Some(2), "{said:?}");
    assert!(String::from_utf8_lossy(&said.stderr).contains("no such block"));
}

/// A thread that prints, and one that reads what nothing wrote.
#[test]
fn printing_and_unset_buffers() {
    let at = folder("vm_printing");
    let text = ".version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.global .align 1 .b8 said[7] = {104, 101, 108, 108, 111, 10, 0};
.visible .entry k(.param .u64 p) {
    .reg .b64 %a<4>; .reg .b32 %t<2>;
    ld.param.u64 %a0, [p];
    mov.u64 %a1, said;
    cvta.global.u64 %a1, %a1;
    mov.u64 %a2, 0;
    {
    .param .b64 a; .param .b64 b; .param .b32 r;
    st.param.b64 [a+0], %a1;
    st.param.b64 [b+0], %a2;
    call.uni (r), vprintf, (a, b);
    }
    ld.global.u32 %t0, [%a0];
    st.global.u32 [%a0], %t0;
    ret;
}
";
    std::fs::write(at.join("p.ptx"), text).expect("written");
    let run = |buffer: &str| {
        let args = ["vm", "run", "p.ptx", "--block", "2", "--arg", buffer];
        tiki(&at, &[&args[..], &["--json"]].concat())
    };
    let said = run("p=zeros:u32[1]");
    let value: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    assert_eq!(value["printed"], "hello\nhello\n");
    let said = run("p=unset:u32[1]");
    let told = [said.stderr, said.stdout].map(|s| String::from_utf8_lossy(&s).into_owned());
    let told = told.concat();
    assert_eq!(said.status.code(), Some(1), "{told}");
    assert!(
        told.contains("hello\nhello\n") && told.contains("V03") && told.contains("byte 0 of `p`"),
        "{told}"
    );
}
