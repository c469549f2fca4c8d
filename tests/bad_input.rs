//! Bad input gets a clear message and a non-zero exit; nothing panics.
//!
//! Invariant: an example given what it cannot use says so in one `error:` line that names the thing and
//! its numbers, and leaves with 2; a launch given tensors it cannot use is a typed error with its code.
//! Witness: the built examples as processes, on files written here, and launches on the machine.

#[path = "../examples/add.rs"]
#[allow(dead_code, reason = "the kernel alone is used")]
mod add;
#[path = "../examples/row_sum.rs"]
#[allow(dead_code, reason = "the kernels alone are used")]
mod row_sum;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tiki::{Device, LaunchError};

/// A built example, run without a GPU unless the test asks for one.
fn example(name: &str, args: &[&Path], device: &str) -> Output {
    let me = std::env::current_exe().expect("this program's path");
    let folder = me
        .parent()
        .and_then(Path::parent)
        .expect("the profile's folder");
    let program = folder.join("examples").join(name);
    assert!(
        program.exists(),
        "{} is not there: `cargo test` builds it, `cargo test --test bad_input` does not",
        program.display()
    );
    let mut command = Command::new(program);
    // A driver that is there finds no card either.
    command
        .env("TIKI_DEVICE", device)
        .env("CUDA_VISIBLE_DEVICES", "");
    command.args(args).output().expect("the example runs")
}

/// The example refuses, in words that contain all of these.
fn refuses(name: &str, args: &[&Path], device: &str, words: &[&str]) {
    let output = example(name, args, device);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let told = format!("{name} {args:?} on {device}: {:?}\n{said}", output.status);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        said.starts_with("error: ") && !said.contains("panicked"),
        "{told}"
    );
    for word in words {
        assert!(said.contains(word), "`{word}` is missing in {told}");
    }
}

/// A file of the real data's format: tensors of zeros, by name, type, bytes an element and shape.
fn file(name: &str, tensors: &[(&str, &str, usize, &[usize])]) -> PathBuf {
    let (mut header, mut end) = (Vec::new(), 0);
    for (tensor, dtype, bytes, shape) in tensors {
        let begin = end;
        end += bytes * shape.iter().product::<usize>();
        header.push(format!(
            "\"{tensor}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"data_offsets\":[{begin},{end}]}}"
        ));
    }
    let header = format!("{{{}}}", header.join(","));
    let mut text = (header.len() as u64).to_le_bytes().to_vec();
    text.extend(header.bytes());
    text.resize(text.len() + end, 0);
    written(name, &text)
}

fn written(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.safetensors"));
    std::fs::write(&path, bytes).expect("a writable folder");
    path
}

/// Every example that reads a file, with the tensor it asks for first.
const READERS: [(&str, &str); 5] = [
    ("rms_norm", "hidden"),
    ("softmax", "scores"),
    ("silu", "gate"),
    ("row_sum", "hidden"),
    ("attention", "q"),
];

#[test]
fn a_missing_file_is_named() {
    for (name, _) in READERS {
        let path = Path::new("no/such.safetensors");
        refuses(name, &[path], "vm", &["no/such.safetensors"]);
    }
}

#[test]
fn a_truncated_file_is_refused() {
    let whole = Path::new(env!("CARGO_MANIFEST_DIR"));
    let whole = whole.join("examples/data/smollm2_layer15.safetensors");
    let whole = std::fs::read(whole).expect("the data");
    for length in [0, 7, 300, whole.len() - 1] {
        let path = written(&format!("cut_{length}"), &whole[..length]);
        for (name, _) in READERS {
            refuses(name, &[&path], "vm", &[&format!("cut_{length}")]);
        }
    }
}

#[test]
fn a_missing_tensor_is_named_with_those_that_are_there() {
    let path = file("missing", &[("other", "F16", 2, &[3])]);
    for (name, first) in READERS {
        refuses(name, &[&path], "vm", &[&format!("`{first}`"), "other"]);
    }
}

#[test]
fn a_wrong_type_is_named_with_both() {
    let path = file(
        "types",
        &[
            ("hidden", "F32", 4, &[2, 576]),
            ("scores", "F16", 2, &[2, 2]),
            ("gate", "BF16", 2, &[8]),
            ("q", "F64", 8, &[1, 2, 3]),
        ],
    );
    for (name, first) in READERS {
        let wanted = if name == "softmax" { "f32" } else { "f16" };
        refuses(name, &[&path], "vm", &[&format!("`{first}`"), wanted]);
    }
}

#[test]
fn a_wrong_rank_is_refused() {
    let path = file(
        "ranks",
        &[
            ("hidden", "F16", 2, &[576]),
            ("scores", "F32", 4, &[4]),
            ("q", "F16", 2, &[84, 64]),
        ],
    );
    for name in ["rms_norm", "row_sum", "softmax", "attention"] {
        refuses(name, &[&path], "vm", &["axes"]);
    }
}

#[test]
fn shapes_that_do_not_fit_show_their_numbers() {
    let expected: (&str, &str, usize, &[usize]) = ("rms_norm_expected", "F64", 8, &[3, 575]);
    let path = file(
        "narrow",
        &[
            ("hidden", "F16", 2, &[3, 575]),
            ("norm_weight", "F16", 2, &[575]),
            ("gate", "F16", 2, &[10]),
            ("up", "F16", 2, &[11]),
            expected,
        ],
    );
    refuses("rms_norm", &[&path], "vm", &["[TL020]", "575", "576"]);
    refuses("silu", &[&path], "vm", &["[TL020]", "10", "11"]);
}

#[test]
fn a_width_of_zero_is_refused() {
    let path = file(
        "width_zero",
        &[
            ("hidden", "F16", 2, &[3, 0]),
            ("norm_weight", "F16", 2, &[0]),
            ("scores", "F32", 4, &[3, 0]),
        ],
    );
    for name in ["rms_norm", "softmax", "row_sum"] {
        refuses(name, &[&path], "vm", &["[TL020]", "dim(1)"]);
    }
}

#[test]
fn zero_rows_are_no_error() {
    let path = file(
        "rows_zero",
        &[
            ("hidden", "F16", 2, &[0, 576]),
            ("norm_weight", "F16", 2, &[576]),
            ("rms_norm_expected", "F64", 8, &[0, 576]),
            ("scores", "F32", 4, &[0, 84]),
            ("softmax_expected", "F64", 8, &[0, 84]),
            ("gate", "F16", 2, &[0]),
            ("up", "F16", 2, &[0]),
            ("q", "F16", 2, &[9, 0, 64]),
            ("k", "F16", 2, &[3, 0, 64]),
            ("v", "F16", 2, &[3, 0, 64]),
            ("attention_expected", "F64", 8, &[9, 0, 64]),
            ("lse_expected", "F64", 8, &[9, 0]),
        ],
    );
    for (name, _) in READERS {
        let output = example(name, &[&path], "vm");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{name}: {said}");
    }
}

#[test]
fn a_device_that_is_not_there_is_named() {
    for name in [
        "rms_norm",
        "softmax",
        "silu",
        "row_sum",
        "add",
        "transpose",
        "gemm",
        "attention",
    ] {
        refuses(name, &[], "cuda:0", &["[TL00"]);
        refuses(name, &[], "gpu", &["[TL005]", "`gpu`", "`vm`", "cuda:N"]);
        refuses(name, &[], "cuda:first", &["[TL005]", "cuda:first"]);
        refuses(name, &[], "vm:nothing", &["[TL005]", "vm:nothing"]);
    }
}

#[test]
fn extents_that_are_none_are_refused() {
    for (name, args) in [
        ("add", &["many"][..]),
        ("add", &["-1"]),
        ("add", &["99999999999999999999"]),
        ("add", &["18446744073709551615"]),
        ("transpose", &["3", "wide"]),
        ("transpose", &["4294967296", "4294967296"]),
        ("gemm", &["4294967296", "8", "4294967296"]),
    ] {
        let paths: Vec<&Path> = args.iter().map(Path::new).collect();
        refuses(name, &paths, "vm", &[args[args.len() - 1]]);
    }
}

fn code(result: Result<(), LaunchError>) -> (&'static str, String) {
    let error = result.expect_err("a refusal");
    (error.code().as_str(), error.to_string())
}

#[test]
fn launches_refuse_tensors_that_do_not_fit() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let stream = device.stream();
    let x = device.zeros::<f32, 1>([100])?;
    let short = device.zeros::<f32, 1>([99])?;
    let mut out = device.zeros::<f32, 1>([100])?;
    let (name, text) = code(add::add::launch(&stream, &x, &short, &mut out));
    assert_eq!(name, "TL020", "{text}");
    assert!(text.contains("100") && text.contains("99"), "{text}");

    // Every second element, and rows that are columns: neither is row-major.
    let rows = device.zeros::<f32, 2>([100, 2])?;
    let every_second: tiki::Tensor<f32, 1> = rows.swap_axes(0, 1)?.at([0])?;
    let (name, text) = code(add::add::launch(&stream, &every_second, &x, &mut out));
    assert_eq!(name, "TL016", "{text}");
    assert!(text.contains("[100]") && text.contains("[2]"), "{text}");
    let mut sums = device.zeros::<f32, 1>([2])?;
    let turned = rows.transpose();
    let (name, text) = code(row_sum::row_sum::<f32, 1>::launch(
        &stream, &turned, &mut sums,
    ));
    assert_eq!(name, "TL016", "{text}");

    let other = Device::vm()?;
    let foreign = other.zeros::<f32, 1>([100])?;
    let (name, text) = code(add::add::launch(&stream, &foreign, &x, &mut out));
    assert_eq!(name, "TL014", "{text}");
    Ok(())
}

#[test]
fn zero_rows_launch_nothing_and_width_zero_is_refused() -> Result<(), LaunchError> {
    let device = Device::vm()?;
    let stream = device.stream();
    let nothing = device.zeros::<f32, 2>([0, 5])?;
    let mut none = device.zeros::<f32, 1>([0])?;
    row_sum::row_sum::<f32, 1>::launch(&stream, &nothing, &mut none)?;
    assert!(none.to_vec()?.is_empty());
    let thin = device.zeros::<f32, 2>([5, 0])?;
    let mut sums = device.zeros::<f32, 1>([5])?;
    let (name, text) = code(row_sum::row_sum::<f32, 1>::launch(
        &stream, &thin, &mut sums,
    ));
    assert_eq!(name, "TL020", "{text}");
    Ok(())
}

/// A variable is named where it was read.
#[test]
fn a_device_that_is_none_is_told() {
    refuses("add", &[], "gpu", &["[TL005]", "TIKI_DEVICE says `gpu`"]);
}
