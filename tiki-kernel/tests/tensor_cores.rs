//! Kernels on tensor cores lower to modules that the verifier and the real assembler take, without
//! spills and without notes about serialised products.

mod gemm_by_hand;

use gemm_by_hand::ampere::{self, Shape};
use gemm_by_hand::hopper;
use std::process::Command;
use tiki_kernel::ast::Places;
use tiki_kernel::diag::Sink;
use tiki_kernel::dtype::DType;
use tiki_kernel::ir::Kernel;
use tiki_kernel::report::Report;
use tiki_kernel::target::Target;
use tiki_kernel::{budget, lower, ptx, schedule, simplify};

/// Text of a kernel, and what bounds the registers of its multiplying threads.
fn build(name: &str, mut kernel: Kernel) -> (String, u32) {
    let mut sink = Sink::new();
    let mut report = Report::default();
    let plan = schedule::run(&mut kernel, &mut report);
    let mut lowered = lower::run(&kernel, &plan, &Places::default(), &mut sink);
    let faults = ptx::verify(&lowered.module);
    assert!(faults.is_empty(), "{name}: {faults:?}");
    simplify::run(&mut lowered.module, false, &mut |pass, module| {
        let faults = ptx::verify(module);
        assert!(faults.is_empty(), "{name} after {pass}: {faults:?}");
    });
    let usage = budget::run(&kernel, &lowered, &mut sink, &mut report);
    budget::residency::run(&kernel, &mut lowered, &usage);
    let said: Vec<String> = (sink.take().iter())
        .map(|d| d.text(&Places::default()))
        .collect();
    assert!(said.is_empty(), "{said:?}");
    let entry = lowered.module.functions.last().unwrap();
    let bound = budget::registers::bound(entry, &lowered.holds).registers;
    (lowered.module.to_string(), bound)
}

/// Assembles: registers used, or what the assembler had to say against it (spills and notes about
/// serialised products are that too). `None` without an assembler.
fn assemble(name: &str, text: &str, target: Target) -> Option<Result<u32, String>> {
    let ptxas = std::env::var("TIKI_PTXAS").ok()?;
    let dir = std::env::temp_dir().join(format!("tiki-tensor-cores-{}", std::process::id()));
    let dir = std::env::var("KEEP").map_or(dir, Into::into);
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join(format!("{name}.ptx"));
    std::fs::write(&file, text).unwrap();
    let out = Command::new(ptxas)
        .args(["-v", &format!("-arch={target}"), "-o"])
        .arg(dir.join(format!("{name}.cubin")))
        .arg(&file)
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout);
    let kept = said.contains(" 0 bytes spill stores, 0 bytes spill loads");
    if !out.status.success() || said.contains("C7") || !kept {
        return Some(Err(said));
    }
    let words: Vec<&str> = said.split_whitespace().collect();
    let at = words.iter().position(|w| w.starts_with("registers"))?;
    Some(Ok(words[at - 1].parse().unwrap()))
}

/// Held to its bound, a kernel spills nothing; the smallest cap (in steps of 8) at which it does not lies at
/// most `above` percent lower. `capped` writes a cap into the text.
fn hold(
    name: &str,
    text: &str,
    bound: u32,
    target: Target,
    above: u32,
    capped: impl Fn(u32) -> String,
) -> Option<String> {
    match assemble(name, text, target)? {
        Ok(_) => {}
        Err(said) => return Some(format!("{name}: {said}")),
    }
    if let Err(said) = assemble(&format!("{name}_capped"), &capped(bound), target)? {
        return Some(format!("{name} capped at its bound {bound}: {said}"));
    }
    let mut least = bound.div_ceil(8) * 8;
    while least > 24 && assemble(&format!("{name}_capped"), &capped(least - 8), target)?.is_ok() {
        least -= 8;
    }
    println!("{name}: bound {bound}, smallest cap {least}");
    let far = bound > 64 && 100 * bound > (100 + above) * least;
    far.then(|| format!("{name}: bound {bound} is far above the smallest cap {least}"))
}

/// The text with a cap for all threads.
fn with_cap(text: &str, cap: u32) -> String {
    let lines = text.lines().filter(|l| !l.starts_with(".minnctapersm"));
    let text: String = lines.flat_map(|l| [l, "\n"]).collect();
    text.replacen("\n{\n", &format!("\n.maxnreg {cap}\n{{\n"), 1)
}

fn ampere_cases() -> Vec<(String, Shape)> {
    let mut out = Vec::new();
    let base = Shape::half([128, 128, 32], 4, (2, 2));
    out.push(("half".to_string(), base));
    out.push((
        "whole".into(),
        Shape {
            whole: true,
            ..base
        },
    ));
    for (i, flipped) in [(true, false), (false, true), (true, true)]
        .into_iter()
        .enumerate()
    {
        out.push((format!("flipped_{i}"), Shape { flipped, ..base }));
    }
    let bf = Shape {
        dtype: DType::BF16,
        out: DType::BF16,
        ..base
    };
    out.push((
        "bf16_64_deep".into(),
        Shape {
            tile: [128, 128, 64],
            stages: 3,
            ..bf
        },
    ));
    out.push((
        "bf16_wide".into(),
        Shape {
            tile: [64, 256, 32],
            stages: 3,
            warps: (1, 4),
            ..bf
        },
    ));
    out.push((
        "small".into(),
        Shape {
            tile: [32, 40, 16],
            stages: 2,
            warps: (2, 1),
            ..base
        },
    ));
    out.push((
        "deep_128".into(),
        Shape {
            tile: [64, 64, 128],
            stages: 2,
            ..base
        },
    ));
    out.push((
        "tf32".into(),
        Shape {
            dtype: DType::F32,
            out: DType::F32,
            tile: [128, 64, 32],
            ..base
        },
    ));
    out.push((
        "tf32_flipped".into(),
        Shape {
            dtype: DType::F32,
            out: DType::F32,
            tile: [64, 64, 32],
            flipped: (true, true),
            ..base
        },
    ));
    out.push((
        "s8".into(),
        Shape {
            dtype: DType::I8,
            sums: DType::I32,
            out: DType::I32,
            tile: [128, 64, 64],
            ..base
        },
    ));
    out
}

#[test]
fn products_by_warps_assemble_within_their_bounds() {
    let target = Target::default_target();
    let bad: Vec<String> = ampere_cases()
        .into_iter()
        .filter_map(|(name, shape)| {
            let (text, bound) = build(&name, ampere::gemm(&name, target, shape));
            hold(&name, &text, bound, target, 15, |cap| with_cap(&text, cap))
        })
        .collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn a_cluster_assembles() {
    let target = Target::all().find(|t| t.row().exact).unwrap();
    let (text, _) = build("twice", gemm_by_hand::cluster::twice("twice", target));
    if let Some(Err(said)) = assemble("twice", &text, target) {
        panic!("{said}");
    }
}

fn hopper_cases() -> Vec<(String, hopper::Shape)> {
    let base = hopper::Shape {
        split: Some((40, 232)),
        ..hopper::Shape::bf16((256, 64), 4, 2)
    };
    let small = hopper::Shape::bf16((128, 64), 4, 1);
    let mut out = vec![("hopper".to_string(), base), ("hopper_small".into(), small)];
    for (i, flipped) in [(true, false), (false, true), (true, true)]
        .into_iter()
        .enumerate()
    {
        out.push((
            format!("hopper_flipped_{i}"),
            hopper::Shape { flipped, ..base },
        ));
    }
    out.push((
        "hopper_registers".into(),
        hopper::Shape {
            registers: true,
            ..small
        },
    ));
    for (name, dtype, sums, k) in [
        ("hopper_tf32", DType::F32, DType::F32, 32),
        ("hopper_e4m3", DType::E4M3, DType::F32, 128),
        ("hopper_s8", DType::I8, DType::I32, 128),
    ] {
        let shape = hopper::Shape {
            dtype,
            sums,
            tile: (128, k),
            ..small
        };
        out.push((name.into(), shape));
    }
    out
}

#[test]
fn products_by_warpgroups_assemble_within_their_bounds() {
    let target = Target::all().find(|t| t.row().exact).unwrap();
    let bad: Vec<String> = hopper_cases()
        .into_iter()
        .filter_map(|(name, shape)| {
            let (text, bound) = build(&name, hopper::gemm(&name, target, shape));
            let capped = |cap: u32| match shape.split {
                // Where roles set their own counts, the multiplying one is capped.
                Some((_, more)) => {
                    let cap = cap.div_ceil(8) * 8;
                    text.replace(&format!("u32 {more};"), &format!("u32 {cap};"))
                }
                None => with_cap(&text, cap),
            };
            hold(&name, &text, bound, target, 10, capped)
        })
        .collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
