//! Instances that no build has made, compiled by the running program out of another crate's kernel.

use gpu::prelude::*;
use gpu::{Device, JitError};
use tiki_test_library::scaled;

type Scaled = scaled<f32, 256, 64>;

#[test]
fn lists_ranges_and_facts_name_the_instances() {
    assert_eq!(
        scaled::<f16, 1024, 64>::ARTIFACT.entry,
        "scaled__f16__1024__64"
    );
    assert_eq!(scaled::<f32, 256, 32>::BUDGET.threads, 32);
}

#[test]
fn any_instance_is_compiled_and_runs() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::vm()?;
    let host: Vec<f32> = (0..6144).map(|i| i as f32).collect();
    let x = device.tensor_from(&host, [6144])?;
    for (n, t) in [(256usize, 64usize), (768, 32), (2048, 128), (3072, 96)] {
        let kernel = Scaled::jit(&[("N", n.into()), ("T", t.into())])?;
        let artifact = kernel.compiled().artifact();
        assert_eq!(artifact.entry, format!("scaled__f32__{n}__{t}"));
        let mut out = device.zeros([6144])?;
        kernel.run(&device.stream(), &x, &mut out, 0.5)?;
        let expected: Vec<f32> = host.iter().map(|x| x * 0.5).collect();
        assert_eq!(out.to_vec()?, expected, "N = {n}");
    }
    Ok(())
}

/// What a build made and what the running program makes are the same text, and the same instance twice is
/// one artefact.
#[test]
fn the_same_instance_is_the_same_text() -> Result<(), JitError> {
    let (one, two) = (Scaled::jit(&[])?, Scaled::jit(&[("T", 64.into())])?);
    assert_eq!(one.compiled().artifact().ptx, Scaled::PTX);
    assert_eq!(one.compiled().artifact().report, Scaled::REPORT);
    assert_eq!(
        one.compiled().artifact().fingerprint,
        Scaled::ARTIFACT.fingerprint
    );
    let artifacts = [one.compiled().artifact(), two.compiled().artifact()];
    assert!(std::ptr::eq(artifacts[0], artifacts[1]));
    Ok(())
}

/// The facts of a launch are those of the instance, not of the type that it was made from.
#[test]
fn facts_follow_the_instance() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::vm()?;
    let x = device.zeros::<f32, 1>([768])?;
    let mut out = device.zeros([768])?;
    Scaled::jit(&[])?.run(&device.stream(), &x, &mut out, 1.0)?;
    let wide = Scaled::jit(&[("N", 512.into())])?;
    let error = wide.run(&device.stream(), &x, &mut out, 1.0).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("x.dim(0) % N == 0") && text.contains("256"),
        "{text}"
    );
    Ok(())
}

/// The compiler's own messages, as a build shows them, with file and line.
#[test]
fn what_is_wrong_is_told_as_a_build_tells_it() {
    let error = Scaled::jit(&[("T", 48.into())]).map(|_| ()).unwrap_err();
    let JitError::Refused { instance, problems } = &error else {
        panic!("{error}");
    };
    assert_eq!(instance, "scaled<E = f32, N = 256, T = 48>");
    let problem = &problems[0];
    assert!(problem.code.starts_with("TK"), "{problem}");
    assert!(problem.file.ends_with("library/src/lib.rs"), "{problem}");
    assert!(problem.line > 70 && problem.column > 0, "{problem}");
    assert!(problem.text.contains("48"), "{problem}");
}

#[test]
fn parameters_are_checked_by_name_kind_and_place() {
    let said = |with: &[(&str, gpu::compiler::instance::Arg)]| {
        let error = Scaled::jit(with).map(|_| ()).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        said(&[("M", 1.into())]),
        "kernel `scaled`: there is no parameter `M`; there are `E`, `N`, `T`"
    );
    assert_eq!(
        said(&[("N", true.into())]),
        "kernel `scaled`: parameter `N` takes a number, not `true`"
    );
    assert!(said(&[("E", true.into())]).contains("given by the kernel's type"));
}

/// A text of another version is refused, and so is one that was cut.
#[test]
fn another_version_is_refused() {
    let text: &'static str = Scaled::TEXT;
    let (version, rest) = text.split_once('\n').expect("a first line");
    let other: &'static str = format!("{version}7\n{rest}").leak();
    for text in [other, &text[..text.len() / 2]] {
        let read = gpu::jit::program(text);
        let error = read.map(|_| ()).unwrap_err();
        assert!(matches!(error, JitError::Text(_)), "{error}");
        assert!(
            error.to_string().contains("build the kernel's crate again"),
            "{error}"
        );
    }
}

/// The text that travels is the whole kernel: read and printed, it is the same.
#[test]
fn the_text_that_travels_round_trips() {
    let program = gpu::jit::program(Scaled::TEXT).expect("a program");
    assert_eq!(gpu::compiler::ast::print(&program), Scaled::TEXT);
}

/// What the environment asks for and cannot have is told, not passed over: this binary is started again with it.
#[test]
fn words_of_the_environment_are_told() {
    let run = |name: &str, value: &str| {
        let own = std::env::current_exe().expect("this binary");
        let said = std::process::Command::new(own)
            .args([
                "any_instance_is_compiled_and_runs",
                "--exact",
                "--nocapture",
            ])
            .env_remove("TIKI_DUMP")
            .env_remove("TIKI_OVERRIDE")
            .env(
                "TIKI_DUMP_DIR",
                concat!(env!("CARGO_TARGET_TMPDIR"), "/told"),
            )
            .env(name, value)
            .output()
            .expect("it starts");
        let told = String::from_utf8_lossy(&said.stderr).into_owned();
        (said.status.success(), told)
    };
    let (done, told) = run("TIKI_DUMP", "ptx,budgt");
    assert!(
        done && told.contains("`budgt`, which is no stage"),
        "{told}"
    );
    let (done, told) = run("TIKI_DUMP", "sass");
    assert!(done && told.contains("TIKI_DUMP=sass"), "{told}");
    let (done, told) = run("TIKI_DUMP", "all");
    assert!(done && !told.contains("warning"), "{told}");
    let (done, told) = run("TIKI_OVERRIDE", "no_such_folder");
    assert!(
        !done && told.contains("no_such_folder, which is no folder"),
        "{told}"
    );
}
